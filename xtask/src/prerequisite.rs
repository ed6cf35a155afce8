//! What a machine must have besides Rust: found out, installed where we may, else named with the
//! command that installs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::environment;
use crate::failure::{Failure, Outcome};

/// One thing that must be there.
#[derive(Debug)]
pub(crate) struct Prerequisite {
    /// How people call it.
    name: &'static str,
    /// What cannot be done without it.
    purpose: &'static str,
    /// Whether it is there.
    present: fn() -> bool,
    /// Debian 12's packages.
    packages_bookworm: &'static [&'static str],
    /// The packages of other Debian-like systems.
    packages_other: &'static [&'static str],
    /// Whether the work can be done without it, only slower.
    optional: bool,
}

/// For every build.
pub(crate) const BUILD: &[&Prerequisite] = &[&COMPILER, &MAKE, &LIBCLANG, &CCACHE];
/// For the browser tests.
pub(crate) const BROWSER: &[&Prerequisite] = &[&CHROMIUM, &CHROMEDRIVER];

const COMPILER: Prerequisite = Prerequisite {
    name: "g++",
    purpose: "compiles RocksDB",
    present: || has("g++"),
    packages_bookworm: &["g++"],
    packages_other: &["g++"],
    optional: false,
};

const MAKE: Prerequisite = Prerequisite {
    name: "make",
    purpose: "builds C libraries",
    present: || has("make"),
    packages_bookworm: &["make"],
    packages_other: &["make"],
    optional: false,
};

const LIBCLANG: Prerequisite = Prerequisite {
    name: "libclang with its headers",
    purpose: "reads RocksDB's C interface",
    present: libclang_is_complete,
    packages_bookworm: &["libclang1-14", "libclang-common-14-dev"],
    packages_other: &["libclang-dev"],
    optional: false,
};

const CCACHE: Prerequisite = Prerequisite {
    name: "ccache",
    purpose: "makes the second build of RocksDB take a minute instead of a quarter of an hour",
    present: || has("ccache"),
    packages_bookworm: &["ccache"],
    packages_other: &["ccache"],
    optional: true,
};

const CHROMIUM: Prerequisite = Prerequisite {
    name: "chromium",
    purpose: "runs the browser tests",
    present: || has("chromium") || has("chromium-browser"),
    packages_bookworm: &["chromium"],
    packages_other: &["chromium"],
    optional: false,
};

const CHROMEDRIVER: Prerequisite = Prerequisite {
    name: "chromedriver",
    purpose: "drives chromium in the browser tests",
    present: || has("chromedriver"),
    packages_bookworm: &["chromium-driver"],
    packages_other: &["chromium-driver"],
    optional: false,
};

/// Sees to it that all of these are there, or says what a person must do.
pub(crate) fn ensure(wanted: &[&Prerequisite]) -> Outcome {
    let missing: Vec<_> = wanted.iter().copied().filter(|thing| !(thing.present)()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    for thing in &missing {
        eprintln!("      missing: {} ({})", thing.name, thing.purpose);
    }
    let packages = packages_of(&missing, &os_release());
    if environment::is_root() && has("apt-get") {
        eprintln!("      installing {}", packages.join(" "));
        install(&packages)?;
    }
    let still: Vec<_> = missing.into_iter().filter(|thing| !(thing.present)()).collect();
    if still.iter().all(|thing| thing.optional) {
        for thing in &still {
            eprintln!("      going on without {}", thing.name);
        }
        return Ok(());
    }
    Err(Failure::unknown(advice(&still, &packages)))
}

/// Whether all of these are there.
pub(crate) fn has(program: &str) -> bool {
    environment::find_program(program).is_some()
}

fn packages_of(missing: &[&Prerequisite], os_release: &str) -> Vec<&'static str> {
    let bookworm = os_release.lines().any(|line| line == "VERSION_CODENAME=bookworm");
    let of = |thing: &&Prerequisite| {
        if bookworm { thing.packages_bookworm } else { thing.packages_other }
    };
    missing.iter().flat_map(of).copied().collect()
}

fn advice(missing: &[&Prerequisite], packages: &[&str]) -> String {
    let names: Vec<_> = missing.iter().map(|thing| thing.name).collect();
    format!(
        "{} missing. On Debian or Ubuntu this installs it:\n\n    sudo apt-get update && sudo apt-get install -y {}\n\nElsewhere install the packages of the same purpose, then run the command again.",
        names.join(", "),
        packages.join(" "),
    )
}

fn install(packages: &[&str]) -> Outcome {
    // A new machine has no package lists, an old one has stale ones.
    apt_get(&["update", "-qq"])?;
    let mut install = vec!["install", "-y", "-qq", "--no-install-recommends"];
    install.extend(packages);
    apt_get(&install)
}

fn apt_get(args: &[&str]) -> Outcome {
    let mut command = Command::new("apt-get");
    command.env("DEBIAN_FRONTEND", "noninteractive").args(args);
    let what = format!("apt-get {}", args.join(" "));
    let output = command.output().map_err(|e| Failure::unknown(format!("{what}: {e}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::unknown(format!("{what} failed ({}):\n{}", output.status, said.trim_end())))
}

fn os_release() -> String {
    fs::read_to_string("/etc/os-release").unwrap_or_default()
}

/// The library alone is not enough: the headers that a compiler brings (`stdbool.h`) are needed.
fn libclang_is_complete() -> bool {
    let library = if std::env::var_os("LIBCLANG_PATH").is_some() {
        true
    } else {
        let mut folders =
            vec![PathBuf::from("/usr/lib"), "/usr/lib64".into(), "/usr/local/lib".into()];
        folders.push(format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH).into());
        folders.extend(children("/usr/lib", "llvm").map(|llvm| llvm.join("lib")));
        folders.iter().any(|folder| children(folder, "libclang").any(|file| is_libclang(&file)))
    };
    library && has_compiler_headers()
}

fn has_compiler_headers() -> bool {
    let mut roots = vec![PathBuf::from("/usr/lib/clang"), "/usr/lib64/clang".into()];
    roots.extend(children("/usr/lib", "llvm").map(|llvm| llvm.join("lib/clang")));
    roots
        .iter()
        .any(|root| children(root, "").any(|version| version.join("include/stdbool.h").is_file()))
}

fn is_libclang(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    name.strip_prefix("libclang")
        .is_some_and(|rest| rest.contains(".so") && !rest.starts_with("-cpp"))
}

fn children(folder: impl AsRef<Path>, prefix: &str) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(move |entry| entry.file_name().to_string_lossy().starts_with(prefix))
        .map(|entry| entry.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_names_follow_the_system() {
        let missing = [&LIBCLANG, &CHROMEDRIVER];
        assert_eq!(
            packages_of(&missing, "ID=debian\nVERSION_CODENAME=bookworm\n"),
            ["libclang1-14", "libclang-common-14-dev", "chromium-driver"]
        );
        assert_eq!(packages_of(&missing, "ID=ubuntu\n"), ["libclang-dev", "chromium-driver"]);
    }

    #[test]
    fn advice_names_what_is_missing_and_the_command() {
        let text = advice(&[&COMPILER, &CCACHE], &["g++", "ccache"]);
        assert!(text.starts_with("g++, ccache missing."), "{text}");
        assert!(text.contains("apt-get install -y g++ ccache"), "{text}");
    }

    #[test]
    fn the_library_is_told_from_its_cousins() {
        for (name, is) in [
            ("libclang-14.so.1", true),
            ("libclang.so", true),
            ("libclang-cpp.so.14", false),
            ("libclangBasic.a", false),
        ] {
            assert_eq!(is_libclang(Path::new(name)), is, "{name}");
        }
    }
}
