//! Creating, changing and deleting rules: validated, audited, in one commit.

use stateward_model::Name;
use stateward_model::alert::{Rule, Subject};

use crate::core::Core;
use crate::db::control::audit::{self, Entry};
use crate::db::control::{instance, rule as stored};
use crate::error::ApiError;

/// Longest name of a rule, in bytes.
const NAME_BYTES_MAX: usize = 200;
/// Most rules.
const RULES_MAX: usize = 1_000;
/// Longest `for`.
const FOR_MILLIS_MAX: i64 = 30 * 86_400_000;
const SEVERITIES: [&str; 3] = ["info", "warning", "critical"];

/// Stores a new rule.
pub(crate) async fn create(core: &Core, rule: Rule, actor: &str) -> Result<Rule, ApiError> {
    let rule = check(core, Rule { id: 0, ..rule })?;
    if core.alerts.inner().rules.len() >= RULES_MAX {
        return Err(ApiError::conflict(format!("there are {RULES_MAX} rules; delete one first")));
    }
    let (intent, outcome) = entries(core, "rule.create", &rule, actor);
    let new = rule.clone();
    let id = core
        .control
        .writer
        .run(move |connection| {
            Box::pin(async move {
                audit::insert(connection, &intent).await?;
                let id = stored::insert(connection, &new).await?;
                audit::insert(connection, &outcome).await?;
                Ok(id)
            })
        })
        .await?;
    let rule = Rule { id, ..rule };
    core.alerts.inner_mut().rules.insert(id, rule.clone());
    Ok(rule)
}

/// Replaces a rule. Where it judges differently, its instances start anew.
pub(crate) async fn update(
    core: &Core,
    id: i64,
    rule: Rule,
    actor: &str,
) -> Result<Rule, ApiError> {
    let before = find(core, id)?;
    let rule = check(core, Rule { id, ..rule })?;
    let anew = judges_differently(&before, &rule);
    let (intent, outcome) = entries(core, "rule.update", &rule, actor);
    let new = rule.clone();
    core.control
        .writer
        .run(move |connection| {
            Box::pin(async move {
                audit::insert(connection, &intent).await?;
                stored::update(connection, &new).await?;
                if anew {
                    instance::delete_of_rule(connection, id).await?;
                }
                audit::insert(connection, &outcome).await
            })
        })
        .await?;
    let mut inner = core.alerts.inner_mut();
    inner.rules.insert(id, rule.clone());
    if anew {
        inner.instances.retain(|(of, _), _| *of != id);
    }
    Ok(rule)
}

/// Deletes a rule with its instances.
pub(crate) async fn delete(core: &Core, id: i64, actor: &str) -> Result<(), ApiError> {
    let rule = find(core, id)?;
    let (intent, outcome) = entries(core, "rule.delete", &rule, actor);
    core.control
        .writer
        .run(move |connection| {
            Box::pin(async move {
                audit::insert(connection, &intent).await?;
                stored::delete(connection, id).await?;
                audit::insert(connection, &outcome).await
            })
        })
        .await?;
    let mut inner = core.alerts.inner_mut();
    inner.rules.remove(&id);
    inner.instances.retain(|(of, _), _| *of != id);
    Ok(())
}

fn find(core: &Core, id: i64) -> Result<Rule, ApiError> {
    let inner = core.alerts.inner();
    let rule = inner.rules.get(&id).cloned();
    rule.ok_or_else(|| ApiError::not_found(format!("there is no rule {id}")))
}

fn judges_differently(before: &Rule, after: &Rule) -> bool {
    let judged =
        |rule: &Rule| Rule { name: String::new(), severity: String::new(), ..rule.clone() };
    judged(before) != judged(after)
}

fn entries(core: &Core, action: &str, rule: &Rule, actor: &str) -> (Entry, Entry) {
    let entry = |stage, detail: String| Entry {
        wall_millis: core.clock.now_millis(),
        actor: actor.to_owned(),
        stage,
        action: action.to_owned(),
        of: rule.name.clone(),
        detail,
    };
    let text = serde_json::to_string(rule).unwrap_or_default();
    (entry("intent", text), entry("outcome", "done".to_owned()))
}

fn check(core: &Core, mut rule: Rule) -> Result<Rule, ApiError> {
    rule.name = rule.name.trim().into();
    let refuse =
        |what: &str| Err(ApiError::bad_request(format!("the rule cannot be used: {what}")));
    if rule.name.is_empty() || rule.name.len() > NAME_BYTES_MAX {
        return refuse(&format!("name must have 1 to {NAME_BYTES_MAX} bytes"));
    }
    if rule.name.chars().any(char::is_control) {
        return refuse("name must be one line of text");
    }
    if !SEVERITIES.contains(&rule.severity.as_str()) {
        return refuse(&format!("severity is one of {}", SEVERITIES.join(", ")));
    }
    if !rule.above.is_finite() || rule.above < 0.0 && rule.subject != Subject::GrowthPerDay {
        return refuse("above must be a number, and not negative");
    }
    if rule.subject == Subject::MissRatio && rule.above > 1.0 {
        return refuse("above is a ratio from 0 to 1 for miss_ratio, it can never be above 1");
    }
    if !(rule.traffic_per_second_min.is_finite() && rule.traffic_per_second_min >= 0.0) {
        return refuse("traffic_per_second_min must be 0 or more");
    }
    if !(0..=FOR_MILLIS_MAX).contains(&rule.for_millis)
        || !(0..=FOR_MILLIS_MAX).contains(&rule.keep_firing_millis)
    {
        return refuse("for_millis and keep_firing_millis must be from 0 to 30 days");
    }
    check_scope(&rule)?;
    let inner = core.alerts.inner();
    if inner.rules.values().any(|other| other.name == rule.name && other.id != rule.id) {
        return Err(ApiError::conflict(format!("there is a rule named {:?} already", rule.name)));
    }
    Ok(rule)
}

fn check_scope(rule: &Rule) -> Result<(), ApiError> {
    let job: Vec<&str> = rule.job.split('/').collect();
    if !rule.job.is_empty() && job.len() != 2 {
        return Err(ApiError::bad_request(format!(
            "the rule cannot be used: job is {:?}, give namespace/job_name or nothing",
            rule.job
        )));
    }
    let names = job.into_iter().chain([rule.operator.as_str(), rule.state.as_str()]);
    for name in names.filter(|name| !name.is_empty()) {
        Name::new(name)
            .map_err(|error| ApiError::bad_request(format!("the rule cannot be used: {error}")))?;
    }
    Ok(())
}
