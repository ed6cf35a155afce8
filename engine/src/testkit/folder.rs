//! A folder that is gone with the test.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::Error;

/// Where the system keeps files in memory, if it does.
const IN_MEMORY: &str = "/dev/shm";

/// A folder of its own, removed when it is dropped.
#[derive(Debug)]
pub(super) struct ScratchFolder {
    path: PathBuf,
}

impl ScratchFolder {
    pub(super) fn new() -> Result<Self, Error> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let name = format!(
            "stateward-test-{}-{}",
            std::process::id(),
            MADE.fetch_add(1, Ordering::Relaxed)
        );
        let in_memory = Path::new(IN_MEMORY).join(&name);
        if fs::create_dir(&in_memory).is_ok() {
            return Ok(Self { path: in_memory });
        }
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).map_err(Error::io("create", &path))?;
        Ok(Self { path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        if let Err(e) = fs::remove_dir_all(&self.path) {
            tracing::warn!("{} is left behind: {e}", self.path.display());
        }
    }
}
