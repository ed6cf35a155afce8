//! A rule as people type it: per cent, MiB, seconds, text; checked once, at the edge.

use stateward_model::alert::{Rule, Subject};

use crate::i18n::{Lang, Words};

/// Text of every field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleFields {
    /// Identity; 0 for a new rule.
    pub id: i64,
    /// Name.
    pub name: String,
    /// `namespace/job`.
    pub job: String,
    /// Operator.
    pub operator: String,
    /// State.
    pub state: String,
    /// What is watched.
    pub subject: String,
    /// Threshold in the unit of [`unit`].
    pub above: String,
    /// Minimum traffic a second.
    pub traffic: String,
    /// `for`, s.
    pub hold: String,
    /// Keep firing, s.
    pub keep: String,
    /// Severity.
    pub severity: String,
    /// Whether it is evaluated.
    pub enabled: bool,
}

/// The unit a threshold is typed in, and how many of the rule's units one is.
pub(super) fn unit(subject: Subject) -> (&'static str, f64) {
    match subject {
        Subject::MissRatio => ("%", 0.01),
        Subject::GrowthPerDay => ("%/d", 0.01),
        Subject::DiskBytes | Subject::LogicalBytes => ("MiB", 1024.0 * 1024.0),
        Subject::WritesPerSecond => ("/s", 1.0),
    }
}

pub(super) fn subject_of(name: &str) -> Subject {
    stateward_model::alert::SUBJECTS
        .into_iter()
        .find(|(_, known)| *known == name)
        .map_or(Subject::DiskBytes, |(subject, _)| subject)
}

fn subject_name(subject: Subject) -> &'static str {
    stateward_model::alert::SUBJECTS
        .into_iter()
        .find(|(known, _)| *known == subject)
        .map_or("", |(_, name)| name)
}

impl RuleFields {
    /// What a form shows for a rule.
    pub fn of(rule: &Rule) -> Self {
        // nine digits hide the dust of binary fractions
        let plain = |value: f64| ((value * 1e9).round() / 1e9).to_string();
        Self {
            id: rule.id,
            name: rule.name.clone(),
            job: rule.job.clone(),
            operator: rule.operator.clone(),
            state: rule.state.clone(),
            subject: subject_name(rule.subject).to_owned(),
            above: plain(rule.above / unit(rule.subject).1),
            traffic: plain(rule.traffic_per_second_min),
            hold: plain(rule.for_millis as f64 / 1e3),
            keep: plain(rule.keep_firing_millis as f64 / 1e3),
            severity: rule.severity.clone(),
            enabled: rule.enabled,
        }
    }

    /// The rule, or what is to be corrected.
    pub fn rule(&self, lang: Lang) -> Result<Rule, String> {
        let words: &Words = lang.words();
        if self.name.trim().is_empty() {
            return Err(lang.needs(words.name));
        }
        let number = |text: &str, field: &str| {
            let text = text.trim();
            let value = if text.is_empty() { Ok(0.0) } else { text.parse::<f64>() };
            match value {
                Ok(value) if value.is_finite() && value >= 0.0 => Ok(value),
                _ => Err(lang.not_a_number(field)),
            }
        };
        if self.above.trim().is_empty() {
            return Err(lang.needs(words.above));
        }
        let subject = subject_of(&self.subject);
        let millis =
            |text: &str, field: &str| number(text, field).map(|s| (s * 1e3).round() as i64);
        Ok(Rule {
            id: self.id,
            name: self.name.trim().to_owned(),
            job: self.job.trim().to_owned(),
            operator: self.operator.trim().to_owned(),
            state: self.state.trim().to_owned(),
            subject,
            above: number(&self.above, words.above)? * unit(subject).1,
            traffic_per_second_min: number(&self.traffic, words.traffic_min)?,
            for_millis: millis(&self.hold, words.hold_for)?,
            keep_firing_millis: millis(&self.keep, words.keep_firing)?,
            severity: self.severity.clone(),
            enabled: self.enabled,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule() -> Rule {
        Rule {
            id: 7,
            name: "big".into(),
            job: "default/made_up".into(),
            operator: String::new(),
            state: "s".into(),
            subject: Subject::MissRatio,
            above: 0.07,
            traffic_per_second_min: 1.5,
            for_millis: 90_000,
            keep_firing_millis: 0,
            severity: "warning".into(),
            enabled: true,
        }
    }

    #[test]
    fn a_rule_survives_the_form() {
        let fields = RuleFields::of(&rule());
        assert_eq!((fields.above.as_str(), fields.hold.as_str()), ("7", "90"));
        let back = fields.rule(Lang::En).unwrap();
        assert!((back.above - 0.07).abs() < 1e-12);
        assert_eq!(Rule { above: 0.07, ..back }, rule());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let mut fields = RuleFields::of(&rule());
        fields.above = "-3".into();
        assert!(fields.rule(Lang::En).unwrap_err().starts_with("Fires above: a number"));
        fields.above = String::new();
        assert_eq!(fields.rule(Lang::Zh).unwrap_err(), "高于此值触发：请填写。");
        fields.name = " ".into();
        assert_eq!(fields.rule(Lang::En).unwrap_err(), "Name: please fill in.");
    }
}
