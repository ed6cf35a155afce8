//! Running user code on one event or timer, and what comes of it.

use std::borrow::Borrow;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use stateward_model::{ClockKind, key_hash};

use super::KeyedNode;
use crate::breaker::Spilled;
use crate::codec::{GROUP_BYTES, Key, decode_value, encode_value};
use crate::error::Error;
use crate::job::Routed;
use crate::operator::context::Context;
use crate::operator::timer::Timer;
use crate::state::{Gate, GateMode, Moment, Table};

/// Spilled events that are replayed before new input is looked at.
const REPLAY_SLICE: usize = 256;

/// What user code is run on.
enum Call<'a, T> {
    Record(&'a T),
    Timer(Timer),
}

/// How an attempt on an event or timer ended.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ran {
    Applied,
    Late,
    Refused,
}

impl<K, T, O> KeyedNode<K, T, O>
where
    K: Key + ?Sized,
    T: Clone + Serialize + DeserializeOwned + 'static,
    O: Clone + 'static,
{
    /// Runs user code on the key whose row key is at hand; on refusal nothing of it remains.
    fn run(
        &mut self,
        call: &Call<'_, T>,
        (key, hash): (&K, u64),
        ts: i64,
        moment: Moment,
    ) -> Result<Ran, Error> {
        if self.guarded {
            self.parts.gates().for_each(Gate::next_event);
            self.parts.tables.iter_mut().for_each(Table::stage);
        }
        let mut ctx = Context {
            key,
            row_key: &self.row_key,
            hash,
            moment,
            ts,
            timers: self.parts.timers.stage(),
            tables: &mut self.parts.tables,
            map_key: &mut self.map_key,
            out: &mut self.out,
        };
        let result = match *call {
            Call::Record(record) => self.parts.function.process(record, &mut ctx),
            Call::Timer(timer) => self.parts.function.on_timer(timer, &mut ctx),
        };
        if result.is_ok() {
            self.parts.timers.admit(moment.event);
        }
        if self.guarded {
            if self.parts.gates().any(|gate| gate.refused) {
                for table in &mut self.parts.tables {
                    table.take_back(moment.epoch)?;
                    table.take_late();
                }
                self.parts.timers.drop_staged();
                self.out.clear();
                return Ok(Ran::Refused);
            }
            self.parts.tables.iter_mut().for_each(Table::keep);
        }
        result.map_err(|e| self.blame(e))?;
        self.parts.timers.apply(&self.row_key, moment.epoch)?;
        let mut late = false;
        for table in &mut self.parts.tables {
            late |= table.take_late();
        }
        self.sample.emitted += self.out.len() as u64;
        for record in self.out.drain(..) {
            self.parts.output.emit(record.value, record.ts);
        }
        Ok(if late { Ran::Late } else { Ran::Applied })
    }

    fn run_record(&mut self, value: &T, hash: u64, moment: Moment) -> Result<Ran, Error> {
        let key_of = Arc::clone(&self.parts.key_of);
        let key = key_of(value);
        self.build_row_key(&key, hash);
        self.run(&Call::Record(value), (&*key, hash), moment.event_ts, moment)
    }

    /// Fires a timer of the key whose row key is at hand, at `moment`; what it writes is stamped
    /// with `max(timer time, now)` (SEMANTICS §1.8), and it has fired no earlier than now.
    pub(super) fn run_timer(&mut self, timer: Timer, moment: Moment) -> Result<Ran, Error> {
        let bytes = self.row_key.get(GROUP_BYTES..).unwrap_or_default();
        let hash = key_hash(bytes);
        let key = K::decode(bytes).ok_or_else(|| Error::Codec {
            place: format!("timers of operator {}", self.parts.operator),
            detail: format!(
                "a key cannot be read as {}; was the type of the key changed?",
                std::any::type_name::<K>()
            ),
        })?;
        let watermark = moment.watermark.unwrap_or(timer.ts);
        let (ts, event_ts) = match timer.clock {
            ClockKind::EventTime => (timer.ts, timer.ts.max(watermark)),
            ClockKind::ProcessingTime => (watermark, watermark),
        };
        let moment = Moment { event_ts, ..moment };
        let ran = self.run(&Call::Timer(timer), (key.borrow(), hash), ts, moment)?;
        if ran != Ran::Refused {
            let now = self.moment.clock(timer.clock).unwrap_or(timer.ts);
            if let Some(table) = self.parts.timers.table(timer.clock) {
                table.count_fired(now.saturating_sub(timer.ts));
            }
        }
        Ok(ran)
    }

    fn blame(&self, error: Error) -> Error {
        match error {
            Error::Operator { source, .. } => {
                Error::Operator { operator: self.parts.operator.clone(), source }
            }
            other => other,
        }
    }

    pub(super) fn event(&mut self, record: Routed<T>) -> Result<(), Error> {
        self.sample.arrived += 1;
        self.moment.event += 1;
        self.moment.event_ts = record.ts;
        if !self.parts.spill.is_empty() {
            let key_of = Arc::clone(&self.parts.key_of);
            let key = key_of(&record.value);
            self.build_row_key(&key, record.hash);
            if self.parts.spill.holds_key(&self.row_key) {
                return self.divert(&record, true);
            }
        }
        match self.run_record(&record.value, record.hash, self.moment)? {
            Ran::Applied => self.sample.applied += 1,
            Ran::Late => {
                self.sample.late += 1;
                self.parts.late.emit(record.value, record.ts);
            }
            Ran::Refused => self.divert(&record, false)?,
        }
        Ok(())
    }

    /// An event as it is put aside.
    pub(super) fn put_aside(
        &self,
        record: &Routed<T>,
        key: Vec<u8>,
        watermark: Option<i64>,
    ) -> Result<Spilled, Error> {
        let event = encode_value(&record.value, Vec::new(), &self.parts.operator)?;
        Ok(Spilled { key, event, ts: record.ts, hash: record.hash, watermark, timer: None })
    }

    /// Spills an event whole; `behind` another one of its key, else because a gate refused it.
    fn divert(&mut self, record: &Routed<T>, behind: bool) -> Result<(), Error> {
        let spilled = self.put_aside(record, self.row_key.clone(), self.moment.watermark)?;
        self.parts.spill.push(&spilled)?;
        self.sample.spilled += 1;
        self.count_diverted(behind);
        Ok(())
    }

    /// Spills a timer that has been taken (SEMANTICS §7.4).
    pub(super) fn divert_timer(&mut self, timer: Timer, behind: bool) -> Result<(), Error> {
        let spilled = Spilled {
            key: self.row_key.clone(),
            event: Vec::new(),
            ts: timer.ts,
            hash: 0,
            watermark: self.moment.watermark,
            timer: Some(timer.clock),
        };
        self.parts.spill.push(&spilled)?;
        self.count_diverted(behind);
        Ok(())
    }

    fn count_diverted(&mut self, behind: bool) {
        let event = self.moment.event;
        let counts = |gate: &mut Gate| (behind && gate.mode != GateMode::Pass) || gate.refused;
        for table in &mut self.parts.tables {
            if counts(table.gate()) {
                table.count_diverted(event, behind);
            }
        }
        for table in self.parts.timers.tables_mut() {
            if counts(table.gate()) {
                table.count_diverted(event, behind);
            }
        }
    }

    /// Replays the oldest spilled events and timers as far as the gates allow; `true` if any.
    pub(super) fn replay(&mut self) -> Result<bool, Error> {
        let mut replayed = 0;
        while replayed < REPLAY_SLICE && self.may_replay() {
            let Some((spilled, _)) = self.parts.spill.peek()? else { break };
            let spilled = spilled.clone();
            self.moment.event += 1;
            let moment = Moment {
                watermark: spilled.watermark,
                event_ts: spilled.ts,
                ttl_clock: None,
                ..self.moment
            };
            if let Some(clock) = spilled.timer {
                self.row_key.clone_from(&spilled.key);
                if self.run_timer(Timer { ts: spilled.ts, clock }, moment)? == Ran::Refused {
                    break;
                }
            } else {
                let operator = &self.parts.operator;
                let place = || format!("spilled event of operator {operator}");
                let value: T = decode_value(&spilled.event, place)?;
                match self.run_record(&value, spilled.hash, moment)? {
                    Ran::Refused => break,
                    Ran::Late => self.parts.late.emit(value, spilled.ts),
                    Ran::Applied => {}
                }
                self.sample.replayed += 1;
            }
            self.parts.spill.pop();
            replayed += 1;
            for gate in self.parts.gates().filter(|gate| gate.mode == GateMode::Replay) {
                gate.shared.spend();
            }
        }
        Ok(replayed > 0)
    }

    fn may_replay(&mut self) -> bool {
        self.parts.gates().all(|gate| match gate.mode {
            GateMode::Pass => true,
            GateMode::Replay | GateMode::Budget => gate.shared.has_budget(),
            GateMode::Refuse => false,
        })
    }
}
