//! Where things are, and what `cargo` is started with.
//!
//! Caches live outside the clone, so that a second clone is quick. The compiler cache is put in
//! front of `cc` and `c++` through `PATH`, not through `CC` and `CXX`: build scripts run again
//! when those change, and a plain `cargo build` after `cargo xtask test` would compile RocksDB
//! anew. Whoever sets `CC` or `CXX` themselves is left alone.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Failure, Outcome};
use crate::prerequisite;
use crate::usage;

/// The folder of the workspace.
pub(crate) fn workspace() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// The folder that cargo builds into: the one that this program was built into.
pub(crate) fn target() -> PathBuf {
    let own = std::env::current_exe().ok();
    let target = own.as_deref().and_then(Path::parent).and_then(Path::parent);
    target.map_or_else(|| workspace().join("target"), Path::to_owned)
}

/// The folder that outlives a clone.
pub(crate) fn cache() -> Outcome<PathBuf> {
    cache_from(|name| std::env::var_os(name).filter(|value| !value.is_empty())).ok_or_else(|| {
        Failure::unknown(
            "neither STATEWARD_CACHE, XDG_CACHE_HOME nor HOME is set; one must say where caches go",
        )
    })
}

fn cache_from(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    variable("STATEWARD_CACHE")
        .map(PathBuf::from)
        .or_else(|| variable("XDG_CACHE_HOME").map(|dir| Path::new(&dir).join("stateward")))
        .or_else(|| variable("HOME").map(|dir| Path::new(&dir).join(".cache/stateward")))
}

/// A path to a program in `PATH`.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// Whether this process may install packages.
pub(crate) fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// `cargo`, in the workspace, with the project's caches.
pub(crate) fn cargo() -> Outcome<Command> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(workspace());
    // `cargo run` describes this package to us; a nested cargo must not take it for its own.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command.envs(compiler_cache()?);
    Ok(command)
}

/// The variables that put `ccache` in front of the compilers; none where it is missing.
fn compiler_cache() -> Outcome<Vec<(&'static str, OsString)>> {
    if find_program("ccache").is_none() {
        return Ok(Vec::new());
    }
    let cache = cache()?;
    let mut variables = Vec::new();
    if std::env::var_os("CCACHE_DIR").is_none() {
        variables.push(("CCACHE_DIR", cache.join("ccache").into_os_string()));
    }
    if std::env::var_os("CC").is_none() && std::env::var_os("CXX").is_none() {
        let shims = cache.join("bin");
        write_shim(&shims, "cc", "gcc")?;
        write_shim(&shims, "c++", "g++")?;
        variables.push(("PATH", path_with(&shims)?));
    }
    Ok(variables)
}

fn path_with(first: &Path) -> Outcome<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let others = std::env::split_paths(&path).filter(|dir| dir != first);
    std::env::join_paths(std::iter::once(first.to_owned()).chain(others)).map_err(|error| {
        Failure::unknown(format!("cannot put {} into PATH: {error}", first.display()))
    })
}

fn write_shim(dir: &Path, name: &str, compiler: &str) -> Outcome {
    let path = dir.join(name);
    let script = format!("#!/bin/sh\nexec ccache {compiler} \"$@\"\n");
    if fs::read_to_string(&path).is_ok_and(|found| found == script) {
        return Ok(());
    }
    fs::create_dir_all(dir).map_err(|error| Failure::file("create", dir, &error))?;
    // Two processes may be here at once: each writes its own file, the rename is atomic.
    let draft = dir.join(format!("{name}.{}", std::process::id()));
    let written = fs::write(&draft, script)
        .and_then(|()| fs::set_permissions(&draft, fs::Permissions::from_mode(0o755)))
        .and_then(|()| fs::rename(&draft, &path));
    written.map_err(|error| Failure::file("write", &path, &error))
}

/// `cargo xtask env`: installs what a build needs and prints the exports.
pub(crate) fn command(args: &[String]) -> Outcome {
    usage::no_arguments("env", args)?;
    prerequisite::ensure(prerequisite::BUILD)?;
    for (name, value) in compiler_cache()? {
        println!("export {name}={}", quoted(&value.to_string_lossy()));
    }
    Ok(())
}

/// The text as one word of a POSIX shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_go_where_the_most_special_variable_says() {
        let from = |set: &[(&str, &str)]| {
            cache_from(|name| set.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v)))
        };
        let all = [("HOME", "/h"), ("XDG_CACHE_HOME", "/x"), ("STATEWARD_CACHE", "/s")];
        assert_eq!(from(&all), Some("/s".into()));
        assert_eq!(from(&all[..2]), Some("/x/stateward".into()));
        assert_eq!(from(&all[..1]), Some("/h/.cache/stateward".into()));
        assert_eq!(from(&[]), None);
    }

    #[test]
    fn exports_survive_a_shell() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
