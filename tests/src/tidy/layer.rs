//! Imports follow the layers of `docs/architecture.md`: a module knows its own layer and those
//! before it, never one that comes later.

use super::tree::{TextFile, Tree};

/// A crate's modules in the order of its data flow. What is not listed (errors, the crate's root,
/// its programs) may know and be known by everything.
struct Layers {
    source: &'static str,
    order: &'static [&'static [&'static str]],
}

const CRATES: &[Layers] = &[
    Layers {
        source: "engine/src/",
        order: &[
            &["clock", "event", "codec"],
            &["telemetry"],
            &["changelog", "store"],
            &["source", "sink"],
            &[
                "state",
                "operator",
                "policy",
                "breaker",
                "cleanup",
                "checkpoint",
                "savepoint",
                "job",
                "control",
                "agent",
            ],
            &["inspect", "testkit"],
        ],
    },
    Layers {
        source: "server/src/",
        order: &[
            &["config", "clock", "db"],
            &["series"],
            &["catalog", "telemetry", "live", "ingest", "control"],
            &["query", "alert", "breaker", "audit"],
            &["auth"],
            &["api", "ui"],
        ],
    },
    Layers {
        source: "web/src/",
        order: &[
            &["route", "format", "i18n"],
            &["chart"],
            &["api", "live"],
            &["component"],
            &["page", "app"],
        ],
    },
];

/// Imports that go against the layers.
pub fn upward_imports(tree: &Tree) -> Vec<String> {
    let of_crate = |layers: &'static Layers| {
        tree.files(layers.source, ".rs").flat_map(|file| upward_in(file, layers))
    };
    CRATES.iter().flat_map(of_crate).collect()
}

fn upward_in(file: &TextFile, layers: &Layers) -> Vec<String> {
    let inner = file.path.trim_start_matches(layers.source);
    let module = inner.split('/').next().unwrap_or_default().trim_end_matches(".rs");
    let Some(own) = layer_of(layers, module) else {
        return Vec::new();
    };
    if file.path.ends_with("/tests.rs") || file.path.contains("/tests/") {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()) {
        // What follows are tests, which may look everywhere.
        if line.trim() == "#[cfg(test)]" {
            break;
        }
        for used in crate_modules(line) {
            if layer_of(layers, used).is_some_and(|layer| layer > own) {
                complaints.push(format!(
                    "{}:{number}: {module} must not know {used}, which comes later in the layers",
                    file.path
                ));
            }
        }
    }
    complaints
}

fn layer_of(layers: &Layers, module: &str) -> Option<usize> {
    layers.order.iter().position(|layer| layer.contains(&module))
}

/// The modules that a line names as `crate::module`.
fn crate_modules(line: &str) -> Vec<&str> {
    const PREFIX: &str = "crate::";
    if line.trim_start().starts_with("//") {
        return Vec::new();
    }
    let end =
        |rest: &str| rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    line.match_indices(PREFIX)
        .filter_map(|(at, _)| line.get(at + PREFIX.len()..))
        .filter_map(|rest| rest.get(..end(rest)))
        .filter(|module| !module.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_imports_against_the_flow_are_reported() {
        let tree = Tree::of(&[
            (
                "engine/src/store/cache.rs",
                "use crate::state::Handle;\nuse crate::changelog::Record;\n\
                 /// [`crate::job`] drives it\nuse crate::error::Error;\n\
                 #[cfg(test)]\nmod tests { use crate::job::Job; }\n",
            ),
            ("engine/src/job/mod.rs", "use crate::store::Store;\n"),
            ("engine/src/error.rs", "use crate::job::Job;\n"),
        ]);
        assert_eq!(
            upward_imports(&tree),
            [
                "engine/src/store/cache.rs:1: store must not know state, which comes later in the layers"
            ]
        );
    }
}
