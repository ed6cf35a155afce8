//! A report in Prometheus's text format, for whoever scrapes a job without a server.

use std::collections::BTreeMap;

use prometheus::proto::{Bucket, LabelPair, MetricFamily, MetricType};
use prometheus::{Encoder, TextEncoder};
use stateward_model::metric::{self, Kind, Metric};
use stateward_model::wire::{Hello, JOB_HISTOGRAMS, Report, STATE_HISTOGRAMS};
use stateward_model::{HISTOGRAM_BUCKETS, Histogram, bucket_lower_bound};

type Families = BTreeMap<&'static str, MetricFamily>;

/// Renders a job's figures in Prometheus's text exposition format.
pub fn exposition(hello: &Hello, report: &Report) -> String {
    let mut families = Families::new();
    let job = [("namespace", hello.namespace.as_str()), ("job_name", hello.job_name.as_str())];
    for (metric, extra, value) in report.job.figures() {
        add(&mut families, &metric, &job, extra, value);
    }
    for ((metric, extra), histogram) in JOB_HISTOGRAMS.iter().zip(report.job.histograms()) {
        add_histogram(&mut families, metric, &job, *extra, histogram);
    }
    for source in &report.job.sources {
        let label = Some(("source", source.source.as_str()));
        add(&mut families, &metric::JOB_SOURCE_RECORDS, &job, label, source.records as f64);
        add(&mut families, &metric::JOB_SOURCE_REJECTED, &job, label, source.rejected as f64);
        add(&mut families, &metric::JOB_SOURCE_FUTURE, &job, label, source.future as f64);
    }
    for operator in &report.operators {
        let labels = [job[0], job[1], ("operator", operator.operator.as_str())];
        for (metric, extra, value) in operator.figures() {
            add(&mut families, &metric, &labels, extra, value);
        }
        for timers in &operator.timers {
            let clock = Some(("clock", timers.clock_label()));
            let (metric, lateness) = (metric::OPERATOR_TIMER_LATENESS, &timers.lateness);
            add_histogram(&mut families, &metric, &labels, clock, lateness);
        }
    }
    for state in &report.states {
        let operator = ("operator", state.operator.as_str());
        let labels = [job[0], job[1], operator, ("state", state.state.as_str())];
        for (metric, extra, value) in state.figures() {
            add(&mut families, &metric, &labels, extra, value);
        }
        for ((metric, extra), histogram) in STATE_HISTOGRAMS.iter().zip(state.histograms()) {
            add_histogram(&mut families, metric, &labels, *extra, histogram);
        }
        for (metric, extra, value) in state.labelled_figures(usize::MAX) {
            let labels: Vec<(&str, &str)> = labels.iter().copied().chain(extra).collect();
            add(&mut families, &metric, &labels, None, value);
        }
    }
    let families: Vec<MetricFamily> = families.into_values().collect();
    let mut text = Vec::new();
    if let Err(e) = TextEncoder::new().encode(&families, &mut text) {
        tracing::warn!(error = %e, "metrics cannot be rendered");
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn family<'a>(families: &'a mut Families, metric: &Metric) -> &'a mut MetricFamily {
    families.entry(metric.name).or_insert_with(|| {
        let mut family = MetricFamily::default();
        family.set_name(metric.name.to_owned());
        family.set_help(metric.help.to_owned());
        family.set_field_type(match metric.kind {
            Kind::Counter => MetricType::COUNTER,
            Kind::Gauge => MetricType::GAUGE,
            Kind::Histogram => MetricType::HISTOGRAM,
        });
        family
    })
}

fn sample(labels: &[(&str, &str)], extra: Option<(&str, &str)>) -> prometheus::proto::Metric {
    let pairs = labels.iter().copied().chain(extra).map(|(name, value)| {
        let mut pair = LabelPair::default();
        pair.set_name(name.to_owned());
        pair.set_value(value.to_owned());
        pair
    });
    prometheus::proto::Metric::from_label(pairs.collect())
}

fn add(
    families: &mut Families,
    metric: &Metric,
    labels: &[(&str, &str)],
    extra: Option<(&str, &str)>,
    value: f64,
) {
    let mut one = sample(labels, extra);
    if metric.kind == Kind::Counter {
        let mut counter = prometheus::proto::Counter::default();
        counter.set_value(value);
        one.set_counter(counter);
    } else {
        let mut gauge = prometheus::proto::Gauge::default();
        gauge.set_value(value);
        one.set_gauge(gauge);
    }
    family(families, metric).mut_metric().push(one);
}

fn add_histogram(
    families: &mut Families,
    metric: &Metric,
    labels: &[(&str, &str)],
    extra: Option<(&str, &str)>,
    histogram: &Histogram,
) {
    let unit = metric.units_per_base().recip();
    let mut dense = prometheus::proto::Histogram::default();
    dense.set_sample_count(histogram.count());
    dense.set_sample_sum(histogram.sum as f64 * unit);
    let mut below = 0;
    let mut buckets = Vec::new();
    for &(bucket, count) in &histogram.buckets {
        below += count;
        let next = usize::from(bucket) + 1;
        if next >= HISTOGRAM_BUCKETS {
            continue;
        }
        let mut one = Bucket::default();
        one.set_upper_bound(bucket_lower_bound(next) as f64 * unit);
        one.set_cumulative_count(below);
        buckets.push(one);
    }
    dense.set_bucket(buckets);
    let mut one = sample(labels, extra);
    one.set_histogram(dense);
    family(families, metric).mut_metric().push(one);
}
