//! Reading all rows in parts: store, overflow and overlay merged.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::{Rest, WriteCache};
use crate::error::Error;
use crate::store::OwnedRow;

/// A part of all rows.
#[derive(Debug)]
pub(crate) struct Scanned {
    pub(crate) rows: Vec<OwnedRow>,
    /// Key to go on from.
    pub(crate) next: Option<Box<[u8]>>,
}

/// Takes one out of `left`; where none is left, or others ended before, ends at `key`.
fn take_one(left: &mut usize, key: &[u8], end: &mut Option<Box<[u8]>>) -> bool {
    if end.as_deref().is_some_and(|end| end <= key) {
        return false;
    }
    if *left == 0 {
        *end = Some(key.into());
        return false;
    }
    *left -= 1;
    true
}

impl WriteCache {
    /// Collects about `rows_max` rows from `from` on, as [`WriteCache::prefix`] does, and tells where
    /// to go on; `None` where there are no more.
    pub(crate) fn scan(&self, from: &[u8], rows_max: usize) -> Result<Scanned, Error> {
        let mut rows: BTreeMap<Box<[u8]>, Option<Vec<u8>>> = BTreeMap::new();
        // up to the least key at which a source was left, all of them have been heard
        let mut end: Option<Box<[u8]>> = None;
        let mut left = rows_max;
        if let Some(Rest { store, overflow }) = &self.rest {
            store.scan(from, &mut |key, row| {
                let more = take_one(&mut left, key, &mut end);
                if more {
                    rows.insert(key.into(), Some(row.to_vec()));
                }
                more
            })?;
            left = rows_max;
            overflow.scan(from, &mut |key, row| {
                let more = take_one(&mut left, key, &mut end);
                if more {
                    rows.insert(key.into(), row.map(<[u8]>::to_vec));
                }
                more
            })?;
        }
        left = rows_max;
        let from = (Bound::Included(from), Bound::Unbounded);
        for (key, at) in self.sorted.iter().flat_map(|sorted| sorted.range::<[u8], _>(from)) {
            if !take_one(&mut left, key, &mut end) {
                break;
            }
            rows.insert(key.clone(), self.row(*at).map(<[u8]>::to_vec));
        }
        if let Some(end) = &end {
            rows.split_off(end);
        }
        let rows = rows.into_iter().filter_map(|(key, row)| Some((key, row?))).collect();
        Ok(Scanned { rows, next: end })
    }
}
