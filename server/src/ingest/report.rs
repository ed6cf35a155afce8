//! An engine reports.

use std::sync::Arc;

use stateward_model::wire::{Report, ReportReply};

use super::decode::{check_declared, decode_report};
use super::samples::batch_of;
use crate::catalog::{Baselines, Run, with_new_baselines};
use crate::control::progress::{self, Moved};
use crate::core::Core;
use crate::db::control::event;
use crate::db::control::run::{self, Place, Progress};
use crate::error::ApiError;
use crate::live::LiveEvent;
use crate::series::Stored;

/// Figures from further ahead of the server's clock than this are stored at the server's time.
const AHEAD_MILLIS_MAX: i64 = 300_000;

/// Stores a report and acknowledges it. Runs to its end even if the caller goes away.
pub(crate) async fn report(core: &Arc<Core>, body: &[u8]) -> Result<ReportReply, ApiError> {
    let timer = core.telemetry.ingest_duration.start_timer();
    let (task_core, body) = (Arc::clone(core), body.to_vec());
    let stored = tokio::spawn(async move { store(&task_core, body).await }).await;
    let reply = stored.unwrap_or_else(|error| {
        tracing::error!(%error, "storing a report failed");
        Err(ApiError::new(
            stateward_model::ProblemKind::Internal,
            "storing the report failed; send it again",
        ))
    });
    timer.observe_duration();
    core.telemetry.count_report(match &reply {
        Ok(reply) if reply.duplicate => "duplicate",
        Ok(_) => "stored",
        Err(_) => "refused",
    });
    reply
}

async fn store(core: &Core, body: Vec<u8>) -> Result<ReportReply, ApiError> {
    let report = decode_report(&body, core.config.body_bytes_max)?;
    let run = core.catalog.run(&report.run).ok_or_else(|| {
        ApiError::not_found(format!("run {} is not known here; send hello first", report.run))
    })?;
    let lock = core.run_lock(&report.run);
    let guard = lock.lock().await;
    check_current(core, &run, &report)?;
    check_declared(&run.hello, &report)?;
    let now_millis = core.clock.now_millis();
    let (baselines, changed) = baselines(core, &run, &report)?;
    let report = Arc::new(report);
    let (place, moved) =
        store_control(core, &run, Arc::clone(&report), body, changed, now_millis).await?;
    if place == Place::InGap {
        return Err(ApiError::conflict(format!(
            "report {} of run {} comes after a later one, and was recorded as missing; send \
             reports in order",
            report.seq, report.run
        )));
    }
    let ahead = report.wall_millis - now_millis > AHEAD_MILLIS_MAX;
    let wall_millis = if ahead { now_millis } else { report.wall_millis };
    let batch = batch_of(&run.job, &report, wall_millis, now_millis);
    let samples = batch.samples.len() as u64;
    let stored = core.series.append(batch).await?;
    let duplicate = place == Place::Duplicate && stored == Stored::Duplicate;
    if !duplicate {
        core.telemetry.samples.inc_by(samples);
        core.catalog.take(run.id, Arc::clone(&report), now_millis, baselines);
    }
    drop(guard);
    core.tell_reported(&format!("{}/{}", run.job.0, run.job.1), now_millis);
    for Moved { of, version } in moved {
        core.tell(LiveEvent::Command { of, version });
    }
    Ok(ReportReply { seq: report.seq, duplicate })
}

/// Refuses a run that reports on although a newer one of its job has started: their counters would
/// mix. What an earlier run measured before that is taken.
fn check_current(core: &Core, run: &Run, report: &Report) -> Result<(), ApiError> {
    let jobs = core.catalog.jobs();
    let Some(job) = jobs.get(&run.job) else { return Ok(()) };
    let current = &job.run.hello;
    if job.run.id == run.id || report.wall_millis <= current.started_millis {
        return Ok(());
    }
    Err(ApiError::conflict(format!(
        "run {} of job {}/{} was replaced by run {}; stop the older process, or give the jobs \
         different names",
        report.run, run.job.0, run.job.1, current.run
    )))
}

/// The baselines with those of this report, and their JSON where they changed.
fn baselines(
    core: &Core,
    run: &Run,
    report: &Report,
) -> Result<(Arc<Baselines>, Option<String>), ApiError> {
    let known = {
        let jobs = core.catalog.jobs();
        let current = jobs.get(&run.job).filter(|job| job.run.id == run.id);
        current.map(|job| Arc::clone(&job.baselines)).unwrap_or_default()
    };
    let Some(changed) = with_new_baselines(&known, report) else { return Ok((known, None)) };
    let json = serde_json::to_string(&changed)
        .map_err(|error| ApiError::bad_request(format!("the figures cannot be kept: {error}")))?;
    Ok((Arc::new(changed), Some(json)))
}

async fn store_control(
    core: &Core,
    run: &Run,
    report: Arc<Report>,
    body: Vec<u8>,
    baseline: Option<String>,
    now_millis: i64,
) -> Result<(Place, Vec<Moved>), ApiError> {
    let progress = Progress {
        run_id: run.id,
        seq: report.seq as i64,
        received_millis: now_millis,
        report: body,
        baseline,
    };
    let job = run.job.clone();
    let written = core
        .control
        .writer
        .run(move |connection| {
            Box::pin(async move {
                let place = run::advance(connection, progress).await?;
                let mut moved = Vec::new();
                if place == Place::New {
                    for event in &report.events {
                        event::insert(connection, &job.0, &job.1, event).await?;
                    }
                    for step in &report.commands {
                        moved.extend(progress::take(connection, &job, step, now_millis).await?);
                    }
                }
                Ok((place, moved))
            })
        })
        .await?;
    Ok(written)
}
