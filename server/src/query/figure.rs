//! What a chart can draw: names of figures, and what each is made from.

use stateward_model::metric::{self, Kind, Metric, Scope};

use crate::error::ApiError;

/// Shortest window of a rate on a chart.
const RATE_WINDOW_MILLIS: i64 = 15_000;
/// Shortest window of a ratio on a chart.
const RATIO_WINDOW_MILLIS: i64 = 60_000;

/// What a line is made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    /// The mean of a gauge.
    Gauge(Metric),
    /// A counter's growth a second.
    Rate(Metric),
    /// TTL misses / reads.
    MissRatio,
    /// The 99th percentile of what a histogram observed.
    Quantile(Metric),
}

/// Short names, as [`stateward_model::view::SeriesQuery::figure`] lists them.
const SHORT: [(&str, Figure); 9] = [
    ("logical_bytes", Figure::Gauge(metric::STATE_LOGICAL_BYTES)),
    ("disk_bytes", Figure::Gauge(metric::STATE_DISK_BYTES)),
    ("entries", Figure::Gauge(metric::STATE_ENTRIES)),
    ("miss_ratio", Figure::MissRatio),
    ("writes_per_second", Figure::Rate(metric::STATE_WRITES)),
    ("reads_per_second", Figure::Rate(metric::STATE_READS)),
    ("debt_bytes", Figure::Gauge(metric::STATE_DEBT_BYTES)),
    ("spill_pending", Figure::Gauge(metric::OPERATOR_SPILL_PENDING)),
    ("commit_seconds", Figure::Quantile(metric::JOB_COMMIT_DURATION)),
];

impl Figure {
    /// Finds a figure by its short name or by the full name of a metric.
    pub(crate) fn parse(name: &str) -> Result<Self, ApiError> {
        let short = SHORT.iter().find(|(known, _)| *known == name).map(|(_, figure)| *figure);
        let full = || metric::by_name(name).filter(|metric| metric.scope != Scope::Server);
        short.or_else(|| full().map(|metric| Self::of(*metric))).ok_or_else(|| {
            let names: Vec<&str> = SHORT.iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            ApiError::bad_request(format!(
                "figure={name:?}: use one of {names}, or the full name of a metric of the catalogue"
            ))
        })
    }

    fn of(metric: Metric) -> Self {
        match metric.kind {
            Kind::Counter => Self::Rate(metric),
            Kind::Gauge => Self::Gauge(metric),
            Kind::Histogram => Self::Quantile(metric),
        }
    }

    /// What it belongs to.
    pub(crate) fn scope(self) -> Scope {
        match self {
            Self::Gauge(metric) | Self::Rate(metric) | Self::Quantile(metric) => metric.scope,
            Self::MissRatio => Scope::State,
        }
    }

    /// Unit of its values.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::Gauge(metric) | Self::Quantile(metric) => metric.unit,
            Self::Rate(metric) if metric.unit == "bytes" => "bytes/s",
            Self::Rate(_) => "1/s",
            Self::MissRatio => "ratio",
        }
    }

    /// Window of its rates at a step.
    pub(crate) fn window_millis(self, step_millis: i64) -> i64 {
        match self {
            Self::MissRatio => step_millis.max(RATIO_WINDOW_MILLIS),
            _ => step_millis.max(RATE_WINDOW_MILLIS),
        }
    }
}
