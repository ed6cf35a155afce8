//! Reading one series: chunks first, the head last, merged by time.

use std::collections::BTreeSet;

use super::head::merge;
use super::seal::day_of;
use super::{HistogramRow, Sample, SeriesId, SeriesStore, codec};
use crate::db::DbError;
use crate::db::series::chunk::{self, TIER_DOWNSAMPLED, TIER_RAW};
use crate::db::series::histogram;

/// Points further apart than this are drawn from the averages where there are some.
pub(crate) const COARSE_STEP_MILLIS: i64 = 300_000;

impl SeriesStore {
    /// Returns the samples between two times, both included, sorted. With `coarse`, days that have
    /// five-minute averages are read from those.
    pub(crate) async fn read(
        &self,
        id: SeriesId,
        from_millis: i64,
        to_millis: i64,
        coarse: bool,
    ) -> Result<Vec<Sample>, DbError> {
        // the head is copied first: what is sealed meanwhile is then in both, never in neither
        let head = self.head(id, from_millis, to_millis);
        let pool = &self.db.readers;
        let raw = chunk::list(pool, id, TIER_RAW, from_millis, to_millis).await?;
        let before_raw = raw.first().is_none_or(|first| day_of(from_millis) < first.day);
        let averages_wanted = coarse || before_raw;
        let averages = if averages_wanted {
            chunk::list(pool, id, TIER_DOWNSAMPLED, from_millis, to_millis).await?
        } else {
            Vec::new()
        };
        let raw_days: BTreeSet<i64> = raw.iter().map(|chunk| chunk.day).collect();
        let average_days: BTreeSet<i64> = averages.iter().map(|chunk| chunk.day).collect();
        let averages = averages.iter().filter(|chunk| coarse || !raw_days.contains(&chunk.day));
        let raw = raw.iter().filter(|chunk| !coarse || !average_days.contains(&chunk.day));
        let mut samples = Vec::new();
        for chunk in averages.chain(raw) {
            samples = merge(samples, &codec::decode_chunk(&chunk.body)?);
        }
        samples = merge(samples, &head);
        samples.retain(|s| (from_millis..=to_millis).contains(&s.millis));
        Ok(samples)
    }

    fn head(&self, id: SeriesId, from_millis: i64, to_millis: i64) -> Vec<Sample> {
        let inner = self.inner();
        let line = inner.lines.get(&id);
        line.map(|line| line.head.between(from_millis, to_millis).to_vec()).unwrap_or_default()
    }

    /// Returns the histogram rows of an owner between two minutes, oldest first.
    pub(crate) async fn histograms(
        &self,
        id: SeriesId,
        from_minute: i64,
        to_minute: i64,
    ) -> Result<Vec<HistogramRow>, DbError> {
        let rows = histogram::list(&self.db.readers, id, from_minute, to_minute).await?;
        rows.into_iter()
            .map(|(minute, body)| Ok((minute, codec::decode_histograms(&body)?)))
            .collect()
    }
}
