//! What the store holds: looked up for counts, read on for the head.

use std::collections::BTreeMap;

use stateward_model::key_hash;

use super::key::RowKey;
use super::overlay::{Below, Slot};
use super::{TimerTable, timer_bytes};
use crate::codec::{group_of, row_ts};
use crate::error::Error;
use crate::store::StateStore;

/// Rows of a group that are read at once.
const CHUNK_ROWS: usize = 64;
/// Keys that are looked up at once.
const LOOK_UPS: usize = 1_024;

/// Live rows of a range: key and stamp, or a removal.
type Rows = BTreeMap<RowKey, Option<i64>>;

impl TimerTable {
    /// Reads a group on, from its boundary, into the head.
    pub(super) fn read_on(&mut self, group: u16, epoch: u64) -> Result<(), Error> {
        let Some(from) = self.head.boundary(group).cloned() else { return Ok(()) };
        let to = RowKey::from((group + 1).to_be_bytes().as_slice());
        let cut_off = self.cut_off;
        let mut rows = Rows::new();
        let mut end: Option<RowKey> = None;
        let mut seen = 0;
        self.store.range(&from, &to, &mut |key, row| {
            let stamp = row_ts(row);
            if stamp <= cut_off {
                return true;
            }
            if seen == CHUNK_ROWS {
                end = Some(key.into());
                return false;
            }
            seen += 1;
            rows.insert(key.into(), Some(stamp));
            true
        })?;
        let store_end = end.take();
        seen = 0;
        self.overflow.range(&from, store_end.as_deref().unwrap_or(&to), &mut |key, row| {
            if seen == CHUNK_ROWS {
                end = Some(key.into());
                return false;
            }
            seen += 1;
            rows.insert(key.into(), row.map(row_ts).filter(|stamp| *stamp > cut_off));
            true
        })?;
        let end = end.or(store_end);
        let mut slots: Vec<(RowKey, Slot)> = Vec::new();
        let mut overlay_end = None;
        self.overlay.range(&from, end.as_ref().unwrap_or(&to), |key, slot| {
            if slots.len() == CHUNK_ROWS {
                overlay_end = Some(key.clone());
                return false;
            }
            slots.push((key.clone(), *slot));
            true
        });
        let end = overlay_end.or(end);
        for (key, slot) in slots {
            let below = rows.remove(&key).flatten();
            if slot.below == Below::Unknown {
                self.settle(&key, below);
            }
            if let Some(slot) = self.overlay.get(&key).filter(|slot| slot.pending) {
                rows.insert(key, Some(slot.stamp));
            }
        }
        self.head.set_boundary(group, end);
        for (key, stamp) in rows {
            // the boundary moves back when the head is full
            if let Some(stamp) = stamp.filter(|_| self.head.has_read(&key)) {
                self.head_insert(&key, stamp, epoch);
            }
        }
        Ok(())
    }

    /// Counts every change that waits for a look into the store.
    pub(super) fn resolve(&mut self) -> Result<(), Error> {
        let mut keys = std::mem::take(&mut self.unknown);
        let is_unknown = |slot: Slot| slot.below == Below::Unknown;
        keys.retain(|key| self.overlay.get(key).is_some_and(is_unknown));
        keys.sort_unstable();
        keys.dedup();
        for keys in keys.chunks(LOOK_UPS) {
            if !self.overflow.is_empty() {
                keys.iter().try_for_each(|key| self.resolve_one(key))?;
                continue;
            }
            let plain: Vec<&[u8]> = keys.iter().map(|key| &**key).collect();
            let found = self.store.get_many(&plain, row_ts)?;
            for (key, stamp) in keys.iter().zip(found) {
                self.settle(key, stamp.filter(|stamp| *stamp > self.cut_off));
            }
        }
        Ok(())
    }

    /// Counts one change.
    pub(super) fn resolve_one(&mut self, key: &RowKey) -> Result<(), Error> {
        let mut row = Vec::new();
        let found = match self.overflow.get(key, &mut row)? {
            Some(present) => present,
            None => self.store.get(key, &mut row)?,
        };
        let stamp = found.then(|| row_ts(&row)).filter(|stamp| *stamp > self.cut_off);
        self.settle(key, stamp);
        Ok(())
    }

    /// What lies below a change is known now: `below` is its stamp.
    fn settle(&mut self, key: &RowKey, below: Option<i64>) {
        let Some(slot) = self.overlay.get_mut(key) else { return };
        self.changed = true;
        if let Some(stamp) = below {
            (slot.below, slot.stamp) = (Below::Present, stamp);
            if !slot.pending {
                self.count_deleted(key, stamp);
            }
            return;
        }
        slot.below = Below::Absent;
        let Slot { pending, logged, stamp, .. } = *slot;
        if pending {
            self.count_registered(key, stamp);
        } else if !logged {
            self.overlay.remove(key);
        }
    }

    /// Tells whether neither store nor overflow can have a timer; else it has to be looked up.
    pub(super) fn store_lacks(&self, key: &RowKey, time: i64) -> bool {
        let newest = self.newest.get(usize::from(group_of(key)));
        newest.is_some_and(|newest| {
            // the hash is not worth its cost where times come in order
            time > newest.now || (time > newest.at_start && !self.filter.may_hold(key_hash(key)))
        })
    }

    /// The store, or the overflow, gets rows of these timers.
    pub(super) fn note_stored(&mut self, key: &RowKey, stamp: i64) {
        let time = super::time_of(key);
        if let Some(newest) = self.newest.get_mut(usize::from(group_of(key))) {
            newest.now = newest.now.max(time);
        }
        self.filter.insert(key_hash(key), stamp);
    }

    /// Looks up how late the timers reach that the store holds.
    pub(super) fn find_newest(&mut self) -> Result<(), Error> {
        for (group, newest) in (0_u16..).zip(&mut self.newest) {
            let last = self.store.last(&group.to_be_bytes(), &(group + 1).to_be_bytes())?;
            newest.at_start = last.map_or(i64::MIN, |key| super::time_of(&key));
            newest.now = newest.at_start;
        }
        Ok(())
    }

    /// Bytes of keys that are held beside the overlay.
    pub(super) fn fired_bytes(&self) -> usize {
        const ENTRY_BYTES: usize = 64;
        self.fired.len() * ENTRY_BYTES
            + self.fired.last().map_or(0, |(key, _)| timer_bytes(key) as usize) * self.fired.len()
    }
}
