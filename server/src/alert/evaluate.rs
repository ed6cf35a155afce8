//! One evaluation of all rules.

use std::collections::BTreeMap;

use stateward_model::alert::{Instance, Observation, Phase, Rule, Subject, step};
use stateward_model::view::{AlertTransition, StateRow};

use super::{Inner, InstanceKey};
use crate::core::Core;
use crate::db::DbError;
use crate::db::control::instance;
use crate::live::LiveEvent;
use crate::query::{identity, rows};

struct Change {
    key: InstanceKey,
    after: Instance,
    transition: Option<AlertTransition>,
}

/// Evaluates all enabled rules over all states, stores what moved, and tells.
pub(crate) async fn evaluate(core: &Core) -> Result<(), DbError> {
    let timer = core.telemetry.evaluation_duration.start_timer();
    let now_millis = core.clock.now_millis();
    let rows: BTreeMap<String, StateRow> = rows(&core.catalog.jobs(), &BTreeMap::new(), now_millis)
        .into_iter()
        .map(|row| (identity(&row), row))
        .collect();
    let changes = changes(&core.alerts.inner(), &rows, now_millis);
    store(core, &changes).await?;
    apply(core, changes);
    count(core);
    timer.observe_duration();
    Ok(())
}

fn changes(inner: &Inner, rows: &BTreeMap<String, StateRow>, now_millis: i64) -> Vec<Change> {
    let mut changes = Vec::new();
    for rule in inner.rules.values().filter(|rule| rule.enabled) {
        for (of, row) in rows.iter().filter(|(of, _)| in_scope(rule, of)) {
            changes.extend(change(inner, rule, of, observe(rule, row), now_millis));
        }
        // a state that is gone is held as no data
        let held = inner.instances.range((rule.id, String::new())..(rule.id + 1, String::new()));
        for ((_, of), _) in held.filter(|((_, of), _)| !rows.contains_key(of)) {
            changes.extend(change(inner, rule, of, Observation::NoData, now_millis));
        }
    }
    changes
}

fn change(
    inner: &Inner,
    rule: &Rule,
    of: &str,
    seen: Observation,
    now_millis: i64,
) -> Option<Change> {
    let key = (rule.id, of.to_owned());
    let before = inner.instances.get(&key).copied();
    let start = before.unwrap_or_default();
    let after = step(&start, seen, rule.for_millis, rule.keep_firing_millis, now_millis);
    let idle = before.is_none() && after.phase == Phase::Inactive;
    if idle || before == Some(after) {
        return None;
    }
    let transition = (after.phase != start.phase).then(|| AlertTransition {
        wall_millis: now_millis,
        rule: rule.name.clone(),
        of: of.to_owned(),
        phase: after.phase,
        value: after.value,
    });
    Some(Change { key, after, transition })
}

/// Tells whether a rule watches `namespace/job_name/operator/state`.
pub(super) fn in_scope(rule: &Rule, of: &str) -> bool {
    let mut parts = of.splitn(4, '/');
    let (namespace, job_name) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let (operator, state) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
    let fits = |scope: &str, name: &str| scope.is_empty() || scope == name;
    fits(&rule.job, &format!("{namespace}/{job_name}"))
        && fits(&rule.operator, operator)
        && fits(&rule.state, state)
}

/// What a rule sees of a state. A silent engine, or too little history, is no data; a ratio without
/// reads is data that does not hold.
fn observe(rule: &Rule, row: &StateRow) -> Observation {
    if row.silent_since_millis.is_some() {
        return Observation::NoData;
    }
    let (value, traffic) = match rule.subject {
        Subject::MissRatio => (Some(row.miss_ratio.unwrap_or(0.0)), row.reads_per_second),
        Subject::DiskBytes => (Some(row.disk_bytes as f64), row.writes_per_second),
        Subject::LogicalBytes => (Some(row.logical_bytes as f64), row.writes_per_second),
        Subject::GrowthPerDay => (row.growth_per_day, row.writes_per_second),
        Subject::WritesPerSecond => (row.writes_per_second, row.writes_per_second),
    };
    let Some(value) = value else { return Observation::NoData };
    let enough = rule.traffic_per_second_min <= traffic.unwrap_or(0.0);
    Observation::Value { value, holds: enough && value > rule.above }
}

/// Writes phases that changed and whatever `step` counts time from; a value alone is not worth a
/// commit every five seconds.
async fn store(core: &Core, changes: &[Change]) -> Result<(), DbError> {
    let inner_times = |i: &Instance| (i.phase, i.active_millis, i.fired_millis, i.false_millis);
    let mut worth = Vec::new();
    {
        let inner = core.alerts.inner();
        for change in changes {
            let before = inner.instances.get(&change.key).copied().unwrap_or_default();
            if inner_times(&before) != inner_times(&change.after) || change.transition.is_some() {
                worth.push((change.key.clone(), change.after, change.transition.clone()));
            }
        }
    }
    if worth.is_empty() {
        return Ok(());
    }
    core.control
        .writer
        .run(move |connection| {
            Box::pin(async move {
                for ((rule_id, of), after, transition) in &worth {
                    if after.phase == Phase::Inactive {
                        instance::delete(connection, *rule_id, of).await?;
                    } else {
                        instance::upsert(connection, *rule_id, of, after).await?;
                    }
                    if let Some(transition) = transition {
                        instance::insert_transition(connection, transition).await?;
                    }
                }
                instance::prune_transitions(connection).await
            })
        })
        .await
}

/// Takes the changes into memory; a rule may have gone or changed meanwhile.
fn apply(core: &Core, changes: Vec<Change>) {
    let mut inner = core.alerts.inner_mut();
    for change in changes {
        if !inner.rules.get(&change.key.0).is_some_and(|rule| rule.enabled) {
            continue;
        }
        if change.after.phase == Phase::Inactive {
            inner.instances.remove(&change.key);
        } else {
            inner.instances.insert(change.key, change.after);
        }
        if let Some(transition) = change.transition {
            let (rule, of, phase) = (transition.rule, transition.of, transition.phase);
            tracing::info!(rule, of, ?phase, "alert {rule} of {of} changed");
            core.tell(LiveEvent::Alert { rule, of, phase });
        }
    }
}

fn count(core: &Core) {
    let inner = core.alerts.inner();
    for (phase, name) in [(Phase::Pending, "pending"), (Phase::Firing, "firing")] {
        let count = inner.instances.values().filter(|i| i.phase == phase).count();
        core.telemetry.alerts.with_label_values(&[name]).set(count as i64);
    }
}
