//! How many entries, and bytes, carry which timestamp: the exact basis of debt, write-off and the
//! ages of the residents (SEMANTICS §1.11, §9).
//!
//! Its resolution follows the TTL. Where a TTL becomes much shorter, entries from before stay in the
//! wide buckets that they are in, and later ones get narrow buckets of their own.

use serde::{Deserialize, Serialize};
use stateward_model::wire::ExpirySample;
use stateward_model::{Histogram, bucket_of};

use super::ring::{Bucket, Cell, Ring};

/// Buckets a TTL is divided into at first.
const BUCKETS_PER_TTL: i64 = 128;
/// Width of the first buckets of a state without TTL: about a second.
const WIDTH_WITHOUT_TTL_MILLIS: i64 = 1_000;

/// Debt at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Debt {
    /// Entries and bytes in buckets that are wholly expired, plus the bucket at the limit.
    pub(crate) expired: Cell,
    /// Entries of the bucket that the limit falls into: the error.
    pub(crate) error_entries: u64,
}

/// Buckets from before a TTL became shorter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Older {
    ring: Ring,
    /// Every entry with a timestamp up to this one is in here.
    up_to: i64,
}

/// The ledger of one state on one shard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ledger {
    older: Option<Older>,
    ring: Ring,
    total: Cell,
}

fn width_for(ttl_millis: Option<i64>) -> i64 {
    ttl_millis.map_or(WIDTH_WITHOUT_TTL_MILLIS, |ttl| (ttl / BUCKETS_PER_TTL).max(1))
}

impl Ledger {
    pub(crate) fn new(ttl_millis: Option<i64>) -> Self {
        Self { older: None, ring: Ring::new(width_for(ttl_millis)), total: Cell::default() }
    }

    /// Gives later entries buckets that suit this TTL, where the present ones are much too wide.
    pub(crate) fn suit(&mut self, ttl_millis: Option<i64>) {
        let fresh = Ring::new(width_for(ttl_millis));
        if ttl_millis.is_none() || self.ring.width_millis() / 2 <= fresh.width_millis() {
            return;
        }
        let Some(end) = self.ring.end() else {
            self.ring = fresh;
            return;
        };
        let ring = std::mem::replace(&mut self.ring, fresh);
        match &mut self.older {
            Some(older) => {
                older.ring.absorb(&ring);
                older.up_to = older.up_to.max(end);
            }
            None => self.older = Some(Older { ring, up_to: end }),
        }
    }

    #[inline]
    fn cell_mut(&mut self, ts: i64) -> Option<&mut Cell> {
        match &mut self.older {
            Some(older) if ts <= older.up_to => older.ring.cell_mut(ts),
            _ => self.ring.cell_mut(ts),
        }
    }

    /// Width of the buckets that new entries fall into.
    #[inline]
    pub(crate) fn width_millis(&self) -> u64 {
        self.ring.width_millis()
    }

    #[inline]
    pub(crate) fn total(&self) -> Cell {
        self.total
    }

    pub(crate) fn add(&mut self, ts: i64, bytes: u64) {
        let entry = Cell { entries: 1, bytes };
        if let Some(cell) = self.cell_mut(ts) {
            cell.add(entry);
        }
        self.total.add(entry);
    }

    /// Takes out an entry that was added with this `ts` and these bytes.
    #[inline]
    pub(crate) fn remove(&mut self, ts: i64, bytes: u64) {
        let entry = Cell { entries: 1, bytes };
        let Some(cell) = self.cell_mut(ts) else { return };
        cell.take(entry);
        self.total.take(entry);
    }

    /// Takes the whole buckets at or below `limit` out of the ledger. Returns their cells with the
    /// newest `ts` of each, oldest first, and the new cut-off: every entry with `ts` at or below it
    /// is gone. `None` where no bucket with entries is whole. Begins no bucket after `entries_max`
    /// entries.
    pub(crate) fn write_off(
        &mut self,
        limit: i64,
        mut entries_max: u64,
        mut taken: impl FnMut(i64, Cell),
    ) -> Option<i64> {
        let mut cut_off = None;
        while entries_max > 0
            && let Some(bucket) = self.pop_whole(limit)
        {
            if bucket.cell.entries > 0 {
                self.total.take(bucket.cell);
                taken(bucket.to, bucket.cell);
                entries_max = entries_max.saturating_sub(bucket.cell.entries);
                cut_off = Some(bucket.to);
            }
        }
        cut_off
    }

    fn pop_whole(&mut self, limit: i64) -> Option<Bucket> {
        if let Some(older) = &mut self.older {
            // a bucket that became wider may reach beyond what is in it
            let bucket = if limit >= older.up_to {
                older.ring.pop_whole(i64::MAX)
            } else {
                older.ring.pop_whole(limit)
            };
            let up_to = older.up_to;
            if let Some(bucket) = bucket {
                return Some(Bucket { to: bucket.to.min(up_to), ..bucket });
            }
            if !older.ring.is_empty() {
                return None;
            }
            self.older = None;
        }
        self.ring.pop_whole(limit)
    }

    /// All buckets, oldest first.
    fn buckets(&self) -> impl Iterator<Item = Bucket> {
        let older = self.older.iter().flat_map(|older| {
            let within = |bucket: Bucket| Bucket { to: bucket.to.min(older.up_to), ..bucket };
            older.ring.buckets().map(within)
        });
        older.chain(self.ring.buckets())
    }

    /// What is not above `limit`, which is where a TTL expires entries now; nothing without one.
    pub(crate) fn debt(&self, limit: Option<i64>) -> Debt {
        let mut debt = Debt::default();
        let Some(limit) = limit else { return debt };
        for bucket in self.buckets().take_while(|bucket| bucket.from <= limit) {
            if bucket.to > limit {
                debt.error_entries = bucket.cell.entries;
            }
            debt.expired.add(bucket.cell);
        }
        debt
    }

    /// When the entries expire, by the end of their buckets; `expires_at` is the TTL rule.
    pub(crate) fn forecast(
        &self,
        now: i64,
        expires_at: impl Fn(i64) -> Option<i64>,
    ) -> ExpirySample {
        let mut sample = ExpirySample::empty();
        for Bucket { to, cell, .. } in self.buckets().filter(|bucket| bucket.cell.entries > 0) {
            match expires_at(to) {
                Some(at) => sample.count(at.saturating_sub(now), cell.entries, cell.bytes),
                None => return ExpirySample::default(),
            }
        }
        sample
    }

    /// Start of the oldest bucket that has entries.
    pub(crate) fn oldest(&self) -> Option<i64> {
        self.buckets().find(|bucket| bucket.cell.entries > 0).map(|bucket| bucket.from)
    }

    /// Age of the oldest entry at `now`, by the start of its bucket.
    pub(crate) fn oldest_age(&self, now: i64) -> Option<u64> {
        Some(now.saturating_sub(self.oldest()?).max(0) as u64)
    }

    /// Ages of all entries at `now`, by the middle of their buckets.
    pub(crate) fn ages(&self, now: i64, counts: &mut [u64]) -> u64 {
        let mut sum = 0_u64;
        for Bucket { from, to, cell } in self.buckets().filter(|bucket| bucket.cell.entries > 0) {
            let middle = from + (to - from + 1) / 2;
            let age = now.saturating_sub(middle).max(0) as u64;
            if let Some(count) = counts.get_mut(bucket_of(age)) {
                *count += cell.entries;
            }
            sum = sum.saturating_add(age.saturating_mul(cell.entries));
        }
        sum
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
    use stateward_model::{expired, write_off_limit};

    proptest! {
        /// §1.11, §9: write-off and debt against a plain list of entries.
        #[test]
        fn agrees_with_a_list(
            ttl in prop::option::of(1_i64..5_000_000),
            shorter in 1_i64..50_000,
            steps in prop::collection::vec((0_u8..20, -3_000_000_i64..3_000_000, 1_u64..100), 1..200),
            now in -3_000_000_i64..9_000_000,
        ) {
            let mut ledger = Ledger::new(ttl);
            let mut list: Vec<(i64, u64)> = Vec::new();
            let (mut cut_off, mut ttl) = (i64::MIN, ttl);
            for (kind, ts, bytes) in steps {
                if kind == 0 {
                    ttl = Some(ttl.map_or(shorter, |ttl| ttl.min(shorter)));
                    ledger.suit(ttl);
                } else if kind == 1 {
                    // what is written off is written off whole, whatever the widths
                    if let Some(to) = ledger.write_off(ts, bytes, |_, _| ()) {
                        prop_assert!(to <= ts);
                        list.retain(|(ts, _)| *ts > to);
                        cut_off = cut_off.max(to);
                    }
                } else if kind < 12 || list.is_empty() {
                    if ts <= cut_off {
                        continue;
                    }
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
            let forecast = ledger.forecast(now, |ts| Some(ts + ttl?));
            if ttl.is_some() {
                let parts = forecast.due.iter().chain(&forecast.overdue);
                prop_assert_eq!(parts.map(|part| part.entries).sum::<u64>(), list.len() as u64);
                let hour = ttl.map(|ttl| now + 3_600_000 - ttl);
                let within = ledger.debt(hour).expired.entries
                    - ledger.debt(write_off_limit(ttl, Some(now))).expired.entries;
                let errors = ledger.debt(hour).error_entries
                    + ledger.debt(write_off_limit(ttl, Some(now))).error_entries;
                prop_assert!(forecast.within(3).entries.abs_diff(within) <= errors);
            }
            let debt = ledger.debt(write_off_limit(ttl, Some(now)));
            let truth = count(&|ts| expired(ts, ttl, Some(now)));
            prop_assert!(debt.expired.entries >= truth);
            prop_assert!(debt.expired.entries - truth <= debt.error_entries);
            if let Some(ttl) = ttl {
                let limit = now - ttl;
                let mut taken = 0;
                let cut = ledger.write_off(limit, u64::MAX, |_, cell| taken += cell.entries);
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
