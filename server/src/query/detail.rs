//! The state page.

use stateward_model::view::{Annotation, StateDetail, StateFacts};

use super::row::row;
use crate::breaker::card_of;
use crate::core::Core;
use crate::db::control::command;
use crate::db::control::{event, instance};
use crate::error::ApiError;

/// Events of the page.
const EVENTS_MAX: i64 = 200;

/// Answers the page of one state.
pub(crate) async fn detail(core: &Core, of: [&str; 4]) -> Result<StateDetail, ApiError> {
    let mut page = from_memory(core, of)?;
    let pool = &core.control.readers;
    page.breaker.commands = command::of_state(pool, of).await?;
    let mut events = event::of_state(pool, of, EVENTS_MAX).await?;
    events.extend(page.breaker.commands.iter().map(|command| Annotation {
        wall_millis: command.requested_millis,
        kind: "command".into(),
        text: format!("{} by {}: {}", command.order, command.actor, command.reason),
    }));
    let name = of.join("/");
    for transition in instance::transitions(pool, Some(&name), EVENTS_MAX).await? {
        let phase = crate::db::control::as_word(&transition.phase);
        events.push(Annotation {
            wall_millis: transition.wall_millis,
            kind: "alert".into(),
            text: format!("{}: {phase}", transition.rule),
        });
    }
    events.sort_by_key(|event| std::cmp::Reverse(event.wall_millis));
    events.truncate(EVENTS_MAX as usize);
    page.events = events;
    Ok(page)
}

/// Answers the tab of a state's TTL and cleanup.
pub(crate) async fn facts(core: &Core, of: [&str; 4]) -> Result<StateFacts, ApiError> {
    let detail = detail(core, of).await?;
    let [namespace, job_name, operator, state] = of;
    let jobs = core.catalog.jobs();
    let job = jobs.get(&(namespace.to_owned(), job_name.to_owned()));
    let sample = job.and_then(|job| job.state(operator, state)).map(|found| found.sample.clone());
    let report = job.and_then(|job| job.report.as_deref());
    let disk = report.map(|report| report.states.iter().map(|state| state.stock.disk_bytes).sum());
    Ok(StateFacts {
        detail,
        sample: sample.unwrap_or_default(),
        job: report.map(|report| report.job.clone()).unwrap_or_default(),
        job_disk_bytes: disk.unwrap_or_default(),
        at_millis: core.clock.now_millis(),
    })
}

fn from_memory(core: &Core, of: [&str; 4]) -> Result<StateDetail, ApiError> {
    let [namespace, job_name, operator, state] = of;
    let now_millis = core.clock.now_millis();
    let firing = core.alerts.firing();
    let jobs = core.catalog.jobs();
    let job = jobs.get(&(namespace.to_owned(), job_name.to_owned())).ok_or_else(|| {
        ApiError::not_found(format!("no job {namespace}/{job_name} has said hello here"))
    })?;
    let found = job.state(operator, state).ok_or_else(|| {
        ApiError::not_found(format!(
            "job {namespace}/{job_name} has not reported a state {operator}/{state}"
        ))
    })?;
    let (declared, sample) = (found.declaration, found.sample.clone());
    Ok(StateDetail {
        row: row(job, found, &firing, now_millis),
        kind: declared.kind.clone(),
        backend: declared.backend.clone(),
        clock: declared.clock,
        update_type: declared.update_type,
        visibility: declared.visibility,
        ttl_set_by: sample.ttl.overridden.as_ref().map(|set| set.actor.clone()),
        site: declared.site.clone(),
        flow: sample.flow,
        stock: sample.stock,
        age_at_read: sample.age_at_read,
        age_at_drop: sample.age_at_drop,
        age_resident: sample.age_resident,
        sweep_micros: sample.sweep_micros,
        reclaim_micros: sample.reclaim_micros,
        sites: sample.sites,
        build_id: job.run.hello.build_id.clone(),
        commit: job.run.hello.commit.clone(),
        breaker: card_of(job, found, now_millis),
        alerts: core.alerts.rows_of(&of.join("/")),
        events: Vec::new(),
    })
}
