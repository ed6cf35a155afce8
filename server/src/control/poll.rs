//! An engine asks for commands, and waits for them.

use std::time::Duration;

use stateward_model::wire::{Command, Commands, Order};
use stateward_model::{Name, ProblemKind};

use crate::core::Core;
use crate::db::control::command::{self, StoredCommand};
use crate::error::ApiError;
use crate::series::JobKey;

/// Longest wait of one poll.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(30);

/// Answers as soon as there are commands above `after` for the run's job, or empty after `wait`.
pub(crate) async fn poll(
    core: &Core,
    run: &str,
    after: u64,
    wait: Duration,
) -> Result<Commands, ApiError> {
    let run = core.catalog.run(run).ok_or_else(|| {
        ApiError::not_found(format!("run {run} is not known here; send hello first"))
    })?;
    let mut versions = core.commands.subscribe();
    let mut stopping = core.stopping.subscribe();
    let deadline = tokio::time::sleep(wait.min(WAIT_MAX));
    tokio::pin!(deadline);
    loop {
        // seen before looking, so that one that comes in between wakes this up
        versions.borrow_and_update();
        let answer = look(core, &run.job, after).await?;
        if !answer.commands.is_empty() {
            return Ok(answer);
        }
        tokio::select! {
            changed = versions.changed() => if changed.is_err() { return Ok(answer) },
            _ = stopping.wait_for(|stopping| *stopping) => return Ok(answer),
            () = &mut deadline => return Ok(answer),
        }
    }
}

async fn look(core: &Core, job: &JobKey, after: u64) -> Result<Commands, ApiError> {
    let now_millis = core.clock.now_millis();
    let version_max = command::version_max(&core.control.readers).await? as u64;
    // an engine ahead of this server knew another one, or a data folder that was set back
    let known = if after > version_max { 0 } else { after };
    let latest = command::latest(&core.control.readers, &job.0, &job.1, known as i64).await?;
    let commands: Vec<Command> = latest
        .into_iter()
        .filter(|command| !has_ended(&command.order, now_millis))
        .map(to_wire)
        .collect::<Result<_, _>>()?;
    let version = commands.last().map_or(known, |last| last.version);
    Ok(Commands { version, commands })
}

/// What has ended by itself is over without a counter-order.
fn has_ended(order: &Order, now_millis: i64) -> bool {
    order.until_millis().is_some_and(|until| until <= now_millis)
}

fn to_wire(command: StoredCommand) -> Result<Command, ApiError> {
    let damaged = |error: stateward_model::NameError| {
        ApiError::new(ProblemKind::Internal, format!("a stored command is damaged: {error}"))
    };
    let [_, _, operator, state] = command.of;
    Ok(Command {
        version: command.view.version,
        operator: Name::new(operator).map_err(damaged)?,
        state: Name::new(state).map_err(damaged)?,
        order: command.order,
        actor: command.view.actor,
        reason: command.view.reason,
    })
}
