//! Samples as figures of the catalogue.

use super::checkpoint::CheckpointFailure;
use super::report::{JobSample, OperatorSample, StateSample, TimerSample};
use crate::metric::{self, Metric};
use crate::ttl::ClockKind;

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
            (metric::STATE_HIDDEN_ENTRIES, None, stock.hidden_entries as f64),
            (metric::STATE_HIDDEN_BYTES, None, stock.hidden_bytes as f64),
            (metric::STATE_L0_FILES, None, self.cleanup.l0_files as f64),
            (metric::CLEANUP_PAUSED, None, f64::from(u8::from(self.cleanup.paused))),
            (metric::BREAKER_OFFERED, None, flow.offered as f64),
            (metric::BREAKER_DIVERTED, None, flow.diverted as f64),
        ];
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
    /// Returns the figures of the sample without a `source` label, named by the catalogue.
    pub fn figures(&self) -> Vec<Figure> {
        let checkpoints = &self.checkpoints;
        let failures = CheckpointFailure::ALL.iter().zip(checkpoints.failures);
        let mut all: Vec<Figure> = failures
            .map(|(why, n)| {
                (metric::JOB_CHECKPOINT_FAILURES, Some(("reason", why.as_str())), n as f64)
            })
            .collect();
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
