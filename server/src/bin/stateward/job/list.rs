//! `stateward job list`.

use std::path::PathBuf;

use clap::Args;
use stateward_engine::{JobSummary, list_jobs};

use crate::table::table;
use crate::unit::{bytes, count, instant};
use crate::{Failure, Output};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Folder that keeps the jobs.
    #[arg(long, value_name = "DIR", default_value = "stateward-data")]
    data_dir: PathBuf,
    /// How to print.
    #[arg(long, value_enum, default_value_t)]
    output: Output,
}

pub(super) fn answer(arguments: &Arguments) -> Result<String, Failure> {
    let jobs = list_jobs(&arguments.data_dir).map_err(Failure::unable)?;
    match arguments.output {
        Output::Table if jobs.is_empty() => Err(Failure::no(format!(
            "no job in {}; --data-dir gives another folder",
            arguments.data_dir.display()
        ))),
        Output::Table => Ok(report(&jobs)),
        Output::Json => Ok(serde_json::to_string_pretty(&jobs).map_err(Failure::unable)? + "\n"),
    }
}

fn report(jobs: &[JobSummary]) -> String {
    let heads =
        ["job", "runs", "epoch", "shards", "states", "entries", "logical", "folder", "checkpoint"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(jobs.iter().map(row));
    let mut text = table(&rows);
    for job in jobs {
        for savepoint in &job.savepoints {
            text.push_str(&savepoint.path.display().to_string());
            text.push_str(": epoch ");
            text.push_str(&savepoint.epoch.to_string());
            text.push_str(" of ");
            text.push_str(&instant(savepoint.wall_millis));
            text.push_str(", ");
            text.push_str(&bytes(savepoint.file_bytes));
            text.push('\n');
        }
        for why in &job.unread {
            text.push_str(&job.name);
            text.push_str(": ");
            text.push_str(why);
            text.push('\n');
        }
    }
    text
}

fn row(job: &JobSummary) -> Vec<String> {
    let known = |value: Option<String>| value.unwrap_or_else(|| "-".into());
    vec![
        job.name.clone(),
        if job.running { "yes" } else { "no" }.into(),
        known(job.epoch.map(count)),
        job.shards.to_string(),
        job.states.to_string(),
        known(job.entries.map(count)),
        known(job.logical_bytes.map(bytes)),
        bytes(job.folder_bytes),
        known(job.checkpoint_millis.map(instant)),
    ]
}
