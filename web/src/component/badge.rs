//! Words with an icon: a verdict, a phase, a severity. Never colour alone.

use leptos::prelude::*;
use stateward_model::alert::{Phase as AlertPhase, Subject};
use stateward_model::breaker::{Breaker, Phase};
use stateward_model::wire::CommandPhase;
use stateward_model::{Verdict, VerdictKind};

use crate::format;
use crate::i18n::{Words, use_lang, use_words};

/// A verdict as icon and word; the sentence on hover.
#[component]
pub fn VerdictBadge(
    /// The verdict.
    verdict: Verdict,
    /// Growth a day, for the sentence.
    growth_per_day: Option<f64>,
) -> impl IntoView {
    let (tone, icon) = match verdict.kind {
        VerdictKind::NoTtl | VerdictKind::RefreshedByReads => ("bad", "▲"),
        VerdictKind::CleanupBehind | VerdictKind::TooShort => ("warn", "◆"),
        VerdictKind::TooLong => ("warn", "◇"),
        VerdictKind::CannotTell => ("quiet", "…"),
        VerdictKind::Working => ("good", "✓"),
    };
    let sentence = use_lang().verdict(&verdict, growth_per_day);
    view! {
        <span class=format!("badge {tone}") title=sentence>
            <span class="icon" aria-hidden="true">{icon}</span>
            {use_words().verdict_name(verdict.kind)}
        </span>
    }
    .into_any()
}

/// The word of a breaker's phase.
pub fn breaker_word(words: &Words, phase: Phase) -> &'static str {
    match phase {
        Phase::Closed => words.p_closed,
        Phase::Open => words.p_open,
        Phase::HalfOpen => words.p_half_open,
        Phase::ForcedOpen => words.p_forced_open,
    }
}

/// A breaker's phase as icon and word.
#[component]
pub fn BreakerBadge(
    /// The breaker.
    breaker: Breaker,
) -> impl IntoView {
    let words = use_words();
    let (tone, icon) = match breaker.phase {
        Phase::Closed if breaker.would_trip => ("warn", "◌"),
        Phase::Closed => ("quiet", "●"),
        Phase::Open | Phase::ForcedOpen => ("bad", "○"),
        Phase::HalfOpen => ("warn", "◐"),
    };
    let word = if breaker.is_closed() && breaker.would_trip {
        words.would_trip
    } else {
        breaker_word(words, breaker.phase)
    };
    view! {
        <span class=format!("badge {tone}")>
            <span class="icon" aria-hidden="true">{icon}</span>
            {word}
        </span>
    }
    .into_any()
}

/// An alert's phase as icon and word.
#[component]
pub fn AlertBadge(
    /// The phase.
    phase: AlertPhase,
) -> impl IntoView {
    let words = use_words();
    let (tone, icon, word) = match phase {
        AlertPhase::Inactive => ("quiet", "·", words.ph_inactive),
        AlertPhase::Pending => ("warn", "◔", words.ph_pending),
        AlertPhase::Firing => ("bad", "▲", words.ph_firing),
        AlertPhase::Resolved => ("good", "✓", words.ph_resolved),
    };
    view! {
        <span class=format!("badge {tone}")>
            <span class="icon" aria-hidden="true">{icon}</span>
            {word}
        </span>
    }
    .into_any()
}

/// A rule's severity in a word.
#[component]
pub fn SeverityBadge(
    /// `info`, `warning` or `critical`.
    severity: String,
) -> impl IntoView {
    let words = use_words();
    let (tone, word) = match severity.as_str() {
        "critical" => ("bad", words.s_critical.to_owned()),
        "warning" => ("warn", words.s_warning.to_owned()),
        "info" => ("quiet", words.s_info.to_owned()),
        _ => ("quiet", severity),
    };
    view! { <span class=format!("badge {tone}")>{word}</span> }.into_any()
}

/// What a rule watches, in words.
pub fn subject_word(words: &Words, subject: Subject) -> &'static str {
    match subject {
        Subject::MissRatio => words.sub_miss_ratio,
        Subject::DiskBytes => words.sub_disk_bytes,
        Subject::LogicalBytes => words.sub_logical_bytes,
        Subject::GrowthPerDay => words.sub_growth_per_day,
        Subject::WritesPerSecond => words.sub_writes_per_second,
    }
}

/// A value of a rule's subject with its unit.
pub fn subject_figure(subject: Subject, value: f64) -> String {
    match subject {
        Subject::MissRatio => format::percent(value),
        Subject::DiskBytes | Subject::LogicalBytes => format::bytes(value),
        Subject::GrowthPerDay => format::growth(value),
        Subject::WritesPerSecond => format::rate(value),
    }
}

/// How far a command got, in a word.
pub fn command_word(words: &Words, phase: CommandPhase) -> &'static str {
    match phase {
        CommandPhase::Requested => words.requested,
        CommandPhase::Delivered => words.delivered,
        CommandPhase::Applied => words.applied_on,
        CommandPhase::Done => words.done,
        CommandPhase::Refused => words.refused,
        CommandPhase::TimedOut => words.timed_out,
    }
}

/// What a command orders, in a word.
pub fn order_word(words: &Words, order: &str) -> String {
    match order {
        "trip" => words.order_trip.to_owned(),
        "reset" => words.order_reset.to_owned(),
        "policy" => words.order_policy.to_owned(),
        other => other.to_owned(),
    }
}
