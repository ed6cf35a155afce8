//! Days that are over: their chunks are merged into one per series, averaged to five minutes, and
//! dropped in the end.
//!
//! A day that gets a late chunk is merged again, and its averages made anew. A gauge keeps the mean
//! of each five minutes, a counter its last value, both at the time of the last sample.

use stateward_model::metric::{self, Kind};

use super::append_report::MINUTE_MILLIS;
use super::head::merge;
use super::seal::{DAY_MILLIS, chunk_of, day_of};
use super::{Sample, SeriesId, SeriesStore, codec};
use crate::db::DbError;
use crate::db::series::chunk::{self, TIER_DOWNSAMPLED, TIER_RAW};
use crate::db::series::{append, histogram};

/// Length of an average.
const AVERAGE_MILLIS: i64 = 300_000;
/// A day is over this long after midnight: its last rows are sealed by then.
const DAY_DELAY_MILLIS: i64 = 3 * 3_600_000;
/// Days of series that one call merges, so that reports never wait long.
const MERGES_MAX: i64 = 200;
/// Rows that one call drops.
const DROPS_MAX: i64 = 5_000;
/// Days that the watermark of a silent run is kept.
const WATERMARK_DAYS: i64 = 90;

impl SeriesStore {
    /// Merges some days and drops some of what is past its retention; returns how much it did, so
    /// that 0 means that all is done.
    pub(crate) async fn compact(&self, now_millis: i64) -> Result<u64, DbError> {
        let today = day_of(now_millis - DAY_DELAY_MILLIS);
        let days = chunk::unmerged(&self.db.readers, today, MERGES_MAX).await?;
        for (series_id, day) in &days {
            self.merge_day(*series_id, *day).await?;
        }
        let dropped = self.expire(now_millis).await?;
        Ok(days.len() as u64 + dropped)
    }

    async fn merge_day(&self, series_id: SeriesId, day: i64) -> Result<(), DbError> {
        let (from, to) = (day * DAY_MILLIS, (day + 1) * DAY_MILLIS - 1);
        let mut samples = Vec::new();
        for row in chunk::list(&self.db.readers, series_id, TIER_RAW, from, to).await? {
            samples = merge(samples, &codec::decode_chunk(&row.body)?);
        }
        let averages = downsample(&samples, self.kind(series_id));
        let whole = chunk_of(series_id, TIER_RAW, true, &samples)?;
        let averages = chunk_of(series_id, TIER_DOWNSAMPLED, true, &averages)?;
        self.db
            .writer
            .run(move |connection| {
                Box::pin(async move {
                    for chunk in [&whole, &averages] {
                        chunk::delete_day(connection, series_id, chunk.tier, day).await?;
                        chunk::insert(connection, chunk).await?;
                    }
                    Ok(())
                })
            })
            .await
    }

    fn kind(&self, series_id: SeriesId) -> Kind {
        let inner = self.inner();
        let metric = inner.lines.get(&series_id).map(|line| line.key.metric.as_str());
        metric.and_then(metric::by_name).map_or(Kind::Gauge, |metric| metric.kind)
    }

    async fn expire(&self, now_millis: i64) -> Result<u64, DbError> {
        let today = day_of(now_millis);
        let raw_day = today - i64::from(self.retention.raw_days);
        let averages_day = today - i64::from(self.retention.downsampled_days);
        let minute = averages_day * DAY_MILLIS / MINUTE_MILLIS;
        self.db
            .writer
            .run(move |connection| {
                Box::pin(async move {
                    let run_millis = (today - WATERMARK_DAYS) * DAY_MILLIS;
                    append::prune_watermarks(connection, run_millis).await?;
                    let raw = chunk::expire(connection, TIER_RAW, raw_day, DROPS_MAX).await?;
                    let averages =
                        chunk::expire(connection, TIER_DOWNSAMPLED, averages_day, DROPS_MAX)
                            .await?;
                    let minutes = histogram::expire(connection, minute, DROPS_MAX).await?;
                    Ok(raw + averages + minutes)
                })
            })
            .await
    }
}

fn downsample(samples: &[Sample], kind: Kind) -> Vec<Sample> {
    let bucket = |s: &Sample| s.millis.div_euclid(AVERAGE_MILLIS);
    samples
        .chunk_by(|a, b| bucket(a) == bucket(b))
        .filter_map(|bucket| {
            let last = bucket.last()?;
            let mean = bucket.iter().map(|s| s.value).sum::<f64>() / bucket.len() as f64;
            let value = if kind == Kind::Counter { last.value } else { mean };
            Some(Sample { millis: last.millis, value })
        })
        .collect()
}
