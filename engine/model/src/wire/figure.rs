//! Samples as figures of the catalogue.

use super::checkpoint::CheckpointFailure;
use super::report::{JobSample, OperatorSample, StateSample, TimerSample};
use crate::histogram::Histogram;
use crate::metric::{self, Metric};
use crate::ttl::ClockKind;

/// One figure of a sample: the metric, its extra label if it has one, and the value.
pub type Figure = (Metric, Option<(&'static str, &'static str)>, f64);

/// A histogram of the catalogue: the metric, and its extra label if it has one.
pub type HistogramName = (Metric, Option<(&'static str, &'static str)>);

/// Histograms of a state, in the order of [`StateSample::histograms`]. What is stored goes by this
/// order, so new ones are added at its end.
pub const STATE_HISTOGRAMS: [HistogramName; 8] = [
    (metric::STATE_AGE, Some(("observed", "read"))),
    (metric::STATE_AGE, Some(("observed", "drop"))),
    (metric::STATE_AGE, Some(("observed", "resident"))),
    (metric::CLEANUP_DURATION, Some(("strategy", "sweep"))),
    (metric::CLEANUP_DURATION, Some(("strategy", "reclaim"))),
    (metric::STATE_VALUE_BYTES, None),
    (metric::STATE_OVERSHOOT, Some(("side", "late"))),
    (metric::STATE_OVERSHOOT, Some(("side", "early"))),
];

/// Histograms of a job, in the order of [`JobSample::histograms`].
pub const JOB_HISTOGRAMS: [HistogramName; 2] =
    [(metric::JOB_COMMIT_DURATION, None), (metric::JOB_CHECKPOINT_DURATION, None)];

/// Histograms of an operator that has timers, one per clock.
pub const OPERATOR_HISTOGRAMS: [HistogramName; 2] = [
    (metric::OPERATOR_TIMER_LATENESS, Some(("clock", "event"))),
    (metric::OPERATOR_TIMER_LATENESS, Some(("clock", "processing"))),
];

impl StateSample {
    /// Returns the histograms of the sample, in the order of [`STATE_HISTOGRAMS`].
    pub fn histograms(&self) -> [&Histogram; STATE_HISTOGRAMS.len()] {
        [
            &self.age_at_read,
            &self.age_at_drop,
            &self.age_resident,
            &self.sweep_micros,
            &self.reclaim_micros,
            &self.value_bytes,
            &self.overshoot.late,
            &self.overshoot.early,
        ]
    }

    /// Returns the counters and gauges of the sample, named by the catalogue. Histograms and
    /// accesses by line are not among them.
    pub fn figures(&self) -> Vec<Figure> {
        let (flow, stock) = (&self.flow, &self.stock);
        let seconds = |millis: i64| millis as f64 / 1e3;
        let mut all: Vec<Figure> = vec![
            (metric::STATE_READS, None, flow.reads as f64),
            (metric::STATE_TTL_MISSES, Some(("present", "true")), flow.misses_present as f64),
            (metric::STATE_TTL_MISSES, Some(("present", "false")), flow.misses_absent as f64),
            (metric::STATE_RESTORE_MISSES, None, flow.misses_restored as f64),
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
            (metric::STATE_RESIDENT_BYTES, None, stock.resident_bytes as f64),
            (metric::STATE_DEBT_ENTRIES, None, stock.expired_entries as f64),
            (metric::STATE_DEBT_BYTES, Some(("part", "expired")), stock.expired_bytes as f64),
            (
                metric::STATE_DEBT_BYTES,
                Some(("part", "unreclaimed")),
                stock.unreclaimed_bytes as f64,
            ),
            (metric::STATE_DEBT_ERROR_ENTRIES, None, stock.error_entries as f64),
            (metric::STATE_HIDDEN_ENTRIES, None, stock.hidden_entries as f64),
            (metric::STATE_HIDDEN_BYTES, None, stock.hidden_bytes as f64),
            (metric::STATE_L0_FILES, None, self.cleanup.l0_files as f64),
            (metric::CLEANUP_PAUSED, None, f64::from(u8::from(self.cleanup.paused))),
            (metric::BREAKER_OFFERED, None, flow.offered as f64),
            (metric::BREAKER_DIVERTED, None, flow.diverted as f64),
        ];
        if let Some(canary) = &self.canary {
            let phases = [
                ("written", canary.written),
                ("expired", canary.expired),
                ("written_off", canary.written_off),
                ("removed", canary.removed),
            ];
            let counts = phases.into_iter();
            all.extend(
                counts.map(|(phase, n)| (metric::STATE_CANARIES, Some(("phase", phase)), n as f64)),
            );
            let overdue = f64::from(u8::from(canary.overdue));
            all.push((metric::STATE_CANARY_OVERDUE, None, overdue));
        }
        for (by, list) in [("changes", &self.hot.by_changes), ("bytes", &self.hot.by_bytes)] {
            if let Some(ratio) = list.first_ratio() {
                all.push((metric::STATE_HOTTEST_KEY, Some(("by", by)), ratio));
            }
        }
        if !self.expiry.due.is_empty() {
            // an hour, six, and a day
            for (edge, within) in [(3, "3600"), (4, "21600"), (5, "86400")] {
                let part = self.expiry.within(edge);
                let label = Some(("within", within));
                all.push((metric::STATE_EXPIRING_ENTRIES, label, part.entries as f64));
                all.push((metric::STATE_EXPIRING_BYTES, label, part.bytes as f64));
            }
        }
        for runs in &self.cleanup.runs {
            let strategy = Some(("strategy", runs.strategy.as_str()));
            all.extend([
                (metric::CLEANUP_RECLAIMED, strategy, runs.bytes as f64),
                (metric::CLEANUP_ROWS, strategy, runs.rows as f64),
                (metric::CLEANUP_RUNS, strategy, runs.runs as f64),
                (metric::CLEANUP_READ, strategy, runs.read_bytes as f64),
                (metric::CLEANUP_SECONDS, strategy, runs.micros as f64 / 1e6),
            ]);
        }
        if let Some(at) = self.cleanup.compacted_millis {
            all.push((metric::STATE_COMPACTED, None, seconds(at)));
        }
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

/// A figure with labels that data gives.
pub type LabelledFigure<'a> = (Metric, Vec<(&'static str, &'a str)>, f64);

impl StateSample {
    /// Returns the counters of source lines, the first `sites_max` of them, and of declared
    /// invariants.
    pub fn labelled_figures(&self, sites_max: usize) -> Vec<LabelledFigure<'_>> {
        let sites = self.sites.iter().take(sites_max).map(|site| {
            let labels = vec![("kind", site.kind.as_str()), ("site", site.site.as_str())];
            (metric::STATE_ACCESSES, labels, site.count as f64)
        });
        let invariants = self.invariants.iter().map(|one| {
            let labels = vec![("invariant", one.name.as_str())];
            (metric::STATE_SEMANTIC_ERRORS, labels, one.violations as f64)
        });
        sites.chain(invariants).collect()
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
        all.extend(self.timers.iter().flat_map(TimerSample::figures));
        all
    }
}

impl TimerSample {
    /// The value of the label `clock`.
    pub fn clock_label(&self) -> &'static str {
        match self.clock {
            ClockKind::EventTime => "event",
            ClockKind::ProcessingTime => "processing",
        }
    }

    fn figures(&self) -> Vec<Figure> {
        // a timer "at the end of time" is no date
        const DATE_MILLIS_MAX: u64 = 1 << 50;
        let clock = Some(("clock", self.clock_label()));
        let counts = [
            (metric::OPERATOR_TIMERS_PENDING, self.pending),
            (metric::OPERATOR_TIMERS_DIVERTED, self.diverted),
            (metric::OPERATOR_TIMERS_REGISTERED, self.registered),
            (metric::OPERATOR_TIMERS_DELETED, self.deleted),
            (metric::OPERATOR_TIMERS_FIRED, self.fired),
        ];
        let counts = counts.into_iter().map(|(metric, n)| (metric, clock, n as f64));
        let next = self.next_due_millis.filter(|due| due.unsigned_abs() < DATE_MILLIS_MAX);
        let next = next.map(|due| (metric::OPERATOR_TIMERS_NEXT_DUE, clock, due as f64 / 1e3));
        counts.chain(next).collect()
    }
}

impl JobSample {
    /// Returns the histograms of the sample, in the order of [`JOB_HISTOGRAMS`].
    pub fn histograms(&self) -> [&Histogram; JOB_HISTOGRAMS.len()] {
        [&self.commit_micros, &self.checkpoint_micros]
    }

    /// Returns the figures of the sample without a `source` label, named by the catalogue.
    pub fn figures(&self) -> Vec<Figure> {
        let checkpoints = &self.checkpoints;
        let failures = CheckpointFailure::ALL.iter().zip(checkpoints.failures);
        let mut all: Vec<Figure> = failures
            .map(|(why, n)| {
                (metric::JOB_CHECKPOINT_FAILURES, Some(("reason", why.as_str())), n as f64)
            })
            .collect();
        let memory = &self.memory;
        let parts = [
            ("write_cache", Some(memory.write_cache_bytes)),
            ("heap", Some(memory.heap_bytes)),
            ("memtable", Some(memory.memtable_bytes)),
            ("block_cache", Some(memory.block_cache_bytes)),
            ("table_reader", Some(memory.table_reader_bytes)),
            ("process", memory.process_bytes),
        ];
        all.extend(parts.into_iter().filter_map(|(part, bytes)| {
            Some((metric::JOB_MEMORY_BYTES, Some(("part", part)), bytes? as f64))
        }));
        all.push((metric::JOB_MEMORY_BUDGET, None, memory.budget_bytes as f64));
        let waits = f64::from(u8::from(checkpoints.sources_wait));
        all.extend([
            (metric::JOB_EPOCH, None, self.epoch as f64),
            (metric::JOB_CHECKPOINT_BYTES, None, self.checkpoint_bytes as f64),
            (metric::JOB_CHECKPOINTS_RETAINED, None, checkpoints.retained.len() as f64),
            (metric::JOB_CHANGELOG_LIMIT, None, checkpoints.changelog_bytes_max as f64),
            (metric::JOB_CHANGELOG_WAIT, None, waits),
            (metric::JOB_CHANGELOG_BYTES, None, self.changelog_bytes as f64),
            (metric::JOB_CLOCK_PAUSED, None, f64::from(u8::from(self.clock.jump_millis.is_some()))),
            (metric::JOB_CLOCK_SHIFT, None, self.clock.shift_millis as f64 / 1e3),
            (metric::JOB_FOLDER_BYTES, None, self.folder_bytes as f64),
            (metric::JOB_REPLAY_FACTOR, None, self.replay_factor),
            (metric::AGENT_DROPPED, None, self.dropped_samples as f64),
        ]);
        all
    }
}
