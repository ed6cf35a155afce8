//! Sealing: a job's append rows become one chunk per series.
//!
//! A job is sealed when it has many rows or old ones; the limits differ a little from job to job, so
//! that they do not all seal at once. Chunks are written a slice at a time, and reports of others go
//! in between. The append rows go last (invariant 2).

use super::{JobKey, Sample, SeriesId, SeriesStore, codec};
use crate::db::DbError;
use crate::db::series::append;
use crate::db::series::chunk::{self, ChunkRow, TIER_RAW};

/// Rows that a job has at least before it is sealed for their number.
const SEAL_ROWS: usize = 900;
/// Jobs differ by up to this many rows, and by as many seconds.
const STAGGER: usize = 300;
/// Age of the oldest row that seals a job with few rows.
const SEAL_AGE_MILLIS: i64 = 2 * 3_600_000;
/// Series that are written in one transaction.
const SLICE_SERIES: usize = 250;
/// Milliseconds of a day.
pub(super) const DAY_MILLIS: i64 = 86_400_000;

impl SeriesStore {
    /// Seals the jobs that are due; returns how many.
    pub(crate) async fn seal_due(&self, now_millis: i64) -> Result<usize, DbError> {
        let due = self.due(now_millis);
        for (job, up_to) in &due {
            self.seal(job, *up_to).await?;
        }
        Ok(due.len())
    }

    fn due(&self, now_millis: i64) -> Vec<(JobKey, i64)> {
        let inner = self.inner();
        let due = inner.jobs.iter().filter_map(|(job, rows)| {
            let (&(_, oldest_millis), &(last_id, _)) = (rows.rows.first()?, rows.rows.last()?);
            let stagger = stagger(job);
            let many = rows.rows.len() >= SEAL_ROWS + stagger;
            let old = now_millis - oldest_millis >= SEAL_AGE_MILLIS + 1_000 * stagger as i64;
            (many || old).then(|| (job.clone(), last_id))
        });
        due.collect()
    }

    /// Seals the rows of a job up to an id.
    pub(super) async fn seal(&self, job: &JobKey, up_to: i64) -> Result<(), DbError> {
        let sealed = self.snapshot(job, up_to);
        for slice in sealed.chunks(SLICE_SERIES) {
            let mut chunks = Vec::new();
            for (id, samples) in slice {
                chunks.extend(cut(*id, samples)?);
            }
            self.db
                .writer
                .run(move |connection| {
                    Box::pin(async move {
                        for chunk in &chunks {
                            chunk::insert(connection, chunk).await?;
                        }
                        Ok(())
                    })
                })
                .await?;
        }
        let owned = job.clone();
        self.db
            .writer
            .run(move |connection| {
                Box::pin(
                    async move { append::delete(connection, (&owned.0, &owned.1), up_to).await },
                )
            })
            .await?;
        let mut inner = self.inner_mut();
        for (id, samples) in &sealed {
            if let Some(line) = inner.lines.get_mut(id) {
                line.head.remove(samples);
            }
        }
        if let Some(rows) = inner.jobs.get_mut(job) {
            rows.rows.retain(|(id, _)| *id > up_to);
        }
        Ok(())
    }

    /// Copies the samples of the rows up to an id. Samples of later rows with earlier times may come
    /// along: they are then in both places, which readers merge.
    fn snapshot(&self, job: &JobKey, up_to: i64) -> Vec<(SeriesId, Vec<Sample>)> {
        let inner = self.inner();
        let Some(rows) = inner.jobs.get(job) else { return Vec::new() };
        let sealed = rows.rows.iter().filter(|(id, _)| *id <= up_to);
        let Some(to_millis) = sealed.map(|(_, millis)| *millis).max() else { return Vec::new() };
        rows.series
            .iter()
            .filter_map(|id| Some((*id, inner.lines.get(id)?.head.up_to(to_millis).to_vec())))
            .filter(|(_, samples)| !samples.is_empty())
            .collect()
    }
}

/// Makes one chunk a day.
fn cut(series_id: SeriesId, samples: &[Sample]) -> Result<Vec<ChunkRow>, DbError> {
    samples
        .chunk_by(|a, b| day_of(a.millis) == day_of(b.millis))
        .map(|samples| chunk_of(series_id, TIER_RAW, false, samples))
        .collect()
}

/// Encodes samples of one day.
pub(super) fn chunk_of(
    series_id: SeriesId,
    tier: i64,
    merged: bool,
    samples: &[Sample],
) -> Result<ChunkRow, DbError> {
    let from_millis = samples.first().map_or(0, |s| s.millis);
    Ok(ChunkRow {
        series_id,
        tier,
        from_millis,
        to_millis: samples.last().map_or(0, |s| s.millis),
        day: day_of(from_millis),
        merged,
        body: codec::encode_chunk(samples)?,
    })
}

pub(super) fn day_of(millis: i64) -> i64 {
    millis.div_euclid(DAY_MILLIS)
}

fn stagger(job: &JobKey) -> usize {
    let hash = stateward_model::key_hash(format!("{}/{}", job.0, job.1).as_bytes());
    hash as usize % STAGGER
}
