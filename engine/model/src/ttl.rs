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

    /// §1.2: inclusive, saturating, and silent before the first clock value.
    #[test]
    fn edges_of_the_rule() {
        assert!(!expired(i64::MAX - 1, Some(i64::MAX), Some(i64::MAX - 1)));
        assert!(expired(i64::MAX - 1, Some(i64::MAX), Some(i64::MAX)));
        assert!(!expired(i64::MIN, Some(1), None));
        assert!(!expired(0, None, Some(i64::MAX)));
    }
}
