//! The heap backend on disk: every row of a state in one file, written whole at every checkpoint.
//!
//! While the job runs, the rows are in the write cache, which then never evicts; see
//! [`WriteCache::resident`](super::WriteCache::resident).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::ops::Bound;
use std::path::{Path, PathBuf};

use super::{Change, StateStore};
use crate::error::Error;

/// Rows of a state between a checkpoint and the cache: as loaded, brought up to date by the log.
#[derive(Debug, Default)]
pub(crate) struct HeapStore {
    rows: BTreeMap<Box<[u8]>, Box<[u8]>>,
}

fn file(dir: &Path, state: &str) -> PathBuf {
    dir.join(format!("{state}.heap"))
}

impl HeapStore {
    /// Loads what [`save`] wrote, if it is there.
    pub(crate) fn load(dir: &Path, state: &str) -> Result<Self, Error> {
        let path = file(dir, state);
        let mut loaded = Self::default();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(loaded),
            Err(e) => return Err(Error::io("open", &path)(e)),
        };
        let mut bytes = Vec::new();
        BufReader::new(file).read_to_end(&mut bytes).map_err(Error::io("read", &path))?;
        let damaged = |offset: usize| {
            Error::Damaged {
            path: path.clone(),
            offset: offset as u64,
            detail: "the snapshot of a heap state ends or contradicts its checksum; restore an older checkpoint".into(),
        }
        };
        let (body, sum) =
            bytes.split_at_checked(bytes.len().saturating_sub(4)).ok_or_else(|| damaged(0))?;
        if sum != crc32fast::hash(body).to_be_bytes() {
            return Err(damaged(body.len()));
        }
        let mut rest = body;
        while !rest.is_empty() {
            let at = body.len() - rest.len();
            let (key, after) = take(rest).ok_or_else(|| damaged(at))?;
            let (row, after) = take(after).ok_or_else(|| damaged(at))?;
            loaded.rows.insert(key.into(), row.into());
            rest = after;
        }
        Ok(loaded)
    }

    /// All rows, in key order.
    pub(crate) fn into_rows(self) -> impl Iterator<Item = (Box<[u8]>, Box<[u8]>)> {
        self.rows.into_iter()
    }
}

/// Writes a state's rows into a checkpoint's folder.
pub(crate) fn save<'a>(
    dir: &Path,
    state: &str,
    rows: impl Iterator<Item = (&'a [u8], &'a [u8])>,
) -> Result<(), Error> {
    let path = file(dir, state);
    let mut out = BufWriter::new(File::create(&path).map_err(Error::io("create", &path))?);
    let mut sum = crc32fast::Hasher::new();
    let mut write = |bytes: &[u8]| {
        sum.update(bytes);
        out.write_all(bytes)
    };
    for (key, row) in rows {
        write(&(key.len() as u32).to_be_bytes())
            .and_then(|()| write(key))
            .and_then(|()| write(&(row.len() as u32).to_be_bytes()))
            .and_then(|()| write(row))
            .map_err(Error::io("write", &path))?;
    }
    out.write_all(&sum.finalize().to_be_bytes())
        .and_then(|()| out.into_inner().map_err(std::io::IntoInnerError::into_error))
        .and_then(|file| file.sync_all())
        .map_err(Error::io("write", &path))
}

fn take(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_be_bytes(*length) as usize)
}

impl StateStore for HeapStore {
    fn get(&self, key: &[u8], row: &mut Vec<u8>) -> Result<bool, Error> {
        row.clear();
        let found = self.rows.get(key);
        if let Some(found) = found {
            row.extend_from_slice(found);
        }
        Ok(found.is_some())
    }

    fn scan(&self, from: &[u8], visit: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Result<(), Error> {
        let from = (Bound::Included(from), Bound::Unbounded);
        for (key, row) in self.rows.range::<[u8], _>(from) {
            if !visit(key, row) {
                break;
            }
        }
        Ok(())
    }

    fn apply(&mut self, changes: &[Change<'_>]) -> Result<(), Error> {
        for (key, row) in changes {
            match row {
                Some(row) => drop(self.rows.insert((*key).into(), (*row).into())),
                None => drop(self.rows.remove(*key)),
            }
        }
        Ok(())
    }

    fn disk_bytes(&self) -> u64 {
        0
    }
}
