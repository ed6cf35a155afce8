//! `cargo xtask web`: the pages compiled for the browser.
//!
//! The wasm and the program that packs it are built in a target folder of the cache, so that a
//! second clone finds their dependencies compiled. The bundle itself is part of the workspace:
//! `target/web/pkg`, where the server's build finds it. A stamp beside it holds a digest of
//! everything that it was made of.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::digest::digest;
use crate::environment;
use crate::failure::{Exit, Failure, Outcome};
use crate::step;
use crate::usage;

const WASM: &str = "wasm32-unknown-unknown";
/// What the bundle is made of.
const SOURCES: &[&str] = &[
    "web",
    "engine/model",
    "xtask/Cargo.toml",
    "xtask/src/pack",
    "xtask/src/web.rs",
    ".cargo/config.toml",
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain.toml",
];
/// What a finished bundle has.
const FILES: &[&str] = &["web.js", "web.js.br", "web_bg.wasm", "web_bg.wasm.br"];

/// Why there is no bundle as it should be.
enum Trouble {
    /// This machine cannot compile for the browser.
    NoTarget(String),
    /// It is there, but larger than allowed.
    TooLarge(Failure),
    /// The build failed.
    Failed(Failure),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// `cargo xtask web`.
pub(crate) fn command(args: &[String]) -> Outcome {
    usage::no_arguments("web", args)?;
    build().map_err(|trouble| match trouble {
        Trouble::NoTarget(why) => Failure::unknown(why),
        Trouble::TooLarge(failure) | Trouble::Failed(failure) => failure,
    })
}

/// Builds the bundle for tests. A machine that cannot make one is told how to do without the browser
/// tests: they need live pages, and would wait for them in vain.
pub(crate) fn build_for_test() -> Outcome {
    build().map_err(|trouble| match trouble {
        Trouble::NoTarget(why) => Failure::unknown(format!(
            "{why} The browser tests need it; `cargo xtask test --no-browser` leaves them out."
        )),
        Trouble::TooLarge(failure) | Trouble::Failed(failure) => failure,
    })
}

/// Builds the bundle for a person who wants to see the pages, however large it is.
pub(crate) fn build_for_demo() -> Outcome {
    match build() {
        Ok(()) | Err(Trouble::TooLarge(_)) => Ok(()),
        Err(Trouble::NoTarget(why)) => {
            eprintln!("      {why}");
            eprintln!("      Going on without: the pages are served and readable, but not live.");
            Ok(())
        }
        Err(Trouble::Failed(failure)) => Err(failure),
    }
}

fn build() -> Result<(), Trouble> {
    let bundle = environment::workspace().join("target/web");
    let digest = digest(&environment::workspace(), SOURCES)?;
    let complete = FILES.iter().all(|file| bundle.join("pkg").join(file).is_file());
    if complete && fs::read_to_string(bundle.join("stamp")).is_ok_and(|stamp| stamp == digest) {
        eprintln!("      up to date: {}", bundle.join("pkg").display());
        return Ok(());
    }
    // An old bundle would not fit the pages that the new server renders.
    remove(&bundle)?;
    provide_target()?;
    let target = environment::cache()?.join("wasm-target");
    compile(&target)?;
    let made = bundle.join("new");
    let size = match pack(&target, &made) {
        Ok(()) => Ok(()),
        Err(failure) if failure.exit == Exit::No => Err(Trouble::TooLarge(failure)),
        Err(failure) => return Err(failure.into()),
    };
    let pkg = bundle.join("pkg");
    fs::rename(&made, &pkg).map_err(|error| Failure::file("rename", &made, &error))?;
    // Without a stamp, a bundle that is too large is made and refused again.
    size?;
    let stamp = bundle.join("stamp");
    fs::write(&stamp, digest).map_err(|error| Failure::file("write", &stamp, &error))?;
    Ok(())
}

fn remove(folder: &Path) -> Outcome {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::file("remove", folder, &error))
        }
        _ => Ok(()),
    }
}

/// Makes sure that the compiler knows the browser's target.
fn provide_target() -> Result<(), Trouble> {
    if target_is_installed() {
        return Ok(());
    }
    eprintln!("      adding the compiler's target {WASM}");
    let added = Command::new("rustup")
        .args(["target", "add", WASM])
        .current_dir(environment::workspace())
        .stdout(Stdio::null())
        .status();
    if added.is_ok_and(|status| status.success()) && target_is_installed() {
        return Ok(());
    }
    Err(Trouble::NoTarget(format!(
        "The compiler has no target {WASM}, and `rustup target add {WASM}` did not bring it."
    )))
}

fn target_is_installed() -> bool {
    let asked = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", WASM])
        .current_dir(environment::workspace())
        .stderr(Stdio::null())
        .output();
    let folder = asked.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    folder.is_ok_and(|folder| !folder.is_empty() && Path::new(&folder).is_dir())
}

fn compile(target: &Path) -> Outcome {
    let mut command = environment::cargo()?;
    command
        .args(["build", "--package", "stateward-web", "--lib", "--profile", "web"])
        .args(["--no-default-features", "--features", "hydrate", "--target", WASM, "--target-dir"])
        .arg(target)
        .env(
            "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS",
            r#"--cfg getrandom_backend="wasm_js""#,
        );
    step::run(&mut command, "compiling the pages for the browser")
}

fn pack(target: &Path, out: &Path) -> Outcome {
    let wasm = target.join(WASM).join("web/stateward_web.wasm");
    let mut command = environment::cargo()?;
    // Compiled to be there soon; only the compressor must be fast, and it is generic: most of it is
    // compiled with the program.
    command
        .args(["run", "--package", "xtask", "--bin", "xtask-pack", "--features", "pack"])
        .args(["--config", "profile.dev.debug=false"])
        .args(["--config", "profile.dev.package.brotli.opt-level=3"])
        .args(["--config", "profile.dev.package.xtask.opt-level=3", "--target-dir"])
        .arg(target)
        .arg("--")
        .args([&wasm, out]);
    step::pass_through(&mut command, "packing the web bundle")
}
