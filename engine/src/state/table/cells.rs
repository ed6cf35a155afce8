//! What user code does to the cells of a table: put, read, delete (SEMANTICS §2).

use serde::Serialize;
use serde::de::DeserializeOwned;
use stateward_model::{AsOf, CellVersion, DeleteMarker, FamilyRule, Fate, key_hash};

use super::cell::{CELL, Column, MARKER, is_of_family, push_version, qualifier_of};
use super::{Found, HORIZON_MILLIS_MIN, Moment, RowAddress, Table};
use crate::codec::{logical_bytes, row_schema, row_ts};
use crate::error::Error;
use crate::store::OwnedRow;
use crate::telemetry::{Access, Recorder, Site};

/// A cell's timestamp and its decoded value.
pub(crate) type Version<V> = (i64, V);

/// An encoded qualifier with the column's latest version.
pub(crate) type Latest<V> = (Box<[u8]>, V);

/// A new cell's timestamp, and a TTL of its own, both in ms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewCell {
    pub(crate) ts: i64,
    pub(crate) ttl_millis: Option<i64>,
}

/// Where a column's rows are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnKey<'a> {
    /// What their row keys begin with.
    pub(crate) prefix: &'a [u8],
    /// Bytes of it that all rows of the stream's key begin with.
    pub(crate) key_bytes: usize,
}

/// Who removes what is gone for good, for the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Remover {
    Read,
    Sweep,
}

impl<R: Recorder> Table<R> {
    /// The time that the event at hand stamps cells with.
    pub(crate) fn cell_ts(&self, moment: &Moment) -> i64 {
        self.stamp(moment)
    }

    /// Puts a cell into the column that `column` is the prefix of. A cell that is expired on arrival
    /// is dropped and counted, and makes its event a late one.
    pub(crate) fn put_cell<V: Serialize>(
        &mut self,
        family: usize,
        column: &mut Vec<u8>,
        cell: NewCell,
        value: &V,
        moment: &Moment,
        site: Site,
    ) -> Result<(), Error> {
        self.admit(moment)?;
        let rule = self.family(family)?.rule;
        let head = self.head(cell.ttl_millis, moment);
        let version = CellVersion {
            ts: cell.ts,
            ttl_millis: cell.ttl_millis,
            written: head.written,
            order: head.order,
        };
        let clock = self.clock(moment);
        let expired = rule.min_versions == 0 && rule.has_expired(cell.ts, clock);
        if expired || version.has_ended(clock) {
            self.recorder.flow(|flow| flow.late_writes += 1);
            self.late = true;
            return Ok(());
        }
        push_version(column, cell.ts, CELL);
        let at = RowAddress::of(column);
        let target = self.locate(at, moment)?;
        self.write_row(at, target, cell.ts, &(head, value), moment, site)
    }

    /// Puts a marker that deletes everything at or below `ts` of the column or family that `section`
    /// is the prefix of. Deletes shrink a state in the end, so a breaker lets them pass.
    pub(crate) fn put_marker(
        &mut self,
        section: &mut Vec<u8>,
        ts: i64,
        moment: &Moment,
        site: Site,
    ) -> Result<(), Error> {
        let mut head = self.head(None, moment);
        push_version(section, ts, MARKER);
        let at = RowAddress::of(section);
        let target = self.locate(at, moment)?;
        if let Some(row) = self.cache.row(target.slot) {
            // an event out of order must not shorten what a marker at the same timestamp does
            head.written = head.written.max(self.marker(row)?.written);
        }
        let bytes = self.replace_row(at, target, ts, &head, moment)?;
        self.recorder.flow(|flow| {
            flow.deletes += 1;
            flow.created += u64::from(!matches!(target.found, Found::Live(_)));
        });
        self.recorder.access(site, Access::Write, bytes);
        if self.cache.is_full() { self.relieve() } else { Ok(()) }
    }

    /// Reads what was valid at `as_of` in a column; the latest version for `i64::MAX`. Counts as one
    /// read.
    pub(crate) fn read_cell<V: DeserializeOwned>(
        &mut self,
        family: usize,
        column: ColumnKey<'_>,
        as_of: i64,
        moment: &Moment,
        site: Site,
    ) -> Result<AsOf<Version<V>>, Error> {
        let rule = self.family(family)?.rule;
        let rows = self.load(family, column)?;
        let now = self.seen_now(moment);
        self.recorder.flow(|flow| flow.reads += 1);
        let answer = match rule.as_of(&rows.cells, &rows.markers, as_of, now) {
            AsOf::Found(index) => match rows.rows.get(index) {
                Some((key, row)) => AsOf::Found(self.visit(key, row, now, site)?),
                None => AsOf::Absent,
            },
            AsOf::Absent => self.nothing(AsOf::Absent, &rule, &rows, as_of, now, site),
            AsOf::NotKept => self.nothing(AsOf::NotKept, &rule, &rows, as_of, now, site),
        };
        self.reclaim_column(&rule, &rows, moment, Remover::Read)?;
        Ok(answer)
    }

    /// Reads the versions of a column that are kept and not deleted, newest first; each counts as a
    /// read.
    pub(crate) fn read_versions<V: DeserializeOwned>(
        &mut self,
        family: usize,
        column: ColumnKey<'_>,
        moment: &Moment,
        site: Site,
    ) -> Result<Vec<Version<V>>, Error> {
        let rule = self.family(family)?.rule;
        let rows = self.load(family, column)?;
        let now = self.seen_now(moment);
        let mut scan = rule.column(now);
        let mut versions = Vec::new();
        for (cell, (key, row)) in rows.cells.iter().zip(&rows.rows) {
            if scan.next(cell, rows.is_deleted(&rule, cell)) == Fate::Kept {
                self.recorder.flow(|flow| flow.reads += 1);
                versions.push(self.visit(key, row, now, site)?);
            }
        }
        self.reclaim_column(&rule, &rows, moment, Remover::Read)?;
        Ok(versions)
    }

    /// Reads the latest version of every column of a family, in the order of the encoded qualifiers;
    /// each counts as a read.
    pub(crate) fn read_family<V: DeserializeOwned>(
        &mut self,
        family: usize,
        prefix: &[u8],
        moment: &Moment,
        site: Site,
    ) -> Result<Vec<Latest<V>>, Error> {
        let config = self.family(family)?;
        let (rule, mut group) = (config.rule, prefix.to_vec());
        group.push(config.id);
        let rows = self.cache.prefix(&group)?;
        let now = self.seen_now(moment);
        let mut latest = Vec::new();
        let group_bytes = group.len();
        self.columns_of(group_bytes, rows, |table, column, qualifier| {
            let found = rule.as_of(&column.cells, &column.markers, i64::MAX, now).found();
            if let Some((key, row)) = found.and_then(|index| column.rows.get(index)) {
                table.recorder.flow(|flow| flow.reads += 1);
                let (_, value) = table.visit(key, row, now, site)?;
                latest.push((qualifier.into(), value));
            }
            table.reclaim_column(&rule, &column, moment, Remover::Read).map(drop)
        })?;
        latest.sort_unstable_by(|(a, _): &Latest<V>, (b, _)| a.cmp(b));
        Ok(latest)
    }

    /// Counts a read that found nothing.
    fn nothing<V>(
        &mut self,
        answer: AsOf<Version<V>>,
        rule: &FamilyRule,
        rows: &Column,
        as_of: i64,
        now: Option<i64>,
        site: Site,
    ) -> AsOf<Version<V>> {
        self.recorder.access(site, Access::Read, 0);
        self.count_miss(rule, rows, as_of, now);
        answer
    }

    /// Decodes a row that is returned to user code, and counts it.
    fn visit<V: DeserializeOwned>(
        &mut self,
        key: &[u8],
        row: &[u8],
        now: Option<i64>,
        site: Site,
    ) -> Result<Version<V>, Error> {
        let (_, bytes) = self.split(row)?;
        let value = self.decode_as(row_schema(row), bytes, key_hash(key))?;
        let ts = row_ts(row);
        self.recorder.age_at_read(now.map_or(0, |now| now.saturating_sub(ts)));
        self.recorder.access(site, Access::Read, logical_bytes(key, row));
        Ok((ts, value))
    }

    /// Counts a read that found nothing because the newest cell had expired, within the horizon H.
    fn count_miss(&mut self, rule: &FamilyRule, rows: &Column, as_of: i64, now: Option<i64>) {
        let newest = rows.cells.iter().find(|c| c.ts <= as_of && !rows.is_deleted(rule, c));
        let ends = |cell: &CellVersion| {
            let family = rule.ttl_millis.filter(|_| rule.has_expired(cell.ts, now));
            let own = cell.ttl_millis.filter(|_| cell.has_ended(now));
            own.into_iter().chain(family).min()
        };
        let Some((cell, ttl)) = newest.and_then(|cell| Some((cell, ends(cell)?))) else { return };
        let since = now.map_or(0, |now| now.saturating_sub(cell.ts.saturating_add(ttl)));
        if since <= ttl.max(HORIZON_MILLIS_MIN) {
            self.recorder.flow(|flow| flow.misses_present += 1);
        }
    }

    fn load(&self, family: usize, column: ColumnKey<'_>) -> Result<Column, Error> {
        let mut section = column.prefix.get(..column.key_bytes).unwrap_or_default().to_vec();
        self.enter_family(&mut section, family)?;
        let markers = self.cache.prefix(&section)?;
        let markers: Result<Vec<DeleteMarker>, Error> =
            markers.iter().map(|(_, row)| self.marker(row)).collect();
        let rows = self.cache.prefix(column.prefix)?;
        self.column(&markers?, rows.into_iter())
    }

    /// Visits the columns among the rows of one key and family, each with its encoded qualifier.
    pub(super) fn columns_of(
        &mut self,
        group_bytes: usize,
        rows: Vec<OwnedRow>,
        mut visit: impl FnMut(&mut Self, Column, &[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut rows = rows.into_iter().peekable();
        let mut markers = Vec::new();
        while let Some((_, row)) = rows.next_if(|(key, _)| is_of_family(key, group_bytes)) {
            markers.push(self.marker(&row)?);
        }
        while let Some((first, _)) = rows.peek() {
            let qualifier: Box<[u8]> = qualifier_of(first, group_bytes).unwrap_or_default().into();
            let same = |key: &[u8]| qualifier_of(key, group_bytes) == Some(&*qualifier);
            let of_column: Vec<_> =
                std::iter::from_fn(|| rows.next_if(|(key, _)| same(key))).collect();
            if of_column.is_empty() {
                return Err(Error::Codec {
                    place: format!("state {}", self.config.place()),
                    detail: "a row key is not that of a cell; restore an older checkpoint".into(),
                });
            }
            let column = self.column(&markers, of_column.into_iter())?;
            visit(self, column, &qualifier)?;
        }
        Ok(())
    }

    /// Removes what of a column is gone for good by the clock that removes. Tells which of the markers
    /// still delete something that is kept.
    pub(super) fn reclaim_column(
        &mut self,
        rule: &FamilyRule,
        column: &Column,
        moment: &Moment,
        by: Remover,
    ) -> Result<Vec<bool>, Error> {
        let clock = self.clock(moment);
        let mut scan = rule.column(clock);
        let mut needed = vec![false; column.markers.len()];
        for (cell, (key, _)) in column.cells.iter().zip(&column.rows) {
            let deleted = column.is_deleted(rule, cell);
            if scan.next(cell, deleted) != Fate::Dropped {
                for (needed, marker) in needed.iter_mut().zip(&column.markers) {
                    *needed |= rule.deletes(marker, cell);
                }
                continue;
            }
            let at = RowAddress::of(key);
            let slot = self.cache.locate(at.hash, at.key)?;
            self.drop_row(slot, moment.epoch);
            let is_expired = cell.has_ended(clock) || rule.has_expired(cell.ts, clock);
            self.recorder.flow(|flow| match by {
                _ if deleted && !rule.keep_deleted => flow.removed_delete += 1,
                _ if !is_expired => flow.removed_overwrite += 1,
                Remover::Read => flow.removed_read += 1,
                Remover::Sweep => flow.removed_sweep += 1,
            });
            if is_expired {
                let age = clock.map_or(0, |now| now.saturating_sub(cell.ts));
                self.recorder.age_at_drop(age, 1);
            }
        }
        if self.cache.is_full() {
            self.relieve()?;
        }
        Ok(needed)
    }
}
