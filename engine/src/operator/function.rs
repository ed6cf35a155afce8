//! User code of a keyed operator, and how it opens its states.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use stateward_model::ClockKind;

use super::context::Context;
use super::timer::{EVENT_TIMERS, PROCESSING_TIMERS, Timer};
use crate::codec::Key;
use crate::error::Error;
use crate::schema::shape_of;
use crate::state::{
    AggregateFunction, AggregatingState, AggregatingStateDescriptor, ListState,
    ListStateDescriptor, MapState, MapStateDescriptor, ReducingState, ReducingStateDescriptor,
    StateDeclared, StateKind, StateOptions, TableState, TableStateDescriptor, ValueState,
    ValueStateDescriptor, complain,
};

/// Finds the key of a record.
pub(crate) type KeySelector<T, K> =
    Arc<dyn for<'a> Fn(&'a T) -> Cow<'a, K> + Send + Sync + 'static>;

/// Processes the records of one key at a time, and the timers of that key. Implemented by closures,
/// and by pairs of closures, of which the second gets the timers.
///
/// # Contract
/// Everything the function remembers must be in its states: what it keeps elsewhere is not part of
/// an epoch, is lost by a restart, and is not taken back when a breaker diverts an event.
pub trait ProcessFunction<K: ?Sized, T, O>: 'static {
    /// Processes one record.
    ///
    /// # Errors
    /// Pass on what state accesses return; an error of your own ([`Error::user`]) fails the job.
    fn process(&mut self, record: &T, ctx: &mut Context<'_, K, O>) -> Result<(), Error>;

    /// A timer fires that was registered by [`Context::timers`] for the key at hand.
    ///
    /// # Errors
    /// As [`ProcessFunction::process`]. Unless implemented, that nobody takes the timer.
    fn on_timer(&mut self, timer: Timer, ctx: &mut Context<'_, K, O>) -> Result<(), Error> {
        let _ = ctx;
        Err(Error::Declaration(format!(
            "a timer for {} fired, but the operator's function has no on_timer; implement ProcessFunction::on_timer, or give a pair of closures",
            timer.ts
        )))
    }
}

impl<K: ?Sized, T, O, F, G> ProcessFunction<K, T, O> for (F, G)
where
    F: FnMut(&T, &mut Context<'_, K, O>) -> Result<(), Error> + 'static,
    G: FnMut(Timer, &mut Context<'_, K, O>) -> Result<(), Error> + 'static,
{
    fn process(&mut self, record: &T, ctx: &mut Context<'_, K, O>) -> Result<(), Error> {
        (self.0)(record, ctx)
    }

    fn on_timer(&mut self, timer: Timer, ctx: &mut Context<'_, K, O>) -> Result<(), Error> {
        (self.1)(timer, ctx)
    }
}

impl<K: ?Sized, T, O, F> ProcessFunction<K, T, O> for F
where
    F: FnMut(&T, &mut Context<'_, K, O>) -> Result<(), Error> + 'static,
{
    fn process(&mut self, record: &T, ctx: &mut Context<'_, K, O>) -> Result<(), Error> {
        self(record, ctx)
    }
}

/// Opens the states of an operator: called once when the job is built, and once per shard; the
/// same states must be opened in the same order each time.
#[derive(Debug)]
pub struct Open<'a, K: ?Sized> {
    declared: &'a mut Vec<StateDeclared>,
    failed: Option<Error>,
    key: PhantomData<fn(&K)>,
}

impl<'a, K: Key + ?Sized> Open<'a, K> {
    pub(crate) fn new(declared: &'a mut Vec<StateDeclared>) -> Self {
        Self { declared, failed: None, key: PhantomData }
    }

    /// The first state that could not be declared.
    pub(crate) fn finish(self) -> Result<(), Error> {
        self.failed.map_or(Ok(()), Err)
    }

    /// Opens a state with one value per key.
    pub fn value_state<V>(&mut self, descriptor: ValueStateDescriptor<V>) -> ValueState<K, V>
    where
        V: Serialize + DeserializeOwned,
    {
        ValueState::new(self.declare::<V>(StateKind::Value, descriptor.options))
    }

    /// Opens a state with one value per key, into which others are merged.
    pub fn reducing_state<V>(
        &mut self,
        descriptor: ReducingStateDescriptor<V>,
    ) -> ReducingState<K, V>
    where
        V: Serialize + DeserializeOwned,
    {
        let index = self.declare::<V>(StateKind::Reducing, descriptor.options);
        ReducingState::new(index, descriptor.reduce)
    }

    /// Opens a state with one accumulator per key.
    pub fn aggregating_state<A: AggregateFunction>(
        &mut self,
        descriptor: AggregatingStateDescriptor<A>,
    ) -> AggregatingState<K, A> {
        let index = self.declare::<A::Acc>(StateKind::Aggregating, descriptor.options);
        AggregatingState::new(index, descriptor.function)
    }

    /// Opens a state with a list per key.
    pub fn list_state<V>(&mut self, descriptor: ListStateDescriptor<V>) -> ListState<K, V>
    where
        V: Serialize + DeserializeOwned,
    {
        ListState::new(self.declare::<V>(StateKind::List, descriptor.options))
    }

    /// Opens a state with many entries per key.
    pub fn map_state<M, V>(&mut self, descriptor: MapStateDescriptor<M, V>) -> MapState<K, M, V>
    where
        M: Key + ToOwned<Owned = M>,
        V: Serialize + DeserializeOwned,
    {
        MapState::new(self.declare::<V>(StateKind::Map, descriptor.options))
    }

    /// Opens a state with a row of versioned cells per key.
    pub fn table_state<Q, V>(
        &mut self,
        descriptor: TableStateDescriptor<Q, V>,
    ) -> TableState<K, Q, V>
    where
        Q: Key + ToOwned<Owned = Q>,
        V: Serialize + DeserializeOwned,
    {
        let options = descriptor.options;
        if let Some(complaint) = complain(&options.families) {
            let name = &options.name;
            self.failed.get_or_insert(Error::Declaration(format!("state {name} {complaint}")));
        }
        let families = options.families.iter().map(|family| family.name.clone()).collect();
        TableState::new(self.declare::<V>(StateKind::Table, options), families)
    }

    /// Lets the operator register timers on the watermark ([`Context::timers`]). They are kept in a
    /// state of their own, `_timers.event`.
    #[track_caller]
    pub fn event_time_timers(&mut self) {
        self.declare_timers(EVENT_TIMERS, ClockKind::EventTime);
    }

    /// Lets the operator register timers on the wall clock ([`Context::timers`]). They are kept in a
    /// state of their own, `_timers.processing`.
    #[track_caller]
    pub fn processing_time_timers(&mut self) {
        self.declare_timers(PROCESSING_TIMERS, ClockKind::ProcessingTime);
    }

    #[track_caller]
    fn declare_timers(&mut self, name: &str, clock: ClockKind) {
        let options = StateOptions { clock, ..StateOptions::new(name) };
        let schema = "timer".to_owned();
        self.declared.push(StateDeclared { kind: StateKind::Timer, options, schema });
    }

    /// Declares a state; returns its place among those that have handles.
    fn declare<V: DeserializeOwned>(&mut self, kind: StateKind, options: StateOptions) -> usize {
        let schema = shape_of::<V>().unwrap_or_else(|e| {
            self.failed.get_or_insert(Error::Declaration(format!(
                "state {} cannot hold {}: {e}",
                options.name,
                std::any::type_name::<V>()
            )));
            String::new()
        });
        let place = self.declared.iter().filter(|state| state.kind != StateKind::Timer).count();
        let read_key = options.readable_keys.then_some(K::readable as fn(&[u8]) -> String);
        let options = StateOptions { read_key, ..options };
        self.declared.push(StateDeclared { kind, options, schema });
        place
    }
}
