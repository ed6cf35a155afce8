//! Watermarks and barriers of a keyed operator.

use serde::Serialize;
use serde::de::DeserializeOwned;
use stateward_model::ClockKind;
use stateward_model::wire::{OperatorSample, TimerSample};

use super::KeyedNode;
use crate::changelog::{Entry, OperatorMeta};
use crate::codec::Key;
use crate::error::Error;
use crate::job::{Barrier, NodeEnv};
use crate::state::TimerTable;

impl<K, T, O> KeyedNode<K, T, O>
where
    K: Key + ?Sized,
    T: Clone + Serialize + DeserializeOwned + 'static,
    O: Clone + 'static,
{
    /// Takes up the input's watermark; the timers that are due by it fire next.
    pub(super) fn advance(&mut self, env: &mut NodeEnv<'_>) {
        if let Some(watermark) = self.parts.input.watermark()
            && self.moment.watermark.is_none_or(|now| now < watermark)
        {
            self.moment.watermark = Some(watermark);
            self.sweep(env);
            self.firing = true;
        }
        self.announce();
    }

    /// While all inputs are idle: entries expire by the clock that goes on, and nothing else moves
    /// (SEMANTICS §1.8).
    pub(super) fn advance_ttl_clock(&mut self, env: &mut NodeEnv<'_>) {
        let Some(clock) = self.parts.input.ttl_clock() else { return };
        if clock < i64::MAX && self.moment.expiry_watermark() < Some(clock) {
            self.moment.ttl_clock = Some(clock);
            self.sweep(env);
        }
        self.parts.output.ttl_clock(clock);
        self.parts.late.ttl_clock(clock);
    }

    pub(super) fn sweep(&mut self, env: &mut NodeEnv<'_>) {
        for table in &mut self.parts.tables {
            table.sweep(&self.moment, || env.micros());
        }
    }

    /// By how much the spill holds the emitted watermark back. A late event that is spilled does
    /// not count with its age: the watermark it would have held is out already.
    fn held_millis(&self) -> i64 {
        let held = self.moment.watermark.zip(self.emitted_watermark);
        held.map_or(0, |(own, emitted)| own.saturating_sub(emitted))
    }

    /// Emits the watermark downstream, held back by the oldest spilled event (SEMANTICS §7.4), and
    /// by timers that have yet to fire: what they emit has their time.
    pub(super) fn announce(&mut self) {
        let oldest = self.parts.spill.oldest_ts().unwrap_or(i64::MAX);
        let event_timers = self.parts.timers.table(ClockKind::EventTime);
        let next = event_timers.filter(|_| self.firing).and_then(|timers| timers.next_time());
        let before_next = next.map_or(i64::MAX, |next| next.saturating_sub(1));
        let due = self.moment.watermark.map(|now| now.min(oldest).min(before_next));
        if due > self.emitted_watermark {
            self.emitted_watermark = due;
        }
        if self.emitted_watermark.is_some() {
            self.parts.output.watermark(self.emitted_watermark);
            self.parts.late.watermark(self.emitted_watermark);
        }
    }

    pub(super) fn barrier(&mut self, barrier: Barrier, env: &mut NodeEnv<'_>) -> Result<(), Error> {
        let epoch = barrier.epoch;
        for table in &mut self.parts.tables {
            let state = table.config().id;
            let meta = table.barrier(|rows| env.log(&Entry::Rows { epoch, state, rows }))?;
            if let Some(meta) = meta {
                env.meta.states.push((state, meta));
            }
        }
        for table in self.parts.timers.tables_mut() {
            let state = table.config().id;
            let meta = table.barrier(epoch, |rows| env.log(&Entry::Rows { epoch, state, rows }))?;
            if let Some(meta) = meta {
                env.meta.states.push((state, meta));
            }
        }
        let (spill, sync) = self.parts.spill.prepare()?;
        self.spill_at_barrier = spill;
        env.sync.extend(sync);
        let mut waiting = u64::from(self.firing) + self.diverted_timers();
        if let Some(held) = &mut self.parts.timers.held {
            let (position, sync) = held.prepare()?;
            self.held_at_barrier = position;
            waiting += held.pending().0;
            env.sync.extend(sync);
        }
        let sample = self.sample_now(false);
        env.meta.operators.push(OperatorMeta {
            watermark: self.moment.watermark,
            emitted_watermark: self.emitted_watermark,
            ttl_clock: self.moment.ttl_clock,
            sample,
            spill,
            held: self.held_at_barrier,
            waiting,
        });
        self.parts.output.barrier(barrier);
        self.parts.late.barrier(barrier);
        self.moment.epoch = epoch + 1;
        env.passed(barrier);
        Ok(())
    }

    fn diverted_timers(&self) -> u64 {
        let clocks = [ClockKind::EventTime, ClockKind::ProcessingTime];
        clocks.into_iter().map(|clock| self.parts.spill.pending_timers(clock)).sum()
    }

    /// Figures now; those of timers only where they are reported, for they begin anew in each run.
    pub(super) fn sample_now(&self, with_timers: bool) -> OperatorSample {
        let (pending, pending_bytes) = self.parts.spill.pending();
        let timers = |table: &TimerTable| {
            let diverted = self.parts.spill.pending_timers(table.clock());
            TimerSample { diverted, ..table.sample() }
        };
        let sample = OperatorSample {
            operator: self.parts.operator.clone(),
            pending,
            pending_bytes,
            oldest_pending_millis: self.parts.spill.oldest_ts(),
            watermark_held_millis: self.held_millis(),
            diverted_keys: self.parts.spill.keys(),
            watermark_millis: self.moment.watermark,
            held_by: Some(self.parts.upstream.clone()),
            timers: if with_timers {
                self.parts.timers.tables().map(timers).collect()
            } else {
                Vec::new()
            },
            ..self.sample.clone()
        };
        let accounted = sample.applied + sample.spilled + sample.late + sample.dead_lettered;
        assert_eq!(sample.arrived, accounted, "events of {} got lost", sample.operator);
        let waited = sample.replayed + sample.discarded + sample.pending;
        assert_eq!(sample.spilled, waited, "spilled events of {} got lost", sample.operator);
        sample
    }
}
