//! Which versions of a table's cells are there (SEMANTICS §2, the profile of `HBase`).
//!
//! 1. A cell is (row, family, qualifier, ts) → value; the cells of one (row, family, qualifier) are a
//!    column, and are judged together, newest first.
//! 2. The rule is a function of the cells and markers that were written and of the clock. What may be
//!    removed is only what can never be seen again, so that no answer depends on whether, or when,
//!    something was removed (§2.4).
//! 3. A cell with a TTL of its own makes room when it ends: what it displaced until then is hidden, not
//!    dropped.

use serde::{Deserialize, Serialize};

/// What a column family keeps (SEMANTICS §2.1).
///
/// # Examples
/// ```
/// use stateward_model::{CellVersion, Fate, FamilyRule};
/// let rule = FamilyRule { ttl_millis: Some(100), min_versions: 1, ..FamilyRule::default() };
/// let mut column = rule.column(Some(200));
/// let fates = [90, 50, 10].map(|ts| column.next(&CellVersion::at(ts), false));
/// assert_eq!(fates, [Fate::Kept, Fate::Dropped, Fate::Dropped]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FamilyRule {
    /// Age in ms that a cell may reach; `None` is for ever.
    pub ttl_millis: Option<i64>,
    /// Most versions of a column, at least 1.
    pub max_versions: u32,
    /// Versions of a column that the TTL does not take.
    pub min_versions: u32,
    /// Whether reads as of a time before a delete still find what was deleted.
    pub keep_deleted: bool,
    /// For how long after a delete, in ms, cells with an older ts are refused; `None` is for ever.
    pub marker_ttl_millis: Option<i64>,
}

impl Default for FamilyRule {
    /// The latest version, for ever.
    fn default() -> Self {
        Self {
            ttl_millis: None,
            max_versions: 1,
            min_versions: 0,
            keep_deleted: false,
            marker_ttl_millis: None,
        }
    }
}

/// One cell, as far as the rule looks at it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellVersion {
    /// Its timestamp, ms.
    pub ts: i64,
    /// Its own TTL, ms; can only shorten the family's.
    pub ttl_millis: Option<i64>,
    /// What the writing event saw as now, ms.
    pub written: i64,
    /// Place in the order of all writes and deletes.
    pub order: u64,
}

impl CellVersion {
    /// A cell without a TTL of its own, written at its own time.
    pub fn at(ts: i64) -> Self {
        Self { ts, written: ts, ..Self::default() }
    }

    /// Tells whether the cell's own TTL has ended (SEMANTICS §2.2): strict, saturating.
    pub fn has_ended(&self, now: Option<i64>) -> bool {
        strictly_expired(self.ts, self.ttl_millis, now)
    }
}

/// A delete of a column's, or a family's, cells at or below a timestamp.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeleteMarker {
    /// Newest timestamp that is deleted, ms.
    pub ts: i64,
    /// What the deleting event saw as now, ms.
    pub written: i64,
    /// Place in the order of all writes and deletes.
    pub order: u64,
}

/// What the rule says of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// It is there.
    Kept,
    /// It was deleted and is there for reads as of a time before that.
    Deleted,
    /// It is not there, and comes back if a newer cell's own TTL ends.
    Hidden,
    /// It is gone for good and may be removed.
    Dropped,
}

/// What a read as of a time finds (SEMANTICS §2.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsOf<T> {
    /// What was valid then.
    Found(T),
    /// Nothing was valid then.
    Absent,
    /// Something may have been valid then, and is no longer kept.
    NotKept,
}

impl<T> AsOf<T> {
    /// What was found.
    pub fn found(self) -> Option<T> {
        match self {
            Self::Found(found) => Some(found),
            Self::Absent | Self::NotKept => None,
        }
    }

    /// Changes what was found.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> AsOf<U> {
        match self {
            Self::Found(found) => AsOf::Found(change(found)),
            Self::Absent => AsOf::Absent,
            Self::NotKept => AsOf::NotKept,
        }
    }
}

/// Strict expiry: alive at exactly `ts + ttl`.
fn strictly_expired(ts: i64, ttl_millis: Option<i64>, now: Option<i64>) -> bool {
    ttl_millis.zip(now).is_some_and(|(ttl, now)| ts.saturating_add(ttl) < now)
}

impl FamilyRule {
    /// Tells whether the family's TTL has passed a timestamp (SEMANTICS §2.2): strict, saturating.
    pub fn has_expired(&self, ts: i64, now: Option<i64>) -> bool {
        strictly_expired(ts, self.ttl_millis, now)
    }

    /// Tells whether a marker no longer refuses older cells (SEMANTICS §2.4).
    pub fn is_spent(&self, marker: &DeleteMarker, now: Option<i64>) -> bool {
        strictly_expired(marker.written, self.marker_ttl_millis, now)
    }

    /// Tells whether a marker deletes a cell of its column or family: one that was there, or one that
    /// was written with an older ts while the marker lived. A cell that a marker has deleted stays
    /// deleted when the marker is spent.
    pub fn deletes(&self, marker: &DeleteMarker, cell: &CellVersion) -> bool {
        cell.ts <= marker.ts
            && (cell.order < marker.order || !self.is_spent(marker, Some(cell.written)))
    }

    /// Tells whether `newer` deletes all, and outlives all, that `marker` does.
    pub fn supersedes(&self, newer: &DeleteMarker, marker: &DeleteMarker) -> bool {
        !self.keep_deleted
            && newer.order > marker.order
            && newer.ts >= marker.ts
            && newer.written >= marker.written
    }

    /// Begins to judge a column at `now`.
    pub fn column(&self, now: Option<i64>) -> ColumnScan {
        ColumnScan { rule: *self, now, kept: 0, lasting: 0 }
    }

    /// Finds what was valid at `as_of`, from its ts, inclusive, to the next newer one, exclusive.
    ///
    /// `cells` are a column's, newest first; `markers` its own and its family's.
    pub fn as_of(
        &self,
        cells: &[CellVersion],
        markers: &[DeleteMarker],
        as_of: i64,
        now: Option<i64>,
    ) -> AsOf<usize> {
        let mut column = self.column(now);
        let mut was_deleted = false;
        for (index, cell) in cells.iter().enumerate() {
            let mut deleted_by = markers.iter().filter(|marker| self.deletes(marker, cell));
            let deleted = deleted_by.clone().next().is_some();
            let kept = matches!(column.next(cell, deleted), Fate::Kept | Fate::Deleted);
            if !kept || cell.ts > as_of {
                continue;
            }
            if !deleted_by.any(|marker| marker.ts <= as_of) {
                return AsOf::Found(index);
            }
            was_deleted = true;
        }
        let out_of_retention = self.has_expired(as_of, now);
        let surplus = column.kept >= self.max_versions;
        let deleted_since = !self.keep_deleted
            && markers.iter().any(|marker| as_of < marker.ts && !self.is_spent(marker, now));
        if !was_deleted && (out_of_retention || surplus || deleted_since) {
            AsOf::NotKept
        } else {
            AsOf::Absent
        }
    }
}

/// Judges the cells of one column, newest first.
#[derive(Clone, Debug)]
pub struct ColumnScan {
    rule: FamilyRule,
    now: Option<i64>,
    /// Versions kept so far.
    kept: u32,
    /// Versions so far that only an age, a number or a delete can end: with as many of them as the
    /// rule asks for in front, an older cell is gone for good.
    lasting: u32,
}

impl ColumnScan {
    /// Judges the next older cell (SEMANTICS §2.2, §2.3, §2.5); `deleted` by a marker.
    pub fn next(&mut self, cell: &CellVersion, deleted: bool) -> Fate {
        let rule = &self.rule;
        if cell.has_ended(self.now) || (deleted && !rule.keep_deleted) {
            return Fate::Dropped;
        }
        let expired = rule.has_expired(cell.ts, self.now);
        let is_out =
            |newer: u32| newer >= rule.max_versions || (expired && newer >= rule.min_versions);
        let (out, for_good) = (is_out(self.kept), is_out(self.lasting));
        self.lasting += u32::from(cell.ttl_millis.is_none());
        if for_good {
            return Fate::Dropped;
        }
        if out {
            return Fate::Hidden;
        }
        self.kept += 1;
        if deleted { Fate::Deleted } else { Fate::Kept }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

    fn rule(ttl: Option<i64>, max_versions: u32, min_versions: u32) -> FamilyRule {
        FamilyRule { ttl_millis: ttl, max_versions, min_versions, ..FamilyRule::default() }
    }

    /// Timestamps that are kept, oldest first.
    fn kept(rule: FamilyRule, cells: &[CellVersion], now: i64) -> Vec<i64> {
        let mut newest_first = cells.to_vec();
        newest_first.sort_by_key(|cell| -cell.ts);
        let mut column = rule.column(Some(now));
        let mut kept: Vec<i64> = newest_first
            .iter()
            .filter(|cell| column.next(cell, false) == Fate::Kept)
            .map(|cell| cell.ts)
            .collect();
        kept.reverse();
        kept
    }

    fn kept_of(rule: FamilyRule, stamps: &[i64], now: i64) -> Vec<i64> {
        let cells: Vec<CellVersion> = stamps.iter().map(|ts| CellVersion::at(*ts)).collect();
        kept(rule, &cells, now)
    }

    /// §2.6, and §2.2 at its edges.
    #[test]
    fn vectors() {
        let with_min = rule(Some(100), 5, 1);
        assert_eq!(kept_of(with_min, &[10, 50, 90], 200), [90]);
        assert_eq!(kept_of(with_min, &[10, 50, 150], 200), [150]);
        assert_eq!(kept_of(with_min, &[100], 200), [100]);
        let without_min = rule(Some(100), 5, 0);
        assert_eq!(kept_of(without_min, &[99], 200), [] as [i64; 0]);
        assert_eq!(kept_of(without_min, &[100], 200), [100], "alive at exactly ts + ttl");
        let own = CellVersion { ttl_millis: Some(100), ..CellVersion::at(0) };
        assert_eq!(kept(with_min, &[own], 100), [0]);
        assert_eq!(kept(with_min, &[own], 101), [] as [i64; 0]);
        let day = 86_400_000;
        let hours = [1, 2, 3, 4, 5].map(|hour| hour * 3_600_000);
        assert_eq!(kept_of(rule(Some(day), 3, 0), &hours, day), hours[2..]);
        assert_eq!(kept_of(rule(Some(day), 3, 0), &hours, 3 * day), [] as [i64; 0]);
        assert_eq!(kept_of(rule(Some(day), 5, 1), &hours, 3 * day), hours[4..]);
        assert_eq!(kept_of(rule(Some(day), 5, 1), &[hours[0], 3 * day], 3 * day), [3 * day]);
        assert_eq!(kept_of(rule(None, 1, 0), &hours, i64::MAX), hours[4..]);
    }

    /// §2.2: before the first clock value nothing has expired, and sums saturate.
    #[test]
    fn without_a_clock_nothing_expires() {
        let mut column = rule(Some(1), 2, 0).column(None);
        assert_eq!(column.next(&CellVersion::at(i64::MIN), false), Fate::Kept);
        assert!(!rule(Some(i64::MAX), 1, 0).has_expired(1, Some(i64::MAX)));
    }

    /// §2.4: a marker deletes what is there for good, and what comes with an older ts while it lives.
    #[test]
    fn a_marker_deletes_older_cells() {
        let rule = FamilyRule { marker_ttl_millis: Some(50), ..FamilyRule::default() };
        let marker = DeleteMarker { ts: 100, written: 100, order: 5 };
        let cell = |ts, written, order| CellVersion { ts, written, order, ttl_millis: None };
        assert!(rule.deletes(&marker, &cell(100, 90, 4)), "inclusive");
        assert!(!rule.deletes(&marker, &cell(101, 90, 4)), "newer");
        assert!(rule.deletes(&marker, &cell(60, 150, 6)), "written while the marker lives");
        assert!(!rule.deletes(&marker, &cell(60, 151, 6)), "written when it is spent");
        assert!(rule.deletes(&marker, &cell(60, 151, 4)), "was there: deleted for good");
        assert!(!rule.is_spent(&marker, Some(150)) && rule.is_spent(&marker, Some(151)));
    }

    /// §2.5: `keep_deleted` shows the past, and protects against neither TTL nor `max_versions`.
    #[test]
    fn deleted_cells_are_kept_for_reads_of_the_past() {
        let rule = FamilyRule { keep_deleted: true, ..rule(Some(100), 2, 0) };
        let marker = DeleteMarker { ts: 50, written: 50, order: 9 };
        let cells = [40, 30, 20].map(CellVersion::at);
        let at = |as_of, now| rule.as_of(&cells, &[marker], as_of, Some(now));
        assert_eq!(at(45, 60), AsOf::Found(0));
        assert_eq!(at(50, 60), AsOf::Absent, "deleted");
        assert_eq!(at(35, 60), AsOf::Found(1));
        assert_eq!(at(25, 60), AsOf::NotKept, "max_versions took it");
        assert_eq!(at(30, 131), AsOf::NotKept, "the TTL took it");
        let plain = FamilyRule { keep_deleted: false, ..rule };
        assert_eq!(plain.as_of(&cells, &[marker], 45, Some(60)), AsOf::NotKept);
        assert_eq!(plain.as_of(&cells, &[marker], i64::MAX, Some(60)), AsOf::Absent);
    }

    /// §2.7: from its ts, inclusive, to the next one, exclusive; what is kept is never out of
    /// retention; not kept is not absent.
    #[test]
    fn a_read_as_of_a_time() {
        let rule = rule(Some(100), 5, 1);
        let cells = [150, 120].map(CellVersion::at);
        let at = |as_of, now| rule.as_of(&cells, &[], as_of, Some(now));
        assert_eq!(at(119, 200), AsOf::Absent);
        assert_eq!(at(120, 200), AsOf::Found(1));
        assert_eq!(at(149, 200), AsOf::Found(1));
        assert_eq!(at(150, 200), AsOf::Found(0));
        assert_eq!(at(99, 200), AsOf::NotKept);
        assert_eq!(at(160, 10_000), AsOf::Found(0), "the latest kept version");
        assert_eq!(at(149, 10_000), AsOf::NotKept);
    }

    /// SEMANTICS §2.2 and §2.3 word by word, over all cells ever written.
    fn naively_kept(rule: &FamilyRule, cells: &[CellVersion], now: i64) -> Vec<usize> {
        let mut kept = Vec::new();
        for (index, cell) in cells.iter().enumerate() {
            if cell.ttl_millis.is_some_and(|ttl| cell.ts + ttl < now) {
                continue;
            }
            let count = kept.len() + 1;
            if count > rule.max_versions as usize {
                continue;
            }
            let is_expired = rule.ttl_millis.is_some_and(|ttl| cell.ts < now - ttl);
            if count > rule.min_versions as usize && is_expired {
                break;
            }
            kept.push(index);
        }
        kept
    }

    /// §2.2 to §2.4: the rule against itself written naively, at random instants, while whatever it
    /// says is gone for good is removed after some of them; every branch taken.
    #[test]
    fn soak_agrees_with_the_naive_rule_whatever_was_removed() {
        let cases = if std::env::var_os("STATEWARD_SOAK").is_some() { 100_000 } else { 2_000 };
        let config = Config { cases, failure_persistence: None, ..Config::default() };
        let mut runner =
            TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        let taken = std::cell::RefCell::new([0_u64; 4]);
        let cell = (0_i64..60, prop::option::weighted(0.3, 0_i64..40));
        let case = (
            (prop::option::weighted(0.8, 1_i64..40), 1_u32..4, 0_u32..4),
            prop::collection::vec(cell, 0..12),
            prop::collection::vec((0_i64..20, any::<bool>()), 1..8),
        );
        runner
            .run(&case, |((ttl, max, min), cells, instants)| {
                let rule = rule(ttl, max, min.min(max));
                let mut all: Vec<CellVersion> = cells
                    .iter()
                    .map(|(ts, ttl)| CellVersion { ttl_millis: *ttl, ..CellVersion::at(*ts) })
                    .collect();
                all.sort_by_key(|cell| -cell.ts);
                all.dedup_by_key(|cell| cell.ts);
                let mut left = all.clone();
                let mut now = 0;
                for (ahead, removes) in instants {
                    now += ahead;
                    let mut column = rule.column(Some(now));
                    let fates: Vec<Fate> =
                        left.iter().map(|cell| column.next(cell, false)).collect();
                    for fate in &fates {
                        taken.borrow_mut()[*fate as usize] += 1;
                    }
                    let seen: Vec<i64> = left
                        .iter()
                        .zip(&fates)
                        .filter(|(_, fate)| **fate == Fate::Kept)
                        .map(|(cell, _)| cell.ts)
                        .collect();
                    let expected: Vec<i64> =
                        naively_kept(&rule, &all, now).iter().map(|at| all[*at].ts).collect();
                    prop_assert_eq!(seen, expected);
                    if removes {
                        let mut fates = fates.into_iter();
                        left.retain(|_| fates.next() != Some(Fate::Dropped));
                    }
                }
                Ok(())
            })
            .unwrap();
        let taken = taken.into_inner();
        for fate in [Fate::Kept, Fate::Hidden, Fate::Dropped] {
            assert!(taken[fate as usize] > 0, "no cell was ever {fate:?}");
        }
    }
}
