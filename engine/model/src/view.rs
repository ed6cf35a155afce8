//! What the server answers to people and to the web UI, under `/api/v1`.
//!
//! A job is addressed as `{namespace}/{job_name}`, a state as
//! `{namespace}/{job_name}/{operator}/{state}`. Ages and lengths are ms, rates are per second,
//! ratios 0 to 1. `None` means unknown, and is never shown as 0.

use serde::{Deserialize, Serialize};

use crate::alert::{Instance, Phase as AlertPhase, Rule};
use crate::breaker::{Breaker, Policy};
use crate::histogram::Histogram;
use crate::ttl::{ClockKind, UpdateType, Visibility};
use crate::verdict::Verdict;
use crate::wire::{
    CommandProgress, EdgeDeclaration, JobSample, NodeDeclaration, OperatorSample, SiteSample,
    SourceSample, StateFlow, StateSample, StateStock,
};

/// Query of `GET /api/v1/states`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatesQuery {
    /// Column to sort by; default `attention`.
    pub sort: Option<String>,
    /// `asc` or `desc`; default `desc`.
    pub order: Option<String>,
    /// Where the last page ended.
    pub cursor: Option<String>,
    /// Rows a page, 1 to 1000; default 100.
    pub limit: Option<u32>,
    /// Words that must occur in the identity, and `field:value` terms (`job:`, `operator:`,
    /// `verdict:`, `breaker:`).
    pub filter: Option<String>,
}

/// Columns that `sort` takes.
pub const STATE_SORTS: [&str; 14] = [
    "attention",
    "state",
    "job",
    "operator",
    "logical_bytes",
    "disk_bytes",
    "entries",
    "bytes_per_entry",
    "growth_per_day",
    "miss_ratio",
    "oldest_age",
    "writes_per_second",
    "ttl",
    "breaker",
];

/// One page of the ranking.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatesPage {
    /// The rows.
    pub states: Vec<StateRow>,
    /// Rows that match the filter, on all pages.
    pub total: u64,
    /// Cursor of the next page.
    pub next: Option<String>,
    /// Server wall clock of the answer.
    pub at_millis: i64,
}

/// One row of the ranking.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateRow {
    /// Namespace of the job.
    pub namespace: String,
    /// Name of the job.
    pub job_name: String,
    /// Operator that owns the state.
    pub operator: String,
    /// The state.
    pub state: String,
    /// Is its TTL working?
    pub verdict: Verdict,
    /// Live entries.
    pub entries: u64,
    /// Keys and values.
    pub logical_bytes: u64,
    /// Live SST files.
    pub disk_bytes: u64,
    /// Logical bytes per entry.
    pub bytes_per_entry: Option<f64>,
    /// Relative growth of the logical bytes a day of the state's clock; `None` with too little history.
    pub growth_per_day: Option<f64>,
    /// TTL misses / reads over five minutes; `None` without reads.
    pub miss_ratio: Option<f64>,
    /// Age of the oldest entry, ms in the state's clock.
    pub oldest_age_millis: Option<u64>,
    /// Writes a second over one minute.
    pub writes_per_second: Option<f64>,
    /// Reads a second over one minute.
    pub reads_per_second: Option<f64>,
    /// TTL, ms.
    pub ttl_millis: Option<i64>,
    /// The breaker.
    pub breaker: Breaker,
    /// Logical bytes over the last hour, evenly spaced, oldest first.
    pub sparkline: Vec<f64>,
    /// Event time per wall time of the job.
    pub replay_factor: f64,
    /// Engine wall clock of the figures.
    pub wall_millis: i64,
    /// Set when the engine is silent: server wall clock of its last report.
    pub silent_since_millis: Option<i64>,
    /// Alerts of this state that fire.
    pub firing: u32,
}

/// The state page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateDetail {
    /// The ranking's row.
    pub row: StateRow,
    /// `"value"`, `"map"` or `"timer"`.
    pub kind: String,
    /// `"rocksdb"` or `"heap"`.
    pub backend: String,
    /// Which clock judges.
    pub clock: ClockKind,
    /// What stamps.
    pub update_type: UpdateType,
    /// Whether expired entries may be returned.
    pub visibility: Visibility,
    /// Who put another TTL in place of the declared one.
    #[serde(default)]
    pub ttl_set_by: Option<String>,
    /// Where it is declared.
    pub site: String,
    /// Flows of the current run.
    pub flow: StateFlow,
    /// Stocks.
    pub stock: StateStock,
    /// Ages at read, ms.
    pub age_at_read: Histogram,
    /// Ages at drop, ms.
    pub age_at_drop: Histogram,
    /// Ages of the residents, ms.
    pub age_resident: Histogram,
    /// Sweeps, microseconds.
    pub sweep_micros: Histogram,
    /// Reclaiming compactions, microseconds.
    pub reclaim_micros: Histogram,
    /// Writers and readers, most frequent first.
    pub sites: Vec<SiteSample>,
    /// Build that the lines belong to.
    pub build_id: String,
    /// Its revision.
    pub commit: Option<String>,
    /// The breaker's card.
    pub breaker: BreakerCard,
    /// Rules that match this state, with their instances.
    pub alerts: Vec<AlertRow>,
    /// What happened to it, newest first.
    pub events: Vec<Annotation>,
}

/// What the tabs show that the server makes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateFacts {
    /// The state.
    pub detail: StateDetail,
    /// What its engine said last.
    pub sample: StateSample,
    /// What its engine said of the job.
    pub job: JobSample,
    /// Files of all states of the job.
    pub job_disk_bytes: u64,
    /// Server clock.
    pub at_millis: i64,
}

/// What became of an operator's events; `arrived = applied + spilled + late + dead_lettered` and
/// `spilled = replayed + discarded + pending` at every commit (SEMANTICS §7.7).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conservation {
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
}

impl From<&OperatorSample> for Conservation {
    fn from(sample: &OperatorSample) -> Self {
        Self {
            arrived: sample.arrived,
            applied: sample.applied,
            spilled: sample.spilled,
            late: sample.late,
            dead_lettered: sample.dead_lettered,
            replayed: sample.replayed,
            discarded: sample.discarded,
            pending: sample.pending,
            pending_bytes: sample.pending_bytes,
            oldest_pending_millis: sample.oldest_pending_millis,
            diverted_keys: sample.diverted_keys,
        }
    }
}

/// A breaker with all that a person needs before acting on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BreakerCard {
    /// Namespace of the job.
    pub namespace: String,
    /// Name of the job.
    pub job_name: String,
    /// Operator that owns the state.
    pub operator: String,
    /// The state.
    pub state: String,
    /// The breaker.
    pub breaker: Breaker,
    /// The policy in force.
    pub policy: Policy,
    /// Events a second that want to write.
    pub offered_per_second: f64,
    /// The operator's equation and backlog.
    pub conservation: Conservation,
    /// What else stops: the operator's other states.
    pub stops_states: Vec<String>,
    /// What else stops: nodes downstream of the operator.
    pub stops_outputs: Vec<String>,
    /// The last commands, newest first.
    pub commands: Vec<CommandView>,
    /// Set when the engine is silent.
    pub silent_since_millis: Option<i64>,
}

/// Body of `POST /api/v1/states/{ns}/{job}/{operator}/{state}/orders`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrderRequest {
    /// What to do.
    #[serde(flatten)]
    pub order: crate::wire::Order,
    /// Why; must not be empty.
    pub reason: String,
}

/// A command and how far it got.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandView {
    /// The command's version.
    pub version: u64,
    /// [`Order::kind`](crate::wire::Order::kind) of it.
    pub order: String,
    /// Who said so.
    pub actor: String,
    /// Why.
    pub reason: String,
    /// Server wall clock.
    pub requested_millis: i64,
    /// The last step.
    pub progress: CommandProgress,
}

/// A flag on a chart's time axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    /// Wall clock.
    pub wall_millis: i64,
    /// As [`crate::wire::JobEvent::kind`], or `command`, `alert`.
    pub kind: String,
    /// One sentence.
    pub text: String,
}

/// Query of `GET /api/v1/series`: the seam that PromQL will replace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SeriesQuery {
    /// `{namespace}/{job_name}` or with `/{operator}` or `/{operator}/{state}`.
    pub of: String,
    /// What to draw: `logical_bytes`, `disk_bytes`, `entries`, `miss_ratio`, `writes_per_second`,
    /// `reads_per_second`, `debt_bytes`, `spill_pending`, `commit_seconds`, or a counter or gauge
    /// of the catalogue by its full name.
    pub figure: String,
    /// From, ms; default one hour before `to`.
    pub from: Option<i64>,
    /// To, ms; default now.
    pub to: Option<i64>,
    /// Most points a line, 2 to 2000; default 600.
    pub points: Option<u32>,
}

/// The answer to a [`SeriesQuery`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesAnswer {
    /// One line per label set.
    pub lines: Vec<SeriesLine>,
    /// `bytes`, `ratio`, `1/s`, `entries`, …
    pub unit: String,
    /// From, ms.
    pub from: i64,
    /// To, ms.
    pub to: i64,
    /// Step, ms; a gap of more than two steps is a gap in the data.
    pub step_millis: i64,
}

/// One line of a chart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesLine {
    /// Its label, empty for the only line.
    pub label: String,
    /// (ms, value), sorted by time.
    pub points: Vec<(i64, f64)>,
}

/// The lineage graph of one job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LineageGraph {
    /// Namespace of the job.
    pub namespace: String,
    /// Name of the job.
    pub job_name: String,
    /// Sources, operators, sinks in topological order.
    pub nodes: Vec<NodeDeclaration>,
    /// Edges, with rates in `edge_rates`.
    pub edges: Vec<EdgeDeclaration>,
    /// Records a second per edge, same order; `None` while unknown.
    pub edge_rates: Vec<Option<f64>>,
    /// The states, attached to their operators.
    pub states: Vec<StateRow>,
}

/// One job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRow {
    /// Namespace of the job.
    pub namespace: String,
    /// Name of the job.
    pub job_name: String,
    /// Current run.
    pub run: String,
    /// When it started, engine wall clock.
    pub started_millis: i64,
    /// Shards.
    pub parallelism: u16,
    /// States.
    pub states: u32,
    /// Logical bytes of all of them.
    pub logical_bytes: u64,
    /// Last committed epoch.
    pub epoch: u64,
    /// 99th percentile of commit durations, microseconds.
    pub commit_p99_micros: Option<u64>,
    /// Engine wall clock of the last checkpoint.
    pub checkpoint_millis: Option<i64>,
    /// Changelog on disk.
    pub changelog_bytes: u64,
    /// All files of its folder.
    pub folder_bytes: u64,
    /// Event time per wall time.
    pub replay_factor: f64,
    /// Sources with watermark and position.
    pub sources: Vec<SourceSample>,
    /// Operators with watermark and equation. The pages show none of it and have no room to read it.
    #[cfg_attr(target_arch = "wasm32", serde(skip_deserializing))]
    pub operators: Vec<OperatorSample>,
    /// Engine clock minus server clock at the last report, ms.
    pub clock_offset_millis: i64,
    /// Build id.
    pub build_id: String,
    /// Set when the engine is silent.
    pub silent_since_millis: Option<i64>,
    /// Set when the job ended, and why.
    pub ended: Option<String>,
}

/// The overview page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overview {
    /// Logical bytes of all states.
    pub logical_bytes: u64,
    /// Disk bytes of all states.
    pub disk_bytes: u64,
    /// Both parts of debt, bytes.
    pub debt_bytes: u64,
    /// Relative growth a day over all states with enough history.
    pub growth_per_day: Option<f64>,
    /// States in all.
    pub states: u64,
    /// States that need attention, worst first, at most ten.
    pub attention: Vec<StateRow>,
    /// How many need attention in all.
    pub attention_total: u64,
    /// Alerts that fire.
    pub firing: Vec<AlertRow>,
    /// Breakers that are not closed.
    pub breakers: Vec<BreakerCard>,
    /// Jobs.
    pub jobs: Vec<JobRow>,
    /// What changed in 24 h, newest first.
    pub changes: Vec<Annotation>,
    /// Server wall clock.
    pub at_millis: i64,
}

/// One alert instance with its rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlertRow {
    /// The rule.
    pub rule: Rule,
    /// `{namespace}/{job_name}/{operator}/{state}`.
    pub of: String,
    /// Where it stands.
    pub instance: Instance,
}

/// The alerts page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AlertsPage {
    /// Pending, firing and recently resolved instances.
    pub active: Vec<AlertRow>,
    /// All rules.
    pub rules: Vec<Rule>,
    /// Transitions, newest first.
    pub history: Vec<AlertTransition>,
}

/// One transition of an instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlertTransition {
    /// Server wall clock.
    pub wall_millis: i64,
    /// Name of the rule at that time.
    pub rule: String,
    /// `{namespace}/{job_name}/{operator}/{state}`.
    pub of: String,
    /// The phase it entered.
    pub phase: AlertPhase,
    /// Value at that time.
    pub value: f64,
}

/// One line of the audit log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditRow {
    /// Identity, growing.
    pub id: i64,
    /// Server wall clock.
    pub wall_millis: i64,
    /// Who.
    pub actor: String,
    /// `intent` or `outcome`.
    pub stage: String,
    /// What: `breaker.trip`, `breaker.reset`, `breaker.policy`, `rule.create`, `rule.update`, `rule.delete`.
    pub action: String,
    /// On what.
    pub of: String,
    /// Why, or what came of it.
    pub detail: String,
}

/// One page of the audit log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AuditPage {
    /// The rows, newest first.
    pub rows: Vec<AuditRow>,
    /// Cursor of the next page: older rows.
    pub next: Option<i64>,
}
