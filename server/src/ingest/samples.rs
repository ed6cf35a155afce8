//! From a report to series: every figure by its name in the catalogue, without shard or key.

use stateward_model::metric::{self, Metric};
use stateward_model::wire::{Figure, OperatorSample, Report, SourceSample};
use stateward_model::{ClockKind, Histogram};

use crate::db::series::key::SeriesKey;
use crate::series::{Batch, JobKey};

/// Metric that the histogram rows of an operator are filed under.
pub(crate) const OPERATOR_HISTOGRAM_OWNER: Metric = metric::OPERATOR_TIMER_LATENESS;
/// Metric that the histogram rows of a state are filed under.
pub(crate) const STATE_HISTOGRAM_OWNER: Metric = metric::STATE_AGE;
/// Metric that the histogram rows of a job are filed under.
pub(crate) const JOB_HISTOGRAM_OWNER: Metric = metric::JOB_COMMIT_DURATION;
/// Source lines of a state that have a series each; the most frequent ones.
const SITES_MAX: usize = 32;

/// Histograms of an operator in the order of [`stateward_model::wire::OPERATOR_HISTOGRAMS`]; `None` where it has no timers.
pub(crate) fn operator_histograms(sample: &OperatorSample) -> Option<[Histogram; 2]> {
    let lateness = |clock: ClockKind| {
        let timers = sample.timers.iter().find(|timers| timers.clock == clock);
        timers.map(|timers| timers.lateness.clone()).unwrap_or_default()
    };
    let both = [ClockKind::EventTime, ClockKind::ProcessingTime];
    (!sample.timers.is_empty()).then(|| both.map(lateness))
}

/// Figures of a source; they have the label `source`.
pub(crate) fn source_figures(source: &SourceSample) -> [(Metric, f64); 3] {
    [
        (metric::JOB_SOURCE_RECORDS, source.records as f64),
        (metric::JOB_SOURCE_REJECTED, source.rejected as f64),
        (metric::JOB_SOURCE_FUTURE, source.future as f64),
    ]
}

/// Writes the one further label that a series may have; empty without.
pub(crate) fn extra_label(extra: Option<(&'static str, &'static str)>) -> String {
    extra.map(|(name, value)| label(name, value)).unwrap_or_default()
}

/// Writes several labels.
pub(crate) fn all_labels(labels: &[(&str, &str)]) -> String {
    labels.iter().map(|(name, value)| label(name, value)).collect::<Vec<_>>().join(",")
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
        report.job.histograms().map(Histogram::clone).to_vec(),
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
        for (metric, labels, value) in state.labelled_figures(SITES_MAX) {
            all.add_labelled(of, metric, all_labels(&labels), value);
        }
        histograms.push((
            owner(STATE_HISTOGRAM_OWNER, of.0, of.1),
            state.histograms().map(Histogram::clone).to_vec(),
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
        self.add_labelled(of, *metric, extra_label(*extra), *value);
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
