//! What a state shows of itself.

use stateward_model::wire::{
    CleanupSample, ExpirySample, InvariantSample, OvershootSample, StateStock,
};
use stateward_model::{HISTOGRAM_BUCKETS, Histogram};

use super::{Moment, Table};
use crate::store::resident_ages;
use crate::telemetry::{Counters, Recorder};

impl<R: Recorder> Table<R> {
    /// Bytes of written-off rows that compactions dropped in this run.
    pub(crate) fn reclaimed_bytes(&self) -> u64 {
        self.shared_cut_off.dropped_bytes()
    }

    /// How bytes were got back.
    pub(crate) fn cleanup(&self) -> CleanupSample {
        CleanupSample {
            runs: self.shared_cut_off.runs(),
            l0_files: self.cache.l0_files(),
            compacted_millis: self.shared_cut_off.compacted_millis(),
            ..CleanupSample::default()
        }
    }

    pub(super) fn unreclaimed_bytes(&self) -> u64 {
        self.written_off_bytes.saturating_sub(self.shared_cut_off.dropped_bytes())
    }

    /// Stock figures at `moment`.
    pub(crate) fn stock(&self, moment: &Moment) -> StateStock {
        let clock = self.clock(moment);
        let debt = self.ledger.debt(self.rule.gone_limit(clock));
        let unseen = self.ledger.debt(self.rule.hidden_limit(clock)).expired;
        StateStock {
            entries: self.ledger.total().entries,
            logical_bytes: self.ledger.total().bytes,
            disk_bytes: self.cache.disk_bytes(),
            resident_bytes: self.cache.resident_bytes() as u64,
            expired_entries: debt.expired.entries,
            expired_bytes: debt.expired.bytes,
            error_entries: debt.error_entries,
            hidden_entries: unseen.entries - debt.expired.entries,
            hidden_bytes: unseen.bytes - debt.expired.bytes,
            unreclaimed_bytes: self.unreclaimed_bytes(),
            oldest_age_millis: clock.and_then(|now| self.ledger.oldest_age(now)),
            clock_millis: clock,
            ttl_millis: self.rule.ttl_millis,
            bucket_millis: self.ledger.width_millis(),
        }
    }

    /// When entries expire, at `moment`.
    pub(crate) fn expiry(&self, moment: &Moment) -> ExpirySample {
        let forecast = |now| self.ledger.forecast(now, |ts| self.rule.expires_at(ts));
        self.clock(moment).map(forecast).unwrap_or_default()
    }

    /// Ages of the residents at `moment`.
    pub(crate) fn resident_ages(&self, moment: &Moment) -> Histogram {
        let mut counts = [0; HISTOGRAM_BUCKETS];
        let sum = self.clock(moment).map_or(0, |now| self.ledger.ages(now, &mut counts));
        resident_ages(&counts, sum)
    }
}

impl Table<Counters> {
    /// What is demanded of the state, and how often it did not hold.
    pub(crate) fn invariants(&self) -> Vec<InvariantSample> {
        let counts = self.recorder.invariants();
        let declared = self.config.options.invariants.iter().enumerate();
        let named = declared.map(|(n, invariant)| InvariantSample {
            name: invariant.name.to_owned(),
            ..counts.get(n).cloned().unwrap_or_default()
        });
        named.collect()
    }

    /// How long after their expiry entries were removed: by reads and writes, by compactions, and
    /// from memory.
    pub(crate) fn overshoot(&self) -> OvershootSample {
        let mut all = self.shared_cut_off.overshoot();
        all.merge(self.recorder.overshoot_so_far());
        all.pack()
    }
}
