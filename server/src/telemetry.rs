//! The server's own metrics, named by the catalogue.

use prometheus::{
    Encoder, Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGaugeVec, Opts, Registry,
    TextEncoder,
};
use stateward_model::metric::{self, Metric};

/// The server's metrics; handles are resolved once.
#[derive(Debug)]
pub(crate) struct Telemetry {
    registry: Registry,
    /// Reports by outcome.
    pub(crate) reports: IntCounterVec,
    /// Samples stored.
    pub(crate) samples: IntCounter,
    /// From arrival to acknowledgement.
    pub(crate) ingest_duration: Histogram,
    /// Alert instances by phase.
    pub(crate) alerts: IntGaugeVec,
    /// Durations of alert evaluations.
    pub(crate) evaluation_duration: Histogram,
}

impl Telemetry {
    /// Registers everything.
    pub(crate) fn new() -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let reports = IntCounterVec::new(options(metric::SERVER_REPORTS), &["outcome"])?;
        for outcome in ["stored", "duplicate", "refused"] {
            reports.with_label_values(&[outcome]);
        }
        let samples = IntCounter::with_opts(options(metric::SERVER_SAMPLES))?;
        let alerts = IntGaugeVec::new(options(metric::SERVER_ALERTS), &["phase"])?;
        let ingest_duration = histogram(metric::SERVER_INGEST_DURATION)?;
        let evaluation_duration = histogram(metric::SERVER_EVALUATION_DURATION)?;
        registry.register(Box::new(reports.clone()))?;
        registry.register(Box::new(samples.clone()))?;
        registry.register(Box::new(alerts.clone()))?;
        registry.register(Box::new(ingest_duration.clone()))?;
        registry.register(Box::new(evaluation_duration.clone()))?;
        Ok(Self { registry, reports, samples, ingest_duration, alerts, evaluation_duration })
    }

    /// Counts a report by outcome.
    pub(crate) fn count_report(&self, outcome: &str) {
        self.reports.with_label_values(&[outcome]).inc();
    }

    /// Returns the exposition.
    pub(crate) fn exposition(&self) -> Result<String, prometheus::Error> {
        let mut text = Vec::new();
        TextEncoder::new().encode(&self.registry.gather(), &mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

fn options(metric: Metric) -> Opts {
    Opts::new(metric.name, metric.help)
}

fn histogram(metric: Metric) -> Result<Histogram, prometheus::Error> {
    let buckets = prometheus::exponential_buckets(0.000_5, 2.0, 16)?;
    Histogram::with_opts(HistogramOpts::new(metric.name, metric.help).buckets(buckets))
}
