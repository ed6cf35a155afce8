//! What an engine measures.

use serde::{Deserialize, Serialize};

use super::canary::CanarySample;
use super::checkpoint::CheckpointSample;
use super::cleanup::CleanupSample;
use super::clock::ClockSample;
use super::command::CommandProgress;
use super::expiry::ExpirySample;
use super::folder::FolderSample;
use super::hot::HotKeys;
use super::invariant::InvariantSample;
use super::memory::MemorySample;
use super::overshoot::OvershootSample;
use crate::breaker::{Breaker, Policy};
use crate::histogram::Histogram;
use crate::ttl::ClockKind;
use crate::ttl_policy::TtlPolicy;

/// One numbered batch of telemetry. The pair (run, seq) makes a resend harmless.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Must be [`PROTOCOL`](super::PROTOCOL).
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
    /// Its folder, by what it holds.
    pub folder: FolderSample,
    /// What it holds in memory.
    pub memory: MemorySample,
    /// Its checkpoints, one by one.
    pub checkpoints: CheckpointSample,
    /// Changelog kept on disk.
    pub changelog_bytes: u64,
    /// All files of the job's folder.
    pub folder_bytes: u64,
    /// Its processing time.
    pub clock: ClockSample,
    /// Event time per wall time, now.
    pub replay_factor: f64,
    /// Samples the agent dropped.
    pub dropped_samples: u64,
    /// Per source.
    pub sources: Vec<SourceSample>,
    /// Records that crossed each edge of the topology, in [`Hello::edges`](super::Hello::edges) order.
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
    /// Event time by which those hold the emitted watermark behind the operator's own.
    pub watermark_held_millis: i64,
    /// Keys that divert now.
    pub diverted_keys: u64,
    /// Records it emitted.
    pub emitted: u64,
    /// Minimum watermark over its shards.
    pub watermark_millis: Option<i64>,
    /// Which input holds the watermark back.
    pub held_by: Option<String>,
    /// Its timers, one entry per clock that it uses.
    pub timers: Vec<TimerSample>,
}

/// Timers of one operator on one clock. Counts are cumulative over the run, but for `pending` and
/// `diverted`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimerSample {
    /// The clock they go by.
    pub clock: ClockKind,
    /// Registered and neither deleted, fired nor diverted.
    pub pending: u64,
    /// Registrations of timers that were not pending yet.
    pub registered: u64,
    /// Pending timers that were deleted.
    pub deleted: u64,
    /// Timers that fired.
    pub fired: u64,
    /// Due timers that wait behind diverted events, or were diverted themselves.
    pub diverted: u64,
    /// Time of the next timer, in ms; nothing is due before.
    pub next_due_millis: Option<i64>,
    /// By how much timers fired after their time on their clock, in ms.
    pub lateness: Histogram,
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
    /// Sizes in bytes of the values that went to the changelog.
    pub value_bytes: Histogram,
    /// How long after their expiry entries were removed.
    pub overshoot: OvershootSample,
    /// The keys that change most.
    pub hot: HotKeys,
    /// Its canaries; `None` where it has none.
    pub canary: Option<CanarySample>,
    /// What code demands of it.
    pub invariants: Vec<InvariantSample>,
    /// Accesses by source line.
    pub sites: Vec<SiteSample>,
    /// When its entries expire.
    pub expiry: ExpirySample,
    /// How its bytes are got back.
    pub cleanup: CleanupSample,
    /// Which TTL holds, and why.
    pub ttl: TtlPolicy,
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
    /// First reads of keys whose entry was dead when the state was restored; in neither of the above.
    pub misses_restored: u64,
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
    /// Bytes of them that are held in memory: the write cache, or all of a state on the heap.
    pub resident_bytes: u64,
    /// Entries expired and not written off.
    pub expired_entries: u64,
    /// Bytes of those.
    pub expired_bytes: u64,
    /// Entries in the bucket that the expiry limit falls into.
    pub error_entries: u64,
    /// Entries that a shortened TTL hides, which a longer one would bring back.
    pub hidden_entries: u64,
    /// Bytes of those.
    pub hidden_bytes: u64,
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
    /// `started`, `recovered`, `rescaled`, `checkpoint`, `checkpoint_failed`, `checkpoint_fallback`,
    /// `changelog_grows`, `breaker`, `ttl`, `cleanup`,
    /// `loop`,
    /// `canary_overdue`, `clock_jump`,
    /// `source_paused`, `stopped`, `failed`.
    pub kind: String,
    /// Operator it concerns.
    pub operator: Option<String>,
    /// State it concerns.
    pub state: Option<String>,
    /// One sentence.
    pub text: String,
}
