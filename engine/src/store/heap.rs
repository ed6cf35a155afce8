//! The heap backend: a sorted map, written out whole at every checkpoint.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::ops::Bound;
use std::path::Path;

use super::{Change, Dropping, SharedCutOff, StateStore};
use crate::codec::row_ts;
use crate::error::Error;

/// One state on the heap.
pub(crate) struct HeapStore {
    rows: BTreeMap<Box<[u8]>, Box<[u8]>>,
    bytes: u64,
    file_name: String,
    cut_off: SharedCutOff,
    /// Cut-off that the last [`StateStore::reclaim`] went by.
    reclaimed_to: i64,
}

impl HeapStore {
    pub(crate) fn new(state: &str, cut_off: SharedCutOff) -> Self {
        Self {
            rows: BTreeMap::new(),
            bytes: 0,
            file_name: format!("{state}.heap"),
            cut_off,
            reclaimed_to: i64::MIN,
        }
    }

    /// Loads what [`StateStore::snapshot`] wrote, if it is there.
    pub(crate) fn load(&mut self, dir: &Path) -> Result<(), Error> {
        let path = dir.join(&self.file_name);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
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
            self.put(key, row);
            rest = after;
        }
        Ok(())
    }

    fn put(&mut self, key: &[u8], row: &[u8]) {
        self.bytes += (key.len() + row.len()) as u64;
        if let Some(old) = self.rows.insert(key.into(), row.into()) {
            self.bytes -= (key.len() + old.len()) as u64;
        }
    }
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

    fn prefix(&self, prefix: &[u8], visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), Error> {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        for (key, row) in
            self.rows.range::<[u8], _>(from).take_while(|(key, _)| key.starts_with(prefix))
        {
            visit(key, row);
        }
        Ok(())
    }

    fn apply(&mut self, changes: &[Change<'_>]) -> Result<(), Error> {
        for (key, row) in changes {
            match row {
                Some(row) => self.put(key, row),
                None => {
                    if let Some(old) = self.rows.remove(*key) {
                        self.bytes -= (key.len() + old.len()) as u64;
                    }
                }
            }
        }
        Ok(())
    }

    fn disk_bytes(&self) -> u64 {
        self.bytes
    }

    fn snapshot(&self, dir: &Path) -> Result<(), Error> {
        let path = dir.join(&self.file_name);
        let file = File::create(&path).map_err(Error::io("create", &path))?;
        let mut out = BufWriter::new(file);
        let mut sum = crc32fast::Hasher::new();
        let mut write = |bytes: &[u8]| {
            sum.update(bytes);
            out.write_all(bytes)
        };
        let limit = self.cut_off.committed();
        for (key, row) in self.rows.iter().filter(|(_, row)| row_ts(row) > limit) {
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

    fn reclaim(&mut self) -> Result<(u64, u64), Error> {
        let limit = self.cut_off.committed();
        if limit <= self.reclaimed_to {
            return Ok((0, 0));
        }
        self.reclaimed_to = limit;
        let (mut dropping, mut bytes) = (Dropping::start(&self.cut_off), 0);
        self.rows.retain(|key, row| {
            let takes = dropping.takes(key, row);
            if takes {
                bytes += (key.len() + row.len()) as u64;
            }
            !takes
        });
        self.bytes -= bytes;
        Ok(dropping.so_far())
    }
}
