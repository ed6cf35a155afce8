//! Runs a job that a test kills: `crash-job <plan> <data folder> <input>`.
//!
//! Plans: `flow`, the job with two exchanges, to its end; `count`, a small job, and `timers`, one with timers, to their ends; `plain`, the job with a breaker, to its
//! end without touching it; `trip`, the same, but its breaker is tripped after a few epochs and the
//! job stops when all input has arrived; `reset`, the breaker is reset, and the job runs to its end.

use std::path::{Path, PathBuf};

use anyhow::Context;
use stateward_engine::{Action, JobHandle};
use stateward_model::breaker::Phase;
use stateward_tests::crash::{
    BREAKER_OPEN_FILE, COUNT, OUTCOME_FILE, Outcome, RECOVERED_FILE, SHARDS_VARIABLE, TIMERS,
    TRIPPED_FILE, TURN, WRITER, breaker_job, breaker_options, check_conservation, count_job,
    count_options, flow_job, flow_options, timer_job, timer_options, wait_for,
};

/// Turns of waiting between two looks at the figures, which cost a walk through the folder.
const TURNS_A_CHECK: usize = 20;
/// Epochs that pass before the breaker is tripped.
const EPOCHS_UNTRIPPED: u64 = 4;

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [plan, data_dir, input] = arguments.as_slice() else {
        anyhow::bail!("usage: crash-job <plan> <data folder> <input>");
    };
    let (data_dir, input) = (PathBuf::from(data_dir), PathBuf::from(input));
    match plan.as_str() {
        "flow" => {
            let shards = match std::env::var(SHARDS_VARIABLE) {
                Ok(text) => text.parse().context(SHARDS_VARIABLE)?,
                Err(_) => 2,
            };
            let handle = flow_job(&input, shards)?.start(flow_options(&data_dir))?;
            std::fs::write(data_dir.join(RECOVERED_FILE), handle.epoch().to_string())?;
            to_its_end(handle, &data_dir)
        }
        COUNT => {
            let handle = count_job(&input)?.start(count_options(&data_dir))?;
            std::fs::write(data_dir.join(RECOVERED_FILE), handle.epoch().to_string())?;
            Ok(handle.wait()?)
        }
        TIMERS => {
            let handle = timer_job(&input)?.start(timer_options(&data_dir))?;
            Ok(handle.wait()?)
        }
        "plain" | "trip" | "reset" => {
            let handle = breaker_job(&input)?.start(breaker_options(&data_dir))?;
            let breaker = || -> anyhow::Result<Phase> {
                let report = handle.figures();
                let state = report.states.iter().find(|state| state.state == "b");
                Ok(state.context("state b is not reported")?.breaker.phase)
            };
            std::fs::write(data_dir.join(RECOVERED_FILE), handle.epoch().to_string())?;
            let open_file = data_dir.join(BREAKER_OPEN_FILE);
            match breaker()? {
                Phase::Closed if open_file.exists() => std::fs::remove_file(&open_file)?,
                Phase::Closed => {}
                _ => std::fs::write(&open_file, "")?,
            }
            if plan == "trip" {
                if breaker()? == Phase::Closed {
                    let from = handle.epoch();
                    wait_for("some epochs", || {
                        anyhow::ensure!(!handle.has_ended(), "it ended before it was tripped");
                        Ok((handle.epoch() >= from + EPOCHS_UNTRIPPED).then_some(()))
                    })?;
                    handle.trip(WRITER, "b", Action::Divert, "test", "it grows")?;
                    std::fs::write(data_dir.join(TRIPPED_FILE), "")?;
                }
                wait_for("all input", || {
                    anyhow::ensure!(!handle.has_ended(), "it ended with a breaker open");
                    check_conservation(&handle)?;
                    let report = handle.figures();
                    let at_end = |source: &stateward_model::wire::SourceSample| source.finished;
                    let read: u64 = report.job.sources.iter().map(|source| source.records).sum();
                    let arrived: u64 = report.operators.iter().map(|o| o.arrived).sum();
                    let sources = &report.job.sources;
                    Ok((sources.iter().any(at_end) && read == arrived).then_some(()))
                })?;
                handle.stop();
            } else if plan == "reset" && breaker()? != Phase::Closed {
                handle.reset(WRITER, "b", "test", "it is mended")?;
            }
            to_its_end(handle, &data_dir)
        }
        other => anyhow::bail!("unknown plan {other}"),
    }
}

/// Waits for the end and writes down what was seen until then.
fn to_its_end(handle: JobHandle, data_dir: &Path) -> anyhow::Result<()> {
    let edges = handle.hello().edges;
    let mut overflowed = false;
    while !handle.has_ended() {
        check_conservation(&handle)?;
        for _ in 0..TURNS_A_CHECK {
            overflowed |= has_overflow(data_dir);
            std::thread::park_timeout(TURN);
        }
    }
    let report = handle.figures();
    handle.wait()?;
    let exchanges = edges.iter().filter(|edge| edge.exchange).count();
    let outcome = Outcome { report, exchanges, overflowed };
    Ok(std::fs::write(data_dir.join(OUTCOME_FILE), serde_json::to_vec_pretty(&outcome)?)?)
}

/// Tells whether a write cache has an overflow at the moment.
fn has_overflow(data_dir: &Path) -> bool {
    let state = data_dir.join("jobs/flow/state");
    (0..2).any(|shard| {
        let entries = std::fs::read_dir(state.join(format!("shard-{shard}")));
        let mut names = entries.into_iter().flatten().flatten().map(|entry| entry.file_name());
        names.any(|name| name.to_string_lossy().starts_with("overflow-"))
    })
}
