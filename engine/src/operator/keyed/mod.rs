//! A keyed operator on one shard: user code, states, timers, breaker gates and spill.
//!
//! 1. While every gate passes and nothing is spilled, an event costs its states and nothing else.
//!    Otherwise (SEMANTICS §7.3, §7.4) events run staged: the changes of a refused event are taken
//!    back, its outputs and timers dropped, and it is spilled whole; events and timers of a key that
//!    has spilled events follow it there.
//! 2. Timers that a watermark makes due fire before the records behind that watermark, in slices:
//!    until they have fired the input waits. A barrier does not (SEMANTICS §4.2): the records in
//!    front of it are put aside, durably, and processed when their turn comes.

mod run;
mod fire;
mod epoch;

use serde::Serialize;
use serde::de::DeserializeOwned;
use stateward_model::wire::{JobEvent, OperatorSample};
use stateward_model::{Grace, key_group};

use super::function::{KeySelector, ProcessFunction};
use super::timer::OperatorTimers;
use crate::breaker::Spill;
use crate::changelog::{Entry, OperatorMeta, ShardMeta, SpillPosition};
use crate::checkpoint::Saving;
use crate::codec::Key;
use crate::error::Error;
use crate::job::{Arrived, Input, Node, NodeEnv, Output, Polled};
use crate::policy::ProcessingTime;
use crate::source::Timed;
use crate::state::{Gate, GateMode, Moment, SLICE_ROWS, Table, TimerTable};
use crate::telemetry::{Counters, ShardBoard, StateSnapshot};

/// What a keyed node is made of.
pub(crate) struct KeyedParts<K: Key + ?Sized, T, O> {
    pub(crate) operator: String,
    pub(crate) input: Input<T>,
    pub(crate) output: Output<O>,
    pub(crate) late: Output<T>,
    pub(crate) key_of: KeySelector<T, K>,
    pub(crate) function: Box<dyn ProcessFunction<K, T, O>>,
    pub(crate) tables: Vec<Table<Counters>>,
    pub(crate) timers: OperatorTimers,
    pub(crate) spill: Spill,
    pub(crate) groups: u16,
    pub(crate) first_epoch: u64,
    /// What the last committed epoch said.
    pub(crate) meta: OperatorMeta,
    /// Uid of the node that feeds it, to name who holds the watermark.
    pub(crate) upstream: String,
}

impl<K: Key + ?Sized, T, O> KeyedParts<K, T, O> {
    fn gates(&mut self) -> impl Iterator<Item = &mut Gate> {
        self.tables.iter_mut().map(Table::gate).chain(self.timers.gates())
    }
}

/// A keyed operator on one shard.
pub(crate) struct KeyedNode<K: Key + ?Sized, T, O> {
    parts: KeyedParts<K, T, O>,
    moment: Moment,
    emitted_watermark: Option<i64>,
    sample: OperatorSample,
    gate_versions: Vec<u64>,
    grace: Option<Grace>,
    /// Some gate does not pass everything.
    guarded: bool,
    /// Timers on the watermark are due: what arrives must wait for them.
    firing: bool,
    out: Vec<Timed<O>>,
    row_key: Vec<u8>,
    map_key: Vec<u8>,
    spill_at_barrier: SpillPosition,
    held_at_barrier: SpillPosition,
}

impl<K, T, O> KeyedNode<K, T, O>
where
    K: Key + ?Sized,
    T: Clone + Serialize + DeserializeOwned + 'static,
    O: Clone + 'static,
{
    pub(crate) fn new(mut parts: KeyedParts<K, T, O>) -> Self {
        let moment = Moment {
            watermark: parts.meta.watermark,
            ttl_clock: parts.meta.ttl_clock,
            epoch: parts.first_epoch,
            ..Moment::default()
        };
        Self {
            moment,
            emitted_watermark: parts.meta.emitted_watermark,
            sample: parts.meta.sample.clone(),
            grace: None,
            gate_versions: vec![u64::MAX; parts.gates().count()],
            guarded: false,
            firing: true,
            out: Vec::new(),
            row_key: Vec::new(),
            map_key: Vec::new(),
            spill_at_barrier: parts.meta.spill,
            held_at_barrier: parts.meta.held,
            parts,
        }
    }

    /// Takes up what the breakers say; between events only.
    fn read_gates(&mut self) {
        self.guarded = false;
        for (gate, seen) in self.parts.gates().zip(&mut self.gate_versions) {
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

    /// Goes by the processing time of this turn.
    fn take_time(&mut self, time: ProcessingTime) {
        (self.moment.wall, self.moment.stands_at) = (time.now, time.stands_at);
        if self.grace != time.grace {
            self.grace = time.grace;
            for table in &mut self.parts.tables {
                table.set_grace(time.grace);
            }
        }
    }

    fn build_row_key(&mut self, key: &K, hash: u64) {
        self.row_key.clear();
        let group = key_group(hash, self.parts.groups);
        self.row_key.extend_from_slice(&group.to_be_bytes());
        key.encode(&mut self.row_key);
    }

    /// Takes one message of the input.
    fn take_input(&mut self, env: &mut NodeEnv<'_>) -> Result<bool, Error> {
        match self.parts.input.poll() {
            Arrived::Nothing => return Ok(false),
            Arrived::Batch(batch) if self.waits() => self.hold(batch)?,
            Arrived::Batch(batch) => {
                for table in &mut self.parts.tables {
                    table.warm(batch.iter().map(|record| record.hash));
                }
                for (n, record) in batch.into_iter().enumerate() {
                    self.parts.tables.iter_mut().for_each(|table| table.cache().expect(n));
                    self.event(record)?;
                }
            }
            // they are looked up again when the records in front have been processed
            Arrived::Watermark | Arrived::TtlClock if self.waits() => {}
            Arrived::Watermark => self.advance(env),
            Arrived::TtlClock => self.advance_ttl_clock(env),
            Arrived::Barrier(barrier) => self.barrier(barrier, env)?,
        }
        Ok(true)
    }

    /// Hands over to the log what may not wait for the barrier.
    fn after_batch(&mut self, env: &mut NodeEnv<'_>) -> Result<(), Error> {
        let epoch = self.moment.epoch;
        let mut wants_commit = false;
        for table in &mut self.parts.tables {
            let state = table.config().id;
            table.after_batch(|rows| env.log(&Entry::Rows { epoch, state, rows }))?;
            wants_commit |= table.wants_commit();
        }
        for table in self.parts.timers.tables_mut() {
            let state = table.config().id;
            table.after_batch(epoch, |rows| env.log(&Entry::Rows { epoch, state, rows }))?;
            wants_commit |= table.wants_commit();
        }
        if wants_commit {
            env.control.ask_for_commit();
        }
        Ok(())
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
        self.take_time(env.processing);
        let mut progress = false;
        if !self.parts.spill.is_empty() && self.replay()? {
            progress = true;
            self.announce();
        }
        // a barrier is on its way: what is in front of it must not keep it
        let barrier_comes = env.requested.0 >= self.moment.epoch;
        let epoch = self.moment.epoch;
        if !self.waits() || barrier_comes {
            progress |= self.take_input(env)?;
        }
        // behind a barrier nothing happens in this turn: a checkpoint would have it, and the commit not
        if self.moment.epoch == epoch {
            progress |= self.fire(env)?;
        }
        if progress {
            self.after_batch(env)?;
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
        for table in self.parts.timers.tables_mut() {
            table.committed(epoch)?;
        }
        if let Some(held) = &mut self.parts.timers.held {
            held.committed(self.held_at_barrier)?;
        }
        self.parts.spill.committed(self.spill_at_barrier)
    }

    fn tick(&mut self, env: &mut NodeEnv<'_>) -> Result<(), Error> {
        self.take_time(env.processing);
        self.parts.tables.iter_mut().for_each(Table::tick);
        self.parts.timers.tables_mut().for_each(TimerTable::tick);
        self.sweep(env);
        for table in &mut self.parts.tables {
            table.sweep_families(SLICE_ROWS, &self.moment, || env.micros())?;
            table.reclaim();
            if let Some(text) = table.follow_canary(&self.moment)? {
                let place = table.config();
                env.control.log.push(JobEvent {
                    wall_millis: env.wall,
                    kind: "canary_overdue".into(),
                    operator: Some(place.operator.clone()),
                    state: Some(place.options.name.clone()),
                    text,
                });
            }
        }
        Ok(())
    }

    fn checkpoint(&mut self, to: &mut Saving<'_>, meta: &mut ShardMeta) -> Result<(), Error> {
        for table in &mut self.parts.tables {
            to.check()?;
            table.snapshot(to)?;
            meta.set_state(table.config().id, table.meta(true));
        }
        for table in self.parts.timers.tables_mut() {
            to.check()?;
            table.write_back()?;
            meta.set_state(table.config().id, table.meta());
        }
        Ok(())
    }

    fn report(&mut self, board: &mut ShardBoard) {
        self.parts.output.add_counts_to(&mut board.edges);
        self.parts.late.add_counts_to(&mut board.edges);
        board.operators.push(self.sample_now(true));
        let mut versions = self.gate_versions.iter().copied();
        for table in &mut self.parts.tables {
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
                value_bytes: table.recorder().value_bytes(),
                overshoot: table.overshoot(),
                invariants: table.invariants(),
                canary: table.canary(),
                hot: table.recorder().hot_keys(self.moment.wall),
                cleanup: table.cleanup(),
                expiry: table.expiry(&self.moment),
                sites,
                gate_version: versions.next().unwrap_or_default(),
                ttl_version: table.ttl_version(),
            });
        }
        for table in self.parts.timers.tables() {
            let now = self.moment.clock(table.clock());
            board.states.push(table.snapshot(now, versions.next().unwrap_or_default()));
        }
    }
}
