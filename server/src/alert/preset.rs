//! Rules that a person may want, as SEMANTICS names them. None exists until someone creates it.

use stateward_model::alert::{Rule, Subject};

const MINUTE_MILLIS: i64 = 60_000;

/// Lists the presets; their id is 0.
pub(crate) fn presets() -> Vec<Rule> {
    let rule = |name: &str, subject, above, traffic_per_second_min, minutes, severity: &str| Rule {
        id: 0,
        name: name.to_owned(),
        job: String::new(),
        operator: String::new(),
        state: String::new(),
        subject,
        above,
        traffic_per_second_min,
        for_millis: minutes * MINUTE_MILLIS,
        keep_firing_millis: MINUTE_MILLIS,
        severity: severity.to_owned(),
        enabled: true,
    };
    vec![
        rule("TTL misses above 20 %", Subject::MissRatio, 0.2, 1.0, 5, "warning"),
        rule("TTL misses above 80 %", Subject::MissRatio, 0.8, 1.0, 2, "critical"),
        rule("State grows more than 15 % a day", Subject::GrowthPerDay, 0.15, 0.0, 15, "warning"),
    ]
}
