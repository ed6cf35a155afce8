//! Which files belong together: a log and its rotated siblings, oldest first.

use std::cmp::Reverse;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The age of a rotated file by its name: larger sorts newer.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Age {
    /// `.N`: the larger, the older.
    Number(Reverse<u64>),
    /// `-20261130` or `.2026-11-30`: in order.
    Date(String),
}

/// The rotated siblings of `path`, oldest first, then `path` itself if it exists.
pub(super) fn siblings(path: &Path) -> io::Result<Vec<PathBuf>> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let mut rotated = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let found = entry.file_name();
        let age = found.to_str().and_then(|found| age(found.strip_prefix(name)?));
        if let Some(age) = age
            && entry.path().is_file()
        {
            rotated.push((age, entry.path()));
        }
    }
    rotated.sort();
    let mut paths = rotated.into_iter().map(|(_, path)| path).collect::<Vec<_>>();
    if path.is_file() {
        paths.push(path.to_path_buf());
    }
    Ok(paths)
}

fn age(suffix: &str) -> Option<Age> {
    let mut suffix = suffix;
    for compressed in [".gz", ".zst"] {
        suffix = suffix.strip_suffix(compressed).unwrap_or(suffix);
    }
    let rest = suffix.strip_prefix(['.', '-'])?;
    let digits = rest.chars().filter(char::is_ascii_digit).count();
    let only_date = rest.chars().all(|letter| letter.is_ascii_digit() || "-T_".contains(letter));
    match digits {
        1..=5 if digits == rest.len() => {
            rest.parse().ok().map(|number| Age::Number(Reverse(number)))
        }
        8.. if only_date => Some(Age::Date(rest.replace(['-', '_', 'T'], ""))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn siblings_come_oldest_first() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "auth.log",
            "auth.log.1",
            "auth.log.10.gz",
            "auth.log.2.gz",
            "auth.log.bak",
            "auth.log-20261129",
            "auth.log-20261128.zst",
            "other.log.1",
        ] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let found = siblings(&folder.path().join("auth.log")).unwrap();
        let names = found
            .iter()
            .map(|path| path.file_name().unwrap().to_str().unwrap())
            .collect::<Vec<_>>();
        assert_eq!(
            names,
            [
                "auth.log.10.gz",
                "auth.log.2.gz",
                "auth.log.1",
                "auth.log-20261128.zst",
                "auth.log-20261129",
                "auth.log"
            ]
        );
    }
}
