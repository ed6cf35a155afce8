//! `cargo xtask licences`: every dependency is permissively licensed and comes from where we say.
//!
//! Cargo names the packages and their licences (`cargo tree`), `Cargo.lock` names their sources.

mod expression;
mod package;

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;

use crate::environment;
use crate::failure::{Failure, Outcome};
use crate::usage;
use package::Package;

/// Licences that ask for no more than their text and the copyright lines.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Licences of single packages that we accept for tests, unchanged, and never ship.
const TEST_ONLY: &[(&str, &str)] = &[
    // Mozilla's WebDriver types, below the browser tests' client.
    ("webdriver", "MPL-2.0"),
];

/// Checks all dependencies, of every target and feature.
pub(crate) fn command(args: &[String]) -> Outcome {
    usage::no_arguments("licences", args)?;
    let all = tree(&["--workspace", "--edges", "all"])?;
    let shipped = tree(&["--package", "stateward", "--edges", "normal,build"])?;
    let lock = environment::workspace().join("Cargo.lock");
    let lock_text = fs::read_to_string(&lock).map_err(|e| Failure::file("read", &lock, &e))?;
    let complaint_of = |package| complaint(package, shipped.contains(package));
    let mut complaints: Vec<String> = all.iter().filter_map(complaint_of).collect();
    complaints.extend(package::foreign_sources(&lock_text));
    if all.is_empty() || shipped.is_empty() {
        return Err(Failure::unknown("cargo tree listed no package"));
    }
    if complaints.is_empty() {
        println!("{} packages: licences and sources are as allowed", all.len());
        return Ok(());
    }
    for complaint in &complaints {
        println!("{complaint}");
    }
    Err(Failure::no(format!("{} of {} packages are not as allowed", complaints.len(), all.len())))
}

fn tree(selection: &[&str]) -> Outcome<BTreeSet<Package>> {
    let mut command = environment::cargo()?;
    command
        .args(["tree", "--locked", "--all-features", "--target", "all", "--prefix", "none"])
        .args(["--format", package::TREE_FORMAT])
        .args(selection)
        .stderr(Stdio::inherit());
    let output = command.output().map_err(|e| Failure::unknown(format!("cargo tree: {e}")))?;
    if !output.status.success() {
        return Err(Failure::unknown(format!("cargo tree failed ({})", output.status)));
    }
    Ok(package::parse_tree(&String::from_utf8_lossy(&output.stdout)))
}

fn complaint(package: &Package, shipped: bool) -> Option<String> {
    let Package { name, version, licence } = package;
    if !shipped && TEST_ONLY.contains(&(name, licence)) {
        return None;
    }
    if licence.is_empty() {
        return Some(format!("{name} {version}: states no licence"));
    }
    match expression::is_satisfied(licence, ALLOWED) {
        Ok(true) => None,
        Ok(false) => Some(format!("{name} {version}: {licence} cannot be met by what we allow")),
        Err(problem) => Some(format!("{name} {version}: cannot read {licence:?}: {problem}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, licence: &str, shipped: bool) -> Option<String> {
        let package = Package {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            licence: licence.to_owned(),
        };
        complaint(&package, shipped)
    }

    #[test]
    fn complaints_name_the_package_and_the_reason() {
        assert_eq!(of("a", "MIT OR Apache-2.0", true), None);
        assert_eq!(of("a", "", true).unwrap(), "a 1.0.0: states no licence");
        let refused = "a 1.0.0: GPL-3.0 cannot be met by what we allow";
        assert_eq!(of("a", "GPL-3.0", false).unwrap(), refused);
        assert!(of("a", "MIT OR", true).unwrap().contains("cannot read"));
    }

    #[test]
    fn what_tests_may_use_may_not_be_shipped() {
        let (name, licence) = TEST_ONLY[0];
        assert_eq!(of(name, licence, false), None);
        assert!(of(name, licence, true).is_some());
        assert!(of("a", licence, false).is_some(), "an exception is for one package");
    }
}
