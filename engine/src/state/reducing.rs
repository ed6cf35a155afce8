//! One value per key, into which others are merged (SEMANTICS §1.7).

use std::panic::Location;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::value::Lookup;
use crate::codec::Key;
use crate::error::Error;
use crate::operator::Context;
use crate::telemetry::Site;

/// A handle on one reduced value per key, made by
/// [`Open::reducing_state`](crate::Open::reducing_state).
///
/// An added value is merged with the unexpired current one; where there is none, or it has expired,
/// the added value is the first of a new one.
pub struct ReducingState<K: ?Sized, V> {
    index: usize,
    name: Option<&'static str>,
    reduce: fn(V, V) -> V,
    key: std::marker::PhantomData<fn(&K)>,
}

impl<K: ?Sized, V> std::fmt::Debug for ReducingState<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ReducingState").field("index", &self.index).finish_non_exhaustive()
    }
}

impl<K: ?Sized, V> Clone for ReducingState<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: ?Sized, V> Copy for ReducingState<K, V> {}

impl<K: Key + ?Sized, V: Serialize + DeserializeOwned> ReducingState<K, V> {
    pub(crate) fn new(index: usize, reduce: fn(V, V) -> V) -> Self {
        Self { index, name: None, reduce, key: std::marker::PhantomData }
    }

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

    /// Merges a value into that of the key at hand. Counts as one read, which misses where the
    /// former value had expired, and one write. A write whose stamp is expired on arrival is
    /// dropped and counted, and its event goes to the late output.
    ///
    /// # Errors
    /// [`Error::Diverted`] while the state's breaker refuses; else where the store fails or holds a
    /// value of another type.
    #[track_caller]
    pub fn add<O>(self, ctx: &mut Context<'_, K, O>, value: V) -> Result<(), Error> {
        let site = self.site();
        ctx.merge(self.index, site, |current| match current {
            Some(current) => (self.reduce)(current, value),
            None => value,
        })
    }

    /// Returns the live value of the key at hand.
    ///
    /// # Errors
    /// Where the store fails or holds a value of another type.
    #[track_caller]
    pub fn get<O>(self, ctx: &mut Context<'_, K, O>) -> Result<Option<V>, Error> {
        let site = self.site();
        ctx.read(self.index, site).map(Lookup::live)
    }

    /// Returns the live value, or tells an expired one from none.
    ///
    /// # Errors
    /// As [`ReducingState::get`].
    #[track_caller]
    pub fn lookup<O>(self, ctx: &mut Context<'_, K, O>) -> Result<Lookup<V>, Error> {
        let site = self.site();
        ctx.read(self.index, site)
    }

    /// Deletes the value of the key at hand.
    ///
    /// # Errors
    /// Where the store fails.
    #[track_caller]
    pub fn clear<O>(self, ctx: &mut Context<'_, K, O>) -> Result<(), Error> {
        let site = self.site();
        ctx.delete(self.index, site)
    }
}
