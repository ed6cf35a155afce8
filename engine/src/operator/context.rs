//! What user code sees of the event at hand.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec::{GROUP_BYTES, Key};
use crate::error::Error;
use crate::source::Timed;
use crate::state::{Lookup, Moment, RowAddress, Table};
use crate::telemetry::{Counters, Site};

use super::timer::{TimerStage, Timers};

/// The event, or the timer, at hand: its key, its time, the operator's states and its output.
#[derive(Debug)]
pub struct Context<'a, K: ?Sized, O> {
    pub(crate) key: &'a K,
    pub(crate) row_key: &'a [u8],
    pub(crate) hash: u64,
    pub(crate) moment: Moment,
    /// Time of the event or timer; what states are stamped with is in `moment`.
    pub(crate) ts: i64,
    pub(crate) timers: &'a TimerStage,
    pub(crate) tables: &'a mut [Table<Counters>],
    pub(crate) map_key: &'a mut Vec<u8>,
    pub(crate) out: &'a mut Vec<Timed<O>>,
}

impl<K: ?Sized, O> Context<'_, K, O> {
    /// The key of the event.
    pub fn key(&self) -> &K {
        self.key
    }

    /// Event time of the event, ms; in `on_timer` that of the timer. A timer on the wall clock has
    /// the watermark for it, and its own time before the first watermark.
    pub fn event_time(&self) -> i64 {
        self.ts
    }

    /// Watermark of the operator on this shard, ms; `None` before the first.
    pub fn watermark(&self) -> Option<i64> {
        self.moment.watermark
    }

    /// Processing time of the batch, ms: the wall clock, but for jumps that wait for a decision or were
    /// compensated (SEMANTICS §1.10); never less than before.
    pub fn processing_time(&self) -> i64 {
        self.moment.wall
    }

    /// The timers of the key at hand.
    ///
    /// # Examples
    /// ```
    /// use stateward_engine::{Context, Error};
    /// fn remind(_: &u64, ctx: &mut Context<'_, str, String>) -> Result<(), Error> {
    ///     ctx.timers().register_event_time(ctx.event_time() + 60_000)
    /// }
    /// ```
    pub fn timers(&self) -> Timers<'_> {
        Timers::new(self.timers)
    }

    /// Emits a record with the event's time, or the timer's ([`Context::event_time`]).
    pub fn emit(&mut self, value: O) {
        self.emit_at(value, self.ts);
    }

    /// Emits a record with its own event time.
    pub fn emit_at(&mut self, value: O, ts: i64) {
        self.out.push(Timed { value, ts });
    }

    fn table(&mut self, index: usize) -> Result<&mut Table<Counters>, Error> {
        self.tables
            .get_mut(index)
            .ok_or_else(|| Error::Declaration("a state handle of another operator was used".into()))
    }

    pub(crate) fn read<V: DeserializeOwned>(
        &mut self,
        index: usize,
        site: Site,
    ) -> Result<Lookup<V>, Error> {
        let (moment, at) = (self.moment, RowAddress { hash: self.hash, key: self.row_key });
        self.table(index)?.read(at, &moment, site)
    }

    pub(crate) fn write<V: Serialize>(
        &mut self,
        index: usize,
        value: &V,
        site: Site,
    ) -> Result<(), Error> {
        let (moment, at) = (self.moment, RowAddress { hash: self.hash, key: self.row_key });
        self.table(index)?.write(at, value, &moment, site)
    }

    pub(crate) fn merge<V: Serialize + DeserializeOwned>(
        &mut self,
        index: usize,
        site: Site,
        merge: impl FnOnce(Option<V>) -> V,
    ) -> Result<(), Error> {
        let (moment, at) = (self.moment, RowAddress { hash: self.hash, key: self.row_key });
        self.table(index)?.merge(at, &moment, site, merge)
    }

    pub(crate) fn delete(&mut self, index: usize, site: Site) -> Result<(), Error> {
        let (moment, at) = (self.moment, RowAddress { hash: self.hash, key: self.row_key });
        self.table(index)?.delete(at, &moment, site).map(drop)
    }

    /// Builds `group | key length | key`, which the row keys of a key with many rows begin with.
    fn map_prefix(&mut self) {
        let (group, key) = self.row_key.split_at_checked(GROUP_BYTES).unwrap_or_default();
        self.map_key.clear();
        self.map_key.extend_from_slice(group);
        self.map_key.extend_from_slice(&(key.len() as u32).to_be_bytes());
        self.map_key.extend_from_slice(key);
    }

    /// Runs `f` on the table and the row key of a map entry.
    fn with_entry<M: Key, T>(
        &mut self,
        index: usize,
        entry: &M,
        f: impl FnOnce(&mut Table<Counters>, RowAddress<'_>, &Moment) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.map_prefix();
        let mut key = std::mem::take(self.map_key);
        entry.encode(&mut key);
        let moment = self.moment;
        let result = self.table(index).and_then(|table| f(table, RowAddress::of(&key), &moment));
        *self.map_key = key;
        result
    }

    pub(crate) fn read_entry<M: Key, V: DeserializeOwned>(
        &mut self,
        index: usize,
        entry: &M,
        site: Site,
    ) -> Result<Option<V>, Error> {
        self.with_entry(index, entry, |table, at, moment| table.read(at, moment, site))
            .map(Lookup::live)
    }

    pub(crate) fn write_entry<M: Key, V: Serialize>(
        &mut self,
        index: usize,
        entry: &M,
        value: &V,
        site: Site,
    ) -> Result<(), Error> {
        self.with_entry(index, entry, |table, at, moment| table.write(at, value, moment, site))
    }

    pub(crate) fn delete_entry<M: Key>(
        &mut self,
        index: usize,
        entry: &M,
        site: Site,
    ) -> Result<(), Error> {
        self.with_entry(index, entry, |table, at, moment| table.delete(at, moment, site)).map(drop)
    }

    pub(crate) fn read_entries<M, V>(
        &mut self,
        index: usize,
        site: Site,
    ) -> Result<Vec<(M, V)>, Error>
    where
        M: Key + ToOwned<Owned = M>,
        V: DeserializeOwned,
    {
        let (prefix_bytes, rows) = self.with_prefix(index, |table, prefix, moment| {
            Ok((prefix.len(), table.read_prefix::<V>(prefix, moment, site)?))
        })?;
        let entries = rows.into_iter().map(|(key, value)| {
            let entry = key.get(prefix_bytes..).and_then(M::decode);
            entry.map(|entry| (entry, value)).ok_or_else(|| Error::Codec {
                place: "map state".into(),
                detail: format!(
                    "a map key cannot be read as {}; was its type changed?",
                    std::any::type_name::<M>()
                ),
            })
        });
        entries.collect()
    }

    /// Runs `f` on the table and the prefix of the key's rows.
    pub(super) fn with_prefix<T>(
        &mut self,
        index: usize,
        f: impl FnOnce(&mut Table<Counters>, &mut Vec<u8>, &Moment) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.map_prefix();
        let mut prefix = std::mem::take(self.map_key);
        let moment = self.moment;
        let result = self.table(index).and_then(|table| f(table, &mut prefix, &moment));
        *self.map_key = prefix;
        result
    }

    pub(crate) fn append<'v, V: Serialize + 'v>(
        &mut self,
        index: usize,
        values: impl IntoIterator<Item = &'v V>,
        site: Site,
    ) -> Result<(), Error> {
        self.with_prefix(index, |table, prefix, moment| {
            values.into_iter().try_for_each(|value| table.append(prefix, value, moment, site))
        })
    }

    pub(crate) fn replace<'v, V: Serialize + 'v>(
        &mut self,
        index: usize,
        values: impl IntoIterator<Item = &'v V>,
        site: Site,
    ) -> Result<(), Error> {
        self.with_prefix(index, |table, prefix, moment| {
            if !table.is_late(moment) {
                table.delete_prefix(prefix, moment, site)?;
            }
            values.into_iter().try_for_each(|value| table.append(prefix, value, moment, site))
        })
    }

    pub(crate) fn read_elements<V: DeserializeOwned>(
        &mut self,
        index: usize,
        site: Site,
    ) -> Result<Vec<V>, Error> {
        let rows = self
            .with_prefix(index, |table, prefix, moment| table.read_prefix(prefix, moment, site))?;
        Ok(rows.into_iter().map(|(_, value)| value).collect())
    }

    pub(crate) fn clear(&mut self, index: usize, site: Site) -> Result<(), Error> {
        self.with_prefix(index, |table, prefix, moment| table.delete_prefix(prefix, moment, site))
    }
}
