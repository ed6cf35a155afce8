//! One state on one shard: the TTL rule over the write cache, with every access counted.
//!
//! 1. A row counts in the ledger exactly while its `ts` is above the cut-off.
//! 2. What an event sees is judged by `max(watermark, its own time)`; what is removed for good, by
//!    the watermark alone (SEMANTICS §1.8).
//! 3. While the operator's breaker is not closed, every change is noted, so that a refused event
//!    can be taken back whole (SEMANTICS §7.3).

mod access;
mod rows;
mod cell;
mod cells;
mod scan;
mod epoch;
mod stage;
mod canary;
mod figures;
mod restored;
#[cfg(test)]
mod tests;

use canary::Canaries;
pub(crate) use cells::{ColumnKey, NewCell, Version};
pub(crate) use scan::SLICE_ROWS;

use std::sync::Arc;

use stateward_model::{ClockKind, TtlRule, key_hash};

use self::restored::DeadOnArrival;
use super::descriptor::StateConfig;
use super::gate::Gate;
use super::ttl::SharedTtl;
use crate::changelog::RowsBuilder;
use crate::codec::row_ts;
use crate::store::{CacheShare, Ledger, RecentlyGone, SharedCutOff, WriteCache};
use crate::telemetry::Recorder;

/// Shortest horizon in which a miss counts as a TTL miss (SEMANTICS §1.6).
const HORIZON_MILLIS_MIN: i64 = 3_600_000;

/// When an event happens.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moment {
    /// Watermark of the operator on this shard; for a replayed event, the one it came with.
    pub(crate) watermark: Option<i64>,
    /// What goes on for TTL alone while all inputs are idle (SEMANTICS §1.8).
    pub(crate) ttl_clock: Option<i64>,
    /// Event time.
    pub(crate) event_ts: i64,
    /// Processing time of the batch.
    pub(crate) wall: i64,
    /// Where processing time stands for expiry and timers, while a jump of the clock waits for a
    /// decision (SEMANTICS §1.10).
    pub(crate) stands_at: Option<i64>,
    /// Number of the event on this operator and shard.
    pub(crate) event: u64,
    /// Epoch that the event belongs to.
    pub(crate) epoch: u64,
}

impl Moment {
    /// What a clock of this kind shows.
    pub(crate) fn clock(&self, kind: ClockKind) -> Option<i64> {
        match kind {
            ClockKind::EventTime => self.watermark,
            ClockKind::ProcessingTime => Some(self.stands_at.unwrap_or(self.wall)),
        }
    }

    /// What entries on event time expire by.
    pub(crate) fn expiry_watermark(&self) -> Option<i64> {
        self.watermark.max(self.ttl_clock)
    }
}

/// Where a row lives.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowAddress<'a> {
    pub(crate) hash: u64,
    pub(crate) key: &'a [u8],
}

impl<'a> RowAddress<'a> {
    /// The address of a row key that is not a stream key's own.
    pub(crate) fn of(key: &'a [u8]) -> Self {
        Self { hash: key_hash(key), key }
    }
}

/// What a slot holds, judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Absent,
    /// Written off; the row may still be there.
    WrittenOff(i64),
    Expired(i64),
    Live(i64),
}

/// A former row, to take a change back.
struct Undo {
    key: Box<[u8]>,
    hash: u64,
    row: Option<Vec<u8>>,
}

/// What a changed TTL lets go, a bounded number at a time.
#[derive(Clone, Copy, Debug)]
struct Release {
    /// Entries with a stamp up to this one are let go by the change, not by time.
    up_to: i64,
    entries_left: u64,
}

/// How long after its expiry a miss of an entry counts as a TTL miss (SEMANTICS §1.6).
fn horizon_of(ttl_millis: Option<i64>) -> i64 {
    ttl_millis.unwrap_or(0).max(HORIZON_MILLIS_MIN)
}

/// One state on one shard.
pub(crate) struct Table<R: Recorder> {
    config: StateConfig,
    rule: TtlRule,
    shared_ttl: Arc<SharedTtl>,
    /// Version of the TTL in [`Table::rule`].
    ttl_version: u64,
    /// While a changed TTL lets many entries go at once: up to where, and how many still may in this
    /// tick.
    release: Option<Release>,
    horizon: i64,
    cache: WriteCache,
    /// What the cache may hold; `None`: what it was made with.
    share: Option<CacheShare>,
    canaries: Option<Canaries>,
    ledger: Ledger,
    ledger_changed: bool,
    recent: RecentlyGone,
    dead_on_arrival: DeadOnArrival,
    cut_off: i64,
    /// Cut-off at the last barrier; published once that epoch is committed.
    cut_off_at_barrier: i64,
    shared_cut_off: SharedCutOff,
    written_off_bytes: u64,
    gate: Gate,
    last_offered: u64,
    late: bool,
    /// Number of the next row whose place is the order of writing. Never goes back, so that a number
    /// names at most one row; part of the epoch.
    sequence: u64,
    /// Where the sweep of a table's families goes on, and [`Table::sequence`] when it last ran.
    scan_from: Box<[u8]>,
    scanned_sequence: u64,
    undo: Option<Vec<Undo>>,
    committed: u64,
    /// Encoded changes of the current epoch that have to reach the log before the barrier.
    early: Vec<RowsBuilder>,
    recorder: R,
    scratch: Vec<u8>,
}

impl<R: Recorder> std::fmt::Debug for Table<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("config", &self.config).finish_non_exhaustive()
    }
}

impl<R: Recorder> Table<R> {
    pub(crate) fn new(
        config: StateConfig,
        cache: WriteCache,
        shared_cut_off: SharedCutOff,
        gate: Gate,
        shared_ttl: Arc<SharedTtl>,
    ) -> Self {
        let (ttl_version, ttl_millis, kept_millis) = shared_ttl.get();
        Self {
            rule: TtlRule { kept_millis, ..TtlRule::new(ttl_millis) },
            dead_on_arrival: DeadOnArrival::new(config.dead_on_arrival_millis),
            shared_ttl,
            ttl_version,
            release: None,
            horizon: horizon_of(ttl_millis),
            ledger: Ledger::new(ttl_millis),
            canaries: config.options.canary_life.map(Canaries::new),
            config,
            cache,
            share: None,
            ledger_changed: true,
            recent: RecentlyGone::default(),
            cut_off: i64::MIN,
            cut_off_at_barrier: i64::MIN,
            shared_cut_off,
            written_off_bytes: 0,
            gate,
            last_offered: u64::MAX,
            late: false,
            sequence: 0,
            scan_from: Box::default(),
            scanned_sequence: 0,
            undo: None,
            committed: 0,
            early: Vec::new(),
            recorder: R::default(),
            scratch: Vec::new(),
        }
    }

    pub(crate) fn config(&self) -> &StateConfig {
        &self.config
    }

    pub(crate) fn gate(&mut self) -> &mut Gate {
        &mut self.gate
    }

    pub(crate) fn recorder(&mut self) -> &mut R {
        &mut self.recorder
    }

    /// The clock that removes: watermark or wall.
    fn clock(&self, moment: &Moment) -> Option<i64> {
        match self.config.options.clock {
            ClockKind::EventTime => moment.expiry_watermark(),
            ClockKind::ProcessingTime => {
                let shift = self.config.clock_shift_millis;
                moment.clock(ClockKind::ProcessingTime).map(|now| now.saturating_sub(shift))
            }
        }
    }

    /// The wall clock, less the outages that were compensated (SEMANTICS §1.13).
    fn processing_time(&self, moment: &Moment) -> i64 {
        moment.wall.saturating_sub(self.config.clock_shift_millis)
    }

    /// The time an event is stamped with.
    fn stamp(&self, moment: &Moment) -> i64 {
        match self.config.options.clock {
            ClockKind::EventTime => moment.event_ts,
            ClockKind::ProcessingTime => self.processing_time(moment),
        }
    }

    /// "Now" as the event sees it (SEMANTICS §1.8).
    fn seen_now(&self, moment: &Moment) -> Option<i64> {
        match self.config.options.clock {
            ClockKind::EventTime => self.clock(moment).max(Some(moment.event_ts)),
            ClockKind::ProcessingTime => self.clock(moment),
        }
    }

    fn judge(&self, row: Option<&[u8]>, moment: &Moment) -> Found {
        let Some(ts) = row.map(row_ts) else { return Found::Absent };
        if ts <= self.cut_off {
            Found::WrittenOff(ts)
        } else if self.rule.hides(ts, self.seen_now(moment)) {
            Found::Expired(ts)
        } else {
            Found::Live(ts)
        }
    }

    /// Prepares for a batch of events with keys of these hashes.
    pub(crate) fn warm(&mut self, hashes: impl Iterator<Item = u64>) {
        // other kinds do not go by the hash of the event's key alone
        if !self.config.kind.is_sorted() {
            self.cache.warm(hashes);
        }
    }

    /// Lets the cache share memory with others'.
    pub(crate) fn share(&mut self, share: CacheShare) {
        self.cache.set_bytes_max(share.turn(self.cache.resident_bytes()));
        self.share = Some(share);
    }

    pub(crate) fn cache(&mut self) -> &mut WriteCache {
        &mut self.cache
    }
}
