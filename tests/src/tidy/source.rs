//! Rust files: nothing unfinished, nothing too long, no test file forgotten.

use super::tree::Tree;

const LINES_MAX: usize = 500;

/// Files that may be longer, each with the reason why it is better whole.
const LONG: &[(&str, &str)] =
    &[("web/src/api/sample.rs", "one made-up job, told in one piece, for the tests of all pages")];

/// Marks of unfinished work, written apart so that this file has none.
const MARKS: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("dbg", "!("),
    concat!("to", "do!("),
    concat!("unimple", "mented!("),
];

/// Marks of unfinished work, and paths of one machine.
pub fn unfinished_marks(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    let home = concat!("/ro", "ot/");
    for file in tree.files("", ".rs") {
        for (number, line) in (1..).zip(file.text.lines()) {
            let place = format!("{}:{number}", file.path);
            if let Some(mark) = MARKS.iter().find(|mark| has_word(line, mark)) {
                complaints.push(format!("{place}: {mark}: finish it, or say it in an issue"));
            }
            if line.contains(home) {
                complaints.push(format!("{place}: {home} is a path of one machine"));
            }
        }
    }
    complaints
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let before = line.get(..at).and_then(|text| text.chars().next_back());
        let after = line.get(at + word.len()..).and_then(|text| text.chars().next());
        let open_ended = word.ends_with('(');
        !before.is_some_and(is_part) && (open_ended || !after.is_some_and(is_part))
    })
}

/// Rust files with too many lines, and entries of the list of exceptions that are not needed.
pub fn long_files(tree: &Tree) -> Vec<String> {
    let mut complaints = Vec::new();
    for file in tree.files("", ".rs") {
        let lines = file.text.lines().count();
        let excused = LONG.iter().any(|(path, _)| *path == file.path);
        match (lines > LINES_MAX, excused) {
            (true, false) => complaints.push(format!(
                "{}: {lines} lines; split it by activity, or list why not",
                file.path
            )),
            (false, true) => {
                complaints.push(format!("{}: {lines} lines: no exception needed", file.path));
            }
            _ => {}
        }
    }
    let is_gone = |path: &str| tree.text(path).is_none();
    let gone = LONG.iter().filter(|(path, _)| is_gone(path));
    complaints.extend(gone.map(|(path, _)| format!("{path}: listed as long, but gone")));
    complaints
}

/// Files beside the one test binary's `main.rs` that it does not name as a module.
pub fn forgotten_tests(tree: &Tree) -> Vec<String> {
    let main = tree.text("tests/tests/main.rs").unwrap_or_default();
    let is_named = |module: &str| main.lines().any(|line| line.trim() == format!("mod {module};"));
    let mut complaints = Vec::new();
    for file in tree.files("tests/tests/", ".rs") {
        let inner = file.path.trim_start_matches("tests/tests/");
        let top = inner.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        if top != "main" && !is_named(top) {
            complaints.push(format!("{}: no `mod {top};` in tests/tests/main.rs", file.path));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_as_words() {
        let text = concat!("fn a() {\n    to", "do!()\n}\n// TO", "DO later\nlet TO", "DOS = 1;\n");
        let tree = Tree::of(&[("engine/src/a.rs", text)]);
        let found = unfinished_marks(&tree);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("engine/src/a.rs:2: "), "{found:?}");
        assert!(found[1].starts_with("engine/src/a.rs:4: "), "{found:?}");
    }

    #[test]
    fn length_is_counted_in_lines() {
        let tree = Tree::of(&[("a.rs", &"x\n".repeat(500)), ("b.rs", &"x\n".repeat(501))]);
        let mut found = long_files(&tree);
        // the real exceptions are not in this tree
        found.retain(|complaint| !complaint.ends_with("listed as long, but gone"));
        assert_eq!(found, ["b.rs: 501 lines; split it by activity, or list why not"]);
    }

    #[test]
    fn a_test_file_that_nobody_names_is_reported() {
        let tree = Tree::of(&[
            ("tests/tests/main.rs", "mod tidy;\nmod story;\n"),
            ("tests/tests/tidy.rs", ""),
            ("tests/tests/story/mod.rs", ""),
            ("tests/tests/kill.rs", ""),
        ]);
        assert_eq!(
            forgotten_tests(&tree),
            ["tests/tests/kill.rs: no `mod kill;` in tests/tests/main.rs"]
        );
    }
}
