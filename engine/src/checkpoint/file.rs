//! The files of a checkpoint: digests, copies, verification, and mending from a copy.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::Xxh3;

use crate::durable;
use crate::error::Error;

/// Bytes that are read at once.
const CHUNK_BYTES: usize = 1 << 20;
/// Threads that verify files; more would only wait for the disk.
const VERIFIERS_MAX: usize = 4;

/// What a file was when the checkpoint was published.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileRecord {
    /// Path within the checkpoint.
    pub(crate) path: String,
    #[serde(flatten)]
    pub(crate) digest: Digest,
}

/// Length and hash of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Digest {
    pub(crate) bytes: u64,
    pub(crate) xxh3: u64,
}

impl Digest {
    /// Reads a whole file.
    pub(crate) fn of(path: &Path) -> Result<Self, Error> {
        read_chunks(path, |_| Ok(()))
    }
}

fn read_chunks(
    path: &Path,
    mut take: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<Digest, Error> {
    let mut file = File::open(path).map_err(Error::io("open", path))?;
    let (mut hash, mut bytes) = (Xxh3::new(), 0);
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let length = file.read(&mut chunk).map_err(Error::io("read", path))?;
        let Some(read) = chunk.get(..length).filter(|read| !read.is_empty()) else { break };
        hash.update(read);
        bytes += length as u64;
        take(read)?;
    }
    Ok(Digest { bytes, xxh3: hash.digest() })
}

/// Copies a file, synced, under a name that its folder's next sync makes durable.
pub(super) fn copy(from: &Path, to: &Path) -> Result<Digest, Error> {
    let mut out = File::create(to).map_err(Error::io("create", to))?;
    let digest = read_chunks(from, |chunk| out.write_all(chunk).map_err(Error::io("write", to)))?;
    out.sync_all().map_err(Error::io("sync", to))?;
    Ok(digest)
}

/// Puts a copy of `from` in the place of `to`, and makes that durable.
pub(super) fn replace_by_copy(from: &Path, to: &Path) -> Result<Digest, Error> {
    let new = to.with_extension("copy");
    let digest = copy(from, &new)?;
    durable::rename(&new, to)?;
    Ok(digest)
}

/// Hard-links the immutable files of a database, copies the others.
pub(super) fn clone_database(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to).map_err(Error::io("create", to))?;
    for entry in fs::read_dir(from).map_err(Error::io("list", from))? {
        let source = entry.map_err(Error::io("list", from))?.path();
        let Some(name) = source.file_name() else { continue };
        let target = to.join(name);
        if is_shared(&source) {
            fs::hard_link(&source, &target).map_err(Error::io("link", &target))?;
        } else {
            fs::copy(&source, &target).map_err(Error::io("copy", &target))?;
        }
    }
    Ok(())
}

/// Hard-links every file below a folder that nobody writes to any more into another one.
pub(crate) fn link_files(from: &Path, to: &Path) -> Result<(), Error> {
    for path in files_below(from)? {
        let target = to.join(&path);
        if let Some(folder) = target.parent() {
            fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        }
        fs::hard_link(from.join(&path), &target).map_err(Error::io("link", &target))?;
    }
    Ok(())
}

/// Tells whether a file is one that is never written again, and so is linked rather than copied.
pub(super) fn is_shared(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "sst")
}

/// Paths of all files below a folder, relative to it, sorted.
pub(super) fn files_below(dir: &Path) -> Result<Vec<String>, Error> {
    let (mut found, mut folders) = (Vec::new(), vec![dir.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(Error::io("list", &folder))? {
            let path = entry.map_err(Error::io("list", &folder))?.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Some(inside) = path.strip_prefix(dir).ok().and_then(Path::to_str) {
                found.push(inside.to_owned());
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Digests all files below a folder.
pub(crate) fn record_files(dir: &Path) -> Result<Vec<FileRecord>, Error> {
    let record = |path: String| {
        let digest = Digest::of(&dir.join(&path))?;
        Ok(FileRecord { path, digest })
    };
    files_below(dir)?.into_iter().map(record).collect()
}

/// A file that is not what it was.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) record: FileRecord,
    pub(super) error: Error,
}

/// Reads every file of a checkpoint and compares; several at a time.
pub(super) fn verify(dir: &Path, records: &[FileRecord]) -> Vec<Fault> {
    let (next, faults) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some(record) = records.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(error) = verify_one(&dir.join(&record.path), record.digest) {
                let fault = Fault { record: record.clone(), error };
                faults.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
            }
        }
    };
    let verifiers = std::thread::available_parallelism().map_or(1, usize::from).min(VERIFIERS_MAX);
    std::thread::scope(|scope| {
        for _ in 1..verifiers.min(records.len()) {
            scope.spawn(work);
        }
        work();
    });
    faults.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Compares one file with what it was.
pub(super) fn verify_one(path: &Path, was: Digest) -> Result<(), Error> {
    // a length costs one look, a hash the whole file
    let bytes = fs::metadata(path).map_err(Error::io("read", path))?.len();
    let is = if bytes == was.bytes { Digest::of(path)? } else { Digest { bytes, xxh3: 0 } };
    if is == was {
        return Ok(());
    }
    Err(Error::Damaged {
        path: path.to_path_buf(),
        offset: 0,
        detail: format!(
            "it is {} bytes with checksum {:016x}, and was {} bytes with {:016x}",
            is.bytes, is.xxh3, was.bytes, was.xxh3
        ),
    })
}

/// Mends a damaged file from one of these checkpoints that has a whole one of its own; returns the
/// one that it came from.
pub(super) fn mend<'a>(dir: &Path, fault: &Fault, from: &'a [PathBuf]) -> Option<&'a Path> {
    let target = dir.join(&fault.record.path);
    let whole = from.iter().find(|other| {
        let source = other.join(&fault.record.path);
        verify_one(&source, fault.record.digest).is_ok()
            && replace_by_copy(&source, &target).is_ok_and(|copied| copied == fault.record.digest)
    });
    whole.map(PathBuf::as_path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(dir: &Path, path: &str) -> FileRecord {
        FileRecord { path: path.into(), digest: Digest::of(&dir.join(path)).unwrap() }
    }

    /// §4.2: a flipped bit, a missing byte and a missing file are all seen, and only those.
    #[test]
    fn every_difference_is_a_fault() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["a", "b", "c", "d", "e"];
        for (n, name) in names.iter().enumerate() {
            fs::write(dir.path().join(name), vec![n as u8; CHUNK_BYTES + n]).unwrap();
        }
        let records: Vec<FileRecord> = names.iter().map(|name| record(dir.path(), name)).collect();
        assert!(verify(dir.path(), &records).is_empty());
        let mut flipped = fs::read(dir.path().join("b")).unwrap();
        flipped[CHUNK_BYTES] ^= 1;
        fs::write(dir.path().join("b"), flipped).unwrap();
        fs::write(dir.path().join("c"), [2; 7]).unwrap();
        fs::remove_file(dir.path().join("d")).unwrap();
        let faults = verify(dir.path(), &records);
        let mut paths: Vec<&str> = faults.iter().map(|fault| fault.record.path.as_str()).collect();
        paths.sort_unstable();
        assert_eq!(paths, ["b", "c", "d"]);
    }

    /// §4.2: what several checkpoints share is mended from a copy of its own, and from nothing else.
    #[test]
    fn a_damaged_file_is_mended_from_a_copy() {
        let dir = tempfile::tempdir().unwrap();
        let at = |n: &str| dir.path().join(n);
        for checkpoint in ["1", "2", "3"] {
            fs::create_dir(at(checkpoint)).unwrap();
        }
        fs::write(at("1").join("x.sst"), b"rows").unwrap();
        copy(&at("1").join("x.sst"), &at("2").join("x.sst")).unwrap();
        fs::hard_link(at("1").join("x.sst"), at("3").join("x.sst")).unwrap();
        let record = record(&at("3"), "x.sst");
        fs::write(at("1").join("x.sst"), b"rots").unwrap();
        let faults = verify(&at("3"), &[record]);
        let fault = faults.first().unwrap();
        assert_eq!(mend(&at("3"), fault, &[at("1")]), None);
        assert_eq!(mend(&at("3"), fault, &[at("1"), at("2")]), Some(at("2").as_path()));
        assert_eq!(fs::read(at("3").join("x.sst")).unwrap(), b"rows");
    }
}
