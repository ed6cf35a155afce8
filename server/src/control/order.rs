//! A person, or a rule, orders.

use stateward_model::breaker::Policy;
use stateward_model::view::{CommandView, OrderRequest};
use stateward_model::wire::{CommandPhase, CommandProgress, Order};

use crate::catalog::declaration;
use crate::core::Core;
use crate::db::control::audit::{self, Entry};
use crate::db::control::command::{self, NewCommand};
use crate::error::ApiError;
use crate::ingest::TEXT_BYTES_MAX;
use crate::live::LiveEvent;

/// Stores an order with its audit line, and wakes the engine.
pub(crate) async fn order(
    core: &Core,
    of: [&str; 4],
    request: OrderRequest,
    actor: &str,
) -> Result<CommandView, ApiError> {
    check_target(core, of)?;
    let reason = check_reason(&request.reason)?;
    let now_millis = core.clock.now_millis();
    check_order(&request.order, now_millis)?;
    let requested = NewCommand {
        of: of.map(str::to_owned),
        order: request.order,
        actor: actor.to_owned(),
        reason,
        requested_millis: now_millis,
    };
    let stored = requested.clone();
    let version = core
        .control
        .writer
        .run(move |connection| Box::pin(async move { store(connection, &stored).await }))
        .await? as u64;
    core.commands.send_if_modified(|latest| {
        let newer = *latest < version;
        *latest = version.max(*latest);
        newer
    });
    core.tell(LiveEvent::Command { of: of.join("/"), version });
    tracing::info!(of = %of.join("/"), version, "command {version} was requested");
    Ok(CommandView {
        version,
        order: requested.order.kind().to_owned(),
        actor: requested.actor,
        reason: requested.reason,
        requested_millis: now_millis,
        progress: CommandProgress {
            version,
            phase: CommandPhase::Requested,
            shards_applied: 0,
            shards: 0,
            detail: String::new(),
            wall_millis: now_millis,
        },
    })
}

fn check_target(core: &Core, of: [&str; 4]) -> Result<(), ApiError> {
    let [namespace, job_name, operator, state] = of;
    let jobs = core.catalog.jobs();
    let job = jobs.get(&(namespace.to_owned(), job_name.to_owned())).ok_or_else(|| {
        ApiError::not_found(format!("no job {namespace}/{job_name} has said hello here"))
    })?;
    if declaration(&job.run.hello, operator, state).is_none() {
        return Err(ApiError::not_found(format!(
            "job {namespace}/{job_name} has no state {operator}/{state}"
        )));
    }
    Ok(())
}

/// SEMANTICS §7.8: a person's action needs a reason.
fn check_reason(reason: &str) -> Result<String, ApiError> {
    let reason = reason.trim();
    if reason.is_empty() {
        return Err(ApiError::bad_request(
            "an order needs a reason; say in `reason` why you do this",
        ));
    }
    if reason.len() > TEXT_BYTES_MAX {
        return Err(ApiError::bad_request(format!(
            "the reason has {} bytes; use at most {TEXT_BYTES_MAX}",
            reason.len()
        )));
    }
    Ok(reason.to_owned())
}

fn check_order(order: &Order, now_millis: i64) -> Result<(), ApiError> {
    if let Some(until) = order.until_millis().filter(|until| *until <= now_millis) {
        return Err(ApiError::bad_request(format!(
            "until_millis is {until}, which has passed; give a later time or none"
        )));
    }
    match order {
        Order::Policy { policy } => check_policy(policy),
        Order::Ttl { ttl_millis: Some(ttl), .. } if *ttl < 1 => Err(ApiError::bad_request(
            format!("ttl_millis is {ttl}; give 1 or more, or null for entries that never expire"),
        )),
        _ => Ok(()),
    }
}

fn check_policy(policy: &Policy) -> Result<(), ApiError> {
    let positive = |value: Option<f64>| value.is_none_or(|v| v.is_finite() && v > 0.0);
    let mistake = if !positive(policy.writes_per_second_max) {
        "writes_per_second_max must be above 0, or absent"
    } else if !positive(policy.replay_per_second) {
        "replay_per_second must be above 0, or absent"
    } else if !(0.0..=1.0).contains(&policy.reset_ratio) {
        "reset_ratio must be from 0 to 1"
    } else if policy.window_millis == 0 {
        "window_millis must be above 0"
    } else {
        return Ok(());
    };
    Err(ApiError::bad_request(format!("the policy cannot be used: {mistake}")))
}

/// The intent goes first; both become visible in one commit.
async fn store(
    connection: &mut sqlx::SqliteConnection,
    requested: &NewCommand,
) -> Result<i64, crate::db::DbError> {
    let entry = Entry {
        wall_millis: requested.requested_millis,
        actor: requested.actor.clone(),
        stage: "intent",
        action: requested.order.action().to_owned(),
        of: requested.of.join("/"),
        detail: requested.reason.clone(),
    };
    audit::insert(connection, &entry).await?;
    let version = command::insert(connection, requested).await?;
    for older in command::superseded(connection, requested, version).await? {
        let progress = CommandProgress {
            version: older as u64,
            phase: CommandPhase::Refused,
            shards_applied: 0,
            shards: 0,
            detail: format!("replaced by command {version} before an engine took it"),
            wall_millis: requested.requested_millis,
        };
        super::progress::finish(connection, &progress, requested.requested_millis).await?;
    }
    Ok(version)
}
