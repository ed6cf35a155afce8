//! The jobs.

use stateward_model::view::JobRow;

use crate::catalog::Job;
use crate::core::Core;

/// Lists all jobs by name.
pub(crate) fn jobs(core: &Core) -> Vec<JobRow> {
    let now_millis = core.clock.now_millis();
    core.catalog.jobs().values().map(|job| row(job, now_millis)).collect()
}

fn row(job: &Job, now_millis: i64) -> JobRow {
    let hello = &job.run.hello;
    let report = job.report.as_deref();
    let wall_millis = report.map(|report| report.wall_millis);
    let sample = report.map(|report| report.job.clone()).unwrap_or_default();
    let states = report.map(|report| report.states.as_slice()).unwrap_or_default();
    JobRow {
        namespace: job.run.job.0.clone(),
        job_name: job.run.job.1.clone(),
        run: hello.run.clone(),
        started_millis: hello.started_millis,
        parallelism: hello.parallelism,
        states: hello.states.len() as u32,
        logical_bytes: states.iter().map(|state| state.stock.logical_bytes).sum(),
        epoch: sample.epoch,
        commit_p99_micros: sample.commit_micros.quantile(0.99),
        checkpoint_millis: sample.checkpoint_millis,
        changelog_bytes: sample.changelog_bytes,
        folder_bytes: sample.folder_bytes,
        replay_factor: if report.is_some() { sample.replay_factor } else { hello.replay_factor },
        sources: sample.sources,
        operators: report.map(|report| report.operators.clone()).unwrap_or_default(),
        clock_offset_millis: wall_millis.zip(job.received_millis).map_or(0, |(at, got)| at - got),
        build_id: hello.build_id.clone(),
        silent_since_millis: job.silent_since_millis(now_millis),
        ended: sample.ended,
    }
}
