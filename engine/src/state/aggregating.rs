//! One accumulator per key, into which others are aggregated (SEMANTICS §1.7).

use std::marker::PhantomData;
use std::panic::Location;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::value::Lookup;
use crate::codec::Key;
use crate::error::Error;
use crate::operator::Context;
use crate::telemetry::Site;

/// Aggregates values of one type in an accumulator of another and reads a result of a third off it.
///
/// # Contract
/// Results depend on the arguments alone: an aggregate that was begun on one shard or in one run
/// may go on in another.
///
/// # Examples
/// ```
/// use stateward_engine::{AggregateFunction, AggregatingStateDescriptor};
///
/// struct Average;
///
/// impl AggregateFunction for Average {
///     type In = u32;
///     type Acc = (u64, u64);
///     type Out = f64;
///
///     fn create_accumulator(&self) -> (u64, u64) {
///         (0, 0)
///     }
///     fn add(&self, value: u32, (sum, count): &mut (u64, u64)) {
///         *sum += u64::from(value);
///         *count += 1;
///     }
///     fn get_result(&self, (sum, count): &(u64, u64)) -> f64 {
///         *sum as f64 / *count as f64
///     }
///     fn merge(&self, a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
///         (a.0 + b.0, a.1 + b.1)
///     }
/// }
///
/// let average = AggregatingStateDescriptor::new("average", Average);
/// # let _ = average;
/// ```
pub trait AggregateFunction {
    /// What is added.
    type In;
    /// What is kept.
    type Acc: Serialize + DeserializeOwned;
    /// What is returned.
    type Out;

    /// Makes an empty accumulator.
    fn create_accumulator(&self) -> Self::Acc;
    /// Adds a value to an accumulator.
    fn add(&self, value: Self::In, accumulator: &mut Self::Acc);
    /// Reads the result off an accumulator.
    fn get_result(&self, accumulator: &Self::Acc) -> Self::Out;
    /// Merges two accumulators, the one whose values came first in front.
    fn merge(&self, a: Self::Acc, b: Self::Acc) -> Self::Acc;
}

/// A handle on one accumulator per key, made by
/// [`Open::aggregating_state`](crate::Open::aggregating_state).
///
/// An added value goes into the unexpired current accumulator; where there is none, or it has
/// expired, into an empty one.
pub struct AggregatingState<K: ?Sized, A> {
    index: usize,
    name: Option<&'static str>,
    function: A,
    key: PhantomData<fn(&K)>,
}

impl<K: ?Sized, A> std::fmt::Debug for AggregatingState<K, A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AggregatingState").field("index", &self.index).finish_non_exhaustive()
    }
}

impl<K: ?Sized, A: Clone> Clone for AggregatingState<K, A> {
    fn clone(&self) -> Self {
        Self { function: self.function.clone(), ..*self }
    }
}

impl<K: ?Sized, A: Copy> Copy for AggregatingState<K, A> {}

impl<K: Key + ?Sized, A: AggregateFunction> AggregatingState<K, A> {
    pub(crate) fn new(index: usize, function: A) -> Self {
        Self { index, name: None, function, key: PhantomData }
    }

    /// Returns a handle whose accesses are counted under a name beside their line, which then
    /// survives that the line moves.
    #[must_use]
    pub fn named(self, name: &'static str) -> Self {
        Self { name: Some(name), ..self }
    }

    #[track_caller]
    fn site(&self) -> Site {
        Site { at: Location::caller(), name: self.name }
    }

    /// Adds a value to the accumulator of the key at hand. Counts as one read, which misses where
    /// the former accumulator had expired, and one write. A write whose stamp is expired on arrival
    /// is dropped and counted, and its event goes to the late output.
    ///
    /// # Errors
    /// [`Error::Diverted`] while the state's breaker refuses; else where the store fails or holds an
    /// accumulator of another type.
    #[track_caller]
    pub fn add<O>(&self, ctx: &mut Context<'_, K, O>, value: A::In) -> Result<(), Error> {
        let site = self.site();
        ctx.merge(self.index, site, |current| {
            let mut accumulator = current.unwrap_or_else(|| self.function.create_accumulator());
            self.function.add(value, &mut accumulator);
            accumulator
        })
    }

    /// Merges an accumulator that was filled elsewhere, by a partial aggregation upstream, into
    /// that of the key at hand; counts as [`AggregatingState::add`] does.
    ///
    /// # Errors
    /// As [`AggregatingState::add`].
    #[track_caller]
    pub fn merge<O>(&self, ctx: &mut Context<'_, K, O>, other: A::Acc) -> Result<(), Error> {
        let site = self.site();
        ctx.merge(self.index, site, |current| match current {
            Some(current) => self.function.merge(current, other),
            None => other,
        })
    }

    /// Returns the result of the key at hand; `None` where nothing was added, or it has expired.
    ///
    /// # Errors
    /// Where the store fails or holds an accumulator of another type.
    #[track_caller]
    pub fn get<O>(&self, ctx: &mut Context<'_, K, O>) -> Result<Option<A::Out>, Error> {
        let site = self.site();
        let accumulator: Option<A::Acc> = ctx.read(self.index, site).map(Lookup::live)?;
        Ok(accumulator.map(|accumulator| self.function.get_result(&accumulator)))
    }

    /// Deletes the accumulator of the key at hand.
    ///
    /// # Errors
    /// Where the store fails.
    #[track_caller]
    pub fn clear<O>(&self, ctx: &mut Context<'_, K, O>) -> Result<(), Error> {
        let site = self.site();
        ctx.delete(self.index, site)
    }
}
