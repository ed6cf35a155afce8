//! Breakers as people see them: what one does now, what else stops with it, and its equation.

use std::collections::BTreeSet;

use stateward_model::view::{BreakerCard, Conservation};
use stateward_model::wire::Hello;

use crate::catalog::{Job, JobState};
use crate::core::Core;
use crate::db::control::command;
use crate::error::ApiError;

/// Makes the card of one state, without its commands.
pub(crate) fn card_of(job: &Job, of: JobState<'_>, now_millis: i64) -> BreakerCard {
    let sample = of.sample;
    let hello = &job.run.hello;
    let others = hello.states.iter().filter(|other| {
        other.operator.as_str() == sample.operator && other.state.as_str() != sample.state
    });
    BreakerCard {
        namespace: job.run.job.0.clone(),
        job_name: job.run.job.1.clone(),
        operator: sample.operator.clone(),
        state: sample.state.clone(),
        breaker: sample.breaker.clone(),
        policy: sample.policy.clone(),
        offered_per_second: sample.offered_per_second,
        conservation: Conservation::from(&job.operator(&sample.operator)),
        stops_states: others.map(|other| other.state.to_string()).collect(),
        stops_outputs: downstream(hello, &sample.operator),
        commands: Vec::new(),
        silent_since_millis: job.silent_since_millis(now_millis),
    }
}

/// Lists the breakers that are not closed or that a command is on its way to.
pub(crate) async fn breakers(core: &Core) -> Result<Vec<BreakerCard>, ApiError> {
    let pool = &core.control.readers;
    let open = command::open(pool).await?;
    let ordered: BTreeSet<[String; 4]> = open.into_iter().map(|command| command.of).collect();
    let mut cards = not_closed(core, &ordered);
    for card in &mut cards {
        let of = [&*card.namespace, &card.job_name, &card.operator, &card.state];
        card.commands = command::of_state(pool, of).await?;
    }
    Ok(cards)
}

fn not_closed(core: &Core, ordered: &BTreeSet<[String; 4]>) -> Vec<BreakerCard> {
    let now_millis = core.clock.now_millis();
    let jobs = core.catalog.jobs();
    let mut cards = Vec::new();
    for job in jobs.values() {
        let (namespace, job_name) = &job.run.job;
        let is_ordered = |of: JobState<'_>| {
            let of = [namespace, job_name, &of.sample.operator, &of.sample.state];
            !ordered.is_empty() && ordered.contains(&of.map(String::clone))
        };
        let shown = job.states().filter(|of| !of.sample.breaker.is_closed() || is_ordered(*of));
        cards.extend(shown.map(|of| card_of(job, of, now_millis)));
    }
    cards
}

/// Nodes that get nothing of an event that the operator diverts, in topological order.
fn downstream(hello: &Hello, operator: &str) -> Vec<String> {
    let mut reached = BTreeSet::from([operator]);
    loop {
        let next: Vec<&str> = hello
            .edges
            .iter()
            .filter(|edge| reached.contains(edge.from.as_str()))
            .map(|edge| edge.to.as_str())
            .filter(|to| !reached.contains(to))
            .collect();
        if next.is_empty() {
            break;
        }
        reached.extend(next);
    }
    let nodes = hello.nodes.iter().map(|node| node.uid.as_str());
    nodes.filter(|uid| *uid != operator && reached.contains(uid)).map(str::to_owned).collect()
}
