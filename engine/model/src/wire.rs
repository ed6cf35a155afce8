//! What travels between an engine's agent and the server, protocol 1: compressed JSON, unknown
//! fields ignored. Counters are cumulative over the run; gauges are values at `wall_millis`.
//!
//! `POST /api/v1/agent/hello` takes a [`Hello`], `POST /api/v1/agent/report` a [`Report`],
//! `GET /api/v1/agent/commands?run=R&after=V&wait=30` answers [`Commands`]. Bodies are zstd frames
//! (`content-encoding: zstd`); the in-process transport carries the same bytes.

use serde::{Deserialize, Serialize};

use crate::breaker::{Action, Breaker, Policy};
use crate::histogram::Histogram;
use crate::identity::Name;
use crate::metric::{self, Metric};
use crate::ttl::{ClockKind, UpdateType, Visibility};

/// The protocol this build speaks.
pub const PROTOCOL: u32 = 1;

/// An engine says who it is, once per run and after every reconnect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Must be [`PROTOCOL`].
    pub protocol: u32,
    /// `UUIDv7` of this start of the job.
    pub run: String,
    /// Namespace of the job.
    pub namespace: Name,
    /// Name of the job.
    pub job_name: Name,
    /// Build id of the job's binary.
    pub build_id: String,
    /// Source revision, where the build knew it.
    pub commit: Option<String>,
    /// Version of the engine library.
    pub engine_version: String,
    /// Engine wall clock when the run started.
    pub started_millis: i64,
    /// Engine wall clock now; the server measures the offset.
    pub wall_millis: i64,
    /// Shards.
    pub parallelism: u16,
    /// Key groups.
    pub key_groups: u16,
    /// Event time per wall time where a source replays; 1 for live input.
    pub replay_factor: f64,
    /// Sources, operators and sinks, in topological order.
    pub nodes: Vec<NodeDeclaration>,
    /// Edges between nodes.
    pub edges: Vec<EdgeDeclaration>,
    /// States with their declarations.
    pub states: Vec<StateDeclaration>,
}

/// What a node of the topology is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// Reads input.
    Source,
    /// Processes records.
    Operator,
    /// Writes output.
    Sink,
}

/// One node of the topology.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeDeclaration {
    /// Uid, unique within the job.
    pub uid: Name,
    /// What it is.
    pub kind: NodeKind,
    /// Where it is declared, `file:line:column`.
    pub site: String,
    /// What it reads or writes, in words: a path, a format.
    pub detail: String,
}

/// One edge of the topology.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeDeclaration {
    /// Uid of the upstream node.
    pub from: Name,
    /// Uid of the downstream node.
    pub to: Name,
    /// Whether records are exchanged by key.
    pub exchange: bool,
}

/// One state as code declares it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateDeclaration {
    /// Operator that owns it.
    pub operator: Name,
    /// Its name.
    pub state: Name,
    /// `"value"` or `"map"`.
    pub kind: String,
    /// `"rocksdb"` or `"heap"`.
    pub backend: String,
    /// TTL; `None`: entries never expire.
    pub ttl_millis: Option<i64>,
    /// What stamps.
    pub update_type: UpdateType,
    /// Whether expired entries may be returned.
    pub visibility: Visibility,
    /// Which clock judges.
    pub clock: ClockKind,
    /// The breaker's own policy.
    pub breaker: Policy,
    /// Where it is declared, `file:line:column`.
    pub site: String,
}

/// The server's answer to a [`Hello`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelloReply {
    /// The protocol the server speaks.
    pub protocol: u32,
    /// Highest sequence number of this run that is stored.
    pub stored_seq: Option<u64>,
}

/// One numbered batch of telemetry. The pair (run, seq) makes a resend harmless.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Must be [`PROTOCOL`].
    pub protocol: u32,
    /// The run it belongs to.
    pub run: String,
    /// Counts up from 1 within a run, without gaps unless samples were dropped.
    pub seq: u64,
    /// Engine wall clock of the figures.
    pub wall_millis: i64,
    /// Figures of the job as a whole.
    pub job: JobSample,
    /// Figures per operator.
    pub operators: Vec<OperatorSample>,
    /// Figures per state.
    pub states: Vec<StateSample>,
    /// What happened since the last report.
    pub events: Vec<JobEvent>,
    /// How far commands got since the last report.
    pub commands: Vec<CommandProgress>,
}

/// The server's answer to a [`Report`]: it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportReply {
    /// The sequence number that is stored.
    pub seq: u64,
    /// Whether it had been stored before.
    pub duplicate: bool,
}

/// Figures of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobSample {
    /// Last committed epoch.
    pub epoch: u64,
    /// Commit durations in microseconds.
    pub commit_micros: Histogram,
    /// Checkpoint durations in microseconds.
    pub checkpoint_micros: Histogram,
    /// Engine wall clock of the last completed checkpoint.
    pub checkpoint_millis: Option<i64>,
    /// Bytes of the last completed checkpoint.
    pub checkpoint_bytes: u64,
    /// Checkpoints that failed.
    pub checkpoint_failures: u64,
    /// Changelog kept on disk.
    pub changelog_bytes: u64,
    /// All files of the job's folder.
    pub folder_bytes: u64,
    /// Event time per wall time, now.
    pub replay_factor: f64,
    /// Samples the agent dropped.
    pub dropped_samples: u64,
    /// Per source.
    pub sources: Vec<SourceSample>,
    /// Records that crossed each edge of the topology, in [`Hello::edges`] order.
    pub edge_records: Vec<u64>,
    /// Set once the job ended: `None` while it runs, else why.
    pub ended: Option<String>,
}

/// Figures of one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceSample {
    /// Uid of the source.
    pub source: String,
    /// Records read.
    pub records: u64,
    /// Rows rejected to the dead-letter file.
    pub rejected: u64,
    /// Records from too far in the future.
    pub future: u64,
    /// Its watermark.
    pub watermark_millis: Option<i64>,
    /// No record for longer than its idle timeout.
    pub idle: bool,
    /// Reached its end.
    pub finished: bool,
    /// Where it reads, in words: file and offset.
    pub position: String,
}

/// Figures of one operator; `arrived = applied + spilled + late + dead_lettered` and
/// `spilled = replayed + discarded + pending` at every commit (SEMANTICS §7.7).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OperatorSample {
    /// Uid of the operator.
    pub operator: String,
    /// Events that reached it.
    pub arrived: u64,
    /// Events applied at first sight.
    pub applied: u64,
    /// Events diverted.
    pub spilled: u64,
    /// Events that went to the late output.
    pub late: u64,
    /// Events that went to the dead letters.
    pub dead_lettered: u64,
    /// Spilled events applied since.
    pub replayed: u64,
    /// Spilled events an admin gave up.
    pub discarded: u64,
    /// Spilled events that wait.
    pub pending: u64,
    /// Bytes of those.
    pub pending_bytes: u64,
    /// Event time of the oldest of those.
    pub oldest_pending_millis: Option<i64>,
    /// Keys that divert now.
    pub diverted_keys: u64,
    /// Records it emitted.
    pub emitted: u64,
    /// Minimum watermark over its shards.
    pub watermark_millis: Option<i64>,
    /// Which input holds the watermark back.
    pub held_by: Option<String>,
}

/// Figures of one state, over all shards.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StateSample {
    /// Operator that owns it.
    pub operator: String,
    /// Its name.
    pub state: String,
    /// Flow figures, cumulative over the run.
    pub flow: StateFlow,
    /// Stock figures.
    pub stock: StateStock,
    /// Ages at read in ms.
    pub age_at_read: Histogram,
    /// Ages at drop in ms.
    pub age_at_drop: Histogram,
    /// Ages of the residents in ms, from the ledger: exact to one ledger bucket.
    pub age_resident: Histogram,
    /// Durations of sweeps in microseconds.
    pub sweep_micros: Histogram,
    /// Durations of reclaiming compactions in microseconds.
    pub reclaim_micros: Histogram,
    /// Accesses by source line.
    pub sites: Vec<SiteSample>,
    /// The breaker.
    pub breaker: Breaker,
    /// The breaker's policy in force.
    pub policy: Policy,
    /// Events a second that wanted to write, over the policy's window.
    pub offered_per_second: f64,
}

/// Flow figures of a state: exact counts, cumulative over the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StateFlow {
    /// Reads.
    pub reads: u64,
    /// Reads that found an expired row.
    pub misses_present: u64,
    /// Reads of a key whose entry had expired and is gone; approximate.
    pub misses_absent: u64,
    /// Writes applied.
    pub writes: u64,
    /// Bytes of keys and values written.
    pub written_bytes: u64,
    /// Reads that stamped.
    pub refreshes: u64,
    /// Deletes.
    pub deletes: u64,
    /// Entries created.
    pub created: u64,
    /// Entries removed by a delete.
    pub removed_delete: u64,
    /// Expired entries removed by a read.
    pub removed_read: u64,
    /// Expired entries replaced by a write.
    pub removed_overwrite: u64,
    /// Entries written off by the sweep.
    pub removed_sweep: u64,
    /// Writes dropped: expired on arrival.
    pub late_writes: u64,
    /// Expired values returned.
    pub stale_returned: u64,
    /// Ages below zero, counted as 0.
    pub negative_ages: u64,
    /// Bytes of written-off rows that compactions dropped.
    pub reclaimed_bytes: u64,
    /// Events that wanted to write.
    pub offered: u64,
    /// Events this state's breaker diverted.
    pub diverted: u64,
}

/// Stock figures of a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StateStock {
    /// Entries that are neither removed nor written off.
    pub entries: u64,
    /// Bytes of their keys and values.
    pub logical_bytes: u64,
    /// Bytes of live SST files; for the heap backend, of its entries.
    pub disk_bytes: u64,
    /// Entries expired and not written off.
    pub expired_entries: u64,
    /// Bytes of those.
    pub expired_bytes: u64,
    /// Entries in the bucket that the expiry limit falls into.
    pub error_entries: u64,
    /// Bytes written off and not reclaimed: an estimate.
    pub unreclaimed_bytes: u64,
    /// Age in ms of the oldest entry, exact to one ledger bucket.
    pub oldest_age_millis: Option<u64>,
    /// The state's clock.
    pub clock_millis: Option<i64>,
    /// TTL in force.
    pub ttl_millis: Option<i64>,
    /// Width of a ledger bucket: the resolution of ages and debt.
    pub bucket_millis: u64,
}

/// What an access did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessKind {
    /// Wrote or deleted.
    Write,
    /// Read, and stamped the entry.
    Refresh,
    /// Read.
    Read,
}

impl AccessKind {
    /// The label value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Refresh => "refresh",
            Self::Read => "read",
        }
    }
}

/// Accesses from one source line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteSample {
    /// `file:line:column`, the path remapped to the crate's root.
    pub site: String,
    /// Name given by `.named("…")`.
    pub name: Option<String>,
    /// What the access did.
    pub kind: AccessKind,
    /// How many.
    pub count: u64,
    /// Bytes of keys and values.
    pub bytes: u64,
}

/// Something that happened to a job and is worth a flag on its charts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEvent {
    /// Engine wall clock.
    pub wall_millis: i64,
    /// `started`, `recovered`, `checkpoint`, `checkpoint_failed`, `breaker`, `loop`, `clock_jump`,
    /// `source_paused`, `stopped`, `failed`.
    pub kind: String,
    /// Operator it concerns.
    pub operator: Option<String>,
    /// State it concerns.
    pub state: Option<String>,
    /// One sentence.
    pub text: String,
}

/// What the server wants of one breaker: the latest version wins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BreakerCommand {
    /// Grows with every command of the server; also the command's id.
    pub version: u64,
    /// Operator that owns the state.
    pub operator: Name,
    /// The state.
    pub state: Name,
    /// What to do.
    pub order: BreakerOrder,
    /// Who said so.
    pub actor: String,
    /// Why.
    pub reason: String,
}

/// What a person, or a rule, wants a breaker to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum BreakerOrder {
    /// Open it until reset, or until its end.
    Trip {
        /// What to do with events.
        action: Action,
        /// When it ends by itself.
        until_millis: Option<i64>,
    },
    /// Replay and close it.
    Reset,
    /// Replace the automatic policy.
    Policy {
        /// The new policy.
        policy: Policy,
    },
}

/// The answer to a long poll: commands above the version asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Commands {
    /// Version to ask after next time.
    pub version: u64,
    /// In version order.
    pub breakers: Vec<BreakerCommand>,
}

/// How far a command got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandPhase {
    /// Stored by the server.
    Requested,
    /// Persisted by the engine.
    Delivered,
    /// In force on some shards.
    Applied,
    /// In force everywhere.
    Done,
    /// Not carried out.
    Refused,
    /// No answer within the limit.
    TimedOut,
}

/// One step in a command's life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandProgress {
    /// The command.
    pub version: u64,
    /// How far it got.
    pub phase: CommandPhase,
    /// Shards it is in force on.
    pub shards_applied: u16,
    /// Shards in all.
    pub shards: u16,
    /// Why it was refused, or what happened.
    pub detail: String,
    /// Engine wall clock.
    pub wall_millis: i64,
}

/// One figure of a sample: the metric, its extra label if it has one, and the value.
pub type Figure = (Metric, Option<(&'static str, &'static str)>, f64);

impl StateSample {
    /// Returns the counters and gauges of the sample, named by the catalogue. Histograms and
    /// accesses by line are not among them.
    pub fn figures(&self) -> Vec<Figure> {
        let (flow, stock) = (&self.flow, &self.stock);
        let seconds = |millis: i64| millis as f64 / 1e3;
        let mut all: Vec<Figure> = vec![
            (metric::STATE_READS, None, flow.reads as f64),
            (metric::STATE_TTL_MISSES, Some(("present", "true")), flow.misses_present as f64),
            (metric::STATE_TTL_MISSES, Some(("present", "false")), flow.misses_absent as f64),
            (metric::STATE_WRITES, None, flow.writes as f64),
            (metric::STATE_REFRESHES, None, flow.refreshes as f64),
            (metric::STATE_DELETES, None, flow.deletes as f64),
            (metric::STATE_CREATED, None, flow.created as f64),
            (metric::STATE_REMOVED, Some(("cause", "delete")), flow.removed_delete as f64),
            (metric::STATE_REMOVED, Some(("cause", "read")), flow.removed_read as f64),
            (metric::STATE_REMOVED, Some(("cause", "overwrite")), flow.removed_overwrite as f64),
            (metric::STATE_REMOVED, Some(("cause", "sweep")), flow.removed_sweep as f64),
            (metric::STATE_LATE_WRITES, None, flow.late_writes as f64),
            (metric::STATE_STALE_RETURNED, None, flow.stale_returned as f64),
            (metric::STATE_ENTRIES, None, stock.entries as f64),
            (metric::STATE_LOGICAL_BYTES, None, stock.logical_bytes as f64),
            (metric::STATE_DISK_BYTES, None, stock.disk_bytes as f64),
            (metric::STATE_DEBT_ENTRIES, None, stock.expired_entries as f64),
            (metric::STATE_DEBT_BYTES, Some(("part", "expired")), stock.expired_bytes as f64),
            (
                metric::STATE_DEBT_BYTES,
                Some(("part", "unreclaimed")),
                stock.unreclaimed_bytes as f64,
            ),
            (metric::STATE_DEBT_ERROR_ENTRIES, None, stock.error_entries as f64),
            (metric::CLEANUP_RECLAIMED, None, flow.reclaimed_bytes as f64),
            (metric::BREAKER_OFFERED, None, flow.offered as f64),
            (metric::BREAKER_DIVERTED, None, flow.diverted as f64),
        ];
        if let Some(age) = stock.oldest_age_millis {
            all.push((metric::STATE_OLDEST_AGE, None, seconds(age as i64)));
        }
        if let Some(ttl) = stock.ttl_millis {
            all.push((metric::STATE_TTL, None, seconds(ttl)));
        }
        for (phase, name) in crate::breaker::PHASES {
            let value = f64::from(u8::from(self.breaker.phase == phase));
            all.push((metric::BREAKER_STATE, Some(("phase", name)), value));
        }
        all
    }
}

impl OperatorSample {
    /// Returns the figures of the sample, named by the catalogue.
    pub fn figures(&self) -> Vec<Figure> {
        let outcomes = [
            ("in", self.arrived),
            ("applied", self.applied),
            ("spilled", self.spilled),
            ("late", self.late),
            ("dead_lettered", self.dead_lettered),
            ("replayed", self.replayed),
            ("discarded", self.discarded),
            ("out", self.emitted),
        ];
        let mut all: Vec<Figure> = outcomes
            .into_iter()
            .map(|(name, n)| (metric::OPERATOR_EVENTS, Some(("outcome", name)), n as f64))
            .collect();
        all.push((metric::OPERATOR_SPILL_PENDING, None, self.pending as f64));
        all.push((metric::OPERATOR_SPILL_BYTES, None, self.pending_bytes as f64));
        if let Some(watermark) = self.watermark_millis {
            all.push((metric::OPERATOR_WATERMARK, None, watermark as f64 / 1e3));
        }
        all
    }
}

impl JobSample {
    /// Returns the figures of the sample without a `source` label, named by the catalogue.
    pub fn figures(&self) -> Vec<Figure> {
        vec![
            (metric::JOB_EPOCH, None, self.epoch as f64),
            (metric::JOB_CHECKPOINT_FAILURES, None, self.checkpoint_failures as f64),
            (metric::JOB_CHANGELOG_BYTES, None, self.changelog_bytes as f64),
            (metric::JOB_FOLDER_BYTES, None, self.folder_bytes as f64),
            (metric::JOB_REPLAY_FACTOR, None, self.replay_factor),
            (metric::AGENT_DROPPED, None, self.dropped_samples as f64),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DESIGN, Wire: unknown fields are ignored, missing ones have defaults.
    #[test]
    fn newer_and_older_peers_are_understood() {
        let sample: StateSample =
            serde_json::from_str(r#"{"operator":"a","state":"b","from_the_future":1}"#).unwrap();
        assert_eq!((sample.operator.as_str(), sample.flow.reads), ("a", 0));
    }

    #[test]
    fn figures_use_the_labels_of_the_catalogue() {
        let figures = StateSample::default().figures();
        for (metric, label, _) in figures {
            let labels: Vec<&str> = label.iter().map(|(name, _)| *name).collect();
            assert_eq!(labels, metric.labels, "{}", metric.name);
        }
    }
}
