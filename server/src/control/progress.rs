//! How far commands get: what engines report, and who did not answer in time.

use sqlx::SqliteConnection;
use stateward_model::wire::{CommandPhase, CommandProgress};

use crate::core::Core;
use crate::db::DbError;
use crate::db::control::audit::{self, Entry};
use crate::db::control::command::{self, is_final};
use crate::live::LiveEvent;
use crate::series::JobKey;

/// A live engine that has not taken a command for this long does not answer.
const TIMEOUT_MILLIS: i64 = 30_000;

/// A command that got further.
#[derive(Debug)]
pub(crate) struct Moved {
    /// `namespace/job_name/operator/state`.
    pub(crate) of: String,
    /// Its version.
    pub(crate) version: u64,
}

/// Takes one step from an engine's report. Steps of other jobs' commands and steps back are ignored;
/// one that timed out may still be carried out.
pub(crate) async fn take(
    connection: &mut SqliteConnection,
    job: &JobKey,
    step: &CommandProgress,
    now_millis: i64,
) -> Result<Option<Moved>, DbError> {
    let Ok(version) = i64::try_from(step.version) else { return Ok(None) };
    let Some(known) = command::find(connection, version).await? else { return Ok(None) };
    let [namespace, job_name, ..] = &known.of;
    let before = known.view.progress.phase;
    let back = rank(step.phase) < rank(before) || step.phase == CommandPhase::Requested;
    if (namespace, job_name) != (&job.0, &job.1) || back {
        return Ok(None);
    }
    if is_final(step.phase) && before != step.phase {
        finish(connection, step, now_millis).await?;
    } else {
        command::set_progress(connection, step).await?;
    }
    Ok(Some(Moved { of: known.of.join("/"), version: step.version }))
}

/// How far a phase is; a command that timed out may start again.
fn rank(phase: CommandPhase) -> u8 {
    match phase {
        CommandPhase::Requested | CommandPhase::TimedOut => 0,
        CommandPhase::Delivered => 1,
        CommandPhase::Applied => 2,
        CommandPhase::Done | CommandPhase::Refused => 3,
    }
}

/// Ends a command, and writes down what came of it.
pub(crate) async fn finish(
    connection: &mut SqliteConnection,
    last: &CommandProgress,
    now_millis: i64,
) -> Result<(), DbError> {
    let Some(known) = command::find(connection, last.version as i64).await? else {
        return Ok(());
    };
    command::set_progress(connection, last).await?;
    let outcome = match last.phase {
        CommandPhase::Refused => "refused",
        CommandPhase::TimedOut => "timed out",
        _ => "done",
    };
    let shards = match last.shards {
        0 => String::new(),
        shards => format!(" on {} of {shards} shards", last.shards_applied),
    };
    let detail = match last.detail.as_str() {
        "" => format!("{outcome}{shards}"),
        text => format!("{outcome}{shards}: {text}"),
    };
    let entry = Entry {
        wall_millis: now_millis,
        actor: known.view.actor,
        stage: "outcome",
        action: known.order.action().to_owned(),
        of: known.of.join("/"),
        detail,
    };
    audit::insert(connection, &entry).await
}

/// Ends the commands that a live engine has not taken in time. While the engine is silent a command
/// stays requested: it is delivered when the engine is back.
pub(crate) async fn time_out(core: &Core) -> Result<(), DbError> {
    let now_millis = core.clock.now_millis();
    let requested = command::open(&core.control.readers).await?;
    let late = requested.into_iter().filter(|command| {
        command.view.progress.phase == CommandPhase::Requested
            && waits_since(core, &command.of, command.view.requested_millis, now_millis)
                .is_some_and(|since| now_millis - since >= TIMEOUT_MILLIS)
    });
    for command in late {
        let version = command.view.version;
        let last = CommandProgress {
            version,
            phase: CommandPhase::TimedOut,
            shards_applied: 0,
            shards: 0,
            detail: "the engine reports, but has not taken the command; it stays in force and is \
                     delivered when the engine asks"
                .into(),
            wall_millis: now_millis,
        };
        core.control
            .writer
            .run(move |connection| {
                Box::pin(async move {
                    let known = command::find(connection, version as i64).await?;
                    let still = known
                        .is_some_and(|known| known.view.progress.phase == CommandPhase::Requested);
                    if still { finish(connection, &last, now_millis).await } else { Ok(()) }
                })
            })
            .await?;
        core.tell(LiveEvent::Command { of: command.of.join("/"), version });
    }
    Ok(())
}

/// Since when a live engine could have taken a command; `None` while it is silent.
fn waits_since(
    core: &Core,
    of: &[String; 4],
    requested_millis: i64,
    now_millis: i64,
) -> Option<i64> {
    let [namespace, job_name, ..] = of;
    let jobs = core.catalog.jobs();
    let job = jobs.get(&(namespace.clone(), job_name.clone()))?;
    if job.silent_since_millis(now_millis).is_some() {
        return None;
    }
    Some(job.live_since_millis?.max(requested_millis))
}
