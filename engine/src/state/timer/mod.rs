//! The timers of one operator and clock on one shard: pending registrations, in the order in which
//! they fire, under bounded memory.
//!
//! ```text
//! registration ─▶ overlay ─▶ changelog ─▶ store ─▶ head ─▶ firing
//!                    └───────────────────────────────┘ what is due soon
//! ```
//! 1. A row's stamp is `max(timer time, cut-off + 1)` (SEMANTICS §1.8), and every pending timer's
//!    stamp is above the cut-off. So what is at or below it has fired, and leaves log and store
//!    without a read or a record per row (SEMANTICS §1.11); only what fired at the very time that
//!    is firing, and what was registered overdue, is removed row by row.
//! 2. A registration is written blindly. Whether it was pending already is looked up in a sorted
//!    batch before the barrier, so that counts stay exact; one that a filter knows to be new, or
//!    within what the head has read, needs no look.
//! 3. Timers fire by (time, key group, key); one that is taken is gone, whatever its firing does.
//! 4. The next timer's time at the barrier is committed, so that a restart reads on from there and
//!    not through what has fired.

mod key;
mod filter;
mod head;
mod overlay;
mod read;
mod epoch;
mod figures;
#[cfg(test)]
mod tests;

use stateward_model::ClockKind;

use super::{Gate, StateConfig};
use crate::changelog::RowsBuilder;
use crate::codec::{GROUP_BYTES, ROW_HEADER_BYTES};
use crate::error::Error;
use crate::store::{CacheShare, Ledger, Overflow, RocksStore, SharedCutOff};
use crate::telemetry::{Access, Counters, Dense, Recorder, Site};
use filter::Filter;
use head::Head;
use overlay::{Below, Overlay, Slot};

pub(crate) use key::{RowKey, stream_row_key, time_of};

/// A stamp that no cut-off reaches.
const STAMP_MAX: i64 = i64::MAX;

/// Counts of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Totals {
    registered: u64,
    deleted: u64,
    fired: u64,
}

/// The latest times of a group's rows in the store.
#[derive(Clone, Copy, Debug)]
struct Newest {
    now: i64,
    at_start: i64,
}

impl Default for Newest {
    fn default() -> Self {
        Self { now: i64::MIN, at_start: i64::MIN }
    }
}

/// What a timer table is made of.
pub(crate) struct TimerParts {
    pub(crate) config: StateConfig,
    pub(crate) store: RocksStore,
    pub(crate) overflow: Overflow,
    pub(crate) cut_off: SharedCutOff,
    pub(crate) gate: Gate,
    pub(crate) groups: u16,
    /// Bytes that changes may take before they move to the store, or into the overflow.
    pub(crate) overlay_bytes: usize,
    pub(crate) share: Option<CacheShare>,
}

/// Timers of one operator and clock on one shard.
pub(crate) struct TimerTable {
    config: StateConfig,
    store: RocksStore,
    overflow: Overflow,
    overlay: Overlay,
    overlay_bytes_max: usize,
    share: Option<CacheShare>,
    head: Head,
    /// Changes whose counts wait for a look into the store.
    unknown: Vec<RowKey>,
    /// Taken out of the store's rows and not below the cut-off yet, with their stamps.
    fired: Vec<(RowKey, i64)>,
    /// Timers were taken since the cut-off followed the clock.
    took: bool,
    /// Per group, the latest time that the store may hold, and held when the run began.
    newest: Vec<Newest>,
    /// What the store may have got in this run.
    filter: Filter,
    ledger: Ledger,
    changed: bool,
    cut_off: i64,
    cut_off_at_barrier: i64,
    shared_cut_off: SharedCutOff,
    written_off_bytes: u64,
    gate: Gate,
    last_offered: u64,
    committed: u64,
    early: Vec<RowsBuilder>,
    recorder: Counters,
    totals: Totals,
    lateness: Dense,
    scratch: Vec<u8>,
}

impl std::fmt::Debug for TimerTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TimerTable").field("config", &self.config).finish_non_exhaustive()
    }
}

/// Bytes that a timer counts with: its time and key.
fn timer_bytes(key: &[u8]) -> u64 {
    key.len().saturating_sub(GROUP_BYTES) as u64
}

/// A row: stamp and schema id, no value.
fn row_of(stamp: i64) -> [u8; ROW_HEADER_BYTES] {
    let mut row = [0; ROW_HEADER_BYTES];
    if let Some(slot) = row.first_chunk_mut::<8>() {
        *slot = stamp.to_be_bytes();
    }
    row
}

impl TimerTable {
    pub(crate) fn new(parts: TimerParts) -> Self {
        Self {
            config: parts.config,
            store: parts.store,
            overflow: parts.overflow,
            overlay: Overlay::default(),
            overlay_bytes_max: parts.overlay_bytes,
            share: parts.share,
            head: Head::new(parts.groups),
            unknown: Vec::new(),
            fired: Vec::new(),
            took: false,
            newest: vec![Newest::default(); usize::from(parts.groups)],
            filter: Filter::default(),
            ledger: Ledger::new(None),
            changed: true,
            cut_off: i64::MIN,
            cut_off_at_barrier: i64::MIN,
            shared_cut_off: parts.cut_off,
            written_off_bytes: 0,
            gate: parts.gate,
            last_offered: u64::MAX,
            committed: 0,
            early: Vec::new(),
            recorder: Counters::default(),
            totals: Totals::default(),
            lateness: Dense::default(),
            scratch: Vec::new(),
        }
    }

    pub(crate) fn config(&self) -> &StateConfig {
        &self.config
    }

    pub(crate) fn clock(&self) -> ClockKind {
        self.config.options.clock
    }

    pub(crate) fn gate(&mut self) -> &mut Gate {
        &mut self.gate
    }

    /// Counts an event that wants to register, once, and asks the breaker.
    pub(crate) fn admit(&mut self, event: u64) -> bool {
        if self.last_offered != event {
            self.last_offered = event;
            self.recorder.flow(|flow| flow.offered += 1);
        }
        self.gate.admits()
    }

    /// An event, or a firing, was diverted because of this state's breaker.
    pub(crate) fn count_diverted(&mut self, event: u64, offered: bool) {
        let counted = self.last_offered == event;
        self.last_offered = event;
        self.recorder.flow(|flow| {
            flow.diverted += 1;
            flow.offered += u64::from(offered && !counted);
        });
    }

    /// Registers a timer of the stream key whose row key (`group | key`) this is; one that is
    /// pending stays as it is.
    pub(crate) fn register(
        &mut self,
        stream_row_key: &[u8],
        time: i64,
        epoch: u64,
        site: Site,
    ) -> Result<(), Error> {
        let key = self.key(stream_row_key, time);
        self.put(&key, time, epoch, site)?;
        if self.is_full() { self.relieve(epoch) } else { Ok(()) }
    }

    fn key(&mut self, stream_row_key: &[u8], time: i64) -> RowKey {
        key::build(stream_row_key, time, &mut self.scratch);
        // the one allocation of a registration: overlay, head and batches share it
        self.scratch.as_slice().into()
    }

    fn put(&mut self, key: &RowKey, time: i64, epoch: u64, site: Site) -> Result<(), Error> {
        let bytes = timer_bytes(key);
        self.recorder.access(site, Access::Write, bytes);
        self.recorder.flow(|flow| {
            flow.writes += 1;
            flow.written_bytes += bytes;
        });
        let mut known = self.overlay.get(key);
        if let Some(Slot { pending: false, below: Below::Unknown, .. }) = known {
            // a deletion that is not counted yet comes first
            self.resolve_one(key)?;
            known = self.overlay.get(key);
        }
        let read = self.head.has_read(key);
        let stamp = time.max(self.cut_off.saturating_add(1));
        let slot = match known {
            Some(Slot { pending: true, .. }) => return Ok(()),
            Some(slot) => Slot { stamp, pending: true, epoch, ..slot },
            None if read && self.head.stamp(key).is_some() => return Ok(()),
            None => {
                let absent = read || self.store_lacks(key, time);
                let below = if absent { Below::Absent } else { Below::Unknown };
                Slot { stamp, pending: true, below, epoch, logged: false }
            }
        };
        self.overlay.put(key, slot);
        self.changed = true;
        if slot.below == Below::Unknown {
            self.unknown.push(key.clone());
        } else {
            self.count_registered(key, stamp);
        }
        if read {
            self.head_insert(key, stamp, epoch);
        }
        Ok(())
    }

    fn head_insert(&mut self, key: &RowKey, stamp: i64, epoch: u64) {
        self.head.insert(key, stamp);
        if self.head.take_trimmed() {
            // what is read on must not come upon rows that have fired
            self.bury_fired(epoch);
        }
    }

    fn count_registered(&mut self, key: &[u8], stamp: i64) {
        self.totals.registered += 1;
        self.recorder.flow(|flow| flow.created += 1);
        self.ledger.add(stamp, timer_bytes(key));
    }

    fn count_deleted(&mut self, key: &[u8], stamp: i64) {
        self.totals.deleted += 1;
        self.recorder.flow(|flow| flow.removed_delete += 1);
        self.ledger.remove(stamp, timer_bytes(key));
    }

    /// Deletes a timer, if it is pending. Deletes shrink a state, so a breaker lets them pass.
    pub(crate) fn delete(
        &mut self,
        stream_row_key: &[u8],
        time: i64,
        epoch: u64,
        site: Site,
    ) -> Result<(), Error> {
        let key = self.key(stream_row_key, time);
        self.erase(&key, time, epoch, site)?;
        if self.is_full() { self.relieve(epoch) } else { Ok(()) }
    }

    fn erase(&mut self, key: &RowKey, time: i64, epoch: u64, site: Site) -> Result<(), Error> {
        self.recorder.access(site, Access::Write, timer_bytes(key));
        self.recorder.flow(|flow| flow.deletes += 1);
        if let Some(slot) = self.overlay.get(key) {
            if !slot.pending {
                return Ok(());
            }
            if slot.below == Below::Unknown {
                self.resolve_one(key)?;
            }
            let stamp = self.overlay.get(key).map_or(slot.stamp, |slot| slot.stamp);
            self.unput(key, epoch);
            self.head.remove(key);
            self.count_deleted(key, stamp);
            return Ok(());
        }
        let slot =
            Slot { stamp: time, pending: false, below: Below::Unknown, epoch, logged: false };
        if self.head.has_read(key) {
            if let Some(stamp) = self.head.stamp(key) {
                self.overlay.put(key, Slot { stamp, below: Below::Present, ..slot });
                self.head.remove(key);
                self.count_deleted(key, stamp);
            }
        } else if !self.store_lacks(key, time) {
            self.unknown.push(key.clone());
            self.overlay.put(key, slot);
        }
        Ok(())
    }

    /// Takes a pending registration back out of the overlay; nothing remains of one that neither
    /// log nor store has heard of.
    fn unput(&mut self, key: &RowKey, epoch: u64) {
        let Some(slot) = self.overlay.get(key) else { return };
        self.changed = true;
        if slot.below == Below::Absent && !slot.logged {
            self.overlay.remove(key);
        } else {
            self.overlay.put(key, Slot { pending: false, epoch, ..slot });
        }
    }

    /// The next timer to fire, if one is due at `now`.
    pub(crate) fn due(&mut self, now: i64, epoch: u64) -> Result<Option<RowKey>, Error> {
        while let Some(group) = self.head.group_to_read(now) {
            self.read_on(group, epoch)?;
        }
        if let Some(due) = self.head.first_due(now) {
            return Ok(Some(due.clone()));
        }
        if std::mem::take(&mut self.took) {
            // nothing that is due is pending, so the next stamp is above now
            self.advance_cut_off(now);
        }
        Ok(None)
    }

    /// When the next timer is due: exact once it has been read, else a lower bound.
    pub(crate) fn next_time(&self) -> Option<i64> {
        self.head.next_time()
    }

    /// Takes the timer that [`TimerTable::due`] has just returned: it is pending no longer.
    pub(crate) fn take(&mut self, epoch: u64) {
        let Some((key, stamp)) = self.head.pop() else { return };
        self.took = true;
        // all that is pending is due at this time or later
        self.advance_cut_off(time_of(&key).saturating_sub(1));
        let slot = self.overlay.get(&key);
        if slot.is_none_or(|slot| slot.below == Below::Present) {
            self.written_off_bytes += timer_bytes(&key);
        }
        if slot.is_some() {
            self.unput(&key, epoch);
        } else {
            self.fired.push((key.clone(), stamp));
        }
        self.changed = true;
        self.ledger.remove(stamp, timer_bytes(&key));
        self.recorder.flow(|flow| flow.removed_sweep += 1);
    }

    /// A timer has fired, so much later than its time.
    pub(crate) fn count_fired(&mut self, late_millis: i64) {
        self.totals.fired += 1;
        self.lateness.add(late_millis.max(0) as u64, 1);
    }

    fn advance_cut_off(&mut self, to: i64) {
        // one stamp stays above it, for timers registered overdue
        let to = to.min(STAMP_MAX - 1);
        if to > self.cut_off {
            self.cut_off = to;
            self.changed = true;
            self.fired.retain(|(_, stamp)| *stamp > to);
            self.filter.forget(to);
        }
    }
}
