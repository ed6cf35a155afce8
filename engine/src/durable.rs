//! Files and folders that are still there after a power cut.
//!
//! POSIX promises a name only once the folder that it is in was synced, so whoever makes a file or a
//! folder that a commit relies on does it here (SEMANTICS §4.8).

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

use crate::error::Error;

/// Makes the names in a folder durable.
pub(crate) fn sync_dir(dir: &Path) -> Result<(), Error> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(Error::io("sync", dir))
}

/// Makes a folder, and those it is in, where they are missing.
pub(crate) fn make_dir(dir: &Path) -> Result<(), Error> {
    let around = dir.parent().filter(|around| !around.as_os_str().is_empty());
    match fs::create_dir(dir) {
        Ok(()) => sync_dir(around.unwrap_or(Path::new("."))),
        Err(_) if dir.is_dir() => Ok(()),
        Err(e) => match around {
            Some(around) if e.kind() == ErrorKind::NotFound => {
                make_dir(around)?;
                make_dir(dir)
            }
            _ => Err(Error::io("create", dir)(e)),
        },
    }
}

/// Makes an empty file, in the place of one that may be there.
pub(crate) fn make_file(path: &Path) -> Result<File, Error> {
    let file = OpenOptions::new().create(true).write(true).truncate(true).open(path);
    let file = file.map_err(Error::io("create", path))?;
    sync_parent(path)?;
    Ok(file)
}

/// Makes durable the name that a file or folder has.
pub(crate) fn sync_parent(path: &Path) -> Result<(), Error> {
    path.parent().map_or(Ok(()), sync_dir)
}

/// Writes a whole file whose name a later sync of its folder makes durable.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    File::create(path)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .map_err(Error::io("write", path))
}

/// Replaces a file so that it is the old or the new one whatever happens.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let new = path.with_extension("new");
    write_synced(&new, bytes)?;
    rename(&new, path)
}

/// Gives something a name that it keeps.
pub(crate) fn rename(from: &Path, to: &Path) -> Result<(), Error> {
    fs::rename(from, to).map_err(Error::io("rename to", to))?;
    sync_parent(to)
}
