//! Reads that find nothing because an entry was dead when its state was restored (SEMANTICS §1.13).

use std::collections::HashSet;

/// Most keys that are told apart; reads of others count as TTL misses.
const KEYS_MAX: usize = 65_536;

/// Tells the first read of each such key from all later ones.
#[derive(Debug, Default)]
pub(super) struct DeadOnArrival {
    /// Every entry with a stamp up to this one was dead.
    up_to: Option<i64>,
    read: HashSet<u64>,
}

impl DeadOnArrival {
    pub(super) fn new(up_to: Option<i64>) -> Self {
        Self { up_to, read: HashSet::new() }
    }

    /// Tells whether this is the first read that misses such an entry. Asked only where a read misses,
    /// which is rare enough for a set.
    pub(super) fn is_first(&mut self, hash: u64, ts: i64) -> bool {
        self.up_to.is_some_and(|up_to| ts <= up_to)
            && self.read.len() < KEYS_MAX
            && self.read.insert(hash)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// §1.13: once a key, of a bounded number, and only of what was dead then.
    #[test]
    fn a_key_counts_once() {
        let mut dead = DeadOnArrival::new(Some(100));
        let reads = [(1, 100), (1, 100), (2, 101), (2, 99), (2, 50)];
        assert_eq!(
            reads.map(|(hash, ts)| dead.is_first(hash, ts)),
            [true, false, false, true, false]
        );
        assert!(!DeadOnArrival::new(None).is_first(1, i64::MIN));
        let counted = (0..100_000).filter(|hash| dead.is_first(*hash, 0)).count();
        assert_eq!(counted, KEYS_MAX - 2);
    }
}
