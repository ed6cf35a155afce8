//! What an epoch does to timers: relieve the overlay, log, commit, restore.

use super::overlay::{Below, Slot};
use super::{RowKey, TimerTable, row_of};
use crate::changelog::{FRAME_BYTES, RowsBuilder, StateMeta};
use crate::codec::ROW_HEADER_BYTES;
use crate::error::Error;
use crate::store::{Change, StateStore};

impl TimerTable {
    /// Bytes of changes that are held in memory.
    pub(super) fn resident_bytes(&self) -> usize {
        self.overlay.bytes() + self.fired_bytes()
    }

    /// A fraction of a second has passed: what the changes may hold is divided anew.
    pub(crate) fn tick(&mut self) {
        if let Some(share) = &self.share {
            self.overlay_bytes_max = share.turn(self.resident_bytes());
        }
    }

    pub(super) fn is_full(&self) -> bool {
        self.overlay.bytes() + self.fired_bytes() > self.overlay_bytes_max
    }

    /// Tells whether the epoch should end early, to free the overlay.
    pub(crate) fn wants_commit(&self) -> bool {
        // a third, because as much again may be on its way to the disk
        self.overlay.changed_bytes() + self.fired_bytes() > self.overlay_bytes_max / 3
    }

    /// Brings the overlay back under its bound; uncommitted changes go to log and overflow.
    pub(super) fn relieve(&mut self, epoch: u64) -> Result<(), Error> {
        self.write_committed()?;
        if self.overlay.bytes() + self.fired_bytes() <= self.overlay_bytes_max / 2 {
            return Ok(());
        }
        self.resolve()?;
        self.bury_fired(epoch);
        self.encode_changes();
        let all = self.overlay.select(|_| true);
        for (key, slot) in &all {
            self.note_stored(key, slot.stamp);
        }
        let rows: Vec<_> = all.iter().map(|(key, slot)| (key, slot, row_of(slot.stamp))).collect();
        let changes = rows.iter().map(|(key, slot, row)| {
            let row = slot.pending.then_some(row.as_slice());
            (slot.epoch, &***key, row)
        });
        self.overflow.put(changes)?;
        self.overlay.forget(|_| true);
        Ok(())
    }

    /// Turns what fired and is not below the cut-off into removals of rows.
    pub(super) fn bury_fired(&mut self, epoch: u64) {
        for (key, stamp) in std::mem::take(&mut self.fired) {
            if stamp <= self.cut_off {
                continue;
            }
            let below = Below::Present;
            if let Some(slot) = self.overlay.get_mut(&key) {
                // registered anew since; should that be taken back, the row has to go all the same
                slot.below = below;
            } else {
                let slot = Slot { stamp, pending: false, below, epoch, logged: false };
                self.overlay.put(&key, slot);
            }
        }
    }

    /// Encodes what the epoch changed so far, but for what the cut-off has removed.
    fn encode_changes(&mut self) {
        for key in self.overlay.take_changed() {
            let Some(slot) = self.overlay.get_mut(&key) else { continue };
            if !slot.pending && slot.stamp <= self.cut_off {
                self.overlay.remove(&key);
                continue;
            }
            slot.logged = true;
            let row = slot.pending.then_some(row_of(slot.stamp));
            if self.early.last().is_none_or(|last| last.len() >= FRAME_BYTES) {
                self.early.push(RowsBuilder::default());
            }
            if let Some(last) = self.early.last_mut() {
                last.push(&key, row.as_ref().map(<[u8; ROW_HEADER_BYTES]>::as_slice));
            }
        }
    }

    /// Writes to the log what has to be there before the barrier; called once a batch.
    pub(crate) fn after_batch(
        &mut self,
        epoch: u64,
        mut log: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.is_full() {
            self.relieve(epoch)?;
        }
        for rows in self.early.drain(..) {
            log(rows.bytes())?;
        }
        Ok(())
    }

    /// Ends an epoch: hands every change to `log`, and what else recovery needs.
    pub(crate) fn barrier(
        &mut self,
        epoch: u64,
        mut log: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<Option<StateMeta>, Error> {
        self.resolve()?;
        self.bury_fired(epoch);
        self.encode_changes();
        for rows in self.early.drain(..) {
            log(rows.bytes())?;
        }
        self.cut_off_at_barrier = self.cut_off;
        Ok(std::mem::take(&mut self.changed).then(|| self.meta()))
    }

    /// What recovery needs beside the rows.
    pub(crate) fn meta(&self) -> StateMeta {
        StateMeta {
            ledger: self.ledger.clone(),
            cut_off: self.cut_off,
            ttl_millis: None,
            adopted_at_millis: i64::MIN,
            unreclaimed_bytes: self.unreclaimed_bytes(),
            recent: None,
            next_timer: self.head.next_time(),
            sequence: 0,
        }
    }

    /// Takes up where a former run committed, `epoch` the last one.
    pub(crate) fn restore(&mut self, epoch: u64, meta: Option<&StateMeta>) -> Result<(), Error> {
        self.committed = epoch;
        let Some(meta) = meta else { return Ok(()) };
        self.ledger = meta.ledger.clone();
        self.cut_off = meta.cut_off;
        self.cut_off_at_barrier = meta.cut_off;
        self.shared_cut_off.commit(meta.cut_off);
        self.written_off_bytes = meta.unreclaimed_bytes;
        if let Some(time) = meta.next_timer {
            self.head.unread_from(time);
        }
        self.find_newest()
    }

    /// The last barrier's epoch is committed.
    pub(crate) fn committed(&mut self, epoch: u64) -> Result<(), Error> {
        self.committed = epoch;
        self.shared_cut_off.commit(self.cut_off_at_barrier);
        if !self.overflow.is_empty() && self.overflow.newest_epoch() <= epoch {
            self.overflow.move_to(&mut self.store)?;
        }
        if self.overlay.bytes() > self.overlay_bytes_max / 2 {
            self.write_committed()
        } else {
            Ok(())
        }
    }

    /// Brings the store up to the last committed epoch.
    pub(crate) fn write_back(&mut self) -> Result<(), Error> {
        self.committed(self.committed)?;
        self.write_committed()
    }

    /// Moves committed changes to the store.
    fn write_committed(&mut self) -> Result<(), Error> {
        let committed = self.committed;
        let is_committed = |slot: &Slot| slot.epoch <= committed;
        let due = self.overlay.select(is_committed);
        let reaches_store =
            |(_, slot): &&(RowKey, Slot)| slot.pending || slot.below != Below::Absent;
        let rows: Vec<_> = due
            .iter()
            .filter(reaches_store)
            .map(|(key, slot)| (key, slot, row_of(slot.stamp)))
            .collect();
        let changes = rows.iter().map(|(key, slot, row)| {
            let row = slot.pending.then_some(row.as_slice());
            (&***key, row)
        });
        for (key, slot, _) in rows.iter().filter(|(_, slot, _)| slot.pending) {
            self.note_stored(key, slot.stamp);
        }
        // an older row of the same key may still be in the overflow, which is read first
        if self.overflow.is_empty() {
            let changes: Vec<Change<'_>> = changes.collect();
            if !changes.is_empty() {
                self.store.apply_sorted(&changes)?;
            }
        } else {
            self.overflow.put(changes.map(|(key, row)| (0, key, row)))?;
        }
        // not before: a checkpoint that fails is no end of the job, and these are nowhere else
        self.overlay.forget(is_committed);
        Ok(())
    }
}
