//! How many entries, and bytes, carry which timestamp: the exact basis of debt, write-off and the
//! ages of the residents (SEMANTICS §1.11, §9).
//!
//! Timestamps fall into buckets of a power-of-two width; a ring of counters makes a change two
//! additions. When the span outgrows [`BUCKETS_MAX`], the width doubles and neighbours merge.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use stateward_model::{Histogram, bucket_of, expired};

/// Most buckets a ledger keeps.
const BUCKETS_MAX: usize = 1_024;
/// Buckets a TTL is divided into at first.
const BUCKETS_PER_TTL: i64 = 128;
/// Width of the first buckets of a state without TTL: about an hour.
const WIDTH_WITHOUT_TTL_MILLIS: i64 = 3_600_000;

/// Entries and bytes in one bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cell {
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
}

impl Cell {
    #[inline]
    fn add(&mut self, other: Self) {
        self.entries += other.entries;
        self.bytes += other.bytes;
    }
}

/// Debt at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Debt {
    /// Entries and bytes in buckets that are wholly expired, plus the bucket at the limit.
    pub(crate) expired: Cell,
    /// Entries of the bucket that the limit falls into: the error.
    pub(crate) error_entries: u64,
}

/// The ledger of one state on one shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ledger {
    /// Width of a bucket is `1 << shift` ms.
    shift: u32,
    /// Bucket number of the ring's front.
    first: i64,
    ring: VecDeque<Cell>,
    total: Cell,
}

impl Ledger {
    pub(crate) fn new(ttl_millis: Option<i64>) -> Self {
        let width =
            ttl_millis.map_or(WIDTH_WITHOUT_TTL_MILLIS, |ttl| (ttl / BUCKETS_PER_TTL).max(1));
        let shift = (width as u64).next_power_of_two().trailing_zeros();
        Self { shift, first: 0, ring: VecDeque::new(), total: Cell::default() }
    }

    #[inline]
    pub(crate) fn width_millis(&self) -> u64 {
        1 << self.shift
    }

    #[inline]
    pub(crate) fn total(&self) -> Cell {
        self.total
    }

    pub(crate) fn add(&mut self, ts: i64, bytes: u64) {
        let index = self.index_for(ts);
        if let Some(cell) = self.ring.get_mut(index) {
            cell.add(Cell { entries: 1, bytes });
        }
        self.total.add(Cell { entries: 1, bytes });
    }

    /// Takes out an entry that was added with this `ts` and these bytes.
    #[inline]
    pub(crate) fn remove(&mut self, ts: i64, bytes: u64) {
        let index = self.index_for(ts);
        let Some(cell) = self.ring.get_mut(index) else { return };
        debug_assert!(cell.entries > 0 && cell.bytes >= bytes, "the ledger misses an entry");
        cell.entries = cell.entries.saturating_sub(1);
        cell.bytes = cell.bytes.saturating_sub(bytes);
        self.total.entries = self.total.entries.saturating_sub(1);
        self.total.bytes = self.total.bytes.saturating_sub(bytes);
    }

    /// Takes the whole buckets at or below `limit` out of the ledger. Returns their cells with the
    /// newest `ts` of each, oldest first, and the new cut-off: every entry with `ts` at or below it
    /// is gone. `None` where no bucket with entries is whole.
    pub(crate) fn write_off(
        &mut self,
        limit: i64,
        mut taken: impl FnMut(i64, Cell),
    ) -> Option<i64> {
        let mut cut_off = None;
        // a bucket is whole when its newest possible ts is at or below the limit
        while !self.ring.is_empty() && self.newest_ts(self.first) <= limit {
            let newest = self.newest_ts(self.first);
            let cell = self.ring.pop_front().unwrap_or_default();
            self.first += 1;
            if cell.entries > 0 {
                self.total.entries -= cell.entries;
                self.total.bytes -= cell.bytes;
                taken(newest, cell);
                cut_off = Some(newest);
            }
        }
        cut_off
    }

    /// Debt at `now`.
    pub(crate) fn debt(&self, ttl_millis: Option<i64>, now: Option<i64>) -> Debt {
        let mut debt = Debt::default();
        for (offset, cell) in self.ring.iter().enumerate() {
            let number = self.first + offset as i64;
            if !expired(number << self.shift, ttl_millis, now) {
                break;
            }
            if !expired(self.newest_ts(number), ttl_millis, now) {
                debt.error_entries = cell.entries;
            }
            debt.expired.add(*cell);
        }
        debt
    }

    /// Age of the oldest entry at `now`, by the start of its bucket.
    pub(crate) fn oldest_age(&self, now: i64) -> Option<u64> {
        let offset = self.ring.iter().position(|cell| cell.entries > 0)?;
        let ts = (self.first + offset as i64) << self.shift;
        Some(now.saturating_sub(ts).max(0) as u64)
    }

    /// Ages of all entries at `now`, by the middle of their buckets.
    pub(crate) fn ages(&self, now: i64, counts: &mut [u64]) -> u64 {
        let mut sum = 0_u64;
        for (offset, cell) in self.ring.iter().enumerate().filter(|(_, cell)| cell.entries > 0) {
            let middle = ((self.first + offset as i64) << self.shift) + (1_i64 << self.shift) / 2;
            let age = now.saturating_sub(middle).max(0) as u64;
            if let Some(count) = counts.get_mut(bucket_of(age)) {
                *count += cell.entries;
            }
            sum = sum.saturating_add(age.saturating_mul(cell.entries));
        }
        sum
    }

    fn newest_ts(&self, number: i64) -> i64 {
        (number << self.shift) + ((1_i64 << self.shift) - 1)
    }

    /// Finds the ring index of a timestamp, making room where needed.
    #[inline]
    fn index_for(&mut self, ts: i64) -> usize {
        loop {
            let number = ts >> self.shift;
            if self.ring.is_empty() {
                self.first = number;
                self.ring.push_back(Cell::default());
            }
            let last = self.first + self.ring.len() as i64 - 1;
            let span = last.max(number).saturating_sub(self.first.min(number));
            if span >= BUCKETS_MAX as i64 {
                self.coarsen();
                continue;
            }
            while number < self.first {
                self.ring.push_front(Cell::default());
                self.first -= 1;
            }
            let index = (number - self.first) as usize;
            while self.ring.len() <= index {
                self.ring.push_back(Cell::default());
            }
            return index;
        }
    }

    /// Doubles the width; drops empty buckets at both ends first, which may be enough.
    fn coarsen(&mut self) {
        while self.ring.front().is_some_and(|cell| cell.entries == 0) {
            self.ring.pop_front();
            self.first += 1;
        }
        while self.ring.back().is_some_and(|cell| cell.entries == 0) {
            self.ring.pop_back();
        }
        let mut merged: VecDeque<Cell> = VecDeque::with_capacity(self.ring.len() / 2 + 1);
        let first = self.first >> 1;
        for (offset, cell) in self.ring.iter().enumerate() {
            let index = (((self.first + offset as i64) >> 1) - first) as usize;
            while merged.len() <= index {
                merged.push_back(Cell::default());
            }
            if let Some(into) = merged.get_mut(index) {
                into.add(*cell);
            }
        }
        self.first = first;
        self.ring = merged;
        self.shift += 1;
    }
}

/// Packs the ages of the residents of several ledgers.
pub(crate) fn resident_ages(counts: &[u64], sum: u64) -> Histogram {
    Histogram::from_dense(counts, sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// §1.11, §9: write-off and debt against a plain list of entries.
        #[test]
        fn agrees_with_a_list(
            ttl in prop::option::of(1_i64..5_000_000),
            steps in prop::collection::vec((any::<bool>(), -3_000_000_i64..3_000_000, 1_u64..100), 1..200),
            now in -3_000_000_i64..9_000_000,
        ) {
            let mut ledger = Ledger::new(ttl);
            let mut list: Vec<(i64, u64)> = Vec::new();
            for (add, ts, bytes) in steps {
                if add || list.is_empty() {
                    ledger.add(ts, bytes);
                    list.push((ts, bytes));
                } else {
                    let (ts, bytes) = list.swap_remove(ts.unsigned_abs() as usize % list.len());
                    ledger.remove(ts, bytes);
                }
            }
            let count = |f: &dyn Fn(i64) -> bool| list.iter().filter(|(ts, _)| f(*ts)).count() as u64;
            prop_assert_eq!(ledger.total().entries, list.len() as u64);
            prop_assert_eq!(ledger.total().bytes, list.iter().map(|(_, b)| b).sum::<u64>());
            let debt = ledger.debt(ttl, Some(now));
            let truth = count(&|ts| expired(ts, ttl, Some(now)));
            prop_assert!(debt.expired.entries >= truth);
            prop_assert!(debt.expired.entries - truth <= debt.error_entries);
            if let Some(ttl) = ttl {
                let limit = now - ttl;
                let mut taken = 0;
                let cut = ledger.write_off(limit, |_, cell| taken += cell.entries);
                prop_assert!(cut.is_none_or(|cut| cut <= limit));
                let cut = cut.unwrap_or(i64::MIN);
                prop_assert_eq!(taken, count(&|ts| ts <= cut));
                prop_assert_eq!(ledger.total().entries, count(&|ts| ts > cut));
            }
        }
    }

    #[test]
    fn a_wide_span_coarsens_and_stays_exact() {
        let mut ledger = Ledger::new(Some(1));
        ledger.add(0, 1);
        ledger.add(1 << 40, 2);
        ledger.remove(0, 1);
        assert_eq!(ledger.total(), Cell { entries: 1, bytes: 2 });
        ledger.remove(1 << 40, 2);
        assert_eq!(ledger.total(), Cell::default());
    }
}
