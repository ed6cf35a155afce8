//! Cells and delete markers as rows of a table (SEMANTICS §2).
//!
//! ```text
//! row key  = prefix of the key | family: u8 | section | !ts: u64 big-endian | 0 marker, 1 cell
//! section  = 0                                          markers of the whole family
//!          | 1 | qualifier length: u32 big-endian | qualifier
//! row      = ts | schema id | head | value              (a marker has no value)
//! ```
//! 1. A column's rows lie together, newest first, a marker in front of the cell that it deletes.
//! 2. Writes and deletes are blind. What they displace or delete is judged by every read, and removed
//!    by reads and by the sweep once it is gone for good.

use serde::{Deserialize, Serialize};
use stateward_model::{CellVersion, DeleteMarker, FamilyRule};

use super::{Moment, Table};
use crate::codec::{ROW_HEADER_BYTES, row_ts};
use crate::error::Error;
use crate::state::family::FamilyConfig;
use crate::store::OwnedRow;
use crate::telemetry::Recorder;

/// Section of a family's own markers.
const FAMILY_SECTION: u8 = 0;
/// Section of its columns.
const COLUMN_SECTION: u8 = 1;
/// Last byte of a row key.
pub(super) const MARKER: u8 = 0;
pub(super) const CELL: u8 = 1;

/// What stands in front of a cell's value.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) order: u64,
    pub(super) written: i64,
    pub(super) ttl_millis: Option<i64>,
}

/// A column's rows, newest first, and the markers that may delete them.
#[derive(Debug, Default)]
pub(super) struct Column {
    pub(super) cells: Vec<CellVersion>,
    /// The row of each cell.
    pub(super) rows: Vec<OwnedRow>,
    /// The family's, then the column's own.
    pub(super) markers: Vec<DeleteMarker>,
    /// Row keys of the column's own.
    pub(super) marker_keys: Vec<Box<[u8]>>,
}

/// Appends what orders the rows of a section: newest first.
pub(super) fn push_version(key: &mut Vec<u8>, ts: i64, kind: u8) {
    let ascending = (ts as u64) ^ (1 << 63);
    key.extend_from_slice(&(!ascending).to_be_bytes());
    key.push(kind);
}

/// Tells whether a row key is that of a marker.
pub(super) fn is_marker(key: &[u8]) -> bool {
    key.last() == Some(&MARKER)
}

/// Tells whether a row key, whose key and family take up `group_bytes`, is in the section of the
/// family's own markers.
pub(super) fn is_of_family(key: &[u8], group_bytes: usize) -> bool {
    key.get(group_bytes) == Some(&FAMILY_SECTION)
}

/// The encoded qualifier of a row key, whose key and family take up `group_bytes`.
pub(super) fn qualifier_of(key: &[u8], group_bytes: usize) -> Option<&[u8]> {
    let section = key.get(group_bytes + 1..)?;
    let (length, rest) = section.split_first_chunk::<4>()?;
    rest.get(..u32::from_be_bytes(*length) as usize)
}

impl<R: Recorder> Table<R> {
    /// A family by its place in the declaration.
    pub(super) fn family(&self, place: usize) -> Result<&FamilyConfig, Error> {
        self.config.options.families.get(place).ok_or_else(|| {
            Error::Declaration(format!(
                "a column family of another table was used on {}",
                self.config.place()
            ))
        })
    }

    /// Makes the prefix of a key's rows that of one of its columns.
    pub(crate) fn enter_column(
        &self,
        key: &mut Vec<u8>,
        family: usize,
        qualifier: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Error> {
        key.extend_from_slice(&[self.family(family)?.id, COLUMN_SECTION]);
        let length_at = key.len();
        key.extend_from_slice(&[0; 4]);
        qualifier(key);
        let length = (key.len() - length_at - 4) as u32;
        if let Some(slot) = key.get_mut(length_at..length_at + 4) {
            slot.copy_from_slice(&length.to_be_bytes());
        }
        Ok(())
    }

    /// Makes the prefix of a key's rows that of a family's own markers.
    pub(crate) fn enter_family(&self, key: &mut Vec<u8>, family: usize) -> Result<(), Error> {
        key.extend_from_slice(&[self.family(family)?.id, FAMILY_SECTION]);
        Ok(())
    }

    /// A new row's head; `order` counts up.
    pub(super) fn head(&mut self, ttl_millis: Option<i64>, moment: &Moment) -> Head {
        let order = self.sequence;
        self.sequence += 1;
        let written = self.seen_now(moment).unwrap_or_else(|| self.stamp(moment));
        Head { order, written, ttl_millis }
    }

    /// Splits a row into its head and the bytes of its value.
    pub(super) fn split<'a>(&self, row: &'a [u8]) -> Result<(Head, &'a [u8]), Error> {
        let body = row.get(ROW_HEADER_BYTES..).unwrap_or_default();
        postcard::take_from_bytes(body).map_err(|e| Error::Codec {
            place: format!("state {}", self.config.place()),
            detail: format!("the head of a cell cannot be read: {e}; restore an older checkpoint"),
        })
    }

    pub(super) fn marker(&self, row: &[u8]) -> Result<DeleteMarker, Error> {
        let (head, _) = self.split(row)?;
        Ok(DeleteMarker { ts: row_ts(row), written: head.written, order: head.order })
    }

    /// Sorts the rows of one column into cells and markers.
    pub(super) fn column(
        &self,
        family_markers: &[DeleteMarker],
        rows: impl Iterator<Item = OwnedRow>,
    ) -> Result<Column, Error> {
        let mut column = Column { markers: family_markers.to_vec(), ..Column::default() };
        for (key, row) in rows {
            if is_marker(&key) {
                column.markers.push(self.marker(&row)?);
                column.marker_keys.push(key);
            } else {
                let (Head { order, written, ttl_millis }, _) = self.split(&row)?;
                column.cells.push(CellVersion { ts: row_ts(&row), ttl_millis, written, order });
                column.rows.push((key, row));
            }
        }
        Ok(column)
    }
}

impl Column {
    /// Tells whether a cell is deleted.
    pub(super) fn is_deleted(&self, rule: &FamilyRule, cell: &CellVersion) -> bool {
        self.markers.iter().any(|marker| rule.deletes(marker, cell))
    }
}
