//! From a report to series: every figure by its name in the catalogue, without shard or key.

use stateward_model::metric::{self, Metric};
use stateward_model::wire::{Figure, JobSample, OperatorSample, Report, SourceSample, StateSample};
use stateward_model::{ClockKind, Histogram};

use crate::db::series::key::SeriesKey;
use crate::series::{Batch, JobKey};

/// Histograms of a state, in the order of its rows: metric and further labels.
pub(crate) const STATE_HISTOGRAMS: [(Metric, &str); 5] = [
    (metric::STATE_AGE, "observed=\"read\""),
    (metric::STATE_AGE, "observed=\"drop\""),
    (metric::STATE_AGE, "observed=\"resident\""),
    (metric::CLEANUP_DURATION, "strategy=\"sweep\""),
    (metric::CLEANUP_DURATION, "strategy=\"reclaim\""),
];
/// Histograms of a job, in the order of its rows.
pub(crate) const JOB_HISTOGRAMS: [(Metric, &str); 2] =
    [(metric::JOB_COMMIT_DURATION, ""), (metric::JOB_CHECKPOINT_DURATION, "")];
/// Histograms of an operator that has timers, in the order of its rows.
pub(crate) const OPERATOR_HISTOGRAMS: [(Metric, &str); 2] = [
    (metric::OPERATOR_TIMER_LATENESS, "clock=\"event\""),
    (metric::OPERATOR_TIMER_LATENESS, "clock=\"processing\""),
];
/// Metric that the histogram rows of an operator are filed under.
pub(crate) const OPERATOR_HISTOGRAM_OWNER: Metric = metric::OPERATOR_TIMER_LATENESS;
/// Metric that the histogram rows of a state are filed under.
pub(crate) const STATE_HISTOGRAM_OWNER: Metric = metric::STATE_AGE;
/// Metric that the histogram rows of a job are filed under.
pub(crate) const JOB_HISTOGRAM_OWNER: Metric = metric::JOB_COMMIT_DURATION;
/// Source lines of a state that have a series each; the most frequent ones.
const SITES_MAX: usize = 32;

/// Histograms of a state in the order of [`STATE_HISTOGRAMS`].
pub(crate) fn state_histograms(sample: &StateSample) -> [&Histogram; 5] {
    [
        &sample.age_at_read,
        &sample.age_at_drop,
        &sample.age_resident,
        &sample.sweep_micros,
        &sample.reclaim_micros,
    ]
}

/// Histograms of a job in the order of [`JOB_HISTOGRAMS`].
pub(crate) fn job_histograms(sample: &JobSample) -> [&Histogram; 2] {
    [&sample.commit_micros, &sample.checkpoint_micros]
}

/// Histograms of an operator in the order of [`OPERATOR_HISTOGRAMS`]; `None` where it has no timers.
pub(crate) fn operator_histograms(sample: &OperatorSample) -> Option<[Histogram; 2]> {
    let lateness = |clock: ClockKind| {
        let timers = sample.timers.iter().find(|timers| timers.clock == clock);
        timers.map(|timers| timers.lateness.clone()).unwrap_or_default()
    };
    let both = [ClockKind::EventTime, ClockKind::ProcessingTime];
    (!sample.timers.is_empty()).then(|| both.map(lateness))
}

/// How many units of a histogram's buckets make a second.
pub(crate) fn units_per_second(metric: Metric) -> f64 {
    let in_millis = [metric::STATE_AGE, metric::OPERATOR_TIMER_LATENESS];
    if in_millis.iter().any(|other| other.name == metric.name) { 1e3 } else { 1e6 }
}

/// Figures of a source; they have the label `source`.
pub(crate) fn source_figures(source: &SourceSample) -> [(Metric, f64); 3] {
    [
        (metric::JOB_SOURCE_RECORDS, source.records as f64),
        (metric::JOB_SOURCE_REJECTED, source.rejected as f64),
        (metric::JOB_SOURCE_FUTURE, source.future as f64),
    ]
}

/// Writes one label as it stands in a key and in the exposition.
pub(crate) fn label(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

/// Turns a report into series.
pub(super) fn batch_of(
    job: &JobKey,
    report: &Report,
    wall_millis: i64,
    stored_millis: i64,
) -> Batch {
    let mut all = Samples { job, samples: Vec::new() };
    for figure in report.job.figures() {
        all.add(("", ""), &figure);
    }
    for source in &report.job.sources {
        for (metric, value) in source_figures(source) {
            all.add_labelled(("", ""), metric, label("source", &source.source), value);
        }
    }
    for operator in &report.operators {
        for figure in operator.figures() {
            all.add((&operator.operator, ""), &figure);
        }
    }
    let owner = |metric: Metric, operator: &str, state: &str| key(job, metric, operator, state, "");
    let mut histograms = vec![(
        owner(JOB_HISTOGRAM_OWNER, "", ""),
        job_histograms(&report.job).map(Histogram::clone).to_vec(),
    )];
    for operator in &report.operators {
        if let Some(lateness) = operator_histograms(operator) {
            let owner = owner(OPERATOR_HISTOGRAM_OWNER, &operator.operator, "");
            histograms.push((owner, lateness.to_vec()));
        }
    }
    for state in &report.states {
        let of = (state.operator.as_str(), state.state.as_str());
        for figure in state.figures() {
            all.add(of, &figure);
        }
        for site in state.sites.iter().take(SITES_MAX) {
            let labels =
                format!("{},{}", label("kind", site.kind.as_str()), label("site", &site.site));
            all.add_labelled(of, metric::STATE_ACCESSES, labels, site.count as f64);
        }
        histograms.push((
            owner(STATE_HISTOGRAM_OWNER, of.0, of.1),
            state_histograms(state).map(Histogram::clone).to_vec(),
        ));
    }
    Batch {
        job: job.clone(),
        run: report.run.clone(),
        seq: report.seq as i64,
        wall_millis,
        stored_millis,
        samples: all.samples,
        histograms,
    }
}

struct Samples<'a> {
    job: &'a JobKey,
    samples: Vec<(SeriesKey, f64)>,
}

impl Samples<'_> {
    fn add(&mut self, of: (&str, &str), (metric, extra, value): &Figure) {
        let labels = extra.map(|(name, value)| label(name, value)).unwrap_or_default();
        self.add_labelled(of, *metric, labels, *value);
    }

    fn add_labelled(&mut self, of: (&str, &str), metric: Metric, labels: String, value: f64) {
        let mut key = key(self.job, metric, of.0, of.1, "");
        key.labels = labels;
        self.samples.push((key, value));
    }
}

fn key(job: &JobKey, metric: Metric, operator: &str, state: &str, labels: &str) -> SeriesKey {
    SeriesKey {
        metric: metric.name.to_owned(),
        namespace: job.0.clone(),
        job_name: job.1.clone(),
        operator: operator.to_owned(),
        state: state.to_owned(),
        labels: labels.to_owned(),
    }
}
