//! Which keys have the greatest amounts, in bounded memory with a guaranteed error.
//!
//! The Misra-Gries summary for weighted items, in the form that purges: a table of counters; once it
//! is three quarters full, about the median counter is taken off all, and those at or below zero go.
//! What was taken off is the error: a key's true amount lies between its counter and that plus
//! [`Heavy::error`], and a key without a counter has at most the error (Anderson et al., "A
//! High-Performance Algorithm for Identifying Frequent Items in Data Streams", 2017, §2; the median of a
//! sample is their §2.3: how great the error becomes is likely, what it is is exact).
//!
//! Where every key comes at most once in a round, those that are small beside the round need no counter
//! at all: a key that is left out is short by no more than the greatest amount that was, so that is
//! added to the error once a round. The bound comes from the round before, so all rounds together add
//! no more than the sum of all amounts divided by [`SLOTS_USED_MAX`] doubled. On even traffic this is
//! what keeps the summary off the record path's caches.

/// Counters of a table, a power of two.
const SLOTS: usize = 1_024;
/// Counters from which on it is purged. Each purge takes something off about half of these, so the
/// error is about the sum of all amounts divided by half of this.
const SLOTS_USED_MAX: usize = SLOTS / 4 * 3;
/// Counters whose median is taken for that of all; they lie in the order of hashes, so any will do.
const SAMPLED: usize = 64;

/// One counter; an amount of 0 is an empty place.
#[derive(Clone, Copy, Debug, Default)]
struct Counter {
    hash: u64,
    amount: u64,
}

/// Amounts of the heaviest keys, by hash.
#[derive(Clone, Debug)]
pub(crate) struct Heavy {
    counters: Box<[Counter]>,
    /// Where a purge puts what it works on: it must not allocate on the record path.
    survivors: Vec<Counter>,
    used: usize,
    error: u64,
    total: u64,
    round: Round,
}

/// Between two calls of [`Heavy::begin_round`].
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// Amounts below it are left out.
    floor: u64,
    left_out_max: u64,
    /// [`Heavy::total`] when it began.
    total_before: u64,
}

impl Default for Heavy {
    fn default() -> Self {
        let counters = vec![Counter::default(); SLOTS].into_boxed_slice();
        let (survivors, round) = (Vec::new(), Round::default());
        Self { counters, survivors, used: 0, error: 0, total: 0, round }
    }
}

impl Heavy {
    /// Until the next call, no key is added twice.
    pub(crate) fn begin_round(&mut self) {
        let before = self.total - self.round.total_before;
        self.error = self.error();
        let floor = before / (2 * SLOTS_USED_MAX as u64);
        self.round = Round { floor, left_out_max: 0, total_before: self.total };
    }

    /// Adds an amount to a key's.
    #[inline]
    pub(crate) fn add(&mut self, hash: u64, amount: u64) {
        self.total = self.total.saturating_add(amount);
        if amount < self.round.floor {
            self.round.left_out_max = self.round.left_out_max.max(amount);
        } else {
            self.count_large(hash, amount);
        }
    }

    // kept out of the way of what is left out
    #[inline(never)]
    fn count_large(&mut self, hash: u64, amount: u64) {
        self.count(hash, amount);
        if self.used > SLOTS_USED_MAX {
            self.purge();
        }
    }

    fn count(&mut self, hash: u64, amount: u64) {
        // the lower bits, because the upper ones are alike within a shard
        let mut at = hash as usize % SLOTS;
        while let Some(counter) = self.counters.get_mut(at) {
            if counter.amount == 0 {
                *counter = Counter { hash, amount };
                self.used += usize::from(amount > 0);
                return;
            }
            if counter.hash == hash {
                counter.amount = counter.amount.saturating_add(amount);
                return;
            }
            at = (at + 1) % SLOTS;
        }
    }

    #[cold]
    fn purge(&mut self) {
        let mut sample = [0; SAMPLED];
        let used = self.counters.iter().filter(|counter| counter.amount > 0);
        for (into, counter) in sample.iter_mut().zip(used) {
            *into = counter.amount;
        }
        let (_, median, _) = sample.select_nth_unstable(SAMPLED / 2);
        let median = *median;
        self.error = self.error.saturating_add(median);
        let mut survivors = std::mem::take(&mut self.survivors);
        survivors.extend(self.counters.iter().filter(|counter| counter.amount > median));
        self.counters.fill(Counter::default());
        self.used = 0;
        for Counter { hash, amount } in survivors.drain(..) {
            self.count(hash, amount - median);
        }
        self.survivors = survivors;
    }

    /// All counters.
    pub(crate) fn entries(&self) -> Vec<(u64, u64)> {
        let used = self.counters.iter().filter(|counter| counter.amount > 0);
        used.map(|counter| (counter.hash, counter.amount)).collect()
    }

    /// A key's counter; 0 for one without.
    pub(crate) fn amount(&self, hash: u64) -> u64 {
        let from = hash as usize % SLOTS;
        let places = (from..SLOTS).chain(0..from).filter_map(|at| self.counters.get(at));
        let mut used = places.take_while(|counter| counter.amount > 0);
        used.find(|counter| counter.hash == hash).map_or(0, |counter| counter.amount)
    }

    /// By how much a counter may be too small.
    pub(crate) fn error(&self) -> u64 {
        self.error.saturating_add(self.round.left_out_max)
    }

    /// The sum of all amounts.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Begins anew.
    pub(crate) fn clear(&mut self) {
        self.counters.fill(Counter::default());
        (self.used, self.error, self.total) = (0, 0, 0);
        self.round = Round::default();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn mixed(n: u64) -> u64 {
        stateward_model::key_hash(&n.to_be_bytes())
    }

    /// §9, hot keys: a counter is never too great, and too small by no more than the error; the error
    /// is bounded by the sum of all; a key above it is never missing.
    #[test]
    fn the_error_is_guaranteed() {
        for (keys, skew) in [(100_u64, 1), (5_000, 1), (50_000, 3), (50_000, 1)] {
            let mut heavy = Heavy::default();
            let mut truth: BTreeMap<u64, u64> = BTreeMap::new();
            for n in 0..200_000_u64 {
                let draw = mixed(n) % keys;
                // the more skew, the more fall on the first keys
                let key = (1..skew).fold(draw, |key, _| key * draw / keys);
                let amount = 1 + mixed(n + 7) % 5;
                heavy.add(mixed(key), amount);
                *truth.entry(mixed(key)).or_default() += amount;
            }
            assert_eq!(heavy.total(), truth.values().sum::<u64>());
            // a quarter instead of a half, for the median is of a sample
            assert!(heavy.error() <= heavy.total() / (SLOTS_USED_MAX as u64 / 4), "{keys} keys");
            assert_eq!(heavy.error() == 0, keys < SLOTS_USED_MAX as u64, "{keys} keys");
            for (hash, amount) in &truth {
                let counted = heavy.amount(*hash);
                assert!(counted <= *amount && amount - counted <= heavy.error(), "{keys} keys");
            }
            let listed = heavy.entries();
            assert!(listed.iter().all(|(hash, amount)| heavy.amount(*hash) == *amount));
        }
    }

    /// The same where what is small in a round is left out, over rounds of very different sizes.
    #[test]
    fn what_is_left_out_is_in_the_error() {
        let mut heavy = Heavy::default();
        let mut truth: BTreeMap<u64, u64> = BTreeMap::new();
        let mut left_out = 0;
        for round in 0..60_u64 {
            heavy.begin_round();
            for key in 0..[4_000, 10, 40_000, 600][round as usize % 4] {
                let hash = mixed(key);
                let amount = if key % 97 == 0 { 90 } else { 1 + mixed(round ^ key) % 9 };
                heavy.add(hash, amount);
                *truth.entry(hash).or_default() += amount;
            }
            left_out += usize::from(heavy.round.left_out_max > 0);
            let bound = heavy.total() / (SLOTS_USED_MAX as u64 / 4);
            assert!(heavy.error() <= bound, "{} of {}", heavy.error(), heavy.total());
            for (hash, amount) in &truth {
                let counted = heavy.amount(*hash);
                assert!(counted <= *amount && amount - counted <= heavy.error(), "round {round}");
            }
        }
        assert_eq!(heavy.total(), truth.values().sum::<u64>());
        assert!((40..50).contains(&left_out), "{left_out} of 60 rounds");
    }

    #[test]
    fn nothing_is_left_of_what_was_cleared() {
        let mut heavy = Heavy::default();
        for _ in 0..2 {
            heavy.begin_round();
            (0..4_000).for_each(|n| heavy.add(mixed(n), 3));
        }
        heavy.add(mixed(1), 0);
        heavy.clear();
        assert_eq!((heavy.entries().len(), heavy.total(), heavy.error()), (0, 0, 0));
    }
}
