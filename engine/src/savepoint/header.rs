//! What a savepoint says of itself, and of everything that is not rows.

use serde::{Deserialize, Serialize};
use stateward_model::wire::OperatorSample;
use stateward_model::{ClockKind, TtlRule};

use crate::changelog::{OperatorMeta, ShardMeta, SourcePosition, SpillPosition, StateMeta};
use crate::checkpoint::{Manifest, StateEntry};
use crate::store::{Ledger, RecentSnapshot};

/// What is kept of a state beside its rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedMeta {
    pub(crate) cut_off: i64,
    /// TTL that was in force, in ms.
    pub(crate) ttl_millis: Option<i64>,
    /// The TTL by which entries were gone for good, in ms (SEMANTICS §1.14).
    #[serde(default)]
    pub(crate) kept_millis: Option<i64>,
    /// The state's clock when its TTL was switched on (SEMANTICS §1.1).
    pub(crate) adopted_at_millis: i64,
    /// Number of the next row of a list or table.
    pub(crate) sequence: u64,
}

impl SavedMeta {
    /// What the shards of a state say together: no row that was dead on one of them lives again,
    /// because each leaves out those below its own cut-off.
    fn merged(metas: &[&StateMeta]) -> Option<Self> {
        let all = || metas.iter();
        let first = metas.first()?;
        let ttl_millis = all().find_map(|meta| meta.ttl_millis);
        Some(Self {
            cut_off: all().map(|meta| meta.cut_off).min().unwrap_or(first.cut_off),
            ttl_millis,
            kept_millis: ttl_millis,
            adopted_at_millis: all()
                .map(|meta| meta.adopted_at_millis)
                .max()
                .unwrap_or(first.adopted_at_millis),
            sequence: all().map(|meta| meta.sequence).max().unwrap_or(0),
        })
    }

    /// What one shard goes on with.
    pub(crate) fn restored(
        &self,
        ledger: Ledger,
        next_timer: Option<i64>,
        recent: Option<RecentSnapshot>,
    ) -> StateMeta {
        StateMeta {
            ledger,
            cut_off: self.cut_off,
            ttl_millis: self.ttl_millis,
            adopted_at_millis: self.adopted_at_millis,
            unreclaimed_bytes: 0,
            sequence: self.sequence,
            recent,
            next_timer,
        }
    }

    /// The rule that was in force.
    pub(crate) fn rule(&self) -> TtlRule {
        TtlRule {
            ttl_millis: self.ttl_millis,
            kept_millis: self.kept_millis,
            adopted_at_millis: self.adopted_at_millis,
            // a jump that was accepted concerns the clock of the machine it happened on
            grace: None,
        }
    }
}

/// A state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedState {
    pub(crate) entry: StateEntry,
    /// `None` where no epoch said anything of it.
    pub(crate) meta: Option<SavedMeta>,
}

/// An operator, of all shards together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedOperator {
    pub(crate) meta: OperatorMeta,
    /// Whether diverted events wait.
    pub(crate) spilled: bool,
    /// Whether records wait that a barrier overtook.
    pub(crate) held: bool,
}

/// The least of the clocks; unknown where one of them is.
fn least(clocks: impl Iterator<Item = Option<i64>>) -> Option<i64> {
    clocks.reduce(|a, b| a.zip(b).map(|(a, b)| a.min(b))).flatten()
}

impl SavedOperator {
    /// Merges clocks and counts of the shards.
    fn merged(metas: &[OperatorMeta]) -> Self {
        let mut sample = metas.first().map(|meta| meta.sample.clone()).unwrap_or_default();
        for meta in metas.iter().skip(1) {
            let part = &meta.sample;
            sample.arrived += part.arrived;
            sample.applied += part.applied;
            sample.spilled += part.spilled;
            sample.late += part.late;
            sample.dead_lettered += part.dead_lettered;
            sample.replayed += part.replayed;
            sample.discarded += part.discarded;
            sample.emitted += part.emitted;
            sample.operator.clone_from(&part.operator);
        }
        let waits = |of: fn(&OperatorMeta) -> SpillPosition| {
            metas.iter().map(of).any(|position| position.head < position.tail)
        };
        Self {
            spilled: waits(|meta| meta.spill),
            held: waits(|meta| meta.held),
            meta: OperatorMeta {
                watermark: least(metas.iter().map(|meta| meta.watermark)),
                emitted_watermark: least(metas.iter().map(|meta| meta.emitted_watermark)),
                ttl_clock: least(metas.iter().map(|meta| meta.ttl_clock)),
                sample,
                waiting: metas.iter().map(|meta| meta.waiting).sum(),
                ..OperatorMeta::default()
            },
        }
    }

    /// The share of one shard, where `waits` says how many diverted events wait on each. Counts go to
    /// the first shard, but for what waits on the others: so the equations of §7.7 hold on each of
    /// them and for all together.
    pub(crate) fn share(&self, waits: &[u64], shard: usize) -> OperatorMeta {
        let waits_here = waits.get(shard).copied().unwrap_or(0);
        let mut sample = self.meta.sample.clone();
        if shard == 0 {
            let elsewhere: u64 = waits.iter().skip(1).sum();
            sample.arrived = sample.arrived.saturating_sub(elsewhere);
            sample.spilled = sample.spilled.saturating_sub(elsewhere);
        } else {
            sample = OperatorSample {
                operator: sample.operator,
                arrived: waits_here,
                spilled: waits_here,
                ..Default::default()
            };
        }
        sample.pending = waits_here;
        OperatorMeta { sample, ..self.meta.clone() }
    }
}

/// Where the sink of a shard had come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedSink {
    pub(crate) shard: usize,
    pub(crate) uid: String,
    pub(crate) position: Vec<u8>,
}

/// A file of a person's decisions that stays in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedJournal {
    pub(crate) file: String,
    pub(crate) text: String,
}

/// Everything of a job but rows and what waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub(crate) namespace: String,
    pub(crate) job_name: String,
    pub(crate) epoch: u64,
    /// Wall clock of that epoch.
    pub(crate) wall_millis: i64,
    pub(crate) key_groups: u16,
    /// Shards that wrote it.
    pub(crate) shards: usize,
    pub(crate) states: Vec<SavedState>,
    pub(crate) operators: Vec<SavedOperator>,
    pub(crate) sources: Vec<SourcePosition>,
    pub(crate) sinks: Vec<SavedSink>,
    pub(crate) journals: Vec<SavedJournal>,
}

impl Header {
    /// Puts together what the shards of a job say.
    pub(crate) fn of(
        manifest: &Manifest,
        metas: &[&ShardMeta],
        epoch: u64,
        wall_millis: i64,
    ) -> Self {
        let state = |entry: &StateEntry| {
            let metas: Vec<&StateMeta> =
                metas.iter().filter_map(|meta| meta.state(entry.id)).collect();
            SavedState { entry: entry.clone(), meta: SavedMeta::merged(&metas) }
        };
        let sinks = metas.iter().enumerate().flat_map(|(shard, meta)| {
            let of = move |(uid, position): &(String, Vec<u8>)| SavedSink {
                shard,
                uid: uid.clone(),
                position: position.clone(),
            };
            meta.sinks.iter().map(of)
        });
        Self {
            namespace: manifest.namespace.clone(),
            job_name: manifest.job_name.clone(),
            epoch,
            wall_millis,
            key_groups: manifest.key_groups,
            shards: manifest.shards,
            states: manifest.states.iter().map(state).collect(),
            operators: operators(metas),
            sources: metas.iter().flat_map(|meta| meta.sources.iter().cloned()).collect(),
            sinks: sinks.collect(),
            journals: Vec::new(),
        }
    }

    /// What the clock of a state showed.
    pub(crate) fn clock(&self, state: &StateEntry) -> Option<i64> {
        match state.clock {
            ClockKind::EventTime => {
                let is_it = |op: &&SavedOperator| op.meta.sample.operator == state.operator;
                self.operators.iter().find(is_it).and_then(|op| op.meta.watermark)
            }
            ClockKind::ProcessingTime => {
                Some(self.wall_millis.saturating_sub(state.clock_shift_millis))
            }
        }
    }
}

fn operators(metas: &[&ShardMeta]) -> Vec<SavedOperator> {
    let mut uids: Vec<&str> = Vec::new();
    for meta in metas.iter().flat_map(|meta| &meta.operators) {
        if !uids.contains(&meta.sample.operator.as_str()) {
            uids.push(&meta.sample.operator);
        }
    }
    let of = |uid: &&str| {
        let metas: Vec<OperatorMeta> =
            metas.iter().map(|meta| meta.operator(uid).cloned().unwrap_or_default()).collect();
        SavedOperator::merged(&metas)
    };
    uids.iter().map(of).collect()
}

/// What a savepoint holds of one state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StateTotals {
    pub(crate) state: u16,
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
    /// Expired ones that it does not hold (SEMANTICS §1.12).
    pub(crate) excluded_entries: u64,
    pub(crate) excluded_bytes: u64,
}

/// What a savepoint holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Totals {
    pub(crate) states: Vec<StateTotals>,
    pub(crate) spilled: u64,
    pub(crate) held: u64,
}
