//! The slots of a write cache: one cache line each, in chunks that never move.
//!
//! With a million keys nearly every access misses the processor's caches, so what an access needs
//! (hash, key, time, small values) lies in one aligned line, and [`Slots::warm`] lets a batch's lines
//! be fetched side by side instead of one after another.

use hashbrown::HashTable;
use smallvec::SmallVec;

/// Bytes of key and row that lie in the slot itself.
const INLINE_BYTES: usize = 32;
/// Slots of a chunk, a power of two.
const CHUNK_SLOTS: usize = 4_096;
/// Bytes a slot costs with its share of the index, beside what does not fit into it.
const SLOT_BYTES: usize = 76;
/// Slots up to which the processor's own caches hold everything.
const SLOTS_COLD: usize = 8_192;

/// One cached key.
#[derive(Debug, Default)]
#[repr(align(64))]
pub(super) struct Slot {
    hash: u64,
    /// Key, then row.
    bytes: SmallVec<[u8; INLINE_BYTES]>,
    /// Epoch of the last change; 0: the store holds the same.
    pub(super) changed_in: u64,
    key_bytes: u32,
    /// Changes since the changelog had it last; begins again at 0 when it is full.
    pub(super) changes: u16,
    is_present: bool,
    /// Used since the eviction hand last came by.
    pub(super) is_used: bool,
}

impl Slot {
    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        self.bytes.get(..self.key_bytes as usize).unwrap_or_default()
    }

    #[inline]
    pub(super) fn hash(&self) -> u64 {
        self.hash
    }

    /// Tells whether the slot is one of [`Slots::forget`].
    #[inline]
    pub(super) fn is_free(&self) -> bool {
        self.key_bytes == 0
    }

    /// The row, if the key has one.
    #[inline]
    pub(super) fn row(&self) -> Option<&[u8]> {
        self.is_present.then(|| self.bytes.get(self.key_bytes as usize..).unwrap_or_default())
    }

    /// The row, to change it in place.
    #[inline]
    pub(super) fn row_mut(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.key_bytes as usize..).unwrap_or_default()
    }

    /// Gives the key a row, or none.
    #[inline]
    pub(super) fn set_row(&mut self, row: Option<&[u8]>) {
        self.bytes.truncate(self.key_bytes as usize);
        self.bytes.extend_from_slice(row.unwrap_or_default());
        self.is_present = row.is_some();
    }

    #[inline]
    pub(super) fn bytes(&self) -> usize {
        SLOT_BYTES + if self.bytes.spilled() { self.bytes.capacity() } else { 0 }
    }

    /// Bytes of key and row, if the key has one.
    #[inline]
    pub(super) fn content_bytes(&self) -> u64 {
        if self.is_present { self.bytes.len() as u64 } else { 0 }
    }

    fn is(&self, hash: u64, key: &[u8]) -> bool {
        self.hash == hash && self.key() == key
    }
}

/// All slots of a cache, found by key.
#[derive(Debug, Default)]
pub(super) struct Slots {
    index: HashTable<u32>,
    chunks: Vec<Vec<Slot>>,
    free: Vec<u32>,
    /// Where the next key is probably found: where the last one was, or where [`Slots::warm`] saw it.
    guess: u32,
    warmed: Vec<u32>,
}

#[inline]
fn at(chunks: &[Vec<Slot>], slot: u32) -> Option<&Slot> {
    chunks.get(slot as usize / CHUNK_SLOTS)?.get(slot as usize % CHUNK_SLOTS)
}

impl Slots {
    #[inline]
    pub(super) fn get(&self, slot: u32) -> Option<&Slot> {
        at(&self.chunks, slot)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut Slot> {
        self.chunks.get_mut(slot as usize / CHUNK_SLOTS)?.get_mut(slot as usize % CHUNK_SLOTS)
    }

    /// Slots in use and free ones together.
    pub(super) fn len(&self) -> usize {
        match self.chunks.split_last() {
            Some((last, full)) => full.len() * CHUNK_SLOTS + last.len(),
            None => 0,
        }
    }

    /// All slots with their numbers, free ones too.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Slot)> {
        (0_u32..).zip(self.chunks.iter().flatten())
    }

    /// Finds the slot of a key.
    #[inline]
    pub(super) fn find(&mut self, hash: u64, key: &[u8]) -> Option<u32> {
        if let Some(slot) = self.get_mut(self.guess)
            && slot.is(hash, key)
        {
            slot.is_used = true;
            return Some(self.guess);
        }
        let chunks = &self.chunks;
        let same = |slot: &u32| at(chunks, *slot).is_some_and(|slot| slot.is(hash, key));
        let found = *self.index.find(hash, same)?;
        self.guess = found;
        if let Some(slot) = self.get_mut(found) {
            slot.is_used = true;
        }
        Some(found)
    }

    /// Makes a slot for a key that has none.
    pub(super) fn insert(&mut self, hash: u64, key: &[u8], row: Option<&[u8]>) -> u32 {
        let mut slot = Slot {
            hash,
            bytes: SmallVec::with_capacity(key.len() + row.map_or(0, <[u8]>::len)),
            key_bytes: key.len() as u32,
            is_used: true,
            ..Slot::default()
        };
        slot.bytes.extend_from_slice(key);
        slot.set_row(row);
        let number = match self.free.pop() {
            Some(number) => {
                if let Some(into) = self.get_mut(number) {
                    *into = slot;
                }
                number
            }
            None => self.push(slot),
        };
        let chunks = &self.chunks;
        let hash_of = |slot: &u32| at(chunks, *slot).map_or(0, |slot| slot.hash);
        self.index.insert_unique(hash, number, hash_of);
        self.guess = number;
        number
    }

    fn push(&mut self, slot: Slot) -> u32 {
        let number = self.len() as u32;
        match self.chunks.last_mut() {
            Some(last) if last.len() < CHUNK_SLOTS => last.push(slot),
            _ => {
                let mut chunk = Vec::with_capacity(CHUNK_SLOTS);
                chunk.push(slot);
                self.chunks.push(chunk);
            }
        }
        number
    }

    /// Takes a key out and returns what was its slot.
    pub(super) fn forget(&mut self, number: u32) -> Slot {
        let Some(slot) = self.get_mut(number) else { return Slot::default() };
        let slot = std::mem::take(slot);
        if let Ok(entry) = self.index.find_entry(slot.hash, |other| *other == number) {
            entry.remove();
        }
        self.free.push(number);
        slot
    }

    /// Looks a batch's keys up by their hashes. Nothing depends on the result but speed: the
    /// look-ups do not wait for one another, as those between the events of the batch do.
    #[inline]
    pub(super) fn warm(&mut self, hashes: impl Iterator<Item = u64>) {
        self.warmed.clear();
        if self.len() <= SLOTS_COLD {
            return;
        }
        let chunks = &self.chunks;
        let mut touched = 0_u8;
        self.warmed.extend(hashes.map(|hash| {
            let same = |slot: &u32| at(chunks, *slot).is_some_and(|slot| slot.hash == hash);
            let Some(found) = self.index.find(hash, same) else { return u32::MAX };
            // the key may lie outside of the slot
            touched ^=
                at(chunks, *found).and_then(|slot| slot.bytes.first()).map_or(0, |byte| *byte);
            *found
        }));
        std::hint::black_box(touched);
    }

    /// Fetches the lines of some slots side by side.
    pub(super) fn touch(&self, slots: &[u32]) {
        let slots = slots.iter().filter_map(|slot| self.get(*slot));
        let first = |touched, slot: &Slot| touched ^ slot.bytes.first().copied().unwrap_or(0);
        std::hint::black_box(slots.fold(0, first));
    }

    /// The batch's `n`th event is next.
    #[inline]
    pub(super) fn expect(&mut self, n: usize) {
        if let Some(warmed) = self.warmed.get(n) {
            self.guess = *warmed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The record path is one line a slot.
    #[test]
    fn a_slot_is_a_cache_line() {
        assert_eq!(size_of::<Slot>(), 64);
    }

    /// What was warmed is only a guess: slots that changed hands since are not taken for the key.
    #[test]
    fn a_wrong_guess_is_seen() {
        let mut slots = Slots::default();
        let hash = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        for n in 0..=SLOTS_COLD as u64 {
            slots.insert(hash(n), &n.to_be_bytes(), Some(&n.to_le_bytes()));
        }
        slots.warm([hash(7), hash(8), hash(u64::MAX)].into_iter());
        slots.expect(0);
        let seven = slots.find(hash(7), &7_u64.to_be_bytes()).unwrap();
        slots.expect(1);
        assert_eq!(slots.find(hash(7), &7_u64.to_be_bytes()), Some(seven));
        // the same hash, another key
        slots.expect(0);
        assert_eq!(slots.find(hash(7), &70_u64.to_be_bytes()), None);
        slots.expect(0);
        slots.forget(seven);
        assert_eq!(slots.find(hash(7), &7_u64.to_be_bytes()), None);
        let again = slots.insert(hash(7), &77_u64.to_be_bytes(), None);
        assert_eq!(again, seven, "a free slot is used again");
        slots.expect(0);
        assert_eq!(slots.find(hash(7), &7_u64.to_be_bytes()), None);
        slots.expect(2);
        slots.expect(9);
        assert_eq!(slots.get(again).unwrap().row(), None);
    }
}
