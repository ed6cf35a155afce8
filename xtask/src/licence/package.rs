//! What cargo says about packages: lines of `cargo tree`, entries of `Cargo.lock`.

use std::collections::BTreeSet;

/// What [`parse_tree`] reads: package and licence, told apart by a tab.
pub(super) const TREE_FORMAT: &str = "{p}\t{l}";

/// A dependency, or one of our own.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) licence: String,
}

/// Reads the tree; each package once.
pub(super) fn parse_tree(text: &str) -> BTreeSet<Package> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Package> {
    // "name v1.2.3 (proc-macro)\tMIT OR Apache-2.0"
    let (package, licence) = line.split_once('\t')?;
    let (name, rest) = package.split_once(" v")?;
    let version = rest.split_whitespace().next()?;
    Some(Package {
        name: name.to_owned(),
        version: version.to_owned(),
        licence: licence.trim_end_matches("(*)").trim().to_owned(),
    })
}

/// Packages of the lock file that come from neither the Rust package registry nor this repository.
pub(super) fn foreign_sources(lock: &str) -> Vec<String> {
    let mut name = "";
    let mut found = Vec::new();
    for line in lock.lines() {
        if let Some(value) = quoted_value(line, "name") {
            name = value;
        }
        if let Some(source) = quoted_value(line, "source") {
            let registry = source.starts_with("registry+") && source.ends_with("/crates.io-index");
            if !registry {
                found.push(format!("{name}: comes from {source}"));
            }
        }
    }
    found
}

fn quoted_value<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_lists_each_package_once() {
        let text = "stateward v0.1.0 (/clone/server)\tApache-2.0\n\
                    serde v1.0.2\tMIT OR Apache-2.0\n\
                    serde_derive v1.0.2 (proc-macro)\tMIT OR Apache-2.0\n\
                    serde v1.0.2\tMIT OR Apache-2.0 (*)\n\
                    \n\
                    nameless v0.1.0\t\n";
        let seen: Vec<_> = parse_tree(text)
            .into_iter()
            .map(|package| (package.name, package.version, package.licence))
            .collect();
        let expected = [
            ("nameless", "0.1.0", ""),
            ("serde", "1.0.2", "MIT OR Apache-2.0"),
            ("serde_derive", "1.0.2", "MIT OR Apache-2.0"),
            ("stateward", "0.1.0", "Apache-2.0"),
        ];
        assert_eq!(seen, expected.map(|(n, v, l)| (n.to_owned(), v.to_owned(), l.to_owned())));
    }

    #[test]
    fn sources_outside_the_registry_are_named() {
        let lock = "[[package]]\nname = \"own\"\nversion = \"0.1.0\"\n\n\
                    [[package]]\nname = \"good\"\nsource = \"registry+https://example.org/rust-lang/crates.io-index\"\n\n\
                    [[package]]\nname = \"forked\"\nsource = \"git+https://example.org/forked#abc\"\n";
        assert_eq!(
            foreign_sources(lock),
            ["forked: comes from git+https://example.org/forked#abc"]
        );
    }
}
