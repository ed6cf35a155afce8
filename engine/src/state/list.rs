//! Many elements per key in the order of their insertion, each with its own TTL (SEMANTICS §1.7).

use std::marker::PhantomData;
use std::panic::Location;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec::Key;
use crate::error::Error;
use crate::operator::Context;
use crate::telemetry::Site;

/// A handle on a list per key, made by [`Open::list_state`](crate::Open::list_state).
///
/// Every element is a row with its own stamp, so the elements of a list expire one by one. A list
/// whose elements have all expired is empty and leaves no row.
pub struct ListState<K: ?Sized, V> {
    index: usize,
    name: Option<&'static str>,
    types: PhantomData<fn(&K) -> V>,
}

impl<K: ?Sized, V> std::fmt::Debug for ListState<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ListState").field("index", &self.index).finish_non_exhaustive()
    }
}

impl<K: ?Sized, V> Clone for ListState<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: ?Sized, V> Copy for ListState<K, V> {}

impl<K: Key + ?Sized, V: Serialize + DeserializeOwned> ListState<K, V> {
    pub(crate) fn new(index: usize) -> Self {
        Self { index, name: None, types: PhantomData }
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

    /// Appends an element to the list of the key at hand; the cost does not depend on how long the
    /// list is. An element whose stamp is expired on arrival is dropped and counted, and its event
    /// goes to the late output.
    ///
    /// # Errors
    /// [`Error::Diverted`] while the state's breaker refuses; else where the store fails.
    #[track_caller]
    pub fn add<O>(self, ctx: &mut Context<'_, K, O>, value: &V) -> Result<(), Error> {
        let site = self.site();
        ctx.append(self.index, [value], site)
    }

    /// Appends elements in their order; each counts as a write.
    ///
    /// # Errors
    /// As [`ListState::add`].
    #[track_caller]
    pub fn add_all<'v, O>(
        self,
        ctx: &mut Context<'_, K, O>,
        values: impl IntoIterator<Item = &'v V>,
    ) -> Result<(), Error>
    where
        V: 'v,
    {
        let site = self.site();
        ctx.append(self.index, values, site)
    }

    /// Returns the live elements of the key at hand in the order of their insertion; expired ones
    /// are skipped and removed. Each element visited counts as a read.
    ///
    /// # Errors
    /// Where the store fails or holds an element of another type.
    #[track_caller]
    pub fn get<O>(self, ctx: &mut Context<'_, K, O>) -> Result<Vec<V>, Error> {
        let site = self.site();
        ctx.read_elements(self.index, site)
    }

    /// Tells whether the key at hand has no live element; reads as [`ListState::get`] does.
    ///
    /// # Errors
    /// As [`ListState::get`].
    #[track_caller]
    pub fn is_empty<O>(self, ctx: &mut Context<'_, K, O>) -> Result<bool, Error> {
        let site = self.site();
        Ok(ctx.read_elements::<V>(self.index, site)?.is_empty())
    }

    /// Replaces the whole list of the key at hand: a delete for each former element, a write for
    /// each new one. Where the new elements would be expired on arrival they are dropped, and the
    /// former ones stay.
    ///
    /// # Errors
    /// As [`ListState::add`].
    #[track_caller]
    pub fn update<'v, O>(
        self,
        ctx: &mut Context<'_, K, O>,
        values: impl IntoIterator<Item = &'v V>,
    ) -> Result<(), Error>
    where
        V: 'v,
    {
        let site = self.site();
        ctx.replace(self.index, values, site)
    }

    /// Deletes all elements of the key at hand, without reading them.
    ///
    /// # Errors
    /// Where the store fails.
    #[track_caller]
    pub fn clear<O>(self, ctx: &mut Context<'_, K, O>) -> Result<(), Error> {
        let site = self.site();
        ctx.clear(self.index, site)
    }
}
