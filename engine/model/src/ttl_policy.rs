//! Which TTL holds: what code declares, what a person overrides, and how long a shortened one can
//! still be taken back (SEMANTICS §1.14).

use serde::{Deserialize, Serialize};

use crate::histogram::{Histogram, bucket_lower_bound};

/// How long a shortened TTL only hides, in ms of wall clock.
pub const UNDO_WINDOW_MILLIS: i64 = 3_600_000;

/// Past TTLs that one policy remembers.
const PAST_MAX: usize = 32;

/// A TTL that a person put in place of the declared one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TtlOverride {
    /// The TTL in ms; `None`: entries never expire.
    pub ttl_millis: Option<i64>,
    /// Wall clock at which it ends by itself; `None`: it stays until it is reverted.
    pub until_millis: Option<i64>,
    /// Wall clock at which it was set.
    pub since_millis: i64,
    /// Who set it.
    pub actor: String,
    /// Why.
    pub reason: String,
}

/// A TTL that held before, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastTtl {
    /// The TTL in ms; `None`: entries never expired.
    pub ttl_millis: Option<i64>,
    /// Wall clock at which another took its place.
    pub until_millis: i64,
}

/// Which TTL a state has, why, and which one decides what is gone for good.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TtlPolicy {
    /// What code declares, in ms; `None`: entries never expire.
    pub declared_millis: Option<i64>,
    /// What holds instead, while it does.
    pub overridden: Option<TtlOverride>,
    /// Longer TTLs that can still be gone back to, by the time they ended.
    pub past: Vec<PastTtl>,
}

/// Tells whether `a` keeps entries longer than `b`.
fn longer(a: Option<i64>, b: Option<i64>) -> bool {
    match (a, b) {
        (None, Some(_)) => true,
        (Some(a), Some(b)) => a > b,
        (_, None) => false,
    }
}

/// Returns the TTL that keeps entries longer; both in ms, `None` keeps them for ever.
///
/// # Examples
/// ```
/// use stateward_model::longer_ttl;
/// assert_eq!(longer_ttl(Some(5), Some(7)), Some(7));
/// assert_eq!(longer_ttl(Some(5), None), None);
/// ```
pub fn longer_ttl(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    if longer(b, a) { b } else { a }
}

impl TtlPolicy {
    /// The policy of a state that nobody has changed.
    pub fn new(declared_millis: Option<i64>) -> Self {
        Self { declared_millis, ..Self::default() }
    }

    /// The TTL by which entries are seen, in ms.
    pub fn effective_millis(&self) -> Option<i64> {
        self.overridden.as_ref().map_or(self.declared_millis, |set| set.ttl_millis)
    }

    /// The TTL by which entries are gone for good: the longest that held within the undo window.
    pub fn kept_millis(&self) -> Option<i64> {
        let effective = self.effective_millis();
        self.past.iter().map(|past| past.ttl_millis).fold(effective, longer_ttl)
    }

    /// Wall clock from which on what the TTL hides now may go for good; `None` where it hides
    /// nothing that a longer TTL would show.
    pub fn undo_until_millis(&self) -> Option<i64> {
        let effective = self.effective_millis();
        let longer = self.past.iter().filter(|past| longer(past.ttl_millis, effective));
        longer.map(|past| past.until_millis.saturating_add(UNDO_WINDOW_MILLIS)).max()
    }

    /// Code declares this TTL from `now` on, wall clock; an override stays.
    pub fn declare(&mut self, declared_millis: Option<i64>, now_millis: i64) {
        let before = self.effective_millis();
        self.declared_millis = declared_millis;
        self.replaced(before, now_millis);
    }

    /// A person overrides the declared TTL.
    pub fn set(&mut self, set: TtlOverride) {
        let (before, now_millis) = (self.effective_millis(), set.since_millis);
        self.overridden = Some(set);
        self.replaced(before, now_millis);
    }

    /// The declared TTL holds again.
    pub fn revert(&mut self, now_millis: i64) {
        let before = self.effective_millis();
        self.overridden = None;
        self.replaced(before, now_millis);
    }

    /// What is hidden may go for good now.
    pub fn reclaim_now(&mut self) {
        self.past.clear();
    }

    /// Ends what has ended by `now`, wall clock. Returns whether anything did.
    pub fn tick(&mut self, now_millis: i64) -> bool {
        let end = self.overridden.as_ref().and_then(|set| set.until_millis);
        let ended = end.filter(|end| *end <= now_millis);
        if let Some(end) = ended {
            self.revert(end);
        }
        let before = self.past.len();
        self.past.retain(|past| past.until_millis.saturating_add(UNDO_WINDOW_MILLIS) > now_millis);
        ended.is_some() || self.past.len() < before
    }

    fn replaced(&mut self, ttl_millis: Option<i64>, until_millis: i64) {
        let effective = self.effective_millis();
        if ttl_millis == effective {
            return;
        }
        // a later end covers an earlier one of a TTL that is no longer
        self.past.retain(|past| longer(past.ttl_millis, ttl_millis));
        self.past.push(PastTtl { ttl_millis, until_millis });
        if self.past.len() > PAST_MAX {
            // the longest stands in for the next, which keeps more, never less
            let next = self.past.remove(1);
            if let Some(longest) = self.past.first_mut() {
                longest.until_millis = next.until_millis;
            }
        }
    }
}

/// What a changed TTL would do at once to what is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TtlPreview {
    /// Entries that would no longer be seen.
    pub hides: u64,
    /// Entries that would be seen again.
    pub returns: u64,
    /// By how many either may be off: entries whose age is about one of the two TTLs.
    pub error: u64,
}

/// Says what putting one TTL in place of another would do at once, by the ages of the residents, in
/// ms (SEMANTICS §1.14).
pub fn preview_ttl(
    ages: &Histogram,
    now_millis: Option<i64>,
    then_millis: Option<i64>,
) -> TtlPreview {
    let mut preview = TtlPreview::default();
    let bound = |ttl: Option<i64>| ttl.map_or(u64::MAX, |ttl| ttl.max(0) as u64);
    let (now, then) = (bound(now_millis), bound(then_millis));
    for &(bucket, count) in &ages.buckets {
        let from = bucket_lower_bound(bucket.into());
        let to = bucket_lower_bound(usize::from(bucket) + 1);
        let (hidden_now, hidden_then) = (from >= now, from >= then);
        preview.hides += if hidden_then && !hidden_now { count } else { 0 };
        preview.returns += if hidden_now && !hidden_then { count } else { 0 };
        let cuts = |ttl: u64| from < ttl && ttl < to;
        preview.error += if now != then && (cuts(now) || cuts(then)) { count } else { 0 };
    }
    preview
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Declare(Option<i64>),
        Set(Option<i64>, Option<i64>),
        Revert,
        ReclaimNow,
        Wait(i64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let ttl = prop::option::of(1_i64..5);
        let step = prop_oneof![
            ttl.clone().prop_map(Step::Declare),
            (ttl, prop::option::of(1_i64..3)).prop_map(|(ttl, end)| Step::Set(ttl, end)),
            Just(Step::Revert),
            Just(Step::ReclaimNow),
            (1_i64..4).prop_map(Step::Wait),
        ];
        prop::collection::vec(step, 1..40)
    }

    proptest! {
        /// §1.14: at any time the longest TTL of the last hour, since "reclaim now", decides what is
        /// gone; the override wins until it ends, whatever code declares; against a plain record of
        /// which TTL held in each tenth of an hour.
        #[test]
        fn the_longest_of_the_last_hour_keeps(steps in steps()) {
            const TENTH: i64 = UNDO_WINDOW_MILLIS / 10;
            let mut policy = TtlPolicy::new(Some(3));
            let mut declared = Some(3);
            // the override with the tenth that it ends in
            let mut set: Option<(Option<i64>, Option<i64>)> = None;
            // (tenth, TTL) as they held, each for some time at least
            let mut held: Vec<(i64, Option<i64>)> = vec![(0, Some(3))];
            let (mut now, mut since) = (0_i64, 0_usize);
            for step in steps {
                let at = now * TENTH;
                match step {
                    Step::Declare(ttl) => { policy.declare(ttl, at); declared = ttl; }
                    Step::Set(ttl, end) => {
                        let end = end.map(|end| now + end);
                        let until_millis = end.map(|end| end * TENTH);
                        policy.set(TtlOverride { ttl_millis: ttl, until_millis, since_millis: at, actor: "a".into(), reason: "r".into() });
                        set = Some((ttl, end));
                    }
                    Step::Revert => { policy.revert(at); set = None; }
                    Step::ReclaimNow => { policy.reclaim_now(); since = held.len(); }
                    Step::Wait(tenths) => {
                        for _ in 0..tenths {
                            now += 1;
                            if let Some((ttl, _)) = set.filter(|(_, end)| end.is_some_and(|end| end <= now)) {
                                held.push((now, ttl));
                                set = None;
                            }
                            held.push((now, set.map_or(declared, |(ttl, _)| ttl)));
                        }
                        policy.tick(now * TENTH);
                    }
                }
                let effective = set.map_or(declared, |(ttl, _)| ttl);
                held.push((now, effective));
                prop_assert_eq!(policy.effective_millis(), effective);
                // what held at a tenth ended in it or later, so it is within the window for ten more
                let recent = held.iter().enumerate().filter(|(n, (at, _))| *n >= since && at + 10 > now);
                let mut kept = effective;
                for (_, (_, ttl)) in recent { if longer(*ttl, kept) { kept = *ttl; } }
                prop_assert_eq!(policy.kept_millis(), kept);
                prop_assert_eq!(policy.undo_until_millis().is_some(), longer(kept, effective));
            }
        }
    }

    proptest! {
        /// §1.14: the preview against the ages themselves, within its stated error.
        #[test]
        fn a_preview_is_as_exact_as_it_says(
            ages in prop::collection::vec(0_u64..100_000, 0..200),
            now in prop::option::of(1_i64..100_000),
            then in prop::option::of(1_i64..100_000),
        ) {
            let mut counts = vec![0; crate::HISTOGRAM_BUCKETS];
            for age in &ages {
                counts[crate::bucket_of(*age)] += 1;
            }
            let preview = preview_ttl(&Histogram::from_dense(&counts, 0), now, then);
            let dead = |age: u64, ttl: Option<i64>| ttl.is_some_and(|ttl| age >= ttl as u64);
            let hides = ages.iter().filter(|age| dead(**age, then) && !dead(**age, now)).count();
            let returns = ages.iter().filter(|age| dead(**age, now) && !dead(**age, then)).count();
            prop_assert!(preview.hides.abs_diff(hides as u64) <= preview.error);
            prop_assert!(preview.returns.abs_diff(returns as u64) <= preview.error);
        }
    }

    /// §1.14: an override that ends by itself is shorter or longer than what follows; only what
    /// shortens can be taken back.
    #[test]
    fn a_temporary_ttl_reverts_by_itself() {
        let set = |ttl, until_millis, since_millis| TtlOverride {
            ttl_millis: Some(ttl),
            until_millis: Some(until_millis),
            since_millis,
            actor: "ann".into(),
            reason: "the disk is full".into(),
        };
        let mut policy = TtlPolicy::new(Some(1_000));
        policy.set(set(10, 500, 100));
        assert_eq!((policy.effective_millis(), policy.kept_millis()), (Some(10), Some(1_000)));
        assert_eq!(policy.undo_until_millis(), Some(100 + UNDO_WINDOW_MILLIS));
        assert!(!policy.tick(499));
        assert!(policy.tick(500));
        assert_eq!((policy.effective_millis(), policy.undo_until_millis()), (Some(1_000), None));
        policy.set(set(5_000, 900, 600));
        assert!(policy.tick(5_000), "seen late, it ended when it should");
        assert_eq!(policy.undo_until_millis(), Some(900 + UNDO_WINDOW_MILLIS));
        assert!(policy.tick(900 + UNDO_WINDOW_MILLIS));
        assert_eq!(policy.kept_millis(), Some(1_000));
    }
}
