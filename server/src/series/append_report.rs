//! Storing what one report carries.

use sqlx::SqliteConnection;
use stateward_model::Histogram;

use super::{JobKey, Sample, SeriesId, SeriesStore, codec};
use crate::db::DbError;
use crate::db::series::key::SeriesKey;
use crate::db::series::{append, histogram, key};

/// Milliseconds of a minute.
pub(crate) const MINUTE_MILLIS: i64 = 60_000;

/// What one report carries, as series.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    /// The job.
    pub(crate) job: JobKey,
    /// The run.
    pub(crate) run: String,
    /// Number of the report.
    pub(crate) seq: i64,
    /// Time of the samples.
    pub(crate) wall_millis: i64,
    /// Server clock.
    pub(crate) stored_millis: i64,
    /// Values.
    pub(crate) samples: Vec<(SeriesKey, f64)>,
    /// Cumulative histograms by owner.
    pub(crate) histograms: Vec<(SeriesKey, Vec<Histogram>)>,
}

/// What came of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// It is stored now.
    New,
    /// It had been stored before.
    Duplicate,
}

struct Written {
    row_id: i64,
    samples: Vec<(SeriesId, f64)>,
    learned: Vec<(SeriesId, SeriesKey)>,
}

impl SeriesStore {
    /// Stores a batch, unless its run has a batch of this or a higher number. Must run to its end:
    /// a caller that may be cancelled spawns it.
    pub(crate) async fn append(&self, batch: Batch) -> Result<Stored, DbError> {
        let known = self.known(&batch);
        let (job, wall_millis) = (batch.job.clone(), batch.wall_millis);
        let written =
            self.db.writer.run(move |connection| Box::pin(write(connection, batch, known))).await?;
        let Some(written) = written else { return Ok(Stored::Duplicate) };
        let mut inner = self.inner_mut();
        for (id, key) in written.learned {
            inner.register(id, key);
        }
        for (id, value) in written.samples {
            if let Some(line) = inner.lines.get_mut(&id) {
                line.head.push(Sample { millis: wall_millis, value });
            }
        }
        inner.jobs.entry(job).or_default().rows.push((written.row_id, wall_millis));
        Ok(Stored::New)
    }

    /// Ids of the samples' and the histograms' series, as far as they have some.
    fn known(&self, batch: &Batch) -> Known {
        let inner = self.inner();
        let id = |key: &SeriesKey| inner.ids.get(key).copied();
        Known {
            samples: batch.samples.iter().map(|(key, _)| id(key)).collect(),
            histograms: batch.histograms.iter().map(|(key, _)| id(key)).collect(),
        }
    }
}

struct Known {
    samples: Vec<Option<SeriesId>>,
    histograms: Vec<Option<SeriesId>>,
}

async fn write(
    connection: &mut SqliteConnection,
    batch: Batch,
    known: Known,
) -> Result<Option<Written>, DbError> {
    if !append::advance(connection, &batch.run, batch.seq, batch.stored_millis).await? {
        return Ok(None);
    }
    let mut learned = Vec::new();
    let mut samples = Vec::with_capacity(batch.samples.len());
    for ((key, value), id) in batch.samples.into_iter().zip(known.samples) {
        samples.push((resolve(connection, key, id, &mut learned).await?, value));
    }
    let body = codec::encode_report(&mut samples)?;
    let job = (batch.job.0.as_str(), batch.job.1.as_str());
    let row_id = append::insert(connection, job, batch.wall_millis, &body).await?;
    let minute = batch.wall_millis.div_euclid(MINUTE_MILLIS);
    for ((key, histograms), id) in batch.histograms.into_iter().zip(known.histograms) {
        let id = resolve(connection, key, id, &mut learned).await?;
        let body = codec::encode_histograms(&histograms);
        histogram::insert(connection, id, minute, &body).await?;
    }
    Ok(Some(Written { row_id, samples, learned }))
}

/// Returns the id of a series; a new one is learned once the transaction is committed.
async fn resolve(
    connection: &mut SqliteConnection,
    key: SeriesKey,
    known: Option<SeriesId>,
    learned: &mut Vec<(SeriesId, SeriesKey)>,
) -> Result<SeriesId, DbError> {
    if let Some(id) = known {
        return Ok(id);
    }
    let id = key::intern(connection, &key).await?;
    learned.push((id, key));
    Ok(id)
}
