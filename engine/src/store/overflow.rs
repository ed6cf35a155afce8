//! Where uncommitted rows go when they fill a write cache: a scratch database that is merged on
//! read, moved to the store once committed, and thrown away at every start (SEMANTICS §4.2).
//!
//! Opening a database costs more than many epochs, so it stays open: what has been moved is one
//! generation, a key prefix, and goes by one range deletion.

use std::path::PathBuf;

use super::{Change, OwnedChange, RocksOptions, RocksStore, ShardDb, StateStore};
use crate::error::Error;

/// Bytes in front of an overflowed row: its epoch and whether there is a row.
const HEADER_BYTES: usize = 9;

/// Bytes in front of an overflowed row's key: its generation.
const GENERATION_BYTES: usize = 4;
/// Bytes that are copied on their way.
const COPIED_BYTES_MAX: usize = 256 << 10;
/// Generations after which the database is made anew, so that range deletions do not pile up.
const GENERATIONS_MAX: u32 = 256;

/// Called with each change until it has enough.
type Visitor<'a> = &'a mut dyn FnMut(&[u8], Option<&[u8]>) -> bool;
/// Called with each change.
type ChangeVisitor<'a> = &'a mut dyn FnMut(&[u8], Option<&[u8]>);

/// Called with each change until it says `false`.
type WhileVisitor<'a> = &'a mut dyn FnMut(&[u8], Option<&[u8]>) -> bool;

/// The overflow of one state on one shard; costs nothing until it is needed.
pub(crate) struct Overflow {
    path: PathBuf,
    options: RocksOptions,
    rows: Option<RocksStore>,
    generation: u32,
    count: u64,
    newest_epoch: u64,
}

impl Overflow {
    /// Names the scratch folder; removes what a former run left there.
    pub(crate) fn new(path: PathBuf, options: RocksOptions) -> Result<Self, Error> {
        match std::fs::remove_dir_all(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io("remove", &path)(e));
            }
            _ => {}
        }
        Ok(Self { path, options, rows: None, generation: 0, count: 0, newest_epoch: 0 })
    }

    /// Tells whether anything is here; point reads skip the overflow otherwise.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Newest epoch of a row in here.
    pub(crate) fn newest_epoch(&self) -> u64 {
        self.newest_epoch
    }

    pub(crate) fn put<'a>(
        &mut self,
        rows: impl Iterator<Item = (u64, &'a [u8], Option<&'a [u8]>)>,
    ) -> Result<(), Error> {
        // as many rows may come as the cache holds: they are not copied all at once
        let (mut framed, mut framed_bytes) = (Vec::new(), 0);
        for (epoch, key, row) in rows {
            let mut bytes = Vec::with_capacity(HEADER_BYTES + row.map_or(0, <[u8]>::len));
            bytes.extend_from_slice(&epoch.to_be_bytes());
            bytes.push(u8::from(row.is_some()));
            bytes.extend_from_slice(row.unwrap_or_default());
            self.newest_epoch = self.newest_epoch.max(epoch);
            framed_bytes += key.len() + bytes.len();
            framed.push((self.own_key(key), bytes));
            if framed_bytes >= COPIED_BYTES_MAX {
                framed_bytes = 0;
                self.write(&mut framed)?;
            }
        }
        self.write(&mut framed)
    }

    fn write(&mut self, framed: &mut Vec<(Vec<u8>, Vec<u8>)>) -> Result<(), Error> {
        framed.sort_unstable();
        let changes: Vec<Change<'_>> =
            framed.iter().map(|(key, row)| (key.as_slice(), Some(row.as_slice()))).collect();
        self.count += changes.len() as u64;
        self.open()?.apply(&changes)?;
        framed.clear();
        Ok(())
    }

    fn own_key(&self, key: &[u8]) -> Vec<u8> {
        let mut own = Vec::with_capacity(GENERATION_BYTES + key.len());
        own.extend_from_slice(&self.generation.to_be_bytes());
        own.extend_from_slice(key);
        own
    }

    fn open(&mut self) -> Result<&mut RocksStore, Error> {
        if self.rows.is_none() {
            std::fs::create_dir_all(&self.path).map_err(Error::io("create", &self.path))?;
            let families = [("overflow".to_owned(), None)];
            let db = ShardDb::open(&self.path, &self.options, &families)?;
            self.rows = Some(RocksStore::new(db, "overflow".into()));
        }
        self.rows.as_mut().ok_or(Error::Store {
            path: self.path.clone(),
            detail: "the overflow could not be opened".into(),
        })
    }

    /// `None`: nothing here; `Some(false)`: the key was removed; `Some(true)`: the row is copied.
    pub(crate) fn get(&self, key: &[u8], row: &mut Vec<u8>) -> Result<Option<bool>, Error> {
        let Some(rows) = self.rows.as_ref().filter(|_| !self.is_empty()) else { return Ok(None) };
        if !rows.get(&self.own_key(key), row)? {
            return Ok(None);
        }
        let present = row.get(HEADER_BYTES - 1) == Some(&1);
        row.drain(..HEADER_BYTES.min(row.len()));
        Ok(Some(present))
    }

    pub(crate) fn prefix(&self, prefix: &[u8], visit: ChangeVisitor<'_>) -> Result<(), Error> {
        self.scan(prefix, &mut |key, row| {
            let below = key.starts_with(prefix);
            if below {
                visit(key, row);
            }
            below
        })
    }

    /// Visits the changes from the row key `from` on, in key order, until `visit` says `false`.
    pub(crate) fn scan(&self, from: &[u8], visit: WhileVisitor<'_>) -> Result<(), Error> {
        let Some(rows) = self.rows.as_ref().filter(|_| !self.is_empty()) else { return Ok(()) };
        let generation = self.generation.to_be_bytes();
        rows.scan(&self.own_key(from), &mut |key, framed| {
            let Some(key) = key.strip_prefix(&generation) else { return false };
            let row = framed.split_at_checked(HEADER_BYTES);
            visit(key, row.and_then(|(head, row)| (head.last() == Some(&1)).then_some(row)))
        })
    }

    /// Visits changes from `from`, inclusive, to `to`, exclusive, until `visit` has enough.
    pub(crate) fn range(&self, from: &[u8], to: &[u8], visit: Visitor<'_>) -> Result<(), Error> {
        let Some(rows) = self.rows.as_ref().filter(|_| !self.is_empty()) else { return Ok(()) };
        rows.range(&self.own_key(from), &self.own_key(to), &mut |key, framed| {
            let row = framed.split_at_checked(HEADER_BYTES);
            let key = key.get(GENERATION_BYTES..).unwrap_or_default();
            visit(key, row.and_then(|(head, row)| (head.last() == Some(&1)).then_some(row)))
        })
    }

    /// Moves everything to `store`; call when [`Overflow::newest_epoch`] is committed.
    pub(crate) fn move_to(&mut self, store: &mut dyn StateStore) -> Result<(), Error> {
        if self.is_empty() {
            return Ok(());
        }
        let (mut all, mut bytes): (Vec<OwnedChange>, usize) = (Vec::new(), 0);
        let mut failed = Ok(());
        self.prefix(&[], &mut |key, row| {
            all.push((key.into(), row.map(<[u8]>::to_vec)));
            bytes += key.len() + row.map_or(0, <[u8]>::len);
            if bytes >= COPIED_BYTES_MAX {
                bytes = 0;
                let result = apply_all(store, &all);
                if failed.is_ok() {
                    failed = result;
                }
                all.clear();
            }
        })?;
        failed?;
        apply_all(store, &all)?;
        self.count = 0;
        self.begin_generation()
    }

    fn begin_generation(&mut self) -> Result<(), Error> {
        let former = self.generation.to_be_bytes();
        self.generation += 1;
        if self.generation < GENERATIONS_MAX
            && let Some(rows) = &mut self.rows
        {
            return rows.remove_range(&former, &self.generation.to_be_bytes());
        }
        self.generation = 0;
        self.rows = None;
        std::fs::remove_dir_all(&self.path).map_err(Error::io("remove", &self.path))
    }
}

fn apply_all(store: &mut dyn StateStore, rows: &[OwnedChange]) -> Result<(), Error> {
    let changes: Vec<Change<'_>> = rows.iter().map(|(key, row)| (&**key, row.as_deref())).collect();
    store.apply(&changes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::HeapStore;

    fn moved(store: &HeapStore) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut rows = Vec::new();
        store.prefix(&[], &mut |key, row| rows.push((key.to_vec(), row.to_vec()))).unwrap();
        rows
    }

    /// SEMANTICS §4.2: what overflowed is read first, moved once committed, and does not come back,
    /// however often this happens.
    #[test]
    fn generations_do_not_see_one_another() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("overflow");
        let options = RocksOptions::new(1 << 20, 1 << 16);
        let mut overflow = Overflow::new(path.clone(), options).unwrap();
        let mut store = HeapStore::default();
        let mut row = Vec::new();
        for round in 0..GENERATIONS_MAX + 2 {
            assert_eq!(overflow.get(b"a", &mut row).unwrap(), None, "round {round}");
            let text = round.to_be_bytes();
            let changes: [Change<'_>; 2] = [(b"b", None), (b"a", Some(&text))];
            let rows = changes.into_iter().map(|(key, row)| (u64::from(round), key, row));
            overflow.put(rows).unwrap();
            assert_eq!(overflow.get(b"a", &mut row).unwrap(), Some(true));
            assert_eq!(row, text);
            assert_eq!(overflow.get(b"b", &mut row).unwrap(), Some(false));
            let mut seen = Vec::new();
            overflow
                .prefix(b"a", &mut |key, row| seen.push((key.to_vec(), row.is_some())))
                .unwrap();
            assert_eq!(seen, [(b"a".to_vec(), true)]);
            overflow.move_to(&mut store).unwrap();
            assert_eq!(moved(&store), [(b"a".to_vec(), text.to_vec())]);
        }
    }
}
