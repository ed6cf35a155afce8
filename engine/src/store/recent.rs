//! Keys whose entry expired and is gone, for a while: lets a read of such a key count as a TTL
//! miss, and `lookup` answer `Expired` (SEMANTICS §1.6). Bounded, by hash, so approximate.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

use serde::{Deserialize, Serialize};

/// Most keys remembered per state and shard.
pub(crate) const KEYS_MAX: usize = 65_536;

/// The keys are hashes already.
#[derive(Clone, Copy, Debug, Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _bytes: &[u8]) {}
    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// Remembers when entries of recently expired keys were last stamped.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentlyGone {
    stamps: HashMap<u64, i64, BuildHasherDefault<Identity>>,
    order: VecDeque<(u64, i64)>,
}

/// A [`RecentlyGone`] in a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecentSnapshot(Vec<(u64, i64)>);

impl RecentSnapshot {
    /// Of these hashes with their stamps.
    pub(crate) fn of(stamps: Vec<(u64, i64)>) -> Self {
        Self(stamps)
    }

    /// What several shards remember together, the newest of a bounded number.
    pub(crate) fn union(parts: &[&Self]) -> Self {
        let mut all: Vec<(u64, i64)> =
            parts.iter().flat_map(|part| part.0.iter().copied()).collect();
        all.sort_by_key(|(_, stamp)| *stamp);
        let surplus = all.len().saturating_sub(KEYS_MAX);
        Self(all.split_off(surplus))
    }
}

impl RecentlyGone {
    /// An expired entry with stamp `ts` was removed.
    pub(crate) fn insert(&mut self, hash: u64, ts: i64) {
        if self.order.len() >= KEYS_MAX
            && let Some((oldest, stamp)) = self.order.pop_front()
            && self.stamps.get(&oldest) == Some(&stamp)
        {
            self.stamps.remove(&oldest);
        }
        self.stamps.insert(hash, ts);
        self.order.push_back((hash, ts));
    }

    /// The key was written or deleted.
    #[inline]
    pub(crate) fn clear(&mut self, hash: u64) {
        if !self.stamps.is_empty() {
            self.stamps.remove(&hash);
        }
    }

    /// Stamp of the entry that is gone.
    #[inline]
    pub(crate) fn get(&self, hash: u64) -> Option<i64> {
        if self.stamps.is_empty() { None } else { self.stamps.get(&hash).copied() }
    }

    pub(crate) fn snapshot(&self) -> RecentSnapshot {
        let live = self.order.iter().filter(|(hash, ts)| self.stamps.get(hash) == Some(ts));
        RecentSnapshot(live.copied().collect())
    }

    pub(crate) fn restore(snapshot: &RecentSnapshot) -> Self {
        let mut recent = Self::default();
        for (hash, ts) in &snapshot.0 {
            recent.insert(*hash, *ts);
        }
        recent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// §1.6: fed by removals, cleared by a write, bounded, kept in checkpoints.
    #[test]
    fn remembers_a_bounded_number_of_keys() {
        let mut recent = RecentlyGone::default();
        for n in 0..KEYS_MAX as u64 + 10 {
            recent.insert(n, n as i64);
        }
        assert_eq!(recent.get(9), None);
        assert_eq!(recent.get(10), Some(10));
        recent.clear(10);
        assert_eq!(RecentlyGone::restore(&recent.snapshot()).get(10), None);
        assert_eq!(RecentlyGone::restore(&recent.snapshot()).get(11), Some(11));
    }
}
