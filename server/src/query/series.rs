//! The lines of a chart.

use std::collections::BTreeMap;

use stateward_model::metric::{self, Metric, Scope};
use stateward_model::view::{SeriesAnswer, SeriesLine, SeriesQuery};
use stateward_model::wire::{HistogramName, JOB_HISTOGRAMS, OPERATOR_HISTOGRAMS, STATE_HISTOGRAMS};

use super::figure::Figure;
use super::range::{Function, Line, Range, Selector, evaluate};
use crate::core::Core;
use crate::error::ApiError;
use crate::ingest::{
    JOB_HISTOGRAM_OWNER, OPERATOR_HISTOGRAM_OWNER, STATE_HISTOGRAM_OWNER, extra_label,
};

const POINTS_DEFAULT: u32 = 600;
const POINTS_MAX: u32 = 2_000;
const HOUR_MILLIS: i64 = 3_600_000;
const MINUTE_MILLIS: i64 = 60_000;
/// Engines report about once a second: a shorter step would be mostly gaps.
const STEP_MILLIS_MIN: i64 = 1_000;
/// Lines of one answer; a chart shows far fewer.
const LINES_MAX: usize = 100;
/// Longest stretch of time of one answer: a bit more than the longest sensible retention.
const RANGE_MILLIS_MAX: i64 = 3_700 * 86_400_000;

/// Answers a chart.
pub(crate) async fn series(core: &Core, query: &SeriesQuery) -> Result<SeriesAnswer, ApiError> {
    let figure = Figure::parse(&query.figure)?;
    let matchers = matchers(&query.of, figure)?;
    let mut range = range(query, core.clock.now_millis())?;
    let select =
        |metric: Metric| Selector { metric: metric.name.to_owned(), matchers: matchers.clone() };
    let window_millis = figure.window_millis(range.step);
    let lines = match figure {
        Figure::Gauge(metric) => evaluate(core, &select(metric), Function::Mean, range).await?,
        Figure::Rate(metric) => {
            evaluate(core, &select(metric), Function::Rate { window_millis }, range).await?
        }
        Figure::MissRatio => miss_ratio(core, &select, window_millis, range).await?,
        Figure::Quantile(metric) => {
            // histograms are kept by the minute
            range.step = range.step.max(MINUTE_MILLIS);
            quantiles(core, metric, &select, range).await?
        }
    };
    let shown = figure.scope();
    let lines = lines.into_iter().filter(|(_, points)| !points.is_empty()).take(LINES_MAX);
    let lines: Vec<Line> = lines.collect();
    let whole = |line: &Line| matchers_are_whole(&query.of, shown).then(|| line.0.labels.clone());
    Ok(SeriesAnswer {
        unit: figure.unit().to_owned(),
        from: range.from,
        to: range.to,
        step_millis: range.step,
        lines: lines
            .into_iter()
            .map(|line| SeriesLine {
                label: whole(&line).unwrap_or_else(|| long_label(&line)),
                points: line.1,
            })
            .collect(),
    })
}

/// Names of the levels of `of`.
const LEVELS: [&str; 4] = ["namespace", "job_name", "operator", "state"];

fn matchers(of: &str, figure: Figure) -> Result<Vec<(&'static str, String)>, ApiError> {
    let parts: Vec<&str> = of.split('/').collect();
    let empty = parts.iter().any(|part| part.is_empty());
    if empty || !(2..=LEVELS.len()).contains(&parts.len()) {
        return Err(ApiError::bad_request(format!(
            "of={of:?}: give namespace/job_name, namespace/job_name/operator or \
             namespace/job_name/operator/state"
        )));
    }
    // a figure of the operator is the same for each of its states
    let deep = figure.scope().labels().len();
    let named = LEVELS.into_iter().zip(parts).take(deep);
    Ok(named.map(|(label, part)| (label, part.to_owned())).collect())
}

/// Tells whether `of` names one thing of the figure's scope, so that only further labels differ.
fn matchers_are_whole(of: &str, scope: Scope) -> bool {
    of.split('/').count() >= scope.labels().len()
}

fn long_label((key, _): &Line) -> String {
    let parts = [&key.operator, &key.state, &key.labels];
    let parts: Vec<&str> =
        parts.into_iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    parts.join("/")
}

fn range(query: &SeriesQuery, now_millis: i64) -> Result<Range, ApiError> {
    let to_millis = query.to.unwrap_or(now_millis);
    let from_millis = query.from.unwrap_or(to_millis.saturating_sub(HOUR_MILLIS));
    let length = to_millis.saturating_sub(from_millis);
    if !(1..=RANGE_MILLIS_MAX).contains(&length) || from_millis < 0 {
        return Err(ApiError::bad_request(format!(
            "from={from_millis}, to={to_millis}: give ms since 1970 with from before to"
        )));
    }
    let points = query.points.unwrap_or(POINTS_DEFAULT);
    if !(2..=POINTS_MAX).contains(&points) {
        return Err(ApiError::bad_request(format!("points={points}: use 2 to {POINTS_MAX}")));
    }
    let step_millis = (length / i64::from(points - 1)).max(STEP_MILLIS_MIN);
    // steps are aligned, so that a live chart does not change its past with every answer
    let aligned = |millis: i64| millis.div_euclid(step_millis) * step_millis;
    let last = aligned(to_millis);
    let first =
        aligned(from_millis + step_millis - 1).max(last - step_millis * i64::from(points - 1));
    Ok(Range { from: first, to: last, step: step_millis })
}

/// TTL misses, present and absent, by reads in the same window.
async fn miss_ratio(
    core: &Core,
    select: &impl Fn(Metric) -> Selector,
    window_millis: i64,
    range: Range,
) -> Result<Vec<Line>, ApiError> {
    let function = Function::Increase { window_millis };
    let misses = evaluate(core, &select(metric::STATE_TTL_MISSES), function, range).await?;
    let reads = evaluate(core, &select(metric::STATE_READS), function, range).await?;
    let mut sums: BTreeMap<(String, String), BTreeMap<i64, f64>> = BTreeMap::new();
    for (key, points) in misses {
        let all = sums.entry((key.operator, key.state)).or_default();
        for (at, value) in points {
            *all.entry(at).or_default() += value;
        }
    }
    let ratio = |(key, points): Line| {
        let sum = sums.get(&(key.operator.clone(), key.state.clone()));
        let points = points
            .into_iter()
            .filter(|(_, reads)| *reads > 0.0)
            .filter_map(|(at, n)| sum.and_then(|sum| sum.get(&at)).map(|missed| (at, missed / n)));
        (key, points.collect())
    };
    Ok(reads.into_iter().map(ratio).collect())
}

/// The 99th percentile of what was observed between two rows.
async fn quantiles(
    core: &Core,
    metric: Metric,
    select: &impl Fn(Metric) -> Selector,
    range: Range,
) -> Result<Vec<Line>, ApiError> {
    let (owner, all): (Metric, &[HistogramName]) = match metric.scope {
        Scope::State => (STATE_HISTOGRAM_OWNER, &STATE_HISTOGRAMS),
        Scope::Operator => (OPERATOR_HISTOGRAM_OWNER, &OPERATOR_HISTOGRAMS),
        _ => (JOB_HISTOGRAM_OWNER, &JOB_HISTOGRAMS),
    };
    let selector = select(owner);
    let mut owners = core.series.select(&selector.metric, |key| selector.picks(key));
    owners.sort_by(|a, b| a.1.cmp(&b.1));
    let minutes_of_step = range.step / MINUTE_MILLIS;
    let from_minute = range.from / MINUTE_MILLIS - minutes_of_step;
    let mut lines = Vec::new();
    for (id, owner) in owners {
        let rows = core.series.histograms(id, from_minute, range.to / MINUTE_MILLIS).await?;
        let wanted = all.iter().enumerate().filter(|(_, (known, _))| *known == metric);
        for (at, (_, labels)) in wanted {
            let mut key = owner.clone();
            key.labels = extra_label(*labels);
            let points = quantile_points(&rows, at, (metric, &key.labels), minutes_of_step);
            lines.push((key, points));
        }
    }
    Ok(lines)
}

/// Ages of residents are a stock, everything else accumulates; microseconds and ms become seconds.
fn quantile_points(
    rows: &[crate::series::HistogramRow],
    at: usize,
    (metric, labels): (Metric, &str),
    minutes_of_step: i64,
) -> Vec<(i64, f64)> {
    let is_stock = labels.contains("resident");
    let scale = metric.units_per_base();
    let mut last = None;
    let mut points = Vec::new();
    for (minute, histograms) in rows {
        let Some(now) = histograms.get(at) else { continue };
        let Some((before_minute, before)) = last else {
            last = Some((*minute, now));
            continue;
        };
        if minute - before_minute < minutes_of_step {
            continue;
        }
        last = Some((*minute, now));
        let observed = if is_stock { now.clone() } else { now.since(before) };
        if let Some(value) = observed.quantile(0.99) {
            points.push((minute * MINUTE_MILLIS, value as f64 / scale));
        }
    }
    points
}
