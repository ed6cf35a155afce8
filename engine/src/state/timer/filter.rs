//! Which timers the store surely lacks: Bloom filters of what was written to it, in slices that go
//! when all their timers have fired.
//!
//! A registration of a timer that is not pending is by far the most frequent one, and looking it up
//! would cost more than all the rest of it. A wrong "maybe" costs that look, never a count.

/// Bits a timer sets, all in one cache line.
const BITS_SET: usize = 5;
/// Bits of a slice for each timer that it is made for: about one "maybe" in a hundred is wrong.
const BITS_A_TIMER: usize = 12;
/// Bits of a cache line.
const LINE_BITS: usize = 512;
/// Timers that the first slice is made for.
const FIRST_TIMERS: usize = 1 << 12;
/// Timers that the largest slices are made for.
const TIMERS_MAX: usize = 1 << 22;
/// All slices together; beyond it the newest takes in more than it is made for.
const BYTES_MAX: usize = 16 << 20;

struct Slice {
    lines: Vec<[u64; LINE_BITS / 64]>,
    made_for: usize,
    timers: usize,
    /// Stamp of its latest timer.
    latest: i64,
}

impl Slice {
    fn new(made_for: usize) -> Self {
        let lines = (made_for * BITS_A_TIMER).div_ceil(LINE_BITS);
        let lines = vec![[0; LINE_BITS / 64]; lines];
        Self { lines, made_for, timers: 0, latest: i64::MIN }
    }

    fn bytes(&self) -> usize {
        self.lines.len() * LINE_BITS / 8
    }

    fn line(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.lines.len() as u128) >> 64) as usize
    }
}

/// Words and bits of a line that a hash sets.
fn bits(hash: u64) -> impl Iterator<Item = (usize, u64)> {
    // the high bits have chosen the line
    let mixed = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (0..BITS_SET).map(move |n| {
        let bit = (mixed >> (n * 9)) as usize % LINE_BITS;
        (bit / 64, 1 << (bit % 64))
    })
}

/// The filters of one table.
#[derive(Default)]
pub(super) struct Filter {
    slices: Vec<Slice>,
}

impl Filter {
    /// The store gets a timer.
    pub(super) fn insert(&mut self, hash: u64, stamp: i64) {
        if self.slices.last().is_none_or(|last| last.timers >= last.made_for) {
            let made_for = self.slices.last().map_or(FIRST_TIMERS, |last| last.made_for * 4);
            let slice = Slice::new(made_for.min(TIMERS_MAX));
            let bytes: usize = self.slices.iter().map(Slice::bytes).sum();
            if bytes + slice.bytes() <= BYTES_MAX {
                self.slices.push(slice);
            }
        }
        let Some(slice) = self.slices.last_mut() else { return };
        slice.timers += 1;
        slice.latest = slice.latest.max(stamp);
        let line = slice.line(hash);
        let Some(line) = slice.lines.get_mut(line) else { return };
        for (word, bit) in bits(hash) {
            if let Some(word) = line.get_mut(word) {
                *word |= bit;
            }
        }
    }

    /// Tells whether the store may have got this timer.
    pub(super) fn may_hold(&self, hash: u64) -> bool {
        let has = |line: &[u64], (word, bit)| line.get(word).is_some_and(|word| word & bit != 0);
        self.slices.iter().any(|slice| {
            let line = slice.lines.get(slice.line(hash));
            line.is_some_and(|line| bits(hash).all(|at| has(line, at)))
        })
    }

    /// Timers with a stamp up to this one are dead.
    pub(super) fn forget(&mut self, cut_off: i64) {
        self.slices.retain(|slice| slice.latest > cut_off);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stateward_model::key_hash;

    /// What was inserted is never denied, few others are affirmed, memory is bounded, and slices go
    /// with their timers.
    #[test]
    fn denies_only_what_was_never_inserted() {
        let hash = |n: u64| key_hash(&n.to_be_bytes());
        let mut filter = Filter::default();
        let count = 200_000;
        (0..count).for_each(|n| filter.insert(hash(n), n as i64));
        assert!((0..count).all(|n| filter.may_hold(hash(n))));
        let wrong = (count..2 * count).filter(|n| filter.may_hold(hash(*n))).count();
        assert!(wrong > 0 && wrong < count as usize / 20, "{wrong} of {count}");
        assert_eq!(filter.slices.len(), 4);
        filter.forget(100_000);
        assert_eq!(filter.slices.len(), 1, "the last slice has later timers");
        assert!((100_001..count).all(|n| filter.may_hold(hash(n))));
        filter.forget(count as i64);
        assert!(!(0..count).any(|n| filter.may_hold(hash(n))));
        let bytes: usize =
            [12, 14, 16, 18, 20, 22, 22].map(|n| Slice::new(1 << n).bytes()).iter().sum();
        assert!(bytes <= BYTES_MAX, "ten million timers fit");
    }
}
