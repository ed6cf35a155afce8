//! Evaluating a selector over a range: the seam that PromQL will sit on.
//!
//! A [`Selector`] picks series by metric and label matchers; a [`Range`] says where the points go;
//! a [`Function`] makes points from samples, and is pure.

use crate::core::Core;
use crate::db::series::key::SeriesKey;
use crate::error::ApiError;
use crate::series::{COARSE_STEP_MILLIS, Sample};

/// A sample counts for this long, so that steps shorter than the report interval have no gaps.
pub(crate) const LOOKBACK_MILLIS: i64 = 15_000;

/// Picks series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selector {
    /// Name of the metric.
    pub(crate) metric: String,
    /// (label, value): all must be equal.
    pub(crate) matchers: Vec<(&'static str, String)>,
}

impl Selector {
    pub(crate) fn picks(&self, key: &SeriesKey) -> bool {
        self.matchers.iter().all(|(label, value)| match *label {
            "namespace" => key.namespace == *value,
            "job_name" => key.job_name == *value,
            "operator" => key.operator == *value,
            "state" => key.state == *value,
            other => key.labels.split(',').any(|l| l == crate::ingest::label(other, value)),
        })
    }
}

/// Where points go, in ms: at `from`, `from + step`, … up to `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    /// First point.
    pub(crate) from: i64,
    /// Last point.
    pub(crate) to: i64,
    /// Distance; above 0.
    pub(crate) step: i64,
}

impl Range {
    /// The times of the points.
    pub(crate) fn steps(self) -> impl Iterator<Item = i64> {
        (self.from..=self.to).step_by(self.step.max(1) as usize)
    }
}

/// Makes points from samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    /// The mean of the samples since the last point; where there is none, the last one before.
    Mean,
    /// What a counter grew in the window before the point.
    Increase {
        /// Length of the window.
        window_millis: i64,
    },
    /// The same per second.
    Rate {
        /// Length of the window.
        window_millis: i64,
    },
}

impl Function {
    fn reach_millis(self, step_millis: i64) -> i64 {
        match self {
            Self::Mean => step_millis.max(LOOKBACK_MILLIS),
            Self::Increase { window_millis } | Self::Rate { window_millis } => {
                window_millis + LOOKBACK_MILLIS
            }
        }
    }

    /// Makes the points of one series; a step without samples has none.
    pub(crate) fn apply(self, samples: &[Sample], range: Range) -> Vec<(i64, f64)> {
        let point = |at: i64| {
            let value = match self {
                Self::Mean => mean(samples, at, range.step),
                Self::Increase { window_millis } => {
                    increase(samples, at, window_millis).map(|(grown, _)| grown)
                }
                Self::Rate { window_millis } => increase(samples, at, window_millis)
                    .map(|(grown, millis)| grown * 1e3 / millis as f64),
            };
            value.map(|value| (at, value))
        };
        range.steps().filter_map(point).collect()
    }
}

/// The points of one series.
pub(crate) type Line = (SeriesKey, Vec<(i64, f64)>);

/// Evaluates a selector; lines come in the order of their keys.
pub(crate) async fn evaluate(
    core: &Core,
    selector: &Selector,
    function: Function,
    range: Range,
) -> Result<Vec<Line>, ApiError> {
    let mut series = core.series.select(&selector.metric, |key| selector.picks(key));
    series.sort_by(|a, b| a.1.cmp(&b.1));
    let from_millis = range.from - function.reach_millis(range.step);
    let coarse = range.step >= COARSE_STEP_MILLIS;
    let mut lines = Vec::with_capacity(series.len());
    for (id, key) in series {
        let samples = core.series.read(id, from_millis, range.to, coarse).await?;
        lines.push((key, function.apply(&samples, range)));
    }
    Ok(lines)
}

fn up_to(samples: &[Sample], millis: i64) -> usize {
    samples.partition_point(|s| s.millis <= millis)
}

fn mean(samples: &[Sample], at: i64, step_millis: i64) -> Option<f64> {
    let to = up_to(samples, at);
    let bucket = samples.get(up_to(samples, at - step_millis)..to).unwrap_or_default();
    if bucket.is_empty() {
        let last = samples.get(to.checked_sub(1)?)?;
        return (at - last.millis <= LOOKBACK_MILLIS).then_some(last.value);
    }
    Some(bucket.iter().map(|s| s.value).sum::<f64>() / bucket.len() as f64)
}

/// Returns what a counter grew in `(at - window, at]`, and over how many ms: from the last sample at
/// or before the window's start, where it is near, to the last one in it. A counter that falls was
/// reset, and what it shows then is what it grew since.
fn increase(samples: &[Sample], at: i64, window_millis: i64) -> Option<(f64, i64)> {
    let (start, end) = (at - window_millis, up_to(samples, at));
    let inside = up_to(samples, start);
    let before = inside
        .checked_sub(1)
        .filter(|before| samples.get(*before).is_some_and(|s| start - s.millis <= LOOKBACK_MILLIS));
    let window = samples.get(before.unwrap_or(inside)..end)?;
    let (first, last) = (window.first()?, window.last()?);
    if last.millis <= start || last.millis == first.millis {
        return None;
    }
    let grown = window.iter().zip(window.iter().skip(1)).map(|(before, now)| {
        if now.value < before.value { now.value } else { now.value - before.value }
    });
    Some((grown.sum(), last.millis - first.millis))
}
