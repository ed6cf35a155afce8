//! What timers show of themselves.

use stateward_model::wire::{CleanupSample, StateStock, TimerSample};

use super::TimerTable;
use crate::store::StateStore;
use crate::telemetry::StateSnapshot;

impl TimerTable {
    pub(super) fn unreclaimed_bytes(&self) -> u64 {
        self.written_off_bytes.saturating_sub(self.shared_cut_off.dropped_bytes())
    }

    /// The table as a state: entries are timers. They have no age; what is due is in
    /// [`TimerTable::sample`].
    pub(crate) fn snapshot(&self, now: Option<i64>, gate_version: u64) -> StateSnapshot {
        let mut sites = Vec::new();
        self.recorder.add_sites_to(&mut sites);
        let mut flow = self.recorder.flow_so_far();
        flow.reclaimed_bytes = self.shared_cut_off.dropped_bytes();
        StateSnapshot {
            id: self.config.id,
            flow,
            stock: StateStock {
                entries: self.ledger.total().entries,
                logical_bytes: self.ledger.total().bytes,
                disk_bytes: self.store.disk_bytes(),
                resident_bytes: self.resident_bytes() as u64,
                unreclaimed_bytes: self.unreclaimed_bytes(),
                clock_millis: now,
                bucket_millis: self.ledger.width_millis(),
                ..StateStock::default()
            },
            cleanup: CleanupSample {
                runs: self.shared_cut_off.runs(),
                l0_files: self.store.l0_files(),
                compacted_millis: self.shared_cut_off.compacted_millis(),
                ..CleanupSample::default()
            },
            sites,
            gate_version,
            ..StateSnapshot::default()
        }
    }

    /// Figures of the timers, as of the last look into the store: changes that wait for one are
    /// counted at the next barrier.
    pub(crate) fn sample(&self) -> TimerSample {
        TimerSample {
            clock: self.clock(),
            pending: self.ledger.total().entries,
            registered: self.totals.registered,
            deleted: self.totals.deleted,
            fired: self.totals.fired,
            diverted: 0,
            next_due_millis: self.head.next_time(),
            lateness: self.lateness.pack(),
        }
    }

    /// Every pending timer of the store, as `(row key, stamp)`.
    #[cfg(test)]
    pub(super) fn store_rows(&self) -> Vec<(Vec<u8>, i64)> {
        let mut rows = Vec::new();
        self.store
            .prefix(&[], &mut |key, row| {
                let stamp = crate::codec::row_ts(row);
                if stamp > self.cut_off {
                    rows.push((key.to_vec(), stamp));
                }
            })
            .unwrap();
        rows
    }
}
