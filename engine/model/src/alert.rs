//! When an alert fires (SEMANTICS §8): one pure [`step`] per instance.

use serde::{Deserialize, Serialize};

/// What a threshold rule watches. Growth and rates need history, so the server computes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// TTL misses / reads over five minutes, 0 to 1.
    MissRatio,
    /// Bytes of live SST files.
    DiskBytes,
    /// Bytes of live keys and values.
    LogicalBytes,
    /// Relative growth of the logical bytes a day of the state's clock, 0.15 = 15 %.
    GrowthPerDay,
    /// Writes a second over one minute.
    WritesPerSecond,
}

/// Every subject with its name in API, database and URL.
pub const SUBJECTS: [(Subject, &str); 5] = [
    (Subject::MissRatio, "miss_ratio"),
    (Subject::DiskBytes, "disk_bytes"),
    (Subject::LogicalBytes, "logical_bytes"),
    (Subject::GrowthPerDay, "growth_per_day"),
    (Subject::WritesPerSecond, "writes_per_second"),
];

/// A threshold rule. Empty scope fields match everything.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// Identity; 0 for a rule that is not stored yet.
    #[serde(default)]
    pub id: i64,
    /// Name for people, unique.
    pub name: String,
    /// Only this job, `namespace/job_name`; empty: all.
    #[serde(default)]
    pub job: String,
    /// Only this operator; empty: all.
    #[serde(default)]
    pub operator: String,
    /// Only this state; empty: all.
    #[serde(default)]
    pub state: String,
    /// What is watched.
    pub subject: Subject,
    /// Fires above this value, in the subject's unit.
    pub above: f64,
    /// Ignored below this many reads (miss ratio) or writes a second; 0: no minimum traffic.
    #[serde(default)]
    pub traffic_per_second_min: f64,
    /// How long it must hold, in ms.
    #[serde(default)]
    pub for_millis: i64,
    /// How long it stays firing after the first false, in ms.
    #[serde(default)]
    pub keep_firing_millis: i64,
    /// `info`, `warning` or `critical`.
    pub severity: String,
    /// Whether it is evaluated.
    #[serde(default = "yes")]
    pub enabled: bool,
}

fn yes() -> bool {
    true
}

/// Where an instance stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// The condition does not hold.
    #[default]
    Inactive,
    /// It holds, not long enough yet.
    Pending,
    /// It has held for the rule's `for`.
    Firing,
    /// It held, and does not any more; kept for 15 minutes.
    Resolved,
}

/// One rule × label set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Instance {
    /// Where it stands.
    pub phase: Phase,
    /// When the condition began to hold, ms.
    pub active_millis: i64,
    /// When it began to fire, ms.
    pub fired_millis: Option<i64>,
    /// First false evaluation while firing, ms.
    pub false_millis: Option<i64>,
    /// When it resolved, ms.
    pub resolved_millis: Option<i64>,
    /// Last evaluated value.
    pub value: f64,
    /// The input is missing: the phase is held (SEMANTICS §8.2).
    pub no_data: bool,
}

/// How long a resolved instance is kept, ms (SEMANTICS §8.3).
pub const RESOLVED_KEPT_MILLIS: i64 = 15 * 60 * 1000;

/// What an evaluation found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Observation {
    /// The value, and whether the condition holds.
    Value {
        /// Evaluated value.
        value: f64,
        /// Condition and minimum traffic hold.
        holds: bool,
    },
    /// The engine is silent or the series never existed.
    NoData,
}

/// Moves one instance (SEMANTICS §8.1 and §8.2).
///
/// # Examples
/// ```
/// use stateward_model::alert::{Instance, Observation, Phase, step};
/// let seen = Observation::Value { value: 2.0, holds: true };
/// let pending = step(&Instance::default(), seen, 60_000, 0, 0);
/// assert_eq!(pending.phase, Phase::Pending);
/// assert_eq!(step(&pending, seen, 60_000, 0, 60_000).phase, Phase::Firing);
/// ```
#[must_use]
pub fn step(
    instance: &Instance,
    seen: Observation,
    for_millis: i64,
    keep_firing_millis: i64,
    now_millis: i64,
) -> Instance {
    let mut next = *instance;
    let Observation::Value { value, holds } = seen else {
        next.no_data = true;
        return next;
    };
    next.no_data = false;
    next.value = value;
    if holds {
        next.false_millis = None;
        if matches!(next.phase, Phase::Inactive | Phase::Resolved) {
            next = Instance {
                phase: Phase::Pending,
                active_millis: now_millis,
                value,
                ..Instance::default()
            };
        }
        if next.phase == Phase::Pending && now_millis - next.active_millis >= for_millis {
            next.phase = Phase::Firing;
            next.fired_millis = Some(now_millis);
        }
    } else {
        match next.phase {
            Phase::Pending => next = Instance { value, ..Instance::default() },
            Phase::Firing => {
                let since = *next.false_millis.get_or_insert(now_millis);
                if now_millis - since >= keep_firing_millis {
                    next.phase = Phase::Resolved;
                    next.resolved_millis = Some(now_millis);
                }
            }
            Phase::Resolved => {
                let since = next.resolved_millis.unwrap_or(now_millis);
                if now_millis - since >= RESOLVED_KEPT_MILLIS {
                    next = Instance { value, ..Instance::default() };
                }
            }
            Phase::Inactive => {}
        }
    }
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seen: &[(i64, Option<bool>)], for_millis: i64, keep: i64) -> Vec<Phase> {
        let mut instance = Instance::default();
        seen.iter()
            .map(|&(now, holds)| {
                let seen = holds
                    .map_or(Observation::NoData, |holds| Observation::Value { value: 1.0, holds });
                instance = step(&instance, seen, for_millis, keep, now);
                instance.phase
            })
            .collect()
    }

    /// §8.1: one false evaluation in pending resets it.
    #[test]
    fn pending_resets_on_one_false() {
        let seen = [(0, Some(true)), (5, Some(false)), (10, Some(true)), (20, Some(true))];
        assert_eq!(
            run(&seen, 10, 0),
            [Phase::Pending, Phase::Inactive, Phase::Pending, Phase::Firing]
        );
    }

    /// §8.1: `keep_firing_for` counts from the first false.
    #[test]
    fn keep_firing_counts_from_the_first_false() {
        let seen = [(0, Some(true)), (5, Some(false)), (10, Some(false)), (15, Some(false))];
        assert_eq!(
            run(&seen, 0, 10),
            [Phase::Firing, Phase::Firing, Phase::Firing, Phase::Resolved]
        );
    }

    /// §8.2: no data holds the phase and never resolves.
    #[test]
    fn no_data_holds() {
        let seen = [(0, Some(true)), (5, None), (i64::MAX / 2, None)];
        assert_eq!(run(&seen, 0, 0), [Phase::Firing, Phase::Firing, Phase::Firing]);
    }

    /// §8.3: a resolved instance is kept for 15 minutes.
    #[test]
    fn resolved_is_kept_for_a_while() {
        let seen = [
            (0, Some(true)),
            (1, Some(false)),
            (RESOLVED_KEPT_MILLIS, Some(false)),
            (RESOLVED_KEPT_MILLIS + 1, Some(false)),
        ];
        assert_eq!(
            run(&seen, 0, 0),
            [Phase::Firing, Phase::Resolved, Phase::Resolved, Phase::Inactive]
        );
    }
}
