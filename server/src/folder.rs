//! The data folder: `version`, `lock`, `token`, `control.db`, `series.db`. One process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use crate::auth::random_hex;

/// Version of everything in the folder that this build reads and writes.
const VERSION: &str = "1";
/// Shortest token that is taken from the file.
const TOKEN_LEN_MIN: usize = 32;

/// A locked data folder.
#[derive(Debug)]
pub(crate) struct DataFolder {
    /// Where it is.
    pub(crate) dir: PathBuf,
    /// The start token.
    pub(crate) token: String,
    _lock: File,
}

/// Why a data folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// Another process has it.
    #[error(
        "another stateward uses the data folder {}; stop it, or give another --data-dir",
        dir.display()
    )]
    Locked {
        /// The folder.
        dir: PathBuf,
    },
    /// Another version wrote it.
    #[error(
        "the data folder {} is of version {got:?}, and this stateward reads version {VERSION:?}; use \
         the stateward that wrote it, or give another --data-dir",
        dir.display()
    )]
    Version {
        /// The folder.
        dir: PathBuf,
        /// Version it has.
        got: String,
    },
    /// The token file is not a token.
    #[error(
        "the start token in {} is shorter than {TOKEN_LEN_MIN} characters; delete the file, and a new \
         one is made",
        path.display()
    )]
    Token {
        /// The file.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error(
        "cannot use {}: {source}; let this user write there and have some space free, or give \
         another --data-dir",
        path.display()
    )]
    Io {
        /// File or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl DataFolder {
    /// Makes or opens the folder, takes its lock, checks its version and reads its token.
    pub(crate) fn open(dir: &Path) -> Result<Self, FolderError> {
        let io = |path: &Path| {
            let path = path.to_path_buf();
            move |source| FolderError::Io { path, source }
        };
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(io(dir))?;
        let lock_path = dir.join("lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock_path)
            .map_err(io(&lock_path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(FolderError::Locked { dir: dir.to_path_buf() });
            }
            Err(TryLockError::Error(source)) => {
                return Err(FolderError::Io { path: lock_path, source });
            }
        }
        check_version(dir)?;
        let token = token(&dir.join("token"))?;
        Ok(Self { dir: dir.to_path_buf(), token, _lock: lock })
    }
}

fn check_version(dir: &Path) -> Result<(), FolderError> {
    let path = dir.join("version");
    let io = |source| FolderError::Io { path: path.clone(), source };
    let got = match std::fs::read_to_string(&path) {
        Ok(got) => got.trim().to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if dir.join("control.db").exists() {
                String::new()
            } else {
                write_new(&path, VERSION, 0o644).map_err(io)?;
                return Ok(());
            }
        }
        Err(error) => return Err(io(error)),
    };
    if got == VERSION {
        return Ok(());
    }
    Err(FolderError::Version { dir: dir.to_path_buf(), got })
}

/// Reads the token, and makes one where there is none; only the owner may read the file.
fn token(path: &Path) -> Result<String, FolderError> {
    let io = |source| FolderError::Io { path: path.to_path_buf(), source };
    match std::fs::read_to_string(path) {
        Ok(token) => {
            let only_owner = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(path, only_owner).map_err(io)?;
            let token = token.trim().to_owned();
            let clean = token.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
            if token.len() < TOKEN_LEN_MIN || !clean {
                return Err(FolderError::Token { path: path.to_path_buf() });
            }
            Ok(token)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let token = random_hex().map_err(io)?;
            write_new(path, &token, 0o600).map_err(io)?;
            Ok(token)
        }
        Err(error) => Err(io(error)),
    }
}

/// Writes a file that appears whole or not at all.
fn write_new(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let draft = path.with_extension("new");
    let mut file =
        OpenOptions::new().create(true).truncate(true).write(true).mode(mode).open(&draft)?;
    writeln!(file, "{text}")?;
    file.sync_all()?;
    std::fs::rename(&draft, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_process_is_told_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let first = DataFolder::open(dir.path()).unwrap();
        let error = DataFolder::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains(dir.path().to_str().unwrap()) && error.contains("--data-dir"));
        drop(first);
        DataFolder::open(dir.path()).unwrap();
    }

    #[test]
    fn another_version_is_named() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("version"), "7\n").unwrap();
        let error = DataFolder::open(dir.path()).unwrap_err().to_string();
        assert!(error.contains("version \"7\", and this stateward reads version \"1\""), "{error}");
    }

    /// DESIGN, Start token: kept in a 0600 file and stable.
    #[test]
    fn the_token_is_stable_and_private() {
        let dir = tempfile::tempdir().unwrap();
        let first = DataFolder::open(dir.path()).unwrap().token;
        let path = dir.path().join("token");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let second = DataFolder::open(dir.path()).unwrap().token;
        assert_eq!((first.len(), &first), (64, &second));
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&path, "short").unwrap();
        assert!(DataFolder::open(dir.path()).unwrap_err().to_string().contains("delete the file"));
    }
}
