//! Gets bytes back: compacts the states whose files hold most written-off rows.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use stateward_model::Histogram;

use crate::telemetry::Dense;

/// Durations of reclaiming compactions, by state.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedReclaims {
    runs: Arc<Mutex<BTreeMap<u16, Dense>>>,
}

impl SharedReclaims {
    pub(crate) fn add(&self, state: u16, micros: u64) {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.entry(state).or_default().add(micros, 1);
    }

    pub(crate) fn of(&self, state: u16) -> Histogram {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.get(&state).map(Dense::pack).unwrap_or_default()
    }
}

/// Written-off bytes below which a compaction is not worth its I/O.
const RECLAIM_BYTES_MIN: u64 = 1 << 20;

/// Tells whether a state's files should be rewritten: at least a fifth of them is written off.
pub(crate) fn is_due(unreclaimed_bytes: u64, disk_bytes: u64) -> bool {
    disk_bytes > 0 && unreclaimed_bytes >= RECLAIM_BYTES_MIN && unreclaimed_bytes >= disk_bytes / 5
}
