//! What leaves the overlay: to the store, to the overflow, into a checkpoint, for good.

use std::path::Path;

use stateward_model::key_hash;
use stateward_model::wire::CleanupStrategy;

use super::{Rest, SLOTS_A_TURN, WriteCache, leading};
use crate::codec::{logical_bytes, row_ts};
use crate::error::Error;
use crate::store::slots::Slot;
use crate::store::{Dropping, SharedCutOff, heap};

impl WriteCache {
    /// Moves the overflow to the store once all of it is committed.
    pub(crate) fn settle(&mut self, committed: u64) -> Result<(), Error> {
        match &mut self.rest {
            Some(Rest { store, overflow })
                if !overflow.is_empty() && overflow.newest_epoch() <= committed =>
            {
                overflow.move_to(store.as_mut())
            }
            _ => Ok(()),
        }
    }

    /// Drops rows at or below the cut-off, and what is known to be absent, from a cache that holds
    /// all there is; a bounded number at a time.
    pub(crate) fn reclaim(&mut self, cut_off: &SharedCutOff, committed: u64) {
        if self.rest.is_some() {
            return;
        }
        let mut dropping = Dropping::start(cut_off, CleanupStrategy::Memory);
        let turn = SLOTS_A_TURN.min(self.slots.len());
        for _ in 0..turn {
            self.hand = if self.hand + 1 >= self.slots.len() { 0 } else { self.hand + 1 };
            let at = self.hand as u32;
            let Some(slot) = self.slots.get_mut(at) else { break };
            if slot.is_free() || slot.changed_in > committed {
                continue;
            }
            let goes = match slot.row() {
                Some(row) => dropping.takes(slot.key(), row),
                None => !std::mem::take(&mut slot.is_used),
            };
            if goes {
                self.forget(at);
            }
        }
    }

    /// Entries, and bytes of their keys and values, at or below the cut-off in a cache that holds all
    /// there is: what [`WriteCache::save`] leaves out.
    pub(crate) fn dead(&self, cut_off: i64) -> (u64, u64) {
        if self.rest.is_some() {
            return (0, 0);
        }
        let rows = self.slots.iter().filter_map(|(_, slot)| Some((slot.key(), slot.row()?)));
        let dead = rows.filter(|(_, row)| row_ts(row) <= cut_off);
        dead.fold((0, 0), |(entries, bytes), (key, row)| {
            (entries + 1, bytes + logical_bytes(key, row))
        })
    }

    /// Saves the rows above the cut-off of a cache that holds all there is.
    pub(crate) fn save(&self, dir: &Path, state: &str, cut_off: i64) -> Result<(), Error> {
        if self.rest.is_some() {
            return Ok(());
        }
        let rows = self.slots.iter().filter_map(|(_, slot)| Some((slot.key(), slot.row()?)));
        heap::save(dir, state, rows.filter(|(_, row)| row_ts(row) > cut_off))
    }

    /// Tells whether a row of this key is anywhere: in memory only, in the overflow or in the store.
    pub(crate) fn holds(&mut self, key: &[u8]) -> Result<bool, Error> {
        let cached = self.slots.find(key_hash(key), key).and_then(|at| self.slots.get(at));
        let Some(rest) = &self.rest else {
            return Ok(cached.is_some_and(|slot| slot.row().is_some()));
        };
        if cached.is_some_and(|slot| slot.changed_in != 0 && slot.row().is_some()) {
            return Ok(true);
        }
        let mut row = Vec::new();
        match rest.overflow.get(key, &mut row)? {
            Some(present) => Ok(present),
            None => rest.store.get(key, &mut row),
        }
    }

    /// Writes every committed change to the store and keeps it cached as clean.
    pub(crate) fn write_back(&mut self, committed: u64) -> Result<(), Error> {
        if self.rest.is_none() {
            return Ok(());
        }
        self.settle(committed)?;
        let due: Vec<u32> = self
            .slots
            .iter()
            .filter(|(_, slot)| slot.changed_in != 0 && slot.changed_in <= committed)
            .map(|(at, _)| at)
            .collect();
        self.write_out(&due)
    }

    /// Moves every uncommitted slot to the overflow and forgets it. The caller has logged them.
    pub(crate) fn spill_over(&mut self, committed: u64) -> Result<(), Error> {
        let Some(rest) = &mut self.rest else { return Ok(()) };
        let due: Vec<u32> = self
            .slots
            .iter()
            .filter(|(_, slot)| !slot.is_free() && slot.changed_in > committed)
            .map(|(at, _)| at)
            .collect();
        let rows = due.iter().filter_map(|at| self.slots.get(*at));
        rest.overflow.put(rows.map(|slot| (slot.changed_in, slot.key(), slot.row())))?;
        for at in due {
            self.forget(at);
        }
        self.changed.clear();
        self.changed_bytes = 0;
        Ok(())
    }

    pub(super) fn write_out(&mut self, slots: &[u32]) -> Result<(), Error> {
        let Some(Rest { store, overflow }) = &mut self.rest else { return Ok(()) };
        // sorted by what the processor can compare at once: keys lie all over the memory
        let mut due: Vec<(u128, &Slot)> = slots
            .iter()
            .filter_map(|at| self.slots.get(*at))
            .filter(|slot| slot.changed_in != 0)
            .map(|slot| (leading(slot.key()), slot))
            .collect();
        due.sort_unstable_by(|(a, x), (b, y)| a.cmp(b).then_with(|| x.key().cmp(y.key())));
        if !due.is_empty() {
            let rows = due.iter().map(|(_, slot)| (slot.key(), slot.row()));
            // an older row of the same key may still be in the overflow, which is read first
            if overflow.is_empty() {
                store.apply_sorted(&rows.collect::<Vec<_>>())?;
            } else {
                overflow.put(rows.map(|(key, row)| (0, key, row)))?;
            }
        }
        for at in slots {
            if let Some(slot) = self.slots.get_mut(*at) {
                slot.changed_in = 0;
            }
        }
        Ok(())
    }
}
