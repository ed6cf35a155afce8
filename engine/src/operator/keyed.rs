//! A keyed operator on one shard: user code, states, breaker gates and spill.
//!
//! While every gate passes and nothing is spilled, an event costs its states and nothing else.
//! Otherwise (SEMANTICS §7.3, §7.4) events run staged: the changes of a refused event are taken
//! back, its outputs dropped, and it is spilled whole; events of a key that has spilled events
//! follow it there.

use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use stateward_model::key_group;
use stateward_model::wire::OperatorSample;

use super::context::Context;
use super::function::{KeySelector, ProcessFunction};
use crate::breaker::{Spill, Spilled};
use crate::changelog::{Entry, OperatorMeta, ShardMeta};
use crate::codec::{Key, decode_value, encode_value};
use crate::error::Error;
use crate::job::{Arrived, Barrier, Input, Node, NodeEnv, Output, Polled, Routed};
use crate::source::Timed;
use crate::state::{GateMode, Moment, SLICE_ROWS, Table};
use crate::telemetry::{Counters, ShardBoard, StateSnapshot};

/// Spilled events that are replayed before new input is looked at.
const REPLAY_SLICE: usize = 256;

/// What a keyed node is made of.
pub(crate) struct KeyedParts<K: Key + ?Sized, T, O> {
    pub(crate) operator: String,
    pub(crate) input: Input<T>,
    pub(crate) output: Output<O>,
    pub(crate) late: Output<T>,
    pub(crate) key_of: KeySelector<T, K>,
    pub(crate) function: Box<dyn ProcessFunction<K, T, O>>,
    pub(crate) tables: Vec<Table<Counters>>,
    pub(crate) spill: Spill,
    pub(crate) groups: u16,
    pub(crate) first_epoch: u64,
    /// What the last committed epoch said.
    pub(crate) meta: OperatorMeta,
    /// Uid of the node that feeds it, to name who holds the watermark.
    pub(crate) upstream: String,
}

/// A keyed operator on one shard.
pub(crate) struct KeyedNode<K: Key + ?Sized, T, O> {
    parts: KeyedParts<K, T, O>,
    moment: Moment,
    emitted_watermark: Option<i64>,
    sample: OperatorSample,
    gate_versions: Vec<u64>,
    /// Some gate does not pass everything.
    guarded: bool,
    out: Vec<Timed<O>>,
    row_key: Vec<u8>,
    map_key: Vec<u8>,
    spill_at_barrier: crate::changelog::SpillPosition,
}

/// How an attempt on an event ended.
enum Ran {
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
    pub(crate) fn new(parts: KeyedParts<K, T, O>) -> Self {
        let moment = Moment {
            watermark: parts.meta.watermark,
            epoch: parts.first_epoch,
            ..Moment::default()
        };
        Self {
            moment,
            emitted_watermark: parts.meta.emitted_watermark,
            sample: parts.meta.sample.clone(),
            gate_versions: vec![u64::MAX; parts.tables.len()],
            guarded: false,
            out: Vec::new(),
            row_key: Vec::new(),
            map_key: Vec::new(),
            spill_at_barrier: parts.meta.spill,
            parts,
        }
    }

    /// Takes up what the breakers say; between events only.
    fn read_gates(&mut self) {
        self.guarded = false;
        for (table, seen) in self.parts.tables.iter_mut().zip(&mut self.gate_versions) {
            let gate = table.gate();
            let version = gate.shared.version();
            if *seen != version {
                gate.mode = gate.shared.mode();
                // what was refused last was refused by the former mode
                gate.next_event();
                *seen = version;
            }
            self.guarded |= matches!(gate.mode, GateMode::Budget | GateMode::Refuse);
        }
    }

    fn build_row_key(&mut self, key: &K, hash: u64) {
        self.row_key.clear();
        let group = key_group(hash, self.parts.groups);
        self.row_key.extend_from_slice(&group.to_be_bytes());
        key.encode(&mut self.row_key);
    }

    /// Runs user code on one event; on refusal nothing of it remains.
    fn run(&mut self, value: &T, moment: Moment, hash: u64) -> Result<Ran, Error> {
        let key_of = std::sync::Arc::clone(&self.parts.key_of);
        let key = key_of(value);
        self.build_row_key(&key, hash);
        if self.guarded {
            for table in &mut self.parts.tables {
                table.gate().next_event();
                table.stage();
            }
        }
        let mut ctx = Context {
            key: &*key,
            row_key: &self.row_key,
            hash,
            moment,
            tables: &mut self.parts.tables,
            map_key: &mut self.map_key,
            out: &mut self.out,
        };
        let result = self.parts.function.process(value, &mut ctx);
        if self.guarded {
            if self.parts.tables.iter_mut().any(|table| table.gate().refused) {
                for table in &mut self.parts.tables {
                    table.take_back(moment.epoch)?;
                    table.take_late();
                }
                self.out.clear();
                return Ok(Ran::Refused);
            }
            self.parts.tables.iter_mut().for_each(Table::keep);
        }
        result.map_err(|e| self.blame(e))?;
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

    fn blame(&self, error: Error) -> Error {
        match error {
            Error::Operator { source, .. } => {
                Error::Operator { operator: self.parts.operator.clone(), source }
            }
            other => other,
        }
    }

    fn event(&mut self, record: Routed<T>) -> Result<(), Error> {
        self.sample.arrived += 1;
        self.moment.event += 1;
        self.moment.event_ts = record.ts;
        if !self.parts.spill.is_empty() {
            let key_of = std::sync::Arc::clone(&self.parts.key_of);
            let key = key_of(&record.value);
            self.build_row_key(&key, record.hash);
            if self.parts.spill.holds_key(&self.row_key) {
                return self.divert(&record, true);
            }
        }
        match self.run(&record.value, self.moment, record.hash)? {
            Ran::Applied => self.sample.applied += 1,
            Ran::Late => {
                self.sample.late += 1;
                self.parts.late.emit(record.value, record.ts);
            }
            Ran::Refused => self.divert(&record, false)?,
        }
        Ok(())
    }

    /// Spills an event whole; `behind` another one of its key, else because a gate refused it.
    fn divert(&mut self, record: &Routed<T>, behind: bool) -> Result<(), Error> {
        let event = encode_value(&record.value, Vec::new(), &self.parts.operator)?;
        let spilled = Spilled {
            key: self.row_key.clone(),
            event,
            ts: record.ts,
            hash: record.hash,
            watermark: self.moment.watermark,
        };
        self.parts.spill.push(&spilled)?;
        self.sample.spilled += 1;
        for table in &mut self.parts.tables {
            let closed = table.gate().mode == GateMode::Pass;
            if (behind && !closed) || table.gate().refused {
                table.count_diverted(self.moment.event, behind);
            }
        }
        Ok(())
    }

    /// Replays the oldest spilled events as far as the gates allow; `true` if any.
    fn replay(&mut self) -> Result<bool, Error> {
        let mut replayed = 0;
        while replayed < REPLAY_SLICE && self.may_replay() {
            let Some((spilled, _)) = self.parts.spill.peek()? else { break };
            let spilled = spilled.clone();
            let operator = &self.parts.operator;
            let value: T =
                decode_value(&spilled.event, || format!("spilled event of operator {operator}"))?;
            self.moment.event += 1;
            let moment =
                Moment { watermark: spilled.watermark, event_ts: spilled.ts, ..self.moment };
            match self.run(&value, moment, spilled.hash)? {
                Ran::Refused => break,
                Ran::Late => self.parts.late.emit(value, spilled.ts),
                Ran::Applied => {}
            }
            self.sample.replayed += 1;
            self.parts.spill.pop();
            replayed += 1;
            for table in &mut self.parts.tables {
                if table.gate().mode == GateMode::Replay {
                    table.gate().shared.spend();
                }
            }
        }
        Ok(replayed > 0)
    }

    fn may_replay(&mut self) -> bool {
        self.parts.tables.iter_mut().all(|table| match table.gate().mode {
            GateMode::Pass => true,
            GateMode::Replay | GateMode::Budget => table.gate().shared.has_budget(),
            GateMode::Refuse => false,
        })
    }

    fn advance(&mut self, env: &mut NodeEnv<'_>) {
        if let Some(watermark) = self.parts.input.watermark()
            && self.moment.watermark.is_none_or(|now| now < watermark)
        {
            self.moment.watermark = Some(watermark);
            self.sweep(env);
        }
        self.announce();
    }

    fn sweep(&mut self, env: &mut NodeEnv<'_>) {
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

    /// Emits the watermark downstream, held back by the oldest spilled event (SEMANTICS §7.4).
    fn announce(&mut self) {
        let oldest = self.parts.spill.oldest_ts().unwrap_or(i64::MAX);
        let due = self.moment.watermark.map(|now| now.min(oldest));
        if due > self.emitted_watermark {
            self.emitted_watermark = due;
        }
        if self.emitted_watermark.is_some() {
            self.parts.output.watermark(self.emitted_watermark);
            self.parts.late.watermark(self.emitted_watermark);
        }
    }

    fn barrier(&mut self, barrier: Barrier, env: &mut NodeEnv<'_>) -> Result<(), Error> {
        let epoch = barrier.epoch;
        for table in &mut self.parts.tables {
            let state = table.config().id;
            let meta = table.barrier(|rows| env.log(&Entry::Rows { epoch, state, rows }))?;
            if let Some(meta) = meta {
                env.meta.states.push((state, meta));
            }
        }
        let (position, sync) = self.parts.spill.prepare()?;
        self.spill_at_barrier = position;
        env.sync.extend(sync);
        let sample = self.sample_now();
        env.meta.operators.push(OperatorMeta {
            watermark: self.moment.watermark,
            emitted_watermark: self.emitted_watermark,
            sample,
            spill: position,
        });
        self.parts.output.barrier(barrier);
        self.parts.late.barrier(barrier);
        self.moment.epoch = epoch + 1;
        env.passed(barrier);
        Ok(())
    }

    fn sample_now(&self) -> OperatorSample {
        let (pending, pending_bytes) = self.parts.spill.pending();
        let sample = OperatorSample {
            operator: self.parts.operator.clone(),
            pending,
            pending_bytes,
            oldest_pending_millis: self.parts.spill.oldest_ts(),
            watermark_held_millis: self.held_millis(),
            diverted_keys: self.parts.spill.keys(),
            watermark_millis: self.moment.watermark,
            held_by: Some(self.parts.upstream.clone()),
            ..self.sample.clone()
        };
        let accounted = sample.applied + sample.spilled + sample.late + sample.dead_lettered;
        assert_eq!(sample.arrived, accounted, "events of {} got lost", sample.operator);
        let waited = sample.replayed + sample.discarded + sample.pending;
        assert_eq!(sample.spilled, waited, "spilled events of {} got lost", sample.operator);
        sample
    }
}

impl<K, T, O> Node for KeyedNode<K, T, O>
where
    K: Key + ?Sized,
    T: Clone + Serialize + DeserializeOwned + 'static,
    O: Clone + 'static,
{
    fn poll(&mut self, env: &mut NodeEnv<'_>) -> Result<Polled, Error> {
        if !self.flush() {
            return Ok(Polled::Blocked);
        }
        self.read_gates();
        self.moment.wall = env.wall;
        let mut progress = false;
        if !self.parts.spill.is_empty() && self.replay()? {
            progress = true;
            self.announce();
        }
        match self.parts.input.poll() {
            Arrived::Nothing => {}
            Arrived::Batch(batch) => {
                progress = true;
                for table in &mut self.parts.tables {
                    table.warm(batch.iter().map(|record| record.hash));
                }
                for (n, record) in batch.into_iter().enumerate() {
                    self.parts.tables.iter_mut().for_each(|table| table.cache().expect(n));
                    self.event(record)?;
                }
            }
            Arrived::Watermark => {
                progress = true;
                self.advance(env);
            }
            Arrived::Barrier(barrier) => {
                progress = true;
                self.barrier(barrier, env)?;
            }
        }
        if progress {
            let epoch = self.moment.epoch;
            for table in &mut self.parts.tables {
                let state = table.config().id;
                table.after_batch(|rows| env.log(&Entry::Rows { epoch, state, rows }))?;
                if table.wants_commit() {
                    env.control.ask_for_commit();
                }
            }
        }
        self.flush();
        Ok(if progress { Polled::Progress } else { Polled::Idle })
    }

    fn flush(&mut self) -> bool {
        self.parts.output.flush() & self.parts.late.flush()
    }

    fn committed(&mut self, epoch: u64) -> Result<(), Error> {
        for table in &mut self.parts.tables {
            table.committed(epoch)?;
        }
        self.parts.spill.committed(self.spill_at_barrier)
    }

    fn tick(&mut self, env: &mut NodeEnv<'_>) -> Result<(), Error> {
        self.moment.wall = env.wall;
        self.sweep(env);
        for table in &mut self.parts.tables {
            table.sweep_families(SLICE_ROWS, &self.moment, || env.micros())?;
            table.reclaim();
        }
        Ok(())
    }

    fn checkpoint(&mut self, dir: &Path, meta: &mut ShardMeta) -> Result<(), Error> {
        for table in &mut self.parts.tables {
            table.snapshot(dir)?;
            let id = table.config().id;
            meta.states.retain(|(other, _)| *other != id);
            meta.states.push((id, table.meta(true)));
        }
        Ok(())
    }

    fn report(&mut self, board: &mut ShardBoard) {
        self.parts.output.add_counts_to(&mut board.edges);
        self.parts.late.add_counts_to(&mut board.edges);
        board.operators.push(self.sample_now());
        for (table, version) in self.parts.tables.iter_mut().zip(&self.gate_versions) {
            let (at_read, at_drop) = table.recorder().ages();
            let mut sites = Vec::new();
            table.recorder().add_sites_to(&mut sites);
            let mut flow = table.recorder().flow_so_far();
            flow.reclaimed_bytes = table.reclaimed_bytes();
            board.states.push(StateSnapshot {
                id: table.config().id,
                flow,
                stock: table.stock(&self.moment),
                at_read,
                at_drop,
                resident: table.resident_ages(&self.moment),
                sweeps: table.recorder().sweeps(),
                sites,
                gate_version: *version,
            });
        }
    }
}
