//! The sweep of a table's families: a scan with a budget, from where the last one ended, that removes
//! what is gone for good (SEMANTICS §1.11, §2.4).

use stateward_model::{DeleteMarker, FamilyRule};

use super::cell::{is_marker, is_of_family};
use super::cells::Remover;
use super::{Moment, RowAddress, Table};
use crate::codec::{GROUP_BYTES, row_ts};
use crate::error::Error;
use crate::state::StateKind;
use crate::store::{OwnedRow, Scanned};
use crate::telemetry::Recorder;

/// Rows that one slice of a scan looks at, at least: about a millisecond.
pub(crate) const SLICE_ROWS: usize = 1_024;

/// Bytes of a row key up to and with its family; `None` where it is no row of a table.
fn group_bytes(key: &[u8]) -> Option<usize> {
    let (length, _) = key.get(GROUP_BYTES..)?.split_first_chunk::<4>()?;
    let bytes = GROUP_BYTES + 4 + u32::from_be_bytes(*length) as usize + 1;
    (key.len() > bytes).then_some(bytes)
}

fn same_group(a: &[u8], b: &[u8]) -> bool {
    let (bytes, other) = (group_bytes(a), group_bytes(b));
    bytes.is_some()
        && bytes == other
        && bytes.and_then(|n| a.get(..n)) == other.and_then(|n| b.get(..n))
}

impl<R: Recorder> Table<R> {
    /// Looks at the next `slice_rows` rows of a table, or more, and removes what is gone for good; does nothing for other
    /// kinds. What was written since the last slice is added to the budget, twice, so that a scan does
    /// not fall behind the writers for ever. `micros` reads a clock.
    pub(crate) fn sweep_families(
        &mut self,
        slice_rows: usize,
        moment: &Moment,
        mut micros: impl FnMut() -> u64,
    ) -> Result<(), Error> {
        if self.config.kind != StateKind::Table || self.ledger.total().entries == 0 {
            return Ok(());
        }
        let started = micros();
        let written = self.sequence.saturating_sub(self.scanned_sequence);
        self.scanned_sequence = self.sequence;
        let budget = slice_rows.saturating_add(usize::try_from(written * 2).unwrap_or(0));
        let Scanned { mut rows, next } = self.cache.scan(&self.scan_from, budget)?;
        self.scan_from = next.unwrap_or_default();
        // a key's family is judged whole: what the slice has cut comes with the next one
        if let Some(next) = self.complete(&mut rows)? {
            self.scan_from = next;
        }
        let before = self.ledger.total().entries;
        let mut rows = rows.into_iter().peekable();
        while let Some((first, _)) = rows.peek() {
            let first = first.clone();
            let group: Vec<OwnedRow> = std::iter::from_fn(|| {
                rows.next_if(|(key, _)| *key == first || same_group(key, &first))
            })
            .collect();
            self.sweep_group(&first, group, moment)?;
        }
        if self.ledger.total().entries != before {
            self.recorder.sweep(micros().saturating_sub(started));
        }
        Ok(())
    }

    /// Makes the last group of a slice whole: takes it out, or, where there is no other, reads the
    /// rest of it. Returns where to go on.
    fn complete(&self, rows: &mut Vec<OwnedRow>) -> Result<Option<Box<[u8]>>, Error> {
        if self.scan_from.is_empty() {
            return Ok(None);
        }
        let Some((last, _)) = rows.last().filter(|(key, _)| same_group(key, &self.scan_from))
        else {
            return Ok(None);
        };
        let group: Box<[u8]> =
            group_bytes(last).and_then(|bytes| last.get(..bytes)).unwrap_or_default().into();
        let begins = rows.partition_point(|(key, _)| **key < *group);
        if begins > 0 {
            rows.truncate(begins);
            return Ok(Some(group));
        }
        *rows = self.cache.prefix(&group)?;
        let mut behind = group.into_vec();
        // no row key has a section above 1
        behind.push(u8::MAX);
        Ok(Some(behind.into()))
    }

    /// Removes what is gone for good of the rows of one key and family.
    fn sweep_group(
        &mut self,
        first: &[u8],
        group: Vec<OwnedRow>,
        moment: &Moment,
    ) -> Result<(), Error> {
        let Some(group_bytes) = group_bytes(first) else { return Ok(()) };
        let id = first.get(group_bytes - 1).copied();
        let family = self.config.options.families.iter().find(|family| Some(family.id) == id);
        // a family that the code no longer declares has no rule, so its rows stay
        let Some(rule) = family.map(|family| family.rule) else { return Ok(()) };
        let mut family_keys = Vec::new();
        let mut family_markers = Vec::new();
        for (key, row) in &group {
            if is_of_family(key, group_bytes) && is_marker(key) {
                family_keys.push(key.clone());
                family_markers.push(self.marker(row)?);
            }
        }
        let mut family_needed = vec![false; family_markers.len()];
        self.columns_of(group_bytes, group, |table, mut column, _| {
            let (keys, markers) = (std::mem::take(&mut column.marker_keys), column.markers.clone());
            let needed = table.reclaim_column(&rule, &column, moment, Remover::Sweep)?;
            for (into, needed) in family_needed.iter_mut().zip(&needed) {
                *into |= needed;
            }
            let own = markers.len() - keys.len();
            let own_needed = needed.get(own..).unwrap_or_default();
            table.sweep_markers(&rule, &keys, own_needed, &markers, moment)
        })?;
        self.sweep_markers(&rule, &family_keys, &family_needed, &family_markers, moment)
    }

    /// Removes the markers that no longer delete anything, those in the rows `keys`, which are the
    /// last ones of `markers`: they are spent, or another one does all that they do.
    fn sweep_markers(
        &mut self,
        rule: &FamilyRule,
        keys: &[Box<[u8]>],
        needed: &[bool],
        markers: &[DeleteMarker],
        moment: &Moment,
    ) -> Result<(), Error> {
        let clock = self.clock(moment);
        let own = markers.get(markers.len() - keys.len()..).unwrap_or_default();
        for ((key, marker), needed) in keys.iter().zip(own).zip(needed) {
            let spent = rule.is_spent(marker, clock) && !needed;
            if !spent && !markers.iter().any(|newer| rule.supersedes(newer, marker)) {
                continue;
            }
            let at = RowAddress::of(key);
            let slot = self.cache.locate(at.hash, at.key)?;
            debug_assert!(self.cache.row(slot).is_none_or(|row| row_ts(row) == marker.ts));
            self.drop_row(slot, moment.epoch);
            self.recorder.flow(|flow| flow.removed_sweep += 1);
        }
        Ok(())
    }
}
