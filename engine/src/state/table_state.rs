//! A row of versioned cells per key, in column families (SEMANTICS §2, the profile of
//! `HBase`).

use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use stateward_model::AsOf;

use crate::codec::Key;
use crate::error::Error;
use crate::operator::{Context, FamilyPlace};
use crate::telemetry::Site;

/// A handle on a table, made by [`Open::table_state`](crate::Open::table_state): the key of the event
/// at hand is the row, and its cells are reached through the table's families.
///
/// # Examples
/// ```
/// use stateward_engine::{
///     CollectSink, Context, FamilyDescriptor, JobBuilder, MemorySource, Open, RunOptions,
///     TableStateDescriptor, Timed, Watermarks,
/// };
/// # fn main() -> Result<(), stateward_engine::Error> {
/// let sink = CollectSink::<Vec<(i64, u64)>>::new();
/// let mut job = JobBuilder::new("quotes");
/// let quotes = (1..=3).map(|n| Timed { value: n * 100, ts: n as i64 });
/// job.source("quotes", MemorySource::new(quotes), Watermarks::monotonous())
///     .key_by_owned(|_: &u64| String::from("ACME"))
///     .process("last-two", |open: &mut Open<'_, String>| {
///         let two = FamilyDescriptor::new("price").max_versions(2);
///         let table = TableStateDescriptor::<u8, u64>::new("quotes").family(two);
///         let price = open.table_state(table).family("price")?;
///         Ok(move |quote: &u64, ctx: &mut Context<'_, String, Vec<(i64, u64)>>| {
///             price.put(ctx, &0, quote)?;
///             let versions = price.versions(ctx, &0)?;
///             ctx.emit(versions);
///             Ok(())
///         })
///     })
///     .sink("out", sink.clone());
/// # let dir = std::env::temp_dir().join(format!("stateward-doc-table-{}", std::process::id()));
/// # let data = &dir;
/// job.build()?.start(RunOptions::new(data))?.wait()?;
/// # std::fs::remove_dir_all(&dir).ok();
/// let last = sink.records().pop().map(|(versions, _)| versions);
/// assert_eq!(last, Some(vec![(3, 300), (2, 200)]));
/// # Ok(())
/// # }
/// ```
pub struct TableState<K: ?Sized, Q, V> {
    index: usize,
    families: Arc<[String]>,
    types: PhantomData<fn(&K, &Q) -> V>,
}

impl<K: ?Sized, Q, V> std::fmt::Debug for TableState<K, Q, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableState").field("index", &self.index).finish_non_exhaustive()
    }
}

impl<K: ?Sized, Q, V> Clone for TableState<K, Q, V> {
    fn clone(&self) -> Self {
        Self { families: Arc::clone(&self.families), ..*self }
    }
}

impl<K: ?Sized, Q, V> TableState<K, Q, V> {
    pub(crate) fn new(index: usize, families: Arc<[String]>) -> Self {
        Self { index, families, types: PhantomData }
    }

    /// Returns a handle on a column family.
    ///
    /// # Errors
    /// [`Error::Declaration`] where the table was declared without it.
    pub fn family(&self, name: &str) -> Result<TableFamily<K, Q, V>, Error> {
        let found = self.families.iter().position(|family| family == name).ok_or_else(|| {
            let known = self.families.join(", ");
            Error::Declaration(format!(
                "a table has no column family {name:?}; it was declared with {known}"
            ))
        })?;
        let at = FamilyPlace { state: self.index, family: found };
        Ok(TableFamily { at, name: None, types: PhantomData })
    }
}

/// A handle on one column family of a [`TableState`]. A cell is found by its qualifier and timestamp;
/// those of one qualifier are the versions of a column.
///
/// Reads go by the family's rule at once, whatever has been removed: a cell that is too old, or one
/// version too many, or deleted, is not there.
pub struct TableFamily<K: ?Sized, Q, V> {
    at: FamilyPlace,
    name: Option<&'static str>,
    types: PhantomData<fn(&K, &Q) -> V>,
}

impl<K: ?Sized, Q, V> std::fmt::Debug for TableFamily<K, Q, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableFamily").field("at", &self.at).finish_non_exhaustive()
    }
}

impl<K: ?Sized, Q, V> Clone for TableFamily<K, Q, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: ?Sized, Q, V> Copy for TableFamily<K, Q, V> {}

impl<K: Key + ?Sized, Q, V: Serialize + DeserializeOwned> TableFamily<K, Q, V>
where
    Q: Key + ToOwned<Owned = Q>,
{
    /// Returns a handle whose accesses are counted under a name beside their line, which then
    /// survives that the line moves.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    #[track_caller]
    fn site(self) -> Site {
        Site { at: Location::caller(), name: self.name }
    }

    /// Puts a cell at the time of the event at hand. A cell that is expired on arrival is dropped and
    /// counted, and its event goes to the late output; one that an earlier delete covers is not seen.
    ///
    /// # Errors
    /// [`Error::Diverted`] while the state's breaker refuses; else where the store fails.
    #[track_caller]
    pub fn put<O>(self, ctx: &mut Context<'_, K, O>, column: &Q, value: &V) -> Result<(), Error> {
        let site = self.site();
        ctx.put_cell(self.at, column, (None, None), value, site)
    }

    /// Puts a cell with a timestamp of its own, ms; as [`TableFamily::put`] else. A second one with the
    /// same timestamp replaces the first.
    ///
    /// # Errors
    /// As [`TableFamily::put`].
    #[track_caller]
    pub fn put_at<O>(
        self,
        ctx: &mut Context<'_, K, O>,
        column: &Q,
        ts: i64,
        value: &V,
    ) -> Result<(), Error> {
        let site = self.site();
        ctx.put_cell(self.at, column, (Some(ts), None), value, site)
    }

    /// Puts a cell with a timestamp, ms, and a TTL of its own, in whole ms, which can only shorten the
    /// family's; as [`TableFamily::put_at`] else. When it ends, what it displaced is there again; to
    /// put one over a cell without a TTL of its own, at the same timestamp, does not bring back what
    /// that one has displaced.
    ///
    /// # Errors
    /// As [`TableFamily::put`].
    #[track_caller]
    pub fn put_with_ttl<O>(
        self,
        ctx: &mut Context<'_, K, O>,
        column: &Q,
        ts: i64,
        ttl: Duration,
        value: &V,
    ) -> Result<(), Error> {
        let site = self.site();
        let millis = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
        ctx.put_cell(self.at, column, (Some(ts), Some(millis)), value, site)
    }

    /// Returns the latest version of a column. Counts as one read.
    ///
    /// # Errors
    /// Where the store fails or holds a value of another type.
    #[track_caller]
    pub fn get<O>(self, ctx: &mut Context<'_, K, O>, column: &Q) -> Result<Option<V>, Error> {
        let site = self.site();
        let latest: AsOf<(i64, V)> = ctx.read_cell(self.at, column, i64::MAX, site)?;
        Ok(latest.found().map(|(_, value)| value))
    }

    /// Returns the version of a column that was valid at `as_of`, ms, with its timestamp: each version
    /// is valid from its timestamp, inclusive, to the next one's, exclusive. What may have been valid
    /// then and is no longer kept is told from what was not there.
    ///
    /// # Errors
    /// As [`TableFamily::get`].
    #[track_caller]
    pub fn get_as_of<O>(
        self,
        ctx: &mut Context<'_, K, O>,
        column: &Q,
        as_of: i64,
    ) -> Result<AsOf<(i64, V)>, Error> {
        let site = self.site();
        ctx.read_cell(self.at, column, as_of, site)
    }

    /// Returns all versions of a column with their timestamps, newest first. Each counts as a read.
    ///
    /// # Errors
    /// As [`TableFamily::get`].
    #[track_caller]
    pub fn versions<O>(
        self,
        ctx: &mut Context<'_, K, O>,
        column: &Q,
    ) -> Result<Vec<(i64, V)>, Error> {
        let site = self.site();
        ctx.read_versions(self.at, column, site)
    }

    /// Returns the latest version of every column of the key at hand, in the order of the encoded
    /// qualifiers, which is the order of strings and integers. Each counts as a read.
    ///
    /// # Errors
    /// As [`TableFamily::get`].
    #[track_caller]
    pub fn columns<O>(self, ctx: &mut Context<'_, K, O>) -> Result<Vec<(Q, V)>, Error> {
        let site = self.site();
        ctx.read_family(self.at, site)
    }

    /// Deletes the versions of a column at or below the time of the event at hand, and refuses such
    /// with an older timestamp for the family's `marker_ttl`.
    ///
    /// # Errors
    /// Where the store fails.
    #[track_caller]
    pub fn delete_column<O>(self, ctx: &mut Context<'_, K, O>, column: &Q) -> Result<(), Error> {
        let site = self.site();
        ctx.delete_column(self.at, column, None, site)
    }

    /// Deletes the versions of a column at or below `ts`, ms; as [`TableFamily::delete_column`] else.
    ///
    /// # Errors
    /// Where the store fails.
    #[track_caller]
    pub fn delete_column_at<O>(
        self,
        ctx: &mut Context<'_, K, O>,
        column: &Q,
        ts: i64,
    ) -> Result<(), Error> {
        let site = self.site();
        ctx.delete_column(self.at, column, Some(ts), site)
    }

    /// Deletes the cells of all columns of the key at hand in this family at or below the time of the
    /// event at hand, as [`TableFamily::delete_column`] does those of one.
    ///
    /// # Errors
    /// Where the store fails.
    #[track_caller]
    pub fn delete_family<O>(self, ctx: &mut Context<'_, K, O>) -> Result<(), Error> {
        let site = self.site();
        ctx.delete_family(self.at, None, site)
    }
}
