//! Where the bytes of a file are: on disk, or within a checkpoint's metadata.

use std::fs;
use std::path::{Path, PathBuf};

use super::report::Unread;

/// Largest file that is held in memory: what is longer is no MANIFEST, log or head.
const BYTES_MAX: u64 = 1 << 30;

/// Where the bytes of a file are.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// On disk.
    Path(PathBuf),
    /// Within another file.
    Inline {
        /// What to call it.
        name: String,
        bytes: Vec<u8>,
    },
}

impl Place {
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Path(path) => fs::metadata(path).map_or(0, |meta| meta.len()),
            Self::Inline { bytes, .. } => bytes.len() as u64,
        }
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::Path(path) => path.display().to_string(),
            Self::Inline { name, .. } => format!("{name} (in _metadata)"),
        }
    }

    /// Says that it, or part of it, cannot be read.
    pub(super) fn unread(&self, why: impl Into<String>) -> Unread {
        Unread::new(self.name(), why)
    }

    /// Reads all of it; says so where that cannot be.
    pub(super) fn read(&self, unread: &mut Vec<Unread>) -> Vec<u8> {
        let read = match self {
            Self::Inline { bytes, .. } => Ok(bytes.clone()),
            Self::Path(_) if self.bytes() > BYTES_MAX => {
                Err(format!("has {} bytes, more than are read at once", self.bytes()))
            }
            Self::Path(path) => fs::read(path).map_err(|e| format!("cannot be read: {e}")),
        };
        read.unwrap_or_else(|why| {
            unread.push(self.unread(why));
            Vec::new()
        })
    }
}

/// What is in a folder, by name.
pub(super) fn list(dir: &Path) -> Result<Vec<PathBuf>, Unread> {
    let unread = |e: std::io::Error| Unread::new(dir, format!("cannot be listed: {e}"));
    let entries = fs::read_dir(dir).map_err(unread)?;
    let mut paths =
        entries.map(|entry| Ok(entry.map_err(unread)?.path())).collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    Ok(paths)
}
