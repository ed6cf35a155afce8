//! The tree checks itself.

use stateward_tests::tidy::{self, Tree};

fn check(look: impl Fn(&Tree) -> Vec<String>) {
    let tree = Tree::read(tidy::root()).unwrap();
    let complaints = look(&tree);
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

#[test]
fn nothing_is_unfinished() {
    check(tidy::unfinished_marks);
}

#[test]
fn no_file_is_too_long() {
    check(tidy::long_files);
}

#[test]
fn every_test_file_is_a_module() {
    check(tidy::forgotten_tests);
}

#[test]
fn imports_follow_the_layers() {
    check(tidy::upward_imports);
}

#[test]
fn paths_in_documents_exist() {
    check(tidy::dead_paths);
}

#[test]
fn the_rules_are_whole() {
    check(tidy::semantics_differ);
}

#[test]
fn rules_that_sources_name_exist() {
    check(tidy::unknown_rules);
}

#[test]
fn metrics_in_documents_and_dashboards_exist() {
    check(tidy::unknown_metrics);
}

/// With `STATEWARD_BLESS=1` it writes the page instead.
#[test]
fn the_metrics_page_is_the_catalogue() {
    let path = tidy::root().join("docs/metrics.md");
    let wanted = tidy::metrics_page();
    if std::env::var_os("STATEWARD_BLESS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/metrics.md is not what the catalogue says: run this test once with STATEWARD_BLESS=1"
    );
}
