//! Rule numbers: `§4.2` in a source file means a rule of `docs/semantics.md` that exists.

use std::collections::BTreeSet;

use super::tree::Tree;

/// References to rules that do not exist.
pub fn unknown_rules(tree: &Tree) -> Vec<String> {
    let rules = rules(tree.text("docs/semantics.md").unwrap_or_default());
    let mut complaints = Vec::new();
    for file in tree.files("", ".rs") {
        for (number, line) in (1..).zip(file.text.lines()) {
            let unknown = references(line).filter(|reference| !rules.contains(reference));
            complaints.extend(
                unknown.map(|rule| format!("{}:{number}: there is no rule §{rule}", file.path)),
            );
        }
    }
    complaints
}

/// `4` for each section, `4.2` for each numbered rule in it.
fn rules(semantics: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut section = None;
    for line in semantics.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            section = number_before_dot(title);
            found.extend(section.map(str::to_owned));
        } else if let (Some(section), Some(rule)) = (section, number_before_dot(line)) {
            found.insert(format!("{section}.{rule}"));
        }
    }
    found
}

fn number_before_dot(line: &str) -> Option<&str> {
    let (number, _) = line.split_once(". ")?;
    (!number.is_empty() && number.chars().all(|c| c.is_ascii_digit())).then_some(number)
}

/// What follows each paragraph sign: `4` or `4.2`.
fn references(line: &str) -> impl Iterator<Item = String> {
    line.split('§').skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number = rest.get(..end)?.trim_matches('.');
        (!number.is_empty()).then(|| number.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_looked_up_by_number() {
        let semantics = "# Rules\n1. not in a section\n## 1. TTL\n1. **Stored form**\n   1. inner\n2. Expired\n## 9. Metrics\n- a bullet\n";
        let text = "/// SEMANTICS §1.2: expired.\n/// §9, §1. And (§1.3) and §4.\n";
        let tree = Tree::of(&[("docs/semantics.md", semantics), ("engine/src/ttl.rs", text)]);
        assert_eq!(
            unknown_rules(&tree),
            [
                "engine/src/ttl.rs:2: there is no rule §1.3",
                "engine/src/ttl.rs:2: there is no rule §4"
            ]
        );
    }
}
