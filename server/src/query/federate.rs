//! The latest figures of all live jobs as Prometheus text. A silent engine's figures are left out,
//! so that a scraper sees them end.

use std::collections::BTreeMap;

use stateward_model::metric::{self, Kind, Metric};
use stateward_model::wire::{JOB_HISTOGRAMS, Report, STATE_HISTOGRAMS};
use stateward_model::{HISTOGRAM_BUCKETS, Histogram, bucket_lower_bound};

use crate::catalog::Job;
use crate::core::Core;
use crate::ingest::{all_labels, extra_label, label, source_figures};

/// Buckets are exposed up to every power of two: the same bounds for every series, so that they add
/// up across states.
const BUCKETS_PER_BOUND: usize = 4;

/// Writes the exposition.
pub(crate) fn federate(core: &Core) -> String {
    let now_millis = core.clock.now_millis();
    let mut lines: BTreeMap<&'static str, String> = BTreeMap::new();
    for job in core.catalog.jobs().values() {
        if job.silent_since_millis(now_millis).is_none()
            && let Some(report) = job.report.as_deref()
        {
            Exposition { lines: &mut lines, labels: job_labels(job) }.job(report);
        }
    }
    let mut text = String::new();
    for metric in metric::ALL {
        if let Some(lines) = lines.get(metric.name) {
            let kind = match metric.kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Histogram => "histogram",
            };
            let help = metric.help.replace('\\', "\\\\");
            let name = metric.name;
            text.extend(["# HELP ", name, " ", &help, "\n# TYPE ", name, " ", kind, "\n", lines]);
        }
    }
    text
}

fn job_labels(job: &Job) -> String {
    format!("{},{}", label("namespace", &job.run.job.0), label("job_name", &job.run.job.1))
}

struct Exposition<'a> {
    lines: &'a mut BTreeMap<&'static str, String>,
    labels: String,
}

impl Exposition<'_> {
    fn job(&mut self, report: &Report) {
        for (metric, extra, value) in report.job.figures() {
            self.sample(metric, "", &extra_label(extra), value);
        }
        for source in &report.job.sources {
            for (metric, value) in source_figures(source) {
                self.sample(metric, "", &label("source", &source.source), value);
            }
        }
        for ((metric, extra), histogram) in JOB_HISTOGRAMS.iter().zip(report.job.histograms()) {
            self.histogram(*metric, "", &extra_label(*extra), histogram);
        }
        for operator in &report.operators {
            let of = label("operator", &operator.operator);
            for (metric, extra, value) in operator.figures() {
                self.sample(metric, &of, &extra_label(extra), value);
            }
            for timers in &operator.timers {
                let clock = label("clock", timers.clock_label());
                self.histogram(metric::OPERATOR_TIMER_LATENESS, &of, &clock, &timers.lateness);
            }
        }
        for state in &report.states {
            let of =
                format!("{},{}", label("operator", &state.operator), label("state", &state.state));
            for (metric, extra, value) in state.figures() {
                self.sample(metric, &of, &extra_label(extra), value);
            }
            for (metric, labels, value) in state.labelled_figures(usize::MAX) {
                self.sample(metric, &of, &all_labels(&labels), value);
            }
            for ((metric, extra), histogram) in STATE_HISTOGRAMS.iter().zip(state.histograms()) {
                self.histogram(*metric, &of, &extra_label(*extra), histogram);
            }
        }
    }

    fn sample(&mut self, metric: Metric, of: &str, extra: &str, value: f64) {
        self.line(metric, "", of, extra, value);
    }

    fn line(&mut self, metric: Metric, suffix: &str, of: &str, extra: &str, value: f64) {
        let mut labels = self.labels.clone();
        for more in [of, extra].into_iter().filter(|more| !more.is_empty()) {
            labels.push(',');
            labels.push_str(more);
        }
        let lines = self.lines.entry(metric.name).or_default();
        let value = value.to_string();
        lines.extend([metric.name, suffix, "{", &labels, "} ", &value, "\n"]);
    }

    fn histogram(&mut self, metric: Metric, of: &str, extra: &str, histogram: &Histogram) {
        let scale = metric.units_per_base();
        let with = |le: &str| match extra {
            "" => label("le", le),
            extra => format!("{extra},{}", label("le", le)),
        };
        let mut buckets = histogram.buckets.iter().peekable();
        let mut seen = 0;
        for end in (BUCKETS_PER_BOUND..HISTOGRAM_BUCKETS).step_by(BUCKETS_PER_BOUND) {
            while let Some((_, count)) = buckets.next_if(|(b, _)| usize::from(*b) < end) {
                seen += count;
            }
            // values are whole numbers below the bound
            let le = (bucket_lower_bound(end) - 1) as f64 / scale;
            self.line(metric, "_bucket", of, &with(&le.to_string()), seen as f64);
        }
        let count = histogram.count() as f64;
        self.line(metric, "_bucket", of, &with("+Inf"), count);
        self.line(metric, "_sum", of, extra, histogram.sum as f64 / scale);
        self.line(metric, "_count", of, extra, count);
    }
}
