//! Where rows rest. In: committed rows, evicted from the write cache or needed by a checkpoint.
//! Out: rows by key or by prefix. Never here: uncommitted rows, clocks, user types.

mod rocks;
mod heap;
mod slots;
mod cache;
mod overflow;
mod ring;
mod ledger;
mod recent;
mod cut_off;
mod range;
mod listener;
mod reclaim;
mod pool;
mod gauge;

use crate::error::Error;

pub(crate) use cache::{Changed, Scanned, WriteCache};
pub(crate) use cut_off::{CutOff, Dropping, Manual, SharedCutOff};
pub(crate) use gauge::MemoryGauge;
pub(crate) use heap::{HeapStore, save as save_heap};
pub(crate) use ledger::{Ledger, resident_ages};
pub(crate) use overflow::Overflow;
pub(crate) use pool::{CACHE_BYTES_MIN, CachePool, CacheShare};
pub(crate) use range::Range;
pub(crate) use recent::{KEYS_MAX as STAMPS_MAX, RecentSnapshot, RecentlyGone};
pub(crate) use reclaim::SharedReclaims;
pub(crate) use rocks::{RocksOptions, RocksStore, ShardDb};

/// One change on its way into a store: a row, or a removal.
pub(crate) type Change<'a> = (&'a [u8], Option<&'a [u8]>);

/// A row that was copied out, with its key.
pub(crate) type OwnedRow = (Box<[u8]>, Vec<u8>);

/// A change that was copied out.
pub(crate) type OwnedChange = (Box<[u8]>, Option<Vec<u8>>);

/// Rows of one state on one shard.
pub(crate) trait StateStore: Send {
    /// Copies a row into `row`; `false` where there is none.
    fn get(&self, key: &[u8], row: &mut Vec<u8>) -> Result<bool, Error>;
    /// Visits the rows from `from` on, in key order, until `visit` says `false`.
    fn scan(&self, from: &[u8], visit: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Result<(), Error>;
    /// Visits the rows whose key begins with `prefix`, in key order.
    fn prefix(&self, prefix: &[u8], visit: &mut dyn FnMut(&[u8], &[u8])) -> Result<(), Error> {
        self.scan(prefix, &mut |key, row| {
            let below = key.starts_with(prefix);
            if below {
                visit(key, row);
            }
            below
        })
    }
    /// Applies changes in their order.
    fn apply(&mut self, changes: &[Change<'_>]) -> Result<(), Error>;
    /// Applies changes that are sorted by key and have each key once.
    fn apply_sorted(&mut self, changes: &[Change<'_>]) -> Result<(), Error> {
        self.apply(changes)
    }
    /// Bytes of live SST files.
    fn disk_bytes(&self) -> u64;
    /// Files of level 0.
    fn l0_files(&self) -> u64 {
        0
    }
}
