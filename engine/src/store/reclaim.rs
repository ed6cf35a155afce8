//! How long compactions that get bytes back take.

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
