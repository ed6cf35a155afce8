//! Which keys change a state most (SEMANTICS §9).

use serde::{Deserialize, Serialize};

/// One key of a [`HotList`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HotKey {
    /// Its hash.
    pub hash: u64,
    /// The key itself, where the state's declaration allows it.
    pub key: Option<String>,
    /// At least so much; at most this and [`HotList::error`].
    pub amount: u64,
}

/// The keys with the greatest amounts, each counted with a guaranteed error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HotList {
    /// At most [`HotList::KEYS_MAX`], greatest first.
    pub keys: Vec<HotKey>,
    /// What all keys have together, exact.
    pub total: u64,
    /// By how much an amount may be too small; a key that is not listed has no more than the last
    /// one and this.
    pub error: u64,
}

impl HotList {
    /// Keys that are listed.
    pub const KEYS_MAX: usize = 10;

    /// Adds another shard's, which has other keys.
    pub fn add(&mut self, other: &Self) {
        self.keys.extend(other.keys.iter().cloned());
        self.keys.sort_by(|a, b| b.amount.cmp(&a.amount).then_with(|| a.hash.cmp(&b.hash)));
        self.keys.truncate(Self::KEYS_MAX);
        self.total += other.total;
        self.error = self.error.max(other.error);
    }

    /// What part of all the first key has at least, 0 to 1; `None` where nothing was counted.
    pub fn first_ratio(&self) -> Option<f64> {
        let first = self.keys.first()?;
        Some(first.amount as f64 / self.total.max(1) as f64)
    }
}

/// The hottest keys of a state, over all shards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HotKeys {
    /// By changes: writes, refreshing reads and removals.
    pub by_changes: HotList,
    /// By bytes of keys and rows that went to the changelog; what changes a row again within one
    /// epoch adds none.
    pub by_bytes: HotList,
    /// Engine wall clock since when they are counted.
    pub since_millis: Option<i64>,
}

impl HotKeys {
    /// Adds another shard's.
    pub fn add(&mut self, other: &Self) {
        self.by_changes.add(&other.by_changes);
        self.by_bytes.add(&other.by_bytes);
        self.since_millis = match (self.since_millis, other.since_millis) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// §9: the greatest of all shards, with the greatest error of any.
    #[test]
    fn shards_add_up() {
        let list = |first: u64| HotList {
            keys: (0..10).map(|n| HotKey { hash: n, key: None, amount: first - n }).collect(),
            total: 1_000,
            error: first,
        };
        let mut sum = list(100);
        sum.add(&list(96));
        let amounts: Vec<u64> = sum.keys.iter().map(|key| key.amount).collect();
        assert_eq!(amounts, [100, 99, 98, 97, 96, 96, 95, 95, 94, 94]);
        assert_eq!((sum.total, sum.error), (2_000, 100));
        assert_eq!(sum.first_ratio(), Some(0.05));
        assert_eq!(HotList::default().first_ratio(), None);
    }
}
