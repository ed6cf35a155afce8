//! When an entry is dead (SEMANTICS §1).

use serde::{Deserialize, Serialize};

/// Which accesses stamp an entry (SEMANTICS §1.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpdateType {
    /// Every write stamps. The default.
    #[default]
    OnCreateAndWrite,
    /// Every write and every read stamps: reads keep entries alive.
    OnReadAndWrite,
    /// Only the first write of a live entry stamps.
    OnCreate,
    /// Nothing expires.
    Disabled,
}

/// Whether an expired entry that is still there may be returned (SEMANTICS §1.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Expired entries are never returned. The default.
    #[default]
    NeverReturnExpired,
    /// An expired entry is returned once, by the read that removes it, and counted.
    ReturnExpiredIfNotCleanedUp,
}

/// Which clock judges a state (SEMANTICS §1.8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClockKind {
    /// The watermark of the operator on its shard. The default.
    #[default]
    EventTime,
    /// The engine's injectable wall clock.
    ProcessingTime,
}

/// Tells whether an entry is expired: `ts + ttl <= now`, saturating (SEMANTICS §1.2).
///
/// `ts`, `ttl_millis` and `now` are milliseconds. Without a TTL, and before the first clock value,
/// nothing is expired.
///
/// # Examples
/// ```
/// use stateward_model::expired;
/// assert!(!expired(100, Some(50), Some(149)));
/// assert!(expired(100, Some(50), Some(150)));
/// assert!(!expired(100, Some(50), None));
/// ```
#[inline]
pub fn expired(ts: i64, ttl_millis: Option<i64>, now: Option<i64>) -> bool {
    match (ttl_millis, now) {
        (Some(ttl), Some(now)) => ts.saturating_add(ttl) <= now,
        _ => false,
    }
}

/// Returns the largest `ts` that is dead at `now`: rows at or below it may be written off
/// (SEMANTICS §1.11). `None` where nothing is dead.
pub fn write_off_limit(ttl_millis: Option<i64>, now: Option<i64>) -> Option<i64> {
    Some(now?.saturating_sub(ttl_millis?))
}

/// How one shard judges the entries of one state (SEMANTICS §1.1, §1.2, §1.14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TtlRule {
    /// The TTL by which entries are seen, in ms.
    pub ttl_millis: Option<i64>,
    /// The TTL by which they are gone for good: longer while a shortened one can be taken back.
    pub kept_millis: Option<i64>,
    /// The state's clock when its TTL was switched on: an entry from before counts as from then.
    /// `i64::MIN` where it always had one, `i64::MAX` until the clock has a value.
    pub adopted_at_millis: i64,
    /// Entries that count as from later than their stamp.
    pub grace: Option<Grace>,
}

/// Entries that were written while a jump of the clock waited for a decision, and was then accepted
/// (SEMANTICS §1.10): with stamps above `after_millis` and below `until_millis`, they count as from
/// `until_millis`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grace {
    /// Where expiry stood.
    pub after_millis: i64,
    /// When it went on.
    pub until_millis: i64,
}

impl Grace {
    /// Returns one for all that this one and an earlier one are for.
    #[must_use]
    pub fn with(self, earlier: Option<Self>) -> Self {
        earlier.map_or(self, |earlier| Self {
            after_millis: self.after_millis.min(earlier.after_millis),
            until_millis: self.until_millis.max(earlier.until_millis),
        })
    }

    /// Returns the same on a clock that is behind by so much.
    #[must_use]
    pub fn shifted(self, behind_millis: i64) -> Self {
        Self {
            after_millis: self.after_millis.saturating_sub(behind_millis),
            until_millis: self.until_millis.saturating_sub(behind_millis),
        }
    }

    fn limit(self, limit: i64) -> i64 {
        if limit >= self.after_millis && limit < self.until_millis {
            self.after_millis
        } else {
            limit
        }
    }

    fn counts_as(self, ts: i64) -> i64 {
        if ts > self.after_millis && ts < self.until_millis { self.until_millis } else { ts }
    }
}

impl TtlRule {
    /// The rule of a state that has had this TTL from its beginning.
    pub fn new(ttl_millis: Option<i64>) -> Self {
        Self { ttl_millis, kept_millis: ttl_millis, adopted_at_millis: i64::MIN, grace: None }
    }

    fn limit(&self, ttl_millis: Option<i64>, now: Option<i64>) -> Option<i64> {
        let limit = write_off_limit(ttl_millis, now)?;
        let limit = self.grace.map_or(limit, |grace| grace.limit(limit));
        Some(limit).filter(|limit| *limit >= self.adopted_at_millis)
    }

    /// Returns the largest `ts` that is not seen any more at `now`; `None` where all is seen.
    #[inline]
    pub fn hidden_limit(&self, now: Option<i64>) -> Option<i64> {
        self.limit(self.ttl_millis, now)
    }

    /// Returns the largest `ts` that may go for good at `now`; never above
    /// [`TtlRule::hidden_limit`].
    pub fn gone_limit(&self, now: Option<i64>) -> Option<i64> {
        self.limit(self.kept_millis, now)
    }

    /// Tells whether an entry is expired, by the TTL in force.
    #[inline]
    pub fn hides(&self, ts: i64, now: Option<i64>) -> bool {
        self.hidden_limit(now).is_some_and(|limit| ts <= limit)
    }

    /// Tells whether an entry may be removed for good.
    pub fn removes(&self, ts: i64, now: Option<i64>) -> bool {
        self.gone_limit(now).is_some_and(|limit| ts <= limit)
    }

    /// Returns when an entry expires by the TTL in force, saturating.
    pub fn expires_at(&self, ts: i64) -> Option<i64> {
        let counts_as = ts.max(self.adopted_at_millis);
        let counts_as = self.grace.map_or(counts_as, |grace| grace.counts_as(counts_as));
        Some(counts_as.saturating_add(self.ttl_millis?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// §1.2 and §1.11: the write-off limit separates exactly the expired from the live.
        #[test]
        fn write_off_limit_agrees_with_expired(
            ts in -1_000_000_i64..1_000_000, ttl in 1_i64..1_000_000, now in -1_000_000_i64..1_000_000
        ) {
            let limit = write_off_limit(Some(ttl), Some(now)).unwrap();
            prop_assert_eq!(expired(ts, Some(ttl), Some(now)), ts <= limit);
        }
    }

    proptest! {
        /// §1.1, §1.10, §1.14: an entry counts as from when the TTL was switched on at least, one
        /// that was written while a jump waited as from its acceptance, and what a longer TTL of
        /// before keeps is hidden and not gone.
        #[test]
        fn an_entry_is_as_old_as_the_ttl_at_most(
            ts in -50_i64..50, ttl in 1_i64..40, longer in 0_i64..40, adopted in -60_i64..60, now in -50_i64..120,
            grace in prop::option::of((-60_i64..60, 0_i64..40))
        ) {
            let grace = grace.map(|(after, long)| Grace { after_millis: after, until_millis: after + long });
            let rule = TtlRule { ttl_millis: Some(ttl), kept_millis: Some(ttl + longer), adopted_at_millis: adopted, grace };
            let adopted = ts.max(adopted);
            let waited = grace.filter(|g| (g.after_millis + 1..g.until_millis).contains(&adopted));
            let counts_as = waited.map_or(adopted, |g| g.until_millis);
            prop_assert_eq!(rule.hides(ts, Some(now)), expired(counts_as, Some(ttl), Some(now)));
            prop_assert_eq!(rule.removes(ts, Some(now)), expired(counts_as, Some(ttl + longer), Some(now)));
            prop_assert_eq!(rule.expires_at(ts), Some(counts_as + ttl));
            prop_assert!(!rule.hides(ts, None));
            let for_ever = TtlRule { kept_millis: None, ..rule };
            prop_assert!(!for_ever.removes(ts, Some(now)));
        }
    }

    /// §1.2: inclusive, saturating, and silent before the first clock value.
    #[test]
    fn edges_of_the_rule() {
        assert!(!expired(i64::MAX - 1, Some(i64::MAX), Some(i64::MAX - 1)));
        assert!(expired(i64::MAX - 1, Some(i64::MAX), Some(i64::MAX)));
        assert!(!expired(i64::MIN, Some(1), None));
        assert!(!expired(0, None, Some(i64::MAX)));
    }
}
