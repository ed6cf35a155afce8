//! What a report may hold: how many things, how large a number, how long a text.
//!
//! Numbers are bounded so that sums over all states of a job cannot overflow.

use stateward_model::wire::{CheckpointSample, Figure, Report};
use stateward_model::{HISTOGRAM_BUCKETS, Histogram};

use super::decode::cut;
use crate::error::ApiError;

/// Most states, nodes or edges of a job.
pub(super) const ITEMS_MAX: usize = 10_000;
/// Most source lines of one state; the rest is not kept.
const SITES_MAX: usize = 256;
/// Clocks that timers go by.
const CLOCKS: usize = 2;
/// Most events or command steps of one report.
const EVENTS_MAX: usize = 1_000;
/// Largest count, size or time: a pebibyte, a million a second for 35 years, the year 37,000.
const NUMBER_MAX: u64 = 1 << 50;

/// Refuses what cannot be, and cuts what is too long.
pub(super) fn check_report(report: &mut Report) -> Result<(), ApiError> {
    let samples = report.states.len().max(report.operators.len()).max(report.job.sources.len());
    if samples.max(report.job.edge_records.len()) > ITEMS_MAX {
        return Err(ApiError::bad_request(format!(
            "the report has {samples} states, operators or sources; a job has at most {ITEMS_MAX}"
        )));
    }
    if report.events.len().max(report.commands.len()) > EVENTS_MAX {
        return Err(ApiError::bad_request(format!(
            "the report has more than {EVENTS_MAX} events or command steps; send several"
        )));
    }
    check_time("wall_millis", report.wall_millis)?;
    report.events.iter().try_for_each(|event| check_time("wall_millis", event.wall_millis))?;
    check_figures("the job", &report.job.figures())?;
    let job = [&report.job.commit_micros, &report.job.checkpoint_micros];
    job.into_iter().try_for_each(|h| check_histogram("the job", h))?;
    let checkpoints = &mut report.job.checkpoints;
    checkpoints.runs.truncate(CheckpointSample::RUNS_MAX);
    checkpoints.retained.truncate(CheckpointSample::RUNS_MAX);
    checkpoints.runs.iter_mut().filter_map(|run| run.detail.as_mut()).for_each(cut);
    for state in &mut report.states {
        let of = format!("{}/{}", state.operator, state.state);
        let all = [
            &state.age_at_read,
            &state.age_at_drop,
            &state.age_resident,
            &state.sweep_micros,
            &state.reclaim_micros,
        ];
        all.into_iter().try_for_each(|h| check_histogram(&of, h))?;
        check_figures(&of, &state.figures())?;
        // a state's clock may stand before 1970
        check_time("clock_millis", state.stock.clock_millis.map_or(0, i64::saturating_abs))?;
        let sites = state.sites.iter().map(|site| site.count);
        check_counts(&of, sites)?;
        state.sites.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.site.cmp(&b.site)));
        state.sites.truncate(SITES_MAX);
        for site in &mut state.sites {
            cut(&mut site.site);
            site.name.iter_mut().for_each(cut);
        }
    }
    for operator in &mut report.operators {
        if operator.timers.len() > CLOCKS {
            return Err(ApiError::bad_request(format!(
                "operator {} reports {} kinds of timers; there are {CLOCKS} clocks",
                operator.operator,
                operator.timers.len()
            )));
        }
        check_figures(&operator.operator, &operator.figures())?;
        let lateness = operator.timers.iter().map(|timers| &timers.lateness);
        lateness.into_iter().try_for_each(|h| check_histogram(&operator.operator, h))?;
        operator.held_by.iter_mut().for_each(cut);
    }
    for source in &mut report.job.sources {
        check_counts(&source.source, [source.records, source.rejected, source.future])?;
        cut(&mut source.position);
    }
    report.job.ended.iter_mut().for_each(cut);
    for event in &mut report.events {
        cut(&mut event.kind);
        cut(&mut event.text);
    }
    report.commands.iter_mut().for_each(|progress| cut(&mut progress.detail));
    Ok(())
}

fn check_histogram(of: &str, histogram: &Histogram) -> Result<(), ApiError> {
    let buckets = &histogram.buckets;
    let sorted = buckets.is_sorted_by(|a, b| a.0 < b.0);
    let known = buckets.last().is_none_or(|(bucket, _)| usize::from(*bucket) < HISTOGRAM_BUCKETS);
    if sorted && known {
        return check_counts(of, buckets.iter().map(|(_, count)| *count));
    }
    Err(ApiError::bad_request(format!(
        "a histogram of {of} has buckets that are not sorted, or beyond the {HISTOGRAM_BUCKETS} \
         there are"
    )))
}

fn check_figures(of: &str, figures: &[Figure]) -> Result<(), ApiError> {
    let wild =
        figures.iter().find(|(_, _, value)| !value.is_finite() || value.abs() > NUMBER_MAX as f64);
    match wild {
        None => Ok(()),
        Some((metric, _, value)) => Err(ApiError::bad_request(format!(
            "{} of {of} is {value}; numbers go up to {NUMBER_MAX}",
            metric.name
        ))),
    }
}

fn check_counts(of: &str, counts: impl IntoIterator<Item = u64>) -> Result<(), ApiError> {
    match counts.into_iter().find(|count| *count > NUMBER_MAX) {
        None => Ok(()),
        Some(count) => Err(ApiError::bad_request(format!(
            "a count of {of} is {count}; counts go up to {NUMBER_MAX}"
        ))),
    }
}

/// Refuses times that cannot be meant.
pub(super) fn check_time(name: &str, millis: i64) -> Result<(), ApiError> {
    if (0..=NUMBER_MAX as i64).contains(&millis) {
        return Ok(());
    }
    Err(ApiError::bad_request(format!("{name} is {millis}; give ms since 1970")))
}
