//! What user code does to the cells of a table: row keys for the key of the event at hand.

use serde::Serialize;
use serde::de::DeserializeOwned;
use stateward_model::AsOf;

use super::context::Context;
use crate::codec::Key;
use crate::error::Error;
use crate::state::{ColumnKey, Moment, NewCell, Table, Version};
use crate::telemetry::{Counters, Site};

/// A column family of one of the operator's states.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FamilyPlace {
    /// Index of the state.
    pub(crate) state: usize,
    /// Place in its declaration.
    pub(crate) family: usize,
}

impl<K: ?Sized, O> Context<'_, K, O> {
    /// Runs `f` on the table and the prefix of a column's rows, of which all rows of the key begin with
    /// the first so many bytes.
    fn with_column<Q: Key, T>(
        &mut self,
        at: FamilyPlace,
        qualifier: &Q,
        f: impl FnOnce(&mut Table<Counters>, &mut Vec<u8>, usize, &Moment) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.with_prefix(at.state, |table, prefix, moment| {
            let key_bytes = prefix.len();
            table.enter_column(prefix, at.family, |key| qualifier.encode(key))?;
            f(table, prefix, key_bytes, moment)
        })
    }

    /// Puts a cell; at the event's own time where `ts` is `None`.
    pub(crate) fn put_cell<Q: Key, V: Serialize>(
        &mut self,
        at: FamilyPlace,
        qualifier: &Q,
        (ts, ttl_millis): (Option<i64>, Option<i64>),
        value: &V,
        site: Site,
    ) -> Result<(), Error> {
        self.with_column(at, qualifier, |table, column, _, moment| {
            let cell = NewCell { ts: ts.unwrap_or_else(|| table.cell_ts(moment)), ttl_millis };
            table.put_cell(at.family, column, cell, value, moment, site)
        })
    }

    pub(crate) fn read_cell<Q: Key, V: DeserializeOwned>(
        &mut self,
        at: FamilyPlace,
        qualifier: &Q,
        as_of: i64,
        site: Site,
    ) -> Result<AsOf<Version<V>>, Error> {
        self.with_column(at, qualifier, |table, prefix, key_bytes, moment| {
            table.read_cell(at.family, ColumnKey { prefix, key_bytes }, as_of, moment, site)
        })
    }

    pub(crate) fn read_versions<Q: Key, V: DeserializeOwned>(
        &mut self,
        at: FamilyPlace,
        qualifier: &Q,
        site: Site,
    ) -> Result<Vec<Version<V>>, Error> {
        self.with_column(at, qualifier, |table, prefix, key_bytes, moment| {
            table.read_versions(at.family, ColumnKey { prefix, key_bytes }, moment, site)
        })
    }

    pub(crate) fn read_family<Q, V>(
        &mut self,
        at: FamilyPlace,
        site: Site,
    ) -> Result<Vec<(Q, V)>, Error>
    where
        Q: Key + ToOwned<Owned = Q>,
        V: DeserializeOwned,
    {
        let latest = self.with_prefix(at.state, |table, prefix, moment| {
            table.read_family(at.family, prefix, moment, site)
        })?;
        let decoded = latest.into_iter().map(|(qualifier, value)| {
            Q::decode(&qualifier).map(|qualifier| (qualifier, value)).ok_or_else(|| Error::Codec {
                place: "table state".into(),
                detail: format!(
                    "a qualifier cannot be read as {}; was its type changed?",
                    std::any::type_name::<Q>()
                ),
            })
        });
        decoded.collect()
    }

    /// Deletes a column up to `ts`; up to the event's own time where it is `None`.
    pub(crate) fn delete_column<Q: Key>(
        &mut self,
        at: FamilyPlace,
        qualifier: &Q,
        ts: Option<i64>,
        site: Site,
    ) -> Result<(), Error> {
        self.with_column(at, qualifier, |table, column, _, moment| {
            let ts = ts.unwrap_or_else(|| table.cell_ts(moment));
            table.put_marker(column, ts, moment, site)
        })
    }

    /// Deletes a whole family of the key at hand, as [`Context::delete_column`] does a column.
    pub(crate) fn delete_family(
        &mut self,
        at: FamilyPlace,
        ts: Option<i64>,
        site: Site,
    ) -> Result<(), Error> {
        self.with_prefix(at.state, |table, section, moment| {
            table.enter_family(section, at.family)?;
            let ts = ts.unwrap_or_else(|| table.cell_ts(moment));
            table.put_marker(section, ts, moment, site)
        })
    }
}
