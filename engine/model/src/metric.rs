//! The typed catalogue of metrics: each name exists once, here; documents, dashboards, the engine's
//! exposition and the server's series are checked against it. Names and units follow Prometheus.

/// What a metric's values mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, until its process restarts.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Observations in the buckets of [`crate::bucket_of`].
    Histogram,
}

/// How far a figure can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quality {
    /// Counted one by one.
    Exact,
    /// Measured with an error, or derived; shown with `≈`.
    Estimate,
}

/// One entry of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Name, base unit and `_total` included.
    pub name: &'static str,
    /// What its values mean.
    pub kind: Kind,
    /// Base unit: `bytes`, `seconds`, `ratio`, or what is counted.
    pub unit: &'static str,
    /// Labels beside `namespace`, `job_name`, `operator` and `state` (or those of its scope).
    pub labels: &'static [&'static str],
    /// What it belongs to.
    pub scope: Scope,
    /// How far it can be trusted.
    pub quality: Quality,
    /// One sentence for people.
    pub help: &'static str,
}

impl Metric {
    /// How many units of a histogram's buckets make one of the metric's base unit: ages and lateness
    /// are observed in ms, durations in microseconds, sizes in bytes.
    pub fn units_per_base(&self) -> f64 {
        let in_millis = [STATE_AGE, STATE_OVERSHOOT, OPERATOR_TIMER_LATENESS];
        match self.unit {
            "bytes" => 1.0,
            _ if in_millis.iter().any(|other| other.name == self.name) => 1e3,
            _ => 1e6,
        }
    }
}

/// What a metric belongs to, and so which identity labels it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// `namespace`, `job_name`, `operator`, `state`.
    State,
    /// `namespace`, `job_name`, `operator`.
    Operator,
    /// `namespace`, `job_name`.
    Job,
    /// None: the server's own.
    Server,
}

impl Scope {
    /// The identity labels of the scope.
    pub fn labels(self) -> &'static [&'static str] {
        match self {
            Self::State => &["namespace", "job_name", "operator", "state"],
            Self::Operator => &["namespace", "job_name", "operator"],
            Self::Job => &["namespace", "job_name"],
            Self::Server => &[],
        }
    }
}

macro_rules! catalogue {
    ($($id:ident = $name:literal, $kind:ident, $unit:literal, [$($label:literal),*], $scope:ident, $quality:ident, $help:literal;)+) => {
        $(
            #[doc = $help]
            pub const $id: Metric = Metric {
                name: $name, kind: Kind::$kind, unit: $unit, labels: &[$($label),*],
                scope: Scope::$scope, quality: Quality::$quality, help: $help,
            };
        )+
        /// Every metric, in the order of the documentation.
        pub const ALL: &[Metric] = &[$($id),+];
    };
}

catalogue! {
    STATE_READS = "stateward_state_reads_total", Counter, "reads", [], State, Exact, "Reads by user code, whatever they found.";
    STATE_TTL_MISSES = "stateward_state_ttl_misses_total", Counter, "reads", ["present"], State, Exact, "Reads that found no live value because it had expired; present=\"false\" (the row is gone already) is approximate.";
    STATE_RESTORE_MISSES = "stateward_state_restore_misses_total", Counter, "reads", [], State, Exact, "First reads, once a key and run, that found nothing because the entry was dead when the state was restored; they are no TTL misses.";
    STATE_WRITES = "stateward_state_writes_total", Counter, "writes", [], State, Exact, "Writes by user code that were applied.";
    STATE_REFRESHES = "stateward_state_refreshes_total", Counter, "reads", [], State, Exact, "Reads that stamped the entry and so kept it alive.";
    STATE_DELETES = "stateward_state_deletes_total", Counter, "deletes", [], State, Exact, "Deletes by user code, whether or not an entry was there.";
    STATE_CREATED = "stateward_state_created_total", Counter, "entries", [], State, Exact, "Entries that came to be: writes that found no live entry.";
    STATE_REMOVED = "stateward_state_removed_total", Counter, "entries", ["cause"], State, Exact, "Entries that ceased to be, by cause: delete, read (an expired one was read), overwrite (an expired one was written over), sweep (written off by the cut-off).";
    STATE_LATE_WRITES = "stateward_state_late_writes_total", Counter, "writes", [], State, Exact, "Writes that were dropped because their stamp was expired on arrival.";
    STATE_STALE_RETURNED = "stateward_state_stale_returned_total", Counter, "reads", [], State, Exact, "Expired values that relaxed visibility returned.";
    STATE_ENTRIES = "stateward_state_entries", Gauge, "entries", [], State, Exact, "Live entries: neither expired and written off, nor removed.";
    STATE_LOGICAL_BYTES = "stateward_state_logical_bytes", Gauge, "bytes", [], State, Exact, "Keys and values of the entries that are not written off.";
    STATE_DISK_BYTES = "stateward_state_disk_bytes", Gauge, "bytes", [], State, Exact, "Live SST files of the state.";
    STATE_RESIDENT_BYTES = "stateward_state_resident_bytes", Gauge, "bytes", [], State, Exact, "What the state's write cache holds in memory, or, on the heap, the whole state.";
    STATE_DEBT_ENTRIES = "stateward_state_debt_entries", Gauge, "entries", [], State, Exact, "Entries that are expired and not written off yet.";
    STATE_DEBT_BYTES = "stateward_state_debt_bytes", Gauge, "bytes", ["part"], State, Estimate, "Debt: part=\"expired\" (not written off, exact to one bucket) and part=\"unreclaimed\" (written off, bytes still on disk).";
    STATE_DEBT_ERROR_ENTRIES = "stateward_state_debt_error_entries", Gauge, "entries", [], State, Exact, "Entries in the ledger bucket that the expiry limit falls into: the error of the expired part.";
    STATE_OLDEST_AGE = "stateward_state_oldest_age_seconds", Gauge, "seconds", [], State, Exact, "Age of the oldest entry that is not written off, in the state's clock, exact to one ledger bucket.";
    STATE_HIDDEN_ENTRIES = "stateward_state_hidden_entries", Gauge, "entries", [], State, Exact, "Entries that a shortened TTL hides and a longer one would bring back; exact to one bucket.";
    STATE_HIDDEN_BYTES = "stateward_state_hidden_bytes", Gauge, "bytes", [], State, Exact, "Bytes of those.";
    STATE_EXPIRING_ENTRIES = "stateward_state_expiring_entries", Gauge, "entries", ["within"], State, Exact, "Entries that expire within so many seconds of the state's clock, exact to one ledger bucket; no series without a TTL.";
    STATE_EXPIRING_BYTES = "stateward_state_expiring_bytes", Gauge, "bytes", ["within"], State, Exact, "Bytes of those.";
    STATE_TTL = "stateward_state_ttl_seconds", Gauge, "seconds", [], State, Exact, "TTL in force; no series where there is none.";
    STATE_AGE = "stateward_state_age_seconds", Histogram, "seconds", ["observed"], State, Exact, "Age of entries in the state's clock when read (observed=\"read\"), dropped (\"drop\"), or resident (\"resident\").";
    STATE_SEMANTIC_ERRORS = "stateward_state_semantic_errors_total", Counter, "entries", ["invariant"], State, Exact, "Entries, read or written, for which an invariant that the job declares did not hold.";
    STATE_CANARIES = "stateward_state_canaries_total", Counter, "canaries", ["phase"], State, Exact, "Synthetic rows that got so far, by phase: written, expired, written off, removed; no series for states without canaries.";
    STATE_CANARY_OVERDUE = "stateward_state_canary_overdue", Gauge, "bool", [], State, Exact, "1 while a canary should have been written off, or its bytes reclaimed, long since.";
    STATE_VALUE_BYTES = "stateward_state_value_bytes", Histogram, "bytes", [], State, Exact, "Sizes of the values that went to the changelog, once per row and epoch.";
    STATE_OVERSHOOT = "stateward_state_overshoot_seconds", Histogram, "seconds", ["side"], State, Exact, "Physical removal of expired entries minus their expiry: side=\"late\" at or after it, side=\"early\" before it (a TTL that was lengthened since).";
    STATE_HOTTEST_KEY = "stateward_state_hottest_key_ratio", Gauge, "ratio", ["by"], State, Exact, "What part of the last minutes' changes (by=\"changes\") or changelog bytes (by=\"bytes\") the hottest key has at least; no series where there were none.";
    STATE_ACCESSES = "stateward_state_accesses_total", Counter, "accesses", ["kind", "site"], State, Exact, "Writes, refreshes and reads by source line.";
    CLEANUP_DURATION = "stateward_cleanup_duration_seconds", Histogram, "seconds", ["strategy"], State, Exact, "Durations of cleanup runs by strategy: sweep, reclaim.";
    CLEANUP_RECLAIMED = "stateward_cleanup_reclaimed_bytes_total", Counter, "bytes", ["strategy"], State, Exact, "Bytes of keys and values of written-off rows that were dropped: by compactions of the store's own, by the scheduler (reclaim), on demand, in memory.";
    CLEANUP_ROWS = "stateward_cleanup_reclaimed_rows_total", Counter, "rows", ["strategy"], State, Exact, "Those rows.";
    CLEANUP_RUNS = "stateward_cleanup_compactions_total", Counter, "compactions", ["strategy"], State, Exact, "Compactions that ended.";
    CLEANUP_READ = "stateward_cleanup_read_bytes_total", Counter, "bytes", ["strategy"], State, Exact, "Bytes of files that those read.";
    CLEANUP_SECONDS = "stateward_cleanup_compaction_seconds_total", Counter, "seconds", ["strategy"], State, Exact, "How long those took.";
    STATE_L0_FILES = "stateward_state_l0_files", Gauge, "files", [], State, Exact, "Files of level 0, which compactions have yet to sort in.";
    STATE_COMPACTED = "stateward_state_compacted_timestamp_seconds", Gauge, "seconds", [], State, Exact, "End of the last compaction since the job started; no series before.";
    CLEANUP_PAUSED = "stateward_cleanup_paused", Gauge, "bool", [], State, Exact, "1 while a person has the state cleaned on demand only.";
    BREAKER_STATE = "stateward_breaker_state", Gauge, "bool", ["phase"], State, Exact, "1 for the phase that the breaker is in, else 0.";
    BREAKER_OFFERED = "stateward_breaker_offered_total", Counter, "events", [], State, Exact, "Events that wanted to write the state, applied or diverted.";
    BREAKER_DIVERTED = "stateward_breaker_diverted_total", Counter, "events", [], State, Exact, "Events that this state's breaker diverted.";
    OPERATOR_EVENTS = "stateward_operator_events_total", Counter, "events", ["outcome"], Operator, Exact, "Events by outcome: in, applied, spilled, late, dead-lettered, replayed, discarded, out.";
    OPERATOR_SPILL_PENDING = "stateward_operator_spill_pending", Gauge, "events", [], Operator, Exact, "Spilled events that wait for replay.";
    OPERATOR_SPILL_BYTES = "stateward_operator_spill_bytes", Gauge, "bytes", [], Operator, Exact, "Bytes of spilled events that wait for replay.";
    OPERATOR_WATERMARK = "stateward_operator_watermark_seconds", Gauge, "seconds", [], Operator, Exact, "Watermark of the operator: the minimum over its shards, as Unix time.";
    OPERATOR_TIMERS_PENDING = "stateward_operator_timers_pending", Gauge, "timers", ["clock"], Operator, Exact, "Timers that are registered and have neither fired nor been deleted, by clock: event, processing.";
    OPERATOR_TIMERS_DIVERTED = "stateward_operator_timers_diverted", Gauge, "timers", ["clock"], Operator, Exact, "Due timers in the spill: diverted by a breaker, or behind diverted events of their key.";
    OPERATOR_TIMERS_REGISTERED = "stateward_operator_timers_registered_total", Counter, "timers", ["clock"], Operator, Exact, "Registrations of timers that were not pending yet.";
    OPERATOR_TIMERS_DELETED = "stateward_operator_timers_deleted_total", Counter, "timers", ["clock"], Operator, Exact, "Pending timers that were deleted.";
    OPERATOR_TIMERS_FIRED = "stateward_operator_timers_fired_total", Counter, "timers", ["clock"], Operator, Exact, "Timers that fired.";
    OPERATOR_TIMERS_NEXT_DUE = "stateward_operator_timers_next_due_seconds", Gauge, "seconds", ["clock"], Operator, Exact, "Time of the next timer, as Unix time; a lower bound until timers have been read after a start. No series where none is pending.";
    OPERATOR_TIMER_LATENESS = "stateward_operator_timer_lateness_seconds", Histogram, "seconds", ["clock"], Operator, Exact, "By how much timers fired after their time: watermark, or wall clock, minus timer time.";
    JOB_EPOCH = "stateward_job_epoch", Gauge, "epochs", [], Job, Exact, "Last committed epoch.";
    JOB_COMMIT_DURATION = "stateward_job_commit_duration_seconds", Histogram, "seconds", [], Job, Exact, "From the barrier's request to the synced commit record.";
    JOB_CHECKPOINT_DURATION = "stateward_job_checkpoint_duration_seconds", Histogram, "seconds", [], Job, Exact, "Durations of completed checkpoints.";
    JOB_CHECKPOINT_FAILURES = "stateward_job_checkpoint_failures_total", Counter, "checkpoints", ["reason"], Job, Exact, "Checkpoints that failed, by reason: timeout, full disk, damage, other I/O; the job goes on.";
    JOB_CHECKPOINT_BYTES = "stateward_job_checkpoint_bytes", Gauge, "bytes", [], Job, Exact, "All files of the last completed checkpoint, shared ones included.";
    JOB_CHECKPOINTS_RETAINED = "stateward_job_checkpoints_retained", Gauge, "checkpoints", [], Job, Exact, "Checkpoints that the job could be recovered from.";
    JOB_CHANGELOG_BYTES = "stateward_job_changelog_bytes", Gauge, "bytes", [], Job, Exact, "Changelog that is kept on disk, back to the oldest retained checkpoint.";
    JOB_CHANGELOG_LIMIT = "stateward_job_changelog_limit_bytes", Gauge, "bytes", [], Job, Exact, "Changelog from which the sources wait until a checkpoint comes about.";
    JOB_CHANGELOG_WAIT = "stateward_job_changelog_waits", Gauge, "bool", [], Job, Exact, "1 while the sources wait for that.";
    JOB_MEMORY_BYTES = "stateward_job_memory_bytes", Gauge, "bytes", ["part"], Job, Exact, "Bytes in memory by part: write caches, states on the heap, memtables and block cache share the budget; what RocksDB holds of open files (its own estimate) and the resident set of the whole process do not count to it.";
    JOB_MEMORY_BUDGET = "stateward_job_memory_budget_bytes", Gauge, "bytes", [], Job, Exact, "What write caches, states on the heap, memtables and block cache may hold together.";
    JOB_CLOCK_PAUSED = "stateward_job_clock_paused", Gauge, "bool", [], Job, Exact, "1 while a jump of the wall clock waits for a decision: expiry and timers of processing time stand.";
    JOB_CLOCK_SHIFT = "stateward_job_clock_shift_seconds", Gauge, "seconds", [], Job, Exact, "By how much processing time is behind the wall clock, for jumps that were compensated.";
    JOB_FOLDER_BYTES = "stateward_job_folder_bytes", Gauge, "bytes", [], Job, Exact, "All files of the job's data folder.";
    JOB_SOURCE_RECORDS = "stateward_job_source_records_total", Counter, "records", ["source"], Job, Exact, "Records that a source read.";
    JOB_SOURCE_REJECTED = "stateward_job_source_rejected_total", Counter, "records", ["source"], Job, Exact, "Rows that a source could not read; they are in its dead-letter file.";
    JOB_SOURCE_FUTURE = "stateward_job_source_future_total", Counter, "records", ["source"], Job, Exact, "Records from further ahead of their source's clock than the future guard allows.";
    JOB_REPLAY_FACTOR = "stateward_job_replay_factor", Gauge, "ratio", [], Job, Exact, "Event time that passes in one second of wall time; 1 for live input.";
    AGENT_DROPPED = "stateward_agent_dropped_samples_total", Counter, "samples", [], Job, Exact, "Samples that the agent dropped because its buffer was full.";
    SERVER_REPORTS = "stateward_server_reports_total", Counter, "reports", ["outcome"], Server, Exact, "Reports by outcome: stored, duplicate, refused.";
    SERVER_SAMPLES = "stateward_server_samples_total", Counter, "samples", [], Server, Exact, "Samples stored.";
    SERVER_INGEST_DURATION = "stateward_server_ingest_duration_seconds", Histogram, "seconds", [], Server, Exact, "From a report's arrival to its acknowledgement.";
    SERVER_ALERTS = "stateward_server_alerts", Gauge, "alerts", ["phase"], Server, Exact, "Alert instances by phase: pending, firing.";
    SERVER_EVALUATION_DURATION = "stateward_server_evaluation_duration_seconds", Histogram, "seconds", [], Server, Exact, "Durations of alert evaluations.";
}

/// Finds an entry by name.
pub fn by_name(name: &str) -> Option<&'static Metric> {
    ALL.iter().find(|metric| metric.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_prometheus() {
        for (at, metric) in ALL.iter().enumerate() {
            assert!(metric.name.starts_with("stateward_"), "{}", metric.name);
            assert_eq!(
                metric.kind == Kind::Counter,
                metric.name.ends_with("_total"),
                "{}",
                metric.name
            );
            assert!(metric.help.ends_with('.'), "{}", metric.name);
            assert!(
                ALL.iter().skip(at + 1).all(|m| m.name != metric.name),
                "{} twice",
                metric.name
            );
        }
    }
}
