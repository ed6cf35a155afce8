//! One value per key.

use std::marker::PhantomData;
use std::panic::Location;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::codec::Key;
use crate::error::Error;
use crate::operator::Context;
use crate::telemetry::Site;

/// What a key holds: absent is not expired (SEMANTICS §1.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup<V> {
    /// A live value.
    Live(V),
    /// There was a value, last stamped at `ts`, and it has expired. Exact while the row is there,
    /// approximate for a while afterwards.
    Expired {
        /// Last stamp, ms.
        ts: i64,
    },
    /// There is none, as far as is known.
    Absent,
}

impl<V> Lookup<V> {
    /// The live value.
    pub fn live(self) -> Option<V> {
        match self {
            Self::Live(value) => Some(value),
            Self::Expired { .. } | Self::Absent => None,
        }
    }
}

/// A handle on one value per key, made by [`Open::value_state`](crate::Open::value_state).
///
/// Cheap to copy; it holds no data. Reads and writes go to the key of the event at hand and count
/// under the source line that calls them.
pub struct ValueState<K: ?Sized, V> {
    index: usize,
    name: Option<&'static str>,
    types: PhantomData<fn(&K) -> V>,
}

impl<K: ?Sized, V> std::fmt::Debug for ValueState<K, V> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ValueState").field("index", &self.index).finish_non_exhaustive()
    }
}

impl<K: ?Sized, V> Clone for ValueState<K, V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: ?Sized, V> Copy for ValueState<K, V> {}

impl<K: Key + ?Sized, V: Serialize + DeserializeOwned> ValueState<K, V> {
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
    /// As [`ValueState::get`].
    #[track_caller]
    pub fn lookup<O>(self, ctx: &mut Context<'_, K, O>) -> Result<Lookup<V>, Error> {
        let site = self.site();
        ctx.read(self.index, site)
    }

    /// Sets the value of the key at hand. A write whose stamp is expired on arrival is dropped and
    /// counted, and its event goes to the late output.
    ///
    /// # Errors
    /// [`Error::Diverted`] while the state's breaker refuses; else as [`ValueState::get`].
    #[track_caller]
    pub fn put<O>(self, ctx: &mut Context<'_, K, O>, value: &V) -> Result<(), Error> {
        let site = self.site();
        ctx.write(self.index, value, site)
    }

    /// Deletes the value of the key at hand.
    ///
    /// # Errors
    /// Where the store fails.
    #[track_caller]
    pub fn delete<O>(self, ctx: &mut Context<'_, K, O>) -> Result<(), Error> {
        let site = self.site();
        ctx.delete(self.index, site)
    }
}
