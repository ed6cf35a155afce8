//! What the modules share: one value, made at the start.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{broadcast, watch};

use crate::alert::Alerts;
use crate::auth::Auth;
use crate::catalog::Catalog;
use crate::clock::Clock;
use crate::config::Config;
use crate::db::Database;
use crate::live::LiveEvent;
use crate::series::SeriesStore;
use crate::telemetry::Telemetry;

/// The running server's parts.
#[derive(Debug)]
pub(crate) struct Core {
    /// What it was told.
    pub(crate) config: Config,
    /// What time it is.
    pub(crate) clock: Clock,
    /// `control.db`.
    pub(crate) control: Database,
    /// `series.db` and its head.
    pub(crate) series: SeriesStore,
    /// Jobs and states.
    pub(crate) catalog: Catalog,
    /// Rules and their instances.
    pub(crate) alerts: Alerts,
    /// Token and sessions.
    pub(crate) auth: Auth,
    /// The server's own metrics.
    pub(crate) telemetry: Telemetry,
    /// What changed.
    pub(crate) live: broadcast::Sender<LiveEvent>,
    /// The highest version of a command: wakes long polls.
    pub(crate) commands: watch::Sender<u64>,
    /// Turns true when the server stops: ends long polls and live streams.
    pub(crate) stopping: watch::Sender<bool>,
    /// One lock a run, so that its reports are stored one after another.
    pub(crate) runs: Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<()>>>>,
    /// Second of each job's last live event.
    pub(crate) reported: Mutex<BTreeMap<String, i64>>,
}

impl Core {
    /// Tells open pages; nobody may be listening.
    pub(crate) fn tell(&self, event: LiveEvent) {
        drop(self.live.send(event));
    }

    /// Tells open pages that a job reported, at most once a second.
    pub(crate) fn tell_reported(&self, job: &str, now_millis: i64) {
        let second = now_millis.div_euclid(1_000);
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.insert(job.to_owned(), second) != Some(second) {
            self.tell(LiveEvent::Report { job: job.to_owned() });
        }
    }

    /// Returns the lock of a run.
    pub(crate) fn run_lock(&self, run: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        // runs that nobody is reporting for need no lock any more
        runs.retain(|known, lock| known == run || Arc::strong_count(lock) > 1);
        Arc::clone(runs.entry(run.to_owned()).or_default())
    }
}
