//! What people want of the cleaner.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Clean one state once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Demand {
    /// The command.
    pub(crate) version: u64,
    pub(crate) state: u16,
    /// Only say what it would do.
    pub(crate) dry_run: bool,
}

/// What came of a demand, in words.
pub(crate) type Outcome = Result<String, String>;

/// What is wanted and not done, and what is done and not told.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    pub(crate) demands: VecDeque<Demand>,
    /// States that are not cleaned unless on demand, and until when (wall clock).
    pub(crate) paused: BTreeMap<u16, Option<i64>>,
    pub(crate) outcomes: Vec<(u64, Outcome)>,
}

/// Shared by the governor, who takes orders, and the cleaner, who carries them out.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedRequests(Arc<Mutex<Requests>>);

impl SharedRequests {
    /// Requests are whole whenever the lock is free, so one who died holding it left whole ones.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Requests> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
