//! Changes of timers that have not reached the store, as [`crate::store::WriteCache`] is for other
//! states; but a registration is written blindly, and what it found is looked up later in a sorted
//! batch.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::key::RowKey;

/// Bytes that a slot costs beside its key, its share of the tree included.
const SLOT_BYTES: usize = 96;

/// What store and overflow hold of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Below {
    /// Nothing that is alive.
    Absent,
    /// A live row.
    Present,
    /// Not looked up yet: counts do not know of the change.
    Unknown,
}

/// What an epoch did to a timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// `max(timer time, cut-off + 1)`: the row is dead once the cut-off has reached it.
    pub(super) stamp: i64,
    /// Registered, or removed.
    pub(super) pending: bool,
    pub(super) below: Below,
    /// Epoch of the last change.
    pub(super) epoch: u64,
    /// The changelog has a row of it.
    pub(super) logged: bool,
}

/// The changes, in the order of their row keys.
#[derive(Default)]
pub(super) struct Overlay {
    slots: BTreeMap<RowKey, Slot>,
    /// Keys changed since the last barrier; of each at least once.
    changed: Vec<RowKey>,
    changed_bytes: usize,
    bytes: usize,
}

impl Overlay {
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Bytes that are not committed, at least.
    pub(super) fn changed_bytes(&self) -> usize {
        self.changed_bytes
    }

    pub(super) fn get(&self, key: &RowKey) -> Option<Slot> {
        self.slots.get(key).copied()
    }

    pub(super) fn put(&mut self, key: &RowKey, slot: Slot) {
        let bytes = SLOT_BYTES + key.len();
        let former = self.slots.insert(RowKey::clone(key), slot);
        if former.is_none() {
            self.bytes += bytes;
        }
        if former.is_none_or(|former| former.epoch != slot.epoch) {
            self.changed.push(RowKey::clone(key));
            self.changed_bytes += bytes;
        }
    }

    /// For what becomes known of a slot; what an epoch does to it is [`Overlay::put`].
    pub(super) fn get_mut(&mut self, key: &RowKey) -> Option<&mut Slot> {
        self.slots.get_mut(key)
    }

    pub(super) fn remove(&mut self, key: &RowKey) {
        if let Some((key, _)) = self.slots.remove_entry(key) {
            self.bytes -= SLOT_BYTES + key.len();
        }
    }

    /// Visits slots from `from`, inclusive, to `to`, exclusive, until `visit` has enough.
    pub(super) fn range(
        &self,
        from: &RowKey,
        to: &RowKey,
        mut visit: impl FnMut(&RowKey, &Slot) -> bool,
    ) {
        for (key, slot) in self.slots.range((Bound::Included(from), Bound::Excluded(to))) {
            if !visit(key, slot) {
                return;
            }
        }
    }

    /// Hands over the keys that have changed since the last call.
    pub(super) fn take_changed(&mut self) -> Vec<RowKey> {
        self.changed_bytes = 0;
        std::mem::take(&mut self.changed)
    }

    /// The slots that `moves` holds of, sorted by key.
    pub(super) fn select(&self, moves: impl Fn(&Slot) -> bool) -> Vec<(RowKey, Slot)> {
        let due = self.slots.iter().filter(|(_, slot)| moves(slot));
        due.map(|(key, slot)| (RowKey::clone(key), *slot)).collect()
    }

    /// Drops the slots that `moves` holds of.
    pub(super) fn forget(&mut self, moves: impl Fn(&Slot) -> bool) {
        let bytes = &mut self.bytes;
        self.slots.retain(|key, slot| {
            let goes = moves(slot);
            if goes {
                *bytes -= SLOT_BYTES + key.len();
            }
            !goes
        });
    }
}
