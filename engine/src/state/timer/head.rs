//! The next due timers, in memory, and up to where each key group has been read.
//!
//! 1. A group's timers below its boundary are all in the head; those at or behind it are in the
//!    overlay and the store.
//! 2. A group is read on only when its boundary is due and nothing earlier is in the head.
//! 3. When too many have come in, the later half goes out again and boundaries move back.

use std::collections::{BTreeMap, BTreeSet};

use super::key::{Due, RowKey, first_at, time_of};
use crate::codec::group_of;

/// Timers that the head holds at most.
const HEAD_TIMERS_MAX: usize = 16_384;

/// The next due timers of a shard.
pub(super) struct Head {
    /// Stamp of each.
    timers: BTreeMap<Due, i64>,
    /// Per group: the first row key that has not been read; `None` where all have.
    boundaries: Vec<Option<RowKey>>,
    /// Groups with a boundary, by its time.
    unread: BTreeSet<(i64, u16)>,
    timers_max: usize,
    trimmed: bool,
}

impl Head {
    /// A head of so many groups, of which nothing has to be read.
    pub(super) fn new(groups: u16) -> Self {
        Self {
            timers: BTreeMap::new(),
            boundaries: vec![None; usize::from(groups)],
            unread: BTreeSet::new(),
            timers_max: HEAD_TIMERS_MAX,
            trimmed: false,
        }
    }

    #[cfg(test)]
    pub(super) fn set_timers_max(&mut self, timers: usize) {
        self.timers_max = timers;
    }

    /// Nothing has been read of what is due at `time` or later, and nothing is due before.
    pub(super) fn unread_from(&mut self, time: i64) {
        for group in 0..self.boundaries.len() as u16 {
            self.set_boundary(group, Some(first_at(group, time)));
        }
    }

    pub(super) fn set_boundary(&mut self, group: u16, boundary: Option<RowKey>) {
        let Some(slot) = self.boundaries.get_mut(usize::from(group)) else { return };
        if let Some(old) = slot {
            self.unread.remove(&(time_of(old), group));
        }
        if let Some(new) = &boundary {
            self.unread.insert((time_of(new), group));
        }
        *slot = boundary;
    }

    pub(super) fn boundary(&self, group: u16) -> Option<&RowKey> {
        self.boundaries.get(usize::from(group)).and_then(Option::as_ref)
    }

    /// Tells whether a timer with this row key is in the head if it is anywhere.
    pub(super) fn has_read(&self, key: &RowKey) -> bool {
        self.boundary(group_of(key)).is_none_or(|boundary| key < boundary)
    }

    /// The group that must be read on before what is due at `now` is known.
    pub(super) fn group_to_read(&self, now: i64) -> Option<u16> {
        let (time, group) = *self.unread.first()?;
        let first =
            self.timers.first_key_value().map(|(due, _)| (time_of(&due.key), group_of(&due.key)));
        // of one time and group, what has been read comes first
        (time <= now && first.is_none_or(|first| (time, group) < first)).then_some(group)
    }

    /// A lower bound of when the next timer is due: exact once it has been read.
    pub(super) fn next_time(&self) -> Option<i64> {
        let first = self.timers.first_key_value().map(|(due, _)| time_of(&due.key));
        let unread = self.unread.first().map(|(time, _)| *time);
        match (first, unread) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    /// The first timer, if it is due at `now`.
    pub(super) fn first_due(&self, now: i64) -> Option<&RowKey> {
        let (due, _) = self.timers.first_key_value()?;
        (time_of(&due.key) <= now).then_some(&due.key)
    }

    pub(super) fn pop(&mut self) -> Option<(RowKey, i64)> {
        self.timers.pop_first().map(|(due, stamp)| (due.key, stamp))
    }

    pub(super) fn stamp(&self, key: &RowKey) -> Option<i64> {
        self.timers.get(&Due::of(key)).copied()
    }

    /// Takes in a timer that is below its group's boundary.
    pub(super) fn insert(&mut self, key: &RowKey, stamp: i64) {
        self.timers.insert(Due::of(key), stamp);
        if self.timers.len() > self.timers_max {
            self.trim();
        }
    }

    pub(super) fn remove(&mut self, key: &RowKey) {
        self.timers.remove(&Due::of(key));
    }

    /// Tells whether boundaries have moved back since the last call.
    pub(super) fn take_trimmed(&mut self) -> bool {
        std::mem::take(&mut self.trimmed)
    }

    fn trim(&mut self) {
        self.trimmed = true;
        let Some(middle) = self.timers.keys().nth(self.timers_max / 2).cloned() else { return };
        let later = self.timers.split_off(&middle);
        // in firing order, so the first of a group is its least row key
        for due in later.into_keys() {
            let group = group_of(&due.key);
            if self.has_read(&due.key) {
                self.set_boundary(group, Some(due.key));
            }
        }
    }
}
