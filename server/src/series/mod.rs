//! Samples over time: in comes what a report carries, out go sorted samples of one series.
//!
//! ```text
//! report ─▶ append row (one per report, acknowledged) ─▶ head in memory
//!                │ seal: by count or age, staggered by job
//!                ▼
//!           chunk per series, never across midnight ─▶ whole-day chunk + five-minute tier ─▶ dropped
//! ```
//!
//! Invariants:
//! 1. the head holds exactly what the append rows hold, so a restart rebuilds it from them;
//! 2. an append row is deleted only after all chunks made from it are committed, so a crash leaves
//!    samples twice, never missing: readers merge by time, and the newer source wins;
//! 3. samples of a series are sorted by time and each time occurs once.
//!
//! What never happens here: interpreting a figure. Rates and ratios are made in `query`.

use std::collections::{BTreeMap, HashMap};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use stateward_model::Histogram;

use crate::config::Retention;
use crate::db::series::append;
use crate::db::series::key::{self, SeriesKey};
use crate::db::{Database, DbError};

mod codec;
mod head;
mod append_report;
mod seal;
mod compact;
mod read;
#[cfg(test)]
mod tests;

pub(crate) use append_report::{Batch, Stored};
use head::Head;
pub(crate) use head::Sample;
pub(crate) use read::COARSE_STEP_MILLIS;

/// Identity of a series within this data folder.
pub(crate) type SeriesId = i64;
/// Namespace and name of a job.
pub(crate) type JobKey = (String, String);

/// All samples.
#[derive(Debug)]
pub(crate) struct SeriesStore {
    db: Database,
    retention: Retention,
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    ids: HashMap<SeriesKey, SeriesId>,
    lines: BTreeMap<SeriesId, Line>,
    by_metric: BTreeMap<String, Vec<SeriesId>>,
    jobs: BTreeMap<JobKey, JobRows>,
}

#[derive(Debug)]
struct Line {
    key: SeriesKey,
    head: Head,
}

/// The append rows of a job: (id, time), oldest first, and its series.
#[derive(Debug, Default)]
struct JobRows {
    rows: Vec<(i64, i64)>,
    series: Vec<SeriesId>,
}

impl Inner {
    fn register(&mut self, id: SeriesId, key: SeriesKey) {
        if self.lines.contains_key(&id) {
            return;
        }
        let job = (key.namespace.clone(), key.job_name.clone());
        self.jobs.entry(job).or_default().series.push(id);
        self.by_metric.entry(key.metric.clone()).or_default().push(id);
        self.ids.insert(key.clone(), id);
        self.lines.insert(id, Line { key, head: Head::default() });
    }
}

impl SeriesStore {
    /// Opens the store and rebuilds the head from the append rows.
    pub(crate) async fn open(db: Database, retention: Retention) -> Result<Self, DbError> {
        let mut inner = Inner::default();
        for (id, key) in key::list(&db.readers).await? {
            inner.register(id, key);
        }
        for row in append::list(&db.readers).await? {
            let samples = codec::decode_report(&row.body)?;
            for (id, value) in samples {
                if let Some(line) = inner.lines.get_mut(&id) {
                    line.head.push(Sample { millis: row.wall_millis, value });
                }
            }
            let job = (row.namespace, row.job_name);
            inner.jobs.entry(job).or_default().rows.push((row.id, row.wall_millis));
        }
        Ok(Self { db, retention, inner: RwLock::new(inner) })
    }

    /// Returns the database, to sync and close it.
    pub(crate) fn database(&self) -> &Database {
        &self.db
    }

    /// Finds one series.
    pub(crate) fn find(&self, key: &SeriesKey) -> Option<SeriesId> {
        self.inner().ids.get(key).copied()
    }

    /// Lists the series of a metric that `wanted` picks.
    pub(crate) fn select(
        &self,
        metric: &str,
        wanted: impl Fn(&SeriesKey) -> bool,
    ) -> Vec<(SeriesId, SeriesKey)> {
        let inner = self.inner();
        let ids = inner.by_metric.get(metric).map(Vec::as_slice).unwrap_or_default();
        ids.iter()
            .filter_map(|id| inner.lines.get(id).map(|line| (*id, line.key.clone())))
            .filter(|(_, key)| wanted(key))
            .collect()
    }

    fn inner(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn inner_mut(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The cumulative histograms of one state or job at one minute.
pub(crate) type HistogramRow = (i64, Vec<Histogram>);
