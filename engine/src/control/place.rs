//! Where the socket is, and how to name it where its path is too long for the system.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Name of the socket in a job's folder.
pub(super) const SOCKET: &str = "control.sock";
/// Longest path that a socket's address has room for everywhere.
const PATH_BYTES_MAX: usize = 100;

/// A name for something in a folder that is short enough for a socket's address.
pub(super) struct ShortPath {
    path: PathBuf,
    /// Keeps the short name valid.
    _folder: Option<File>,
}

impl ShortPath {
    pub(super) fn of(folder: &Path, name: &str) -> Result<Self, Error> {
        let path = folder.join(name);
        if path.as_os_str().len() <= PATH_BYTES_MAX {
            return Ok(Self { path, _folder: None });
        }
        let opened = File::open(folder).map_err(Error::io("open", folder))?;
        let path = PathBuf::from(format!("/proc/self/fd/{}/{name}", opened.as_raw_fd()));
        Ok(Self { path, _folder: Some(opened) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
