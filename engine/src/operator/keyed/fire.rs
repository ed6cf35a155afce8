//! Firing timers, in slices, and what waits for them.

use serde::Serialize;
use serde::de::DeserializeOwned;
use stateward_model::ClockKind;

use super::KeyedNode;
use super::run::Ran;
use crate::codec::{Key, decode_value};
use crate::error::Error;
use crate::job::{NodeEnv, Routed};
use crate::operator::timer::Timer;
use crate::state::{stream_row_key, time_of};

/// Timers of one clock that fire before the shard looks after its other nodes, and the barrier.
const FIRE_SLICE: usize = 256;
/// Held records that are processed before the same.
const HELD_SLICE: usize = 256;

impl<K, T, O> KeyedNode<K, T, O>
where
    K: Key + ?Sized,
    T: Clone + Serialize + DeserializeOwned + 'static,
    O: Clone + 'static,
{
    /// Tells whether what arrives has to wait: for timers, or behind what waits already.
    pub(super) fn waits(&self) -> bool {
        self.parts.timers.held.as_ref().is_some_and(|held| self.firing || !held.is_empty())
    }

    /// Fires what is due, at most a slice, then goes on with what was held for it.
    pub(super) fn fire(&mut self, env: &mut NodeEnv<'_>) -> Result<bool, Error> {
        let waited = self.waits();
        let mut progress = self.fire_slice(ClockKind::EventTime)?;
        self.firing = self.is_due()?;
        if !self.firing {
            progress |= self.process_held(env)?;
        }
        if waited && !self.waits() {
            // watermarks that came while the input waited
            self.advance(env);
            progress = true;
        } else if progress {
            self.announce();
        }
        Ok(progress | self.fire_slice(ClockKind::ProcessingTime)?)
    }

    fn is_due(&mut self) -> Result<bool, Error> {
        let epoch = self.moment.epoch;
        let now = self.moment.watermark;
        let Some((table, now)) = self.parts.timers.table(ClockKind::EventTime).zip(now) else {
            return Ok(false);
        };
        Ok(table.due(now, epoch)?.is_some())
    }

    fn fire_slice(&mut self, clock: ClockKind) -> Result<bool, Error> {
        let epoch = self.moment.epoch;
        let Some(now) = self.moment.clock(clock) else { return Ok(false) };
        let mut fired = 0;
        while fired < FIRE_SLICE {
            let Some(table) = self.parts.timers.table(clock) else { break };
            let Some(due) = table.due(now, epoch)? else { break };
            table.take(epoch);
            stream_row_key(&due, &mut self.row_key);
            let timer = Timer { ts: time_of(&due), clock };
            self.moment.event += 1;
            if self.parts.spill.holds_key(&self.row_key) {
                self.divert_timer(timer, true)?;
            } else if self.run_timer(timer, self.moment)? == Ran::Refused {
                self.divert_timer(timer, false)?;
            }
            fired += 1;
        }
        Ok(fired > 0)
    }

    /// Puts records aside that a barrier overtakes.
    pub(super) fn hold(&mut self, batch: Vec<Routed<T>>) -> Result<(), Error> {
        // what arrived before them: it is taken up when their turn comes
        let watermark = self.parts.input.watermark();
        for record in batch {
            let aside = self.put_aside(&record, Vec::new(), watermark)?;
            match &mut self.parts.timers.held {
                Some(held) => held.push(&aside)?,
                None => self.event(record)?,
            }
        }
        Ok(())
    }

    /// Processes held records in their order; watermarks, and the timers due by them, in between.
    fn process_held(&mut self, env: &mut NodeEnv<'_>) -> Result<bool, Error> {
        let mut processed = 0;
        while let Some(held) = &mut self.parts.timers.held
            && let Some((aside, _)) = held.peek()?
        {
            if aside.watermark > self.moment.watermark {
                self.moment.watermark = aside.watermark;
                self.sweep(env);
                self.firing = self.is_due()?;
            }
            if self.firing || processed == HELD_SLICE {
                return Ok(true);
            }
            let Some(held) = &mut self.parts.timers.held else { break };
            let Some(aside) = held.pop() else { break };
            let operator = &self.parts.operator;
            let place = || format!("held record of operator {operator}");
            let value: T = decode_value(&aside.event, place)?;
            self.event(Routed { value, ts: aside.ts, hash: aside.hash })?;
            processed += 1;
        }
        Ok(processed > 0)
    }
}
