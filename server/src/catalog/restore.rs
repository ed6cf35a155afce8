//! Rebuilding the memory at the start.

use std::collections::BTreeMap;
use std::sync::Arc;

use stateward_model::ClockKind;
use stateward_model::metric::{self, Metric};
use stateward_model::wire::{Hello, Report, StateDeclaration};

use super::{Catalog, Flows, Recent};
use crate::db::control::run;
use crate::db::series::key::SeriesKey;
use crate::db::{Database, DbError};
use crate::ingest::decode_stored;
use crate::series::{JobKey, Sample, SeriesStore};

/// Samples of this long before the last report are read: a day of growth and a bit.
const HISTORY_MILLIS: i64 = 25 * 3_600_000;
/// Flow counters of this long.
const FLOWS_MILLIS: i64 = 310_000;

/// Reads hellos, last reports and recent samples.
pub(crate) async fn restore(
    control: &Database,
    series: &SeriesStore,
    body_bytes_max: usize,
) -> Result<Catalog, DbError> {
    let catalog = Catalog::default();
    let mut last = BTreeMap::new();
    for row in run::list(&control.readers).await? {
        let hello: Hello = serde_json::from_str(&row.hello)
            .map_err(|error| DbError::damaged("run.hello", error))?;
        let hello = Arc::new(hello);
        catalog.hear(row.id, Arc::clone(&hello));
        let job: JobKey = (hello.namespace.to_string(), hello.job_name.to_string());
        last.insert(job, row);
    }
    for (job, row) in last {
        let (Some(bytes), Some(received_millis)) = (row.report, row.received_millis) else {
            continue;
        };
        let report: Report = decode_stored(&bytes, body_bytes_max)?;
        let baselines = serde_json::from_str(&row.baseline)
            .map_err(|error| DbError::damaged("run.baseline", error))?;
        let recent = recent_of_job(&catalog, series, &job, report.wall_millis).await?;
        catalog.set_recent(&job, recent);
        catalog.take(row.id, Arc::new(report), received_millis, Arc::new(baselines));
    }
    Ok(catalog)
}

async fn recent_of_job(
    catalog: &Catalog,
    series: &SeriesStore,
    job: &JobKey,
    to_millis: i64,
) -> Result<BTreeMap<super::StateKey, Recent>, DbError> {
    let declarations = catalog.jobs().get(job).map(|job| job.run.hello.states.clone());
    let mut all = BTreeMap::new();
    for declaration in declarations.unwrap_or_default() {
        let recent = recent_of_state(series, job, &declaration, to_millis).await?;
        all.insert((declaration.operator.to_string(), declaration.state.to_string()), recent);
    }
    Ok(all)
}

/// The last sample is left out: the last report brings it.
async fn recent_of_state(
    series: &SeriesStore,
    job: &JobKey,
    of: &StateDeclaration,
    to_millis: i64,
) -> Result<Recent, DbError> {
    let mut recent = Recent::default();
    let state = Some(of.state.as_str());
    let read = async |metric: Metric, state: Option<&str>, labels: &str, millis: i64| {
        samples(series, job, of, metric, state, labels, (to_millis - millis, to_millis - 1)).await
    };
    let reads = read(metric::STATE_READS, state, "", FLOWS_MILLIS).await?;
    let writes = read(metric::STATE_WRITES, state, "", FLOWS_MILLIS).await?;
    let misses = metric::STATE_TTL_MISSES;
    let present = read(misses, state, "present=\"true\"", FLOWS_MILLIS).await?;
    let absent = read(misses, state, "present=\"false\"", FLOWS_MILLIS).await?;
    for sample in &reads {
        let at = |other: &[Sample]| at_or_before(other, sample.millis).unwrap_or(0.0) as u64;
        let flows = Flows {
            reads: sample.value as u64,
            misses: at(&present) + at(&absent),
            writes: at(&writes),
        };
        recent.push_flows(sample.millis, flows);
    }
    let sizes = read(metric::STATE_LOGICAL_BYTES, state, "", HISTORY_MILLIS).await?;
    let watermarks = match of.clock {
        ClockKind::EventTime => read(metric::OPERATOR_WATERMARK, None, "", HISTORY_MILLIS).await?,
        ClockKind::ProcessingTime => Vec::new(),
    };
    for sample in &sizes {
        recent.push_size(sample.millis, sample.value);
        let clock_millis = match of.clock {
            ClockKind::ProcessingTime => Some(sample.millis),
            ClockKind::EventTime => {
                at_or_before(&watermarks, sample.millis).map(|seconds| (seconds * 1e3) as i64)
            }
        };
        if let Some(clock_millis) = clock_millis {
            recent.push_growth(clock_millis, sample.value);
        }
    }
    Ok(recent)
}

async fn samples(
    series: &SeriesStore,
    job: &JobKey,
    of: &StateDeclaration,
    metric: Metric,
    state: Option<&str>,
    labels: &str,
    (from_millis, to_millis): (i64, i64),
) -> Result<Vec<Sample>, DbError> {
    let key = SeriesKey {
        metric: metric.name.to_owned(),
        namespace: job.0.clone(),
        job_name: job.1.clone(),
        operator: of.operator.to_string(),
        state: state.unwrap_or_default().to_owned(),
        labels: labels.to_owned(),
    };
    match series.find(&key) {
        Some(id) => series.read(id, from_millis, to_millis, false).await,
        None => Ok(Vec::new()),
    }
}

fn at_or_before(samples: &[Sample], millis: i64) -> Option<f64> {
    let behind = samples.partition_point(|s| s.millis <= millis);
    samples.get(behind.checked_sub(1)?).map(|s| s.value)
}
