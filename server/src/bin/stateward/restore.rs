//! What a job is restored from, and the preview of it.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use stateward_engine::{Job, RestorePreview, RunOptions, StateFate, StatePreview};

use crate::table::table;
use crate::unit::{bytes, count, duration, instant, percent};
use crate::{Failure, Output, start};

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct RestoreArguments {
    /// Starts from a savepoint, or from the folder of a checkpoint; the job's folder must hold nothing
    /// yet.
    #[arg(long, value_name = "PATH")]
    from: Option<PathBuf>,
    /// Leaves behind what the job does not declare any more.
    #[arg(long, requires = "from")]
    allow_non_restored_state: bool,
    /// Restores although more than half of a state's entries are expired on arrival.
    #[arg(long, requires = "from")]
    confirm_expired: bool,
    /// Lets the clocks of processing-time states go after the wall clock by the outage.
    #[arg(long, requires = "from")]
    compensate_downtime: bool,
    /// Says what restoring would do, state by state, and does nothing.
    #[arg(long, requires = "from")]
    pub(crate) preview: bool,
    /// How the preview is printed.
    #[arg(long, value_enum, default_value_t, requires = "preview")]
    output: Output,
}

impl RestoreArguments {
    /// Whether there is something to restore.
    pub(crate) fn is_given(&self) -> bool {
        self.from.is_some()
    }

    pub(crate) fn apply(&self, mut options: RunOptions) -> RunOptions {
        if let Some(path) = &self.from {
            options = options.restore_from(path);
        }
        if self.allow_non_restored_state {
            options = options.allow_non_restored_state();
        }
        if self.confirm_expired {
            options = options.confirm_expired();
        }
        if self.compensate_downtime {
            options = options.compensate_downtime();
        }
        options
    }

    /// Prints what a restore would do; the answer is no where it would be refused.
    pub(crate) fn print_preview(&self, job: &Job, options: &RunOptions) -> Result<(), Failure> {
        let found = job.preview_restore(options).map_err(start::failure)?;
        let text = match self.output {
            Output::Table => report(&found),
            Output::Json => serde_json::to_string_pretty(&found).map_err(Failure::unable)? + "\n",
        };
        std::io::stdout().write_all(text.as_bytes()).map_err(Failure::unable)?;
        if found.refusals.is_empty() {
            return Ok(());
        }
        Err(Failure::no(format!("it would be refused: {}", advice(&found))))
    }
}

/// The refusals, with the flags that mean it.
fn advice(found: &RestorePreview) -> String {
    let mut flags = Vec::new();
    if !found.left_behind().is_empty() {
        flags.push("--allow-non-restored-state");
    }
    if found.mostly_dead().next().is_some() {
        flags.push("--confirm-expired");
        flags.push("--compensate-downtime");
    }
    format!("{} (flags: {})", found.refusals.join("; also "), flags.join(", "))
}

fn report(found: &RestorePreview) -> String {
    let mut text = format!(
        "{}: job {} at epoch {}, {} ({} ago); {} shards, then {}\n",
        found.path.display(),
        found.job_name,
        found.epoch,
        instant(found.wall_millis),
        duration(found.outage_millis),
        found.shards.0,
        found.shards.1
    );
    if found.compensated {
        text.push_str(
            "the outage is compensated: clocks of processing-time states go after by it\n",
        );
    }
    text.push('\n');
    let heads = [
        "state",
        "fate",
        "TTL",
        "entries",
        "logical",
        "dead on arrival",
        "dead bytes",
        "dies",
        "returns",
        "oldest",
    ];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    rows.extend(found.states.iter().map(row));
    text.push_str(&table(&rows));
    for state in found.states.iter().filter(|state| !state.implausible.is_empty()) {
        let stamps = state.implausible.join(", ");
        text.push_str(
            &format_args!("implausible stamps in {}: {stamps}\n", place(state)).to_string(),
        );
    }
    for name in &found.dropped {
        text.push_str(&format_args!("not restored: {name}\n").to_string());
    }
    text
}

fn place(state: &StatePreview) -> String {
    format!("{}/{}", state.operator, state.state)
}

fn ttl(millis: Option<i64>) -> String {
    millis.map_or_else(|| "none".into(), duration)
}

fn row(state: &StatePreview) -> Vec<String> {
    let fate = match state.fate {
        StateFate::Restored => "restored",
        StateFate::New => "new",
        StateFate::Dropped => "left behind",
        _ => "?",
    };
    let ttl = match (state.stored_ttl_millis, state.ttl_millis) {
        (stored, now) if stored == now => ttl(now),
        (_, now) if state.fate == StateFate::New => ttl(now),
        (stored, _) if state.fate == StateFate::Dropped => ttl(stored),
        (stored, now) => format!("{} -> {}", ttl(stored), ttl(now)),
    };
    // what does not apply is no 0
    let known = |value: Option<u64>| value.map_or_else(|| "-".into(), count);
    let dead = state.dead_on_arrival.map_or_else(
        || "-".into(),
        |dead| format!("{} ({})", count(dead), percent(dead, state.entries)),
    );
    vec![
        place(state),
        fate.into(),
        ttl,
        count(state.entries),
        bytes(state.logical_bytes),
        dead,
        state.dead_bytes.map_or_else(|| "-".into(), bytes),
        known(state.dies),
        known(state.returns),
        state.oldest_millis.map_or_else(|| "-".into(), instant),
    ]
}
