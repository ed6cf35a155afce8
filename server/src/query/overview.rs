//! The overview page.

use stateward_model::view::{Annotation, Overview, StateRow};

use super::jobs::jobs;
use super::row::{attention, needs_attention, rows};
use crate::breaker::breakers;
use crate::core::Core;
use crate::db::control::{as_word, event, instance};
use crate::error::ApiError;

/// States that need attention, shown.
const ATTENTION_MAX: usize = 10;
/// Changes shown.
const CHANGES_MAX: i64 = 50;
const DAY_MILLIS: i64 = 86_400_000;

/// Answers the overview.
pub(crate) async fn overview(core: &Core) -> Result<Overview, ApiError> {
    let now_millis = core.clock.now_millis();
    let rows = rows(&core.catalog.jobs(), &core.alerts.firing(), now_millis);
    let debt_bytes = rows.iter().map(|row| row.verdict.evidence.debt_bytes).sum();
    let mut attention_rows: Vec<&StateRow> =
        rows.iter().filter(|row| needs_attention(row)).collect();
    attention_rows.sort_by(|a, b| attention(b).total_cmp(&attention(a)));
    Ok(Overview {
        logical_bytes: rows.iter().map(|row| row.logical_bytes).sum(),
        disk_bytes: rows.iter().map(|row| row.disk_bytes).sum(),
        debt_bytes,
        growth_per_day: growth_per_day(&rows),
        states: rows.len() as u64,
        attention_total: attention_rows.len() as u64,
        attention: attention_rows.into_iter().take(ATTENTION_MAX).cloned().collect(),
        firing: core.alerts.firing_rows(),
        breakers: breakers(core).await?,
        jobs: jobs(core),
        changes: changes(core, now_millis).await?,
        at_millis: now_millis,
    })
}

/// The mean growth, weighted by size: what all states with enough history grow together.
fn growth_per_day(rows: &[StateRow]) -> Option<f64> {
    let known = rows.iter().filter_map(|row| Some((row.growth_per_day?, row.logical_bytes as f64)));
    let (grown, bytes) = known
        .fold((0.0, 0.0), |(grown, all), (growth, bytes)| (grown + growth * bytes, all + bytes));
    (bytes > 0.0).then_some(grown / bytes)
}

async fn changes(core: &Core, now_millis: i64) -> Result<Vec<Annotation>, ApiError> {
    let from_millis = now_millis - DAY_MILLIS;
    let pool = &core.control.readers;
    let mut changes = event::since(pool, from_millis, CHANGES_MAX).await?;
    let audit = crate::db::control::audit::page(pool, i64::MAX, CHANGES_MAX).await?;
    let intents = audit.into_iter().filter(|row| row.stage == "intent");
    changes.extend(intents.map(|row| Annotation {
        wall_millis: row.wall_millis,
        kind: "command".into(),
        text: format!("{}: {} by {}: {}", row.of, row.action, row.actor, row.detail),
    }));
    let transitions = instance::transitions(pool, None, CHANGES_MAX).await?;
    changes.extend(transitions.into_iter().map(|t| Annotation {
        wall_millis: t.wall_millis,
        kind: "alert".into(),
        text: format!("{}: {} {}", t.of, t.rule, as_word(&t.phase)),
    }));
    changes.retain(|change| change.wall_millis >= from_millis);
    changes.sort_by_key(|change| std::cmp::Reverse(change.wall_millis));
    changes.truncate(CHANGES_MAX as usize);
    Ok(changes)
}
