//! Threshold alerts: rules, their instances, and what becomes of them every five seconds.
//!
//! The machine is `stateward_model::alert::step`, pure; here it is fed from the ranking's rows.
//! Instances that are not inactive are in control.db with every time that `step` looks at, so that
//! `for` goes on after a restart.

mod rule;
mod preset;
mod evaluate;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use stateward_model::alert::{Instance, Phase, Rule};
use stateward_model::view::{AlertRow, AlertsPage};

use crate::core::Core;
use crate::db::control::{instance, rule as stored};
use crate::db::{Database, DbError};
use crate::error::ApiError;
use crate::query::Firing;

pub(crate) use evaluate::evaluate;
pub(crate) use preset::presets;
pub(crate) use rule::{create, delete, update};

/// Transitions of the alerts page.
const HISTORY_MAX: i64 = 200;

/// Rule and `namespace/job_name/operator/state`.
pub(crate) type InstanceKey = (i64, String);

/// Rules and instances in memory.
#[derive(Debug, Default)]
pub(crate) struct Alerts {
    inner: RwLock<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    rules: BTreeMap<i64, Rule>,
    instances: BTreeMap<InstanceKey, Instance>,
}

impl Alerts {
    /// Reads what control.db has.
    pub(crate) async fn load(control: &Database) -> Result<Self, DbError> {
        let rules = stored::list(&control.readers).await?;
        let instances = instance::list(&control.readers).await?;
        let inner = Inner {
            rules: rules.into_iter().map(|rule| (rule.id, rule)).collect(),
            instances: instances.into_iter().map(|(id, of, i)| ((id, of), i)).collect(),
        };
        Ok(Self { inner: RwLock::new(inner) })
    }

    /// Counts firing alerts per state.
    pub(crate) fn firing(&self) -> Firing {
        let mut firing = Firing::new();
        for ((_, of), instance) in &self.inner().instances {
            if instance.phase == Phase::Firing {
                *firing.entry(of.clone()).or_default() += 1;
            }
        }
        firing
    }

    /// Lists what fires.
    pub(crate) fn firing_rows(&self) -> Vec<AlertRow> {
        self.rows(|_, instance| instance.phase == Phase::Firing)
    }

    /// Lists the rules that match a state, with its instance of each.
    pub(crate) fn rows_of(&self, of: &str) -> Vec<AlertRow> {
        let inner = self.inner();
        let matching = inner.rules.values().filter(|rule| evaluate::in_scope(rule, of));
        matching
            .map(|rule| {
                let instance = inner.instances.get(&(rule.id, of.to_owned()));
                AlertRow {
                    rule: rule.clone(),
                    of: of.to_owned(),
                    instance: instance.copied().unwrap_or_default(),
                }
            })
            .collect()
    }

    fn rows(&self, wanted: impl Fn(&Rule, &Instance) -> bool) -> Vec<AlertRow> {
        let inner = self.inner();
        let rows = inner.instances.iter().filter_map(|((id, of), instance)| {
            let rule = inner.rules.get(id).filter(|rule| wanted(rule, instance))?;
            Some(AlertRow { rule: rule.clone(), of: of.clone(), instance: *instance })
        });
        rows.collect()
    }

    fn inner(&self) -> RwLockReadGuard<'_, Inner> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn inner_mut(&self) -> RwLockWriteGuard<'_, Inner> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Answers the alerts page: what fires first, then what is pending, then what is over.
pub(crate) async fn page(core: &Core) -> Result<AlertsPage, ApiError> {
    let rank = |phase: Phase| match phase {
        Phase::Firing => 0,
        Phase::Pending => 1,
        Phase::Resolved => 2,
        Phase::Inactive => 3,
    };
    let mut active = core.alerts.rows(|_, instance| instance.phase != Phase::Inactive);
    active.sort_by_key(|row| {
        (rank(row.instance.phase), std::cmp::Reverse(row.instance.active_millis))
    });
    let history = instance::transitions(&core.control.readers, None, HISTORY_MAX).await?;
    let mut rules: Vec<Rule> = core.alerts.inner().rules.values().cloned().collect();
    rules.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(AlertsPage { active, rules, history })
}
