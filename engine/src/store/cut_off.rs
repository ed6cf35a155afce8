//! What a shard and the compactions of one of its states share.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use stateward_model::key_hash;
use stateward_model::wire::{CleanupRuns, CleanupStrategy};

use super::recent::KEYS_MAX;
use crate::codec::{is_canary, logical_bytes, row_ts};
use crate::telemetry::Overshoot;

/// A cut-off shared with compactions.
pub(crate) type SharedCutOff = Arc<CutOff>;

/// Why somebody compacts a state by hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manual {
    /// The scheduler got to it.
    Reclaim,
    /// A person asked for it.
    Demand,
}

/// What one strategy did since the shard started.
#[derive(Debug, Default)]
struct Runs {
    count: AtomicU64,
    rows: AtomicU64,
    bytes: AtomicU64,
    read_bytes: AtomicU64,
    micros: AtomicU64,
}

/// The committed cut-off, and what compactions dropped because of it (SEMANTICS §1.11).
#[derive(Debug)]
pub(crate) struct CutOff {
    committed: AtomicI64,
    /// Bytes of a row key in front of what the state's keys are hashed from.
    hashed_from: usize,
    /// By strategy, in the order of [`CleanupStrategy::ALL`].
    runs: [Runs; CleanupStrategy::ALL.len()],
    /// Strategy of compactions by hand: one runs at a time.
    manual: AtomicU8,
    /// Wall clock of the end of the last compaction; `i64::MIN` before the first.
    compacted_millis: AtomicI64,
    /// Stamp at or below which entries are past their TTL; `i64::MIN` where none is.
    due: AtomicI64,
    /// Stamp that older ones count as (SEMANTICS §1.1).
    adopted: AtomicI64,
    /// Of rows that compactions dropped.
    overshoot: Mutex<Overshoot>,
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
            runs: Default::default(),
            manual: AtomicU8::new(CleanupStrategy::Reclaim as u8),
            compacted_millis: AtomicI64::new(i64::MIN),
            due: AtomicI64::new(i64::MIN),
            adopted: AtomicI64::new(i64::MIN),
            overshoot: Mutex::default(),
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

    /// Tells where the TTL stands now, for the overshoot of what is dropped.
    pub(crate) fn set_due(&self, limit: Option<i64>, adopted: i64) {
        self.due.store(limit.unwrap_or(i64::MIN), Ordering::Relaxed);
        self.adopted.store(adopted, Ordering::Relaxed);
    }

    /// How long after their expiry rows were dropped.
    pub(crate) fn overshoot(&self) -> Overshoot {
        self.overshoot.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Bytes dropped since the shard started, by whatever strategy.
    pub(crate) fn dropped_bytes(&self) -> u64 {
        self.runs.iter().map(|runs| runs.bytes.load(Ordering::Relaxed)).sum()
    }

    /// What each strategy did since the shard started.
    pub(crate) fn runs(&self) -> Vec<CleanupRuns> {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let of = |(strategy, runs): (&CleanupStrategy, &Runs)| CleanupRuns {
            strategy: *strategy,
            runs: load(&runs.count),
            rows: load(&runs.rows),
            bytes: load(&runs.bytes),
            read_bytes: load(&runs.read_bytes),
            micros: load(&runs.micros),
        };
        CleanupStrategy::ALL.iter().zip(&self.runs).map(of).collect()
    }

    /// Wall clock of the end of the last compaction.
    pub(crate) fn compacted_millis(&self) -> Option<i64> {
        Some(self.compacted_millis.load(Ordering::Relaxed)).filter(|at| *at != i64::MIN)
    }

    /// The next compactions by hand are for this.
    pub(super) fn set_manual(&self, why: Manual) {
        let strategy = match why {
            Manual::Reclaim => CleanupStrategy::Reclaim,
            Manual::Demand => CleanupStrategy::Demand,
        };
        self.manual.store(strategy as u8, Ordering::Release);
    }

    /// The strategy that a compaction belongs to.
    pub(super) fn strategy(&self, by_hand: bool) -> CleanupStrategy {
        let manual = self.manual.load(Ordering::Acquire);
        if !by_hand {
            CleanupStrategy::Compaction
        } else if manual == CleanupStrategy::Demand as u8 {
            CleanupStrategy::Demand
        } else {
            CleanupStrategy::Reclaim
        }
    }

    /// A compaction has ended.
    pub(super) fn compacted(&self, by_hand: bool, read_bytes: u64, micros: u64, wall_millis: i64) {
        self.compacted_millis.fetch_max(wall_millis, Ordering::Relaxed);
        let Some(runs) = self.runs.get(self.strategy(by_hand) as usize) else { return };
        runs.count.fetch_add(1, Ordering::Relaxed);
        runs.read_bytes.fetch_add(read_bytes, Ordering::Relaxed);
        runs.micros.fetch_add(micros, Ordering::Relaxed);
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
    strategy: CleanupStrategy,
    /// Read once, so that a compaction has one rule.
    limit: i64,
    /// Where the TTL stood, and what older stamps count as.
    due: Option<(i64, i64)>,
    overshoot: Option<Overshoot>,
    rows: u64,
    bytes: u64,
    gone: Vec<(u64, i64)>,
}

impl Dropping {
    pub(crate) fn start(cut_off: &SharedCutOff, strategy: CleanupStrategy) -> Self {
        let limit = cut_off.committed();
        let due = cut_off.due.load(Ordering::Relaxed);
        let adopted = cut_off.adopted.load(Ordering::Relaxed);
        Self {
            cut_off: Arc::clone(cut_off),
            strategy,
            limit,
            due: (due != i64::MIN).then_some((due, adopted)),
            overshoot: None,
            rows: 0,
            bytes: 0,
            gone: Vec::new(),
        }
    }

    /// Tells whether a row is to go, and notes it.
    pub(crate) fn takes(&mut self, key: &[u8], row: &[u8]) -> bool {
        let ts = row_ts(row);
        if ts > self.limit {
            return false;
        }
        // nothing counts it, so its going is not counted either
        if is_canary(key) {
            return true;
        }
        let hash = self.cut_off.hash_of(key);
        match self.gone.get_mut(self.rows as usize % KEYS_MAX) {
            Some(oldest) => *oldest = (hash, ts),
            None => self.gone.push((hash, ts)),
        }
        if let Some((due, adopted)) = self.due {
            let overshoot = self.overshoot.get_or_insert_default();
            overshoot.add(due.saturating_sub(ts.max(adopted)));
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
        if let Some(runs) = self.cut_off.runs.get(self.strategy as usize) {
            runs.rows.fetch_add(self.rows, Ordering::Relaxed);
            runs.bytes.fetch_add(self.bytes, Ordering::Relaxed);
        }
        if let Some(overshoot) = &self.overshoot {
            let sum = &self.cut_off.overshoot;
            sum.lock().unwrap_or_else(PoisonError::into_inner).merge(overshoot);
        }
        let mut gone = self.cut_off.gone.lock().unwrap_or_else(PoisonError::into_inner);
        gone.append(&mut self.gone);
        let surplus = gone.len().saturating_sub(KEYS_MAX);
        gone.drain(..surplus);
        self.cut_off.any_gone.store(true, Ordering::Release);
    }
}
