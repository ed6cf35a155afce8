//! Many entries per key, each with its own TTL (SEMANTICS §1.7).

use std::marker::PhantomData;
use std::panic::Location;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec::Key;
use crate::error::Error;
use crate::operator::Context;
use crate::telemetry::Site;

/// A handle on a map per key, made by [`Open::map_state`](crate::Open::map_state).
///
/// Every entry has its own stamp. Iteration is in the order of the encoded map keys, which is the
/// order of strings and integers.
pub struct MapState<K: ?Sized, M, V> {
    index: usize,
    name: Option<&'static str>,
    types: PhantomData<fn(&K, &M) -> V>,
}

impl<K: ?Sized, M, V> std::fmt::Debug for MapState<K, M, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MapState").field("index", &self.index).finish_non_exhaustive()
    }
}

impl<K: ?Sized, M, V> Clone for MapState<K, M, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: ?Sized, M, V> Copy for MapState<K, M, V> {}

impl<K: Key + ?Sized, M, V: Serialize + DeserializeOwned> MapState<K, M, V>
where
    M: Key + ToOwned<Owned = M>,
{
    pub(crate) fn new(index: usize) -> Self {
        Self { index, name: None, types: PhantomData }
    }

    /// Returns a handle whose accesses are counted under a name beside their line.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    #[track_caller]
    fn site(self) -> Site {
        Site { at: Location::caller(), name: self.name }
    }

    /// Returns the live value of an entry.
    ///
    /// # Errors
    /// Where the store fails or holds a value of another type.
    #[track_caller]
    pub fn get<O>(self, ctx: &mut Context<'_, K, O>, key: &M) -> Result<Option<V>, Error> {
        let site = self.site();
        ctx.read_entry(self.index, key, site)
    }

    /// Tells whether an entry is live; counts as a read.
    ///
    /// # Errors
    /// As [`MapState::get`].
    #[track_caller]
    pub fn contains<O>(self, ctx: &mut Context<'_, K, O>, key: &M) -> Result<bool, Error> {
        let site = self.site();
        Ok(ctx.read_entry::<M, V>(self.index, key, site)?.is_some())
    }

    /// Sets an entry.
    ///
    /// # Errors
    /// [`Error::Diverted`] while the state's breaker refuses; else as [`MapState::get`].
    #[track_caller]
    pub fn put<O>(self, ctx: &mut Context<'_, K, O>, key: &M, value: &V) -> Result<(), Error> {
        let site = self.site();
        ctx.write_entry(self.index, key, value, site)
    }

    /// Deletes an entry.
    ///
    /// # Errors
    /// Where the store fails.
    #[track_caller]
    pub fn remove<O>(self, ctx: &mut Context<'_, K, O>, key: &M) -> Result<(), Error> {
        let site = self.site();
        ctx.delete_entry(self.index, key, site)
    }

    /// Returns all live entries of the key at hand; expired ones are skipped and removed. Each
    /// entry visited counts as a read.
    ///
    /// # Errors
    /// As [`MapState::get`].
    #[track_caller]
    pub fn entries<O>(self, ctx: &mut Context<'_, K, O>) -> Result<Vec<(M, V)>, Error> {
        let site = self.site();
        ctx.read_entries(self.index, site)
    }

    /// Tells whether the key at hand has no live entry; reads as [`MapState::entries`] does.
    ///
    /// # Errors
    /// As [`MapState::get`].
    #[track_caller]
    pub fn is_empty<O>(self, ctx: &mut Context<'_, K, O>) -> Result<bool, Error> {
        let site = self.site();
        Ok(ctx.read_entries::<M, V>(self.index, site)?.is_empty())
    }

    /// Deletes all entries of the key at hand, without reading them.
    ///
    /// # Errors
    /// Where the store fails.
    #[track_caller]
    pub fn clear<O>(self, ctx: &mut Context<'_, K, O>) -> Result<(), Error> {
        let site = self.site();
        ctx.clear(self.index, site)
    }
}
