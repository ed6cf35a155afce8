//! Documents: what they name exists, and the rules are here in full.

use std::fs;

use super::tree::{Tree, shared};

const SEMANTICS: &str = "docs/semantics.md";

/// Top folders that a path in a document begins with.
const FOLDERS: &[&str] = &[
    "engine/",
    "server/",
    "web/",
    "migrations/",
    "dashboards/",
    "tests/",
    "xtask/",
    "docs/",
    "data/",
    ".ci/",
    ".cargo/",
    ".config/",
];

/// Links and paths in the documents that lead nowhere.
pub fn dead_paths(tree: &Tree) -> Vec<String> {
    let documents = tree.files("", ".md").filter(|file| {
        !file.path.contains('/') || file.path.starts_with("docs/") && file.path != SEMANTICS
    });
    let mut complaints = Vec::new();
    for file in documents {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        for (number, line) in (1..).zip(file.text.lines()) {
            let linked = links(line).map(|link| tree.root.join(folder).join(link));
            let named = code_spans(line).filter_map(path_in).map(|path| tree.root.join(path));
            let dead = linked.chain(named).filter(|path| !path.exists());
            complaints.extend(dead.map(|path| {
                let path = path.strip_prefix(&tree.root).unwrap_or(&path).display().to_string();
                format!("{}:{number}: there is no {path}", file.path)
            }));
        }
    }
    complaints
}

/// Targets of `[text](target)` that are files.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split(')').next()).filter_map(|target| {
        let path = target.split('#').next().unwrap_or_default();
        (!path.is_empty() && !path.contains("://")).then_some(path)
    })
}

/// What stands between single backquotes.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The path from the root in a code span, without a line number; none where it is no path, or one
/// with a placeholder.
fn path_in(span: &str) -> Option<&str> {
    let path = span.split(':').next()?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    (FOLDERS.iter().any(|folder| path.starts_with(folder)) && path.chars().all(plain))
        .then_some(path)
}

/// Whether the project's copy of the rules differs from the shared one; where a machine has no
/// shared one, whether the copy is whole.
pub fn semantics_differ(tree: &Tree) -> Vec<String> {
    let Some(own) = tree.text(SEMANTICS) else {
        return vec![format!("{SEMANTICS}: missing")];
    };
    let original = shared().and_then(|folder| fs::read_to_string(folder.join("SEMANTICS.md")).ok());
    if let Some(original) = original {
        let first =
            (1..).zip(own.lines().zip(original.lines())).find(|(_, (own, other))| own != other);
        return match first {
            Some((line, _)) => vec![format!("{SEMANTICS}:{line}: differs from the shared rules")],
            None if own == original => Vec::new(),
            None => vec![format!("{SEMANTICS}: is longer or shorter than the shared rules")],
        };
    }
    let missing = (0..=9).filter(|section| !own.contains(&format!("\n## {section}. ")));
    missing.map(|section| format!("{SEMANTICS}: section {section} is missing")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_paths_are_told_from_other_words() {
        let line = "see [the map](../docs/map.md#top), [site](https://example.org/a) and `engine/src/job/mod.rs:12`, `a/b`, `tests/<name>.rs`, `cargo test`";
        assert_eq!(links(line).collect::<Vec<_>>(), ["../docs/map.md"]);
        let paths: Vec<_> = code_spans(line).filter_map(path_in).collect();
        assert_eq!(paths, ["engine/src/job/mod.rs"]);
    }

    #[test]
    fn a_path_that_leads_nowhere_is_named_with_its_line() {
        let tree = Tree::of(&[
            ("docs/guide/a.md", "fine\n`server/src/gone.rs`\n"),
            ("engine/a.md", "`docs/no`"),
        ]);
        assert_eq!(dead_paths(&tree), ["docs/guide/a.md:2: there is no server/src/gone.rs"]);
    }
}
