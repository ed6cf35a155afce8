//! What a shard and the compactions of one of its states share.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use stateward_model::key_hash;

use super::recent::KEYS_MAX;
use crate::codec::{logical_bytes, row_ts};

/// A cut-off shared with compactions.
pub(crate) type SharedCutOff = Arc<CutOff>;

/// The committed cut-off, and what compactions dropped because of it (SEMANTICS §1.11).
#[derive(Debug)]
pub(crate) struct CutOff {
    committed: AtomicI64,
    /// Bytes of a row key in front of what the state's keys are hashed from.
    hashed_from: usize,
    dropped_rows: AtomicU64,
    dropped_bytes: AtomicU64,
    any_gone: AtomicBool,
    gone: Mutex<Vec<(u64, i64)>>,
}

impl Default for CutOff {
    fn default() -> Self {
        Self::new(0)
    }
}

impl CutOff {
    /// A cut-off that nothing is below, of a state that hashes its row keys from this byte on.
    pub(crate) fn new(hashed_from: usize) -> Self {
        Self {
            committed: AtomicI64::new(i64::MIN),
            hashed_from,
            dropped_rows: AtomicU64::new(0),
            dropped_bytes: AtomicU64::new(0),
            any_gone: AtomicBool::new(false),
            gone: Mutex::default(),
        }
    }

    /// The hash that a row key of the state goes by.
    pub(crate) fn hash_of(&self, row_key: &[u8]) -> u64 {
        key_hash(row_key.get(self.hashed_from..).unwrap_or_default())
    }

    /// The committed cut-off: rows with `ts` at or below it may go.
    pub(crate) fn committed(&self) -> i64 {
        self.committed.load(Ordering::Acquire)
    }

    /// Publishes a cut-off whose epoch is committed.
    pub(crate) fn commit(&self, cut_off: i64) {
        self.committed.fetch_max(cut_off, Ordering::Release);
    }

    /// Rows and bytes dropped since the shard started.
    pub(crate) fn dropped_so_far(&self) -> (u64, u64) {
        (self.dropped_rows.load(Ordering::Relaxed), self.dropped_bytes.load(Ordering::Relaxed))
    }

    /// Hashes and stamps of the keys whose rows were dropped since the last call, the newest of a
    /// bounded number. Costs one load where there are none.
    pub(crate) fn take_gone(&self) -> Vec<(u64, i64)> {
        if !self.any_gone.load(Ordering::Acquire) {
            return Vec::new();
        }
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        self.any_gone.store(false, Ordering::Release);
        std::mem::take(&mut *gone)
    }
}

/// What one compaction, or one pass over a heap, drops; told when it ends.
#[derive(Debug)]
pub(crate) struct Dropping {
    cut_off: SharedCutOff,
    /// Read once, so that a compaction has one rule.
    limit: i64,
    rows: u64,
    bytes: u64,
    gone: Vec<(u64, i64)>,
}

impl Dropping {
    pub(crate) fn start(cut_off: &SharedCutOff) -> Self {
        let limit = cut_off.committed();
        Self { cut_off: Arc::clone(cut_off), limit, rows: 0, bytes: 0, gone: Vec::new() }
    }

    /// Tells whether a row is to go, and notes it.
    pub(crate) fn takes(&mut self, key: &[u8], row: &[u8]) -> bool {
        let ts = row_ts(row);
        if ts > self.limit {
            return false;
        }
        let hash = self.cut_off.hash_of(key);
        match self.gone.get_mut(self.rows as usize % KEYS_MAX) {
            Some(oldest) => *oldest = (hash, ts),
            None => self.gone.push((hash, ts)),
        }
        self.rows += 1;
        self.bytes += logical_bytes(key, row);
        true
    }
}

impl Drop for Dropping {
    fn drop(&mut self) {
        if self.rows == 0 {
            return;
        }
        self.cut_off.dropped_rows.fetch_add(self.rows, Ordering::Relaxed);
        self.cut_off.dropped_bytes.fetch_add(self.bytes, Ordering::Relaxed);
        let mut gone = self.cut_off.gone.lock().unwrap_or_else(PoisonError::into_inner);
        gone.append(&mut self.gone);
        let surplus = gone.len().saturating_sub(KEYS_MAX);
        gone.drain(..surplus);
        self.cut_off.any_gone.store(true, Ordering::Release);
    }
}
