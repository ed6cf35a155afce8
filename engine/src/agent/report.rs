//! Builds hellos and reports out of what shards, governor and coordinator have put down.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};

use stateward_model::wire::{
    ClockSample, CommandProgress, Hello, InvariantSample, JobEvent, JobSample, OperatorSample,
    PROTOCOL, Report, SourceSample, StateFlow, StateSample, StateStock, TimerSample,
};
use stateward_model::{Name, TtlPolicy};

use crate::breaker::Ruling;
use crate::checkpoint::folder_parts;
use crate::clock::Clock;
use crate::error::Error;
use crate::job::{Job, JobControl, SharedFigures};
use crate::state::StateConfig;
use crate::store::{MemoryGauge, SharedReclaims};
use crate::telemetry::{Board, ShardBoard, StateSnapshot};

/// Who this start of the job is.
#[derive(Clone, Debug)]
pub(crate) struct RunIdentity {
    pub(crate) run: String,
    pub(crate) build_id: String,
    pub(crate) commit: Option<String>,
    pub(crate) started_millis: i64,
}

/// What the governors rule.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rulings {
    pub(crate) breakers: Vec<Ruling>,
    /// By state.
    pub(crate) ttls: Vec<(u16, TtlPolicy)>,
    /// States that are cleaned only on demand, and until when.
    pub(crate) paused: Vec<(u16, Option<i64>)>,
    pub(crate) clock: ClockSample,
}

/// Builds a job's reports.
pub(crate) struct Reporter {
    hello: Hello,
    states: Vec<StateConfig>,
    board: Arc<Board>,
    control: Arc<JobControl>,
    clock: Arc<dyn Clock>,
    figures: SharedFigures,
    reclaims: SharedReclaims,
    memory: MemoryGauge,
    job_dir: PathBuf,
    seq: u64,
    /// (wall ms, event time) of the report before, for the replay factor.
    former_clock: Option<(i64, i64)>,
    replay_factor: f64,
}

impl Reporter {
    #[expect(clippy::too_many_arguments, reason = "one caller, which wires a run together")]
    pub(crate) fn new(
        job: &Job,
        identity: &RunIdentity,
        board: Arc<Board>,
        control: Arc<JobControl>,
        clock: Arc<dyn Clock>,
        figures: SharedFigures,
        reclaims: SharedReclaims,
        memory: MemoryGauge,
        job_dir: PathBuf,
    ) -> Result<Self, Error> {
        let name = |n: &str| Name::new(n).map_err(|e| Error::Declaration(e.to_string()));
        let declared = job.nodes.iter().map(|node| node.replay_factor).fold(1.0, f64::max);
        let hello = Hello {
            protocol: PROTOCOL,
            run: identity.run.clone(),
            namespace: name(&job.namespace)?,
            job_name: name(&job.name)?,
            build_id: identity.build_id.clone(),
            commit: identity.commit.clone(),
            engine_version: env!("CARGO_PKG_VERSION").into(),
            started_millis: identity.started_millis,
            wall_millis: identity.started_millis,
            parallelism: job.parallelism as u16,
            key_groups: job.key_groups,
            replay_factor: declared,
            nodes: job.node_declarations(),
            edges: job.edge_declarations(),
            states: job.state_declarations(),
        };
        Ok(Self {
            hello,
            states: job.states.clone(),
            board,
            control,
            clock,
            figures,
            reclaims,
            memory,
            job_dir,
            seq: 0,
            former_clock: None,
            replay_factor: declared,
        })
    }

    pub(crate) fn hello(&self) -> Hello {
        Hello { wall_millis: self.clock.now_millis(), ..self.hello.clone() }
    }

    /// Builds a report that is not numbered.
    pub(crate) fn peek(&self, rulings: &Rulings) -> Report {
        self.build(rulings, &self.board.read())
    }

    fn build(&self, rulings: &Rulings, boards: &[ShardBoard]) -> Report {
        Report {
            protocol: PROTOCOL,
            run: self.hello.run.clone(),
            seq: self.seq,
            wall_millis: self.clock.now_millis(),
            job: JobSample { clock: rulings.clock, ..self.job(boards) },
            operators: merge_operators(boards),
            states: self.states.iter().map(|state| self.state(state, boards, rulings)).collect(),
            events: Vec::new(),
            commands: Vec::new(),
        }
    }

    /// Builds the next numbered report.
    pub(crate) fn next(
        &mut self,
        rulings: &Rulings,
        commands: Vec<CommandProgress>,
        events: Vec<JobEvent>,
        ended: Option<String>,
        dropped: u64,
    ) -> Report {
        self.seq += 1;
        let mut report = self.build(rulings, &self.board.read());
        self.observe_pace(report.wall_millis, &report.operators);
        report.job.replay_factor = self.replay_factor;
        report.job.dropped_samples = dropped + self.control.log.dropped();
        report.job.ended = ended;
        Report { events, commands, ..report }
    }

    /// Event time per wall time since the report before, smoothed.
    fn observe_pace(&mut self, wall: i64, operators: &[OperatorSample]) {
        let newest = operators.iter().filter_map(|op| op.watermark_millis).max();
        let Some(event) = newest else { return };
        if let Some((wall_before, event_before)) = self.former_clock
            && wall > wall_before
            && self.hello.replay_factor > 1.0
        {
            let factor = (event - event_before) as f64 / (wall - wall_before) as f64;
            self.replay_factor += (factor.max(0.0) - self.replay_factor) * 0.1;
        }
        self.former_clock = Some((wall, event));
    }

    fn job(&self, boards: &[ShardBoard]) -> JobSample {
        let figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut edges = vec![0; self.hello.edges.len()];
        let mut sources: Vec<SourceSample> = Vec::new();
        for board in boards {
            for (sum, count) in edges.iter_mut().zip(&board.edges) {
                *sum += count;
            }
            sources.extend(board.sources.iter().cloned());
        }
        let folder = folder_parts(&self.job_dir);
        JobSample {
            epoch: self.control.committed(),
            commit_micros: figures.commit_micros.pack(),
            checkpoint_micros: figures.checkpoint_micros.pack(),
            checkpoint_millis: figures.checkpoint_millis,
            checkpoint_bytes: figures.checkpoint_bytes,
            memory: self.memory.read(),
            checkpoints: figures.checkpoints,
            changelog_bytes: folder.changelog_bytes,
            folder_bytes: folder.total_bytes(),
            folder,
            clock: ClockSample::default(),
            replay_factor: self.replay_factor,
            dropped_samples: 0,
            sources,
            edge_records: edges,
            ended: None,
        }
    }

    fn state(&self, config: &StateConfig, boards: &[ShardBoard], rulings: &Rulings) -> StateSample {
        let mut sample = StateSample {
            operator: config.operator.clone(),
            state: config.options.name.clone(),
            reclaim_micros: self.reclaims.of(config.id),
            ..StateSample::default()
        };
        for board in boards {
            if let Some(part) = board.states.iter().find(|part| part.id == config.id) {
                add_state(&mut sample, part);
            }
        }
        sample.sites.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.site.cmp(&b.site)));
        if let Some((_, policy)) = rulings.ttls.iter().find(|(id, _)| *id == config.id) {
            sample.stock.ttl_millis = policy.effective_millis();
            sample.ttl = policy.clone();
        }
        if let Some((_, until)) = rulings.paused.iter().find(|(id, _)| *id == config.id) {
            (sample.cleanup.paused, sample.cleanup.paused_until_millis) = (true, *until);
        }
        if let Some(ruling) = rulings.breakers.iter().find(|ruling| ruling.id == config.id) {
            sample.breaker = ruling.breaker.clone();
            sample.policy = ruling.policy.clone();
            sample.offered_per_second = ruling.offered_per_second;
        }
        sample
    }
}

fn add_state(sample: &mut StateSample, part: &StateSnapshot) {
    add_flow(&mut sample.flow, &part.flow);
    add_stock(&mut sample.stock, &part.stock);
    sample.cleanup.add(&part.cleanup);
    sample.expiry.add(&part.expiry);
    sample.age_at_read.merge(&part.at_read);
    sample.age_at_drop.merge(&part.at_drop);
    sample.age_resident.merge(&part.resident);
    sample.sweep_micros.merge(&part.sweeps);
    sample.value_bytes.merge(&part.value_bytes);
    sample.overshoot.add(&part.overshoot);
    sample.hot.add(&part.hot);
    if let Some(canary) = &part.canary {
        sample.canary.get_or_insert_default().add(canary);
    }
    // every shard declares the same ones in the same order
    sample.invariants.resize(part.invariants.len(), InvariantSample::default());
    for (sum, part) in sample.invariants.iter_mut().zip(&part.invariants) {
        part.name.clone_into(&mut sum.name);
        sum.add(part);
    }
    for site in &part.sites {
        let same = sample
            .sites
            .iter_mut()
            .find(|s| s.site == site.site && s.kind == site.kind && s.name == site.name);
        match same {
            Some(same) => {
                same.count += site.count;
                same.bytes += site.bytes;
            }
            None => sample.sites.push(site.clone()),
        }
    }
}

fn add_flow(sum: &mut StateFlow, part: &StateFlow) {
    sum.reads += part.reads;
    sum.misses_present += part.misses_present;
    sum.misses_absent += part.misses_absent;
    sum.misses_restored += part.misses_restored;
    sum.writes += part.writes;
    sum.written_bytes += part.written_bytes;
    sum.refreshes += part.refreshes;
    sum.deletes += part.deletes;
    sum.created += part.created;
    sum.removed_delete += part.removed_delete;
    sum.removed_read += part.removed_read;
    sum.removed_overwrite += part.removed_overwrite;
    sum.removed_sweep += part.removed_sweep;
    sum.late_writes += part.late_writes;
    sum.stale_returned += part.stale_returned;
    sum.negative_ages += part.negative_ages;
    sum.reclaimed_bytes += part.reclaimed_bytes;
    sum.offered += part.offered;
    sum.diverted += part.diverted;
}

/// Stocks add up; the clock is the slowest shard's, the oldest entry any shard's.
fn add_stock(sum: &mut StateStock, part: &StateStock) {
    sum.entries += part.entries;
    sum.logical_bytes += part.logical_bytes;
    sum.disk_bytes += part.disk_bytes;
    sum.resident_bytes += part.resident_bytes;
    sum.expired_entries += part.expired_entries;
    sum.expired_bytes += part.expired_bytes;
    sum.error_entries += part.error_entries;
    sum.hidden_entries += part.hidden_entries;
    sum.hidden_bytes += part.hidden_bytes;
    sum.unreclaimed_bytes += part.unreclaimed_bytes;
    sum.oldest_age_millis = sum.oldest_age_millis.max(part.oldest_age_millis);
    sum.clock_millis = match (sum.clock_millis, part.clock_millis) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    sum.bucket_millis = sum.bucket_millis.max(part.bucket_millis);
}

fn merge_operators(boards: &[ShardBoard]) -> Vec<OperatorSample> {
    let mut merged: Vec<OperatorSample> = Vec::new();
    for part in boards.iter().flat_map(|board| &board.operators) {
        match merged.iter_mut().find(|sum| sum.operator == part.operator) {
            Some(sum) => add_operator(sum, part),
            None => merged.push(part.clone()),
        }
    }
    merged
}

fn add_operator(sum: &mut OperatorSample, part: &OperatorSample) {
    sum.arrived += part.arrived;
    sum.applied += part.applied;
    sum.spilled += part.spilled;
    sum.late += part.late;
    sum.dead_lettered += part.dead_lettered;
    sum.replayed += part.replayed;
    sum.discarded += part.discarded;
    sum.pending += part.pending;
    sum.pending_bytes += part.pending_bytes;
    sum.diverted_keys += part.diverted_keys;
    sum.emitted += part.emitted;
    sum.watermark_held_millis = sum.watermark_held_millis.max(part.watermark_held_millis);
    sum.oldest_pending_millis = match (sum.oldest_pending_millis, part.oldest_pending_millis) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    // a shard without a watermark holds the operator back
    sum.watermark_millis = sum.watermark_millis.zip(part.watermark_millis).map(|(a, b)| a.min(b));
    for (sum, part) in sum.timers.iter_mut().zip(&part.timers) {
        add_timers(sum, part);
    }
}

/// Every shard opens the same timers in the same order.
fn add_timers(sum: &mut TimerSample, part: &TimerSample) {
    sum.pending += part.pending;
    sum.registered += part.registered;
    sum.deleted += part.deleted;
    sum.fired += part.fired;
    sum.diverted += part.diverted;
    sum.next_due_millis = match (sum.next_due_millis, part.next_due_millis) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    sum.lateness.merge(&part.lateness);
}
