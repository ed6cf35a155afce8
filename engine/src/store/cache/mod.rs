//! The write cache: a bounded overlay in front of one state's store.
//!
//! 1. Every access goes through a slot; a miss loads the row (or its absence) from the store.
//! 2. Writes of one key merge in its slot. At a barrier the changed slots are appended to the
//!    changelog, once each.
//! 3. A slot's row reaches the store only when its epoch is committed *and* the slot is evicted or
//!    a checkpoint needs it (SEMANTICS §4.2).
//! 4. Once a third of it is uncommitted it asks for a commit. When only uncommitted slots are left all
//!    the same, [`WriteCache::make_room`] says so and the table moves them to the
//!    [`Overflow`](super::Overflow), so that a full cache never waits for a barrier.
//!
//! A state on the heap has no store: its cache is never full, and what it holds is all there is.
//!
//! Values need point access only: a hash table over a slab. States with many rows per key also keep
//! the keys sorted, so that an iteration can merge the overlay with the store.

mod scan;
mod leave;

use std::collections::BTreeMap;
use std::ops::Bound;

use super::slots::{Slot, Slots};

use super::{HeapStore, Overflow, OwnedRow, StateStore};
use crate::codec::set_row_ts;
use crate::error::Error;

pub(crate) use scan::Scanned;

/// Slots whose lines are fetched side by side.
const SLOTS_AT_ONCE: usize = 32;
/// Slots that a turn of [`WriteCache::reclaim`] looks at.
const SLOTS_A_TURN: usize = 16_384;

/// Where rows rest that are not cached.
struct Rest {
    store: Box<dyn StateStore>,
    overflow: Overflow,
}

/// A row key that changed in an epoch, and what it has now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Changed<'a> {
    /// What the row key goes by.
    pub(crate) hash: u64,
    pub(crate) key: &'a [u8],
    pub(crate) row: Option<&'a [u8]>,
    /// How often.
    pub(crate) changes: u64,
}

/// The overlay of one state on one shard.
pub(crate) struct WriteCache {
    slots: Slots,
    sorted: Option<BTreeMap<Box<[u8]>, u32>>,
    /// Slots changed in the current epoch, each once.
    changed: Vec<u32>,
    /// Bytes of these slots when they were first changed.
    changed_bytes: usize,
    /// Slots whose count of changes was full, once for each time.
    counted_full: Vec<u32>,
    bytes: usize,
    bytes_max: usize,
    /// Bytes of keys and rows, of those that have a row.
    content_bytes: u64,
    hand: usize,
    /// `None`: nowhere, all are cached.
    rest: Option<Rest>,
    scratch: Vec<u8>,
}

impl WriteCache {
    /// Makes an overlay of at most `bytes_max` bytes; `sorted` for states that are iterated.
    pub(crate) fn new(
        store: Box<dyn StateStore>,
        overflow: Overflow,
        bytes_max: usize,
        sorted: bool,
    ) -> Self {
        Self {
            slots: Slots::default(),
            sorted: sorted.then(BTreeMap::new),
            changed: Vec::new(),
            changed_bytes: 0,
            counted_full: Vec::new(),
            bytes: 0,
            bytes_max,
            content_bytes: 0,
            hand: 0,
            rest: Some(Rest { store, overflow }),
            scratch: Vec::new(),
        }
    }

    /// Makes an overlay that holds all there is, at first these rows.
    pub(crate) fn resident(rows: HeapStore, hash_of: impl Fn(&[u8]) -> u64, sorted: bool) -> Self {
        let mut cache = Self {
            slots: Slots::default(),
            sorted: sorted.then(BTreeMap::new),
            changed: Vec::new(),
            changed_bytes: 0,
            counted_full: Vec::new(),
            bytes: 0,
            bytes_max: usize::MAX,
            content_bytes: 0,
            hand: 0,
            rest: None,
            scratch: Vec::new(),
        };
        for (key, row) in rows.into_rows() {
            cache.insert(hash_of(&key), &key, Some(&row));
        }
        cache
    }

    /// Bytes of the state's live SST files; on the heap, of its keys and rows.
    pub(crate) fn disk_bytes(&self) -> u64 {
        self.rest.as_ref().map_or(self.content_bytes, |rest| rest.store.disk_bytes())
    }

    /// Bytes held in memory.
    pub(crate) fn resident_bytes(&self) -> usize {
        self.bytes
    }

    /// Bounds an overlay anew; what is over it goes at the next access. One that holds all there is has
    /// none.
    pub(crate) fn set_bytes_max(&mut self, bytes_max: usize) {
        if self.rest.is_some() {
            self.bytes_max = bytes_max;
        }
    }

    pub(crate) fn l0_files(&self) -> u64 {
        self.rest.as_ref().map_or(0, |rest| rest.store.l0_files())
    }

    /// Tells whether the overlay is over its bound.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.bytes > self.bytes_max
    }

    /// Tells whether so much is uncommitted that the epoch should end early.
    #[inline]
    pub(crate) fn wants_commit(&self) -> bool {
        // a third, because as much again may be on its way to the disk
        self.changed_bytes > self.bytes_max / 3
    }

    /// Fetches the lines of a batch's keys; see [`Slots::warm`].
    #[inline]
    pub(crate) fn warm(&mut self, hashes: impl Iterator<Item = u64>) {
        self.slots.warm(hashes);
    }

    /// The warmed batch's `n`th event is next.
    #[inline]
    pub(crate) fn expect(&mut self, n: usize) {
        self.slots.expect(n);
    }

    /// Returns the slot of a cached key or loads it.
    #[inline]
    pub(crate) fn locate(&mut self, hash: u64, key: &[u8]) -> Result<u32, Error> {
        match self.slots.find(hash, key) {
            Some(at) => Ok(at),
            None => self.load(hash, key),
        }
    }

    fn load(&mut self, hash: u64, key: &[u8]) -> Result<u32, Error> {
        let Some(rest) = &self.rest else { return Ok(self.insert(hash, key, None)) };
        let mut row = std::mem::take(&mut self.scratch);
        let present = match rest.overflow.get(key, &mut row)? {
            Some(present) => present,
            None => rest.store.get(key, &mut row)?,
        };
        let at = self.insert(hash, key, present.then_some(row.as_slice()));
        self.scratch = row;
        Ok(at)
    }

    /// Makes a slot for a key that has no row anywhere, without asking the store.
    pub(crate) fn insert_absent(&mut self, hash: u64, key: &[u8]) -> u32 {
        self.insert(hash, key, None)
    }

    fn insert(&mut self, hash: u64, key: &[u8], row: Option<&[u8]>) -> u32 {
        let at = self.slots.insert(hash, key, row);
        if let Some(slot) = self.slots.get(at) {
            self.bytes += slot.bytes();
            self.content_bytes += slot.content_bytes();
        }
        if let Some(sorted) = &mut self.sorted {
            let former = sorted.insert(key.into(), at);
            debug_assert!(former.is_none(), "a key has two slots");
        }
        at
    }

    /// The row in a slot, if its key has one.
    #[inline]
    pub(crate) fn row(&self, at: u32) -> Option<&[u8]> {
        self.slots.get(at).and_then(Slot::row)
    }

    /// The row key and its hash of a slot.
    #[inline]
    pub(crate) fn key(&self, at: u32) -> (&[u8], u64) {
        self.slots.get(at).map_or((&[], 0), |slot| (slot.key(), slot.hash()))
    }

    /// Gives the key of a slot a row, or takes it away, in `epoch`.
    #[inline]
    pub(crate) fn set_row(&mut self, at: u32, epoch: u64, row: Option<&[u8]>) {
        self.change(at, epoch, |slot| slot.set_row(row));
    }

    /// Stamps the row in a slot anew, in `epoch`.
    #[inline]
    pub(crate) fn stamp(&mut self, at: u32, epoch: u64, ts: i64) {
        self.change(at, epoch, |slot| set_row_ts(slot.row_mut(), ts));
    }

    #[inline]
    fn change(&mut self, at: u32, epoch: u64, change: impl FnOnce(&mut Slot)) {
        let Some(slot) = self.slots.get_mut(at) else { return };
        let (before, content_before) = (slot.bytes(), slot.content_bytes());
        change(slot);
        if slot.changes == u16::MAX {
            slot.changes = 0;
            self.counted_full.push(at);
        }
        slot.changes += 1;
        if slot.changed_in != epoch {
            slot.changed_in = epoch;
            self.changed.push(at);
            self.changed_bytes += slot.bytes();
        }
        self.bytes = self.bytes + slot.bytes() - before;
        self.content_bytes = self.content_bytes + slot.content_bytes() - content_before;
    }

    /// Changes of a slot were taken back, and so were none.
    pub(crate) fn discount(&mut self, at: u32, changes: u16) {
        if let Some(slot) = self.slots.get_mut(at) {
            slot.changes = slot.changes.saturating_sub(changes);
        }
    }

    /// Visits what changed in the current epoch, once per key, and begins the next one.
    pub(crate) fn drain_changes(&mut self, mut visit: impl FnMut(Changed<'_>)) {
        self.changed_bytes = 0;
        for some in self.changed.chunks(SLOTS_AT_ONCE) {
            self.slots.touch(some);
            for at in some {
                let Some(slot) = self.slots.get_mut(*at) else { continue };
                let full = self.counted_full.iter().filter(|full| *full == at).count() as u64;
                let changes = u64::from(std::mem::take(&mut slot.changes));
                visit(Changed {
                    hash: slot.hash(),
                    key: slot.key(),
                    row: slot.row(),
                    changes: changes + full * u64::from(u16::MAX),
                });
            }
        }
        self.counted_full.clear();
        self.changed.clear();
    }

    /// Evicts until the overlay is well below its bound; `false` where uncommitted slots are in
    /// the way. Slots whose epoch is above `committed` stay. Going on with the little that could
    /// be evicted would search all slots again at the next access, so that is `false` too.
    pub(crate) fn make_room(&mut self, committed: u64) -> Result<bool, Error> {
        let target = self.bytes_max - self.bytes_max / 8;
        let mut victims: Vec<u32> = Vec::new();
        let mut bytes = self.bytes;
        let mut steps = self.slots.len() * 2;
        while bytes > target && steps > 0 {
            steps -= 1;
            self.hand = if self.hand + 1 >= self.slots.len() { 0 } else { self.hand + 1 };
            let Some(slot) = self.slots.get_mut(self.hand as u32) else { break };
            if slot.is_free() || slot.changed_in > committed {
                continue;
            }
            if slot.is_used {
                slot.is_used = false;
                continue;
            }
            bytes -= slot.bytes();
            // marks the slot as taken, so that a second round does not count it twice
            slot.is_used = true;
            victims.push(self.hand as u32);
        }
        self.write_out(&victims)?;
        for at in victims {
            self.forget(at);
        }
        Ok(self.bytes <= target)
    }

    /// What a restart would find: the store's rows, or all there are.
    #[cfg(test)]
    pub(crate) fn stored_rows(&self) -> Result<Vec<OwnedRow>, Error> {
        let mut rows = Vec::new();
        if let Some(rest) = &self.rest {
            rest.store.prefix(&[], &mut |key, row| rows.push((key.into(), row.to_vec())))?;
        } else {
            let slots = self.slots.iter().map(|(_, slot)| slot);
            rows.extend(slots.filter_map(|s| Some((s.key().into(), s.row()?.to_vec()))));
        }
        Ok(rows)
    }

    fn forget(&mut self, at: u32) {
        let slot = self.slots.forget(at);
        if slot.is_free() {
            return;
        }
        self.bytes -= slot.bytes();
        self.content_bytes -= slot.content_bytes();
        if let Some(sorted) = &mut self.sorted {
            sorted.remove(slot.key());
        }
    }

    /// Collects the rows below `prefix`: store, then overflow, then overlay, the later over the
    /// earlier.
    pub(crate) fn prefix(&self, prefix: &[u8]) -> Result<Vec<OwnedRow>, Error> {
        let mut rows: BTreeMap<Box<[u8]>, Option<Vec<u8>>> = BTreeMap::new();
        if let Some(Rest { store, overflow }) = &self.rest {
            store.prefix(prefix, &mut |key, row| {
                rows.insert(key.into(), Some(row.to_vec()));
            })?;
            overflow.prefix(prefix, &mut |key, row| {
                rows.insert(key.into(), row.map(<[u8]>::to_vec));
            })?;
        }
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let cached = self.sorted.iter().flat_map(|sorted| sorted.range::<[u8], _>(from));
        for (key, at) in cached.take_while(|(key, _)| key.starts_with(prefix)) {
            rows.insert(key.clone(), self.row(*at).map(<[u8]>::to_vec));
        }
        Ok(rows.into_iter().filter_map(|(key, row)| Some((key, row?))).collect())
    }
}

/// A key's first bytes, which sort as it does.
fn leading(key: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    let length = key.len().min(bytes.len());
    if let (Some(into), Some(from)) = (bytes.get_mut(..length), key.get(..length)) {
        into.copy_from_slice(from);
    }
    u128::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::RocksOptions;

    fn write(cache: &mut WriteCache, key: u32, epoch: u64) {
        let key = key.to_be_bytes();
        let at = cache.locate(stateward_model::key_hash(&key), &key).unwrap();
        cache.set_row(at, epoch, Some(&[7; 64]));
    }

    /// SEMANTICS §4.2: the epoch is asked to end before the overflow is needed, and once it is
    /// needed, room is made for many accesses at once.
    #[test]
    fn a_commit_is_wanted_before_the_cache_is_full() {
        let dir = tempfile::tempdir().unwrap();
        let overflow =
            Overflow::new(dir.path().join("overflow"), RocksOptions::new(1 << 20, 1 << 16))
                .unwrap();
        let store = Box::new(HeapStore::default());
        let mut cache = WriteCache::new(store, overflow, 64 << 10, false);
        let mut key = 0;
        while !cache.wants_commit() {
            write(&mut cache, key, 1);
            key += 1;
        }
        assert!(!cache.is_full());
        while !cache.is_full() {
            write(&mut cache, key, 1);
            key += 1;
        }
        assert!(!cache.make_room(0).unwrap(), "all is uncommitted");
        cache.drain_changes(|_| {});
        cache.spill_over(0).unwrap();
        assert!(!cache.wants_commit());
        let before = key;
        while !cache.is_full() {
            write(&mut cache, key, 2);
            key += 1;
        }
        assert!(key - before > 200, "room for {} rows only", key - before);
        cache.settle(1).unwrap();
        assert_eq!(cache.prefix(&[]).unwrap().len(), before as usize, "the store has epoch 1 only");
    }
}
