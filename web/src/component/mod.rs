//! Parts that render what they are given. They know no endpoint; what moves comes in as a signal.

mod badge;
mod when;
mod notice;
mod plot;
mod timeline;
mod ages;
mod dialog;
mod equation;
mod breaker_dialog;
mod rule_fields;
mod rule_dialog;

pub use ages::Ages;
pub use badge::{
    AlertBadge, BreakerBadge, SeverityBadge, VerdictBadge, command_word, order_word,
    subject_figure, subject_word,
};
pub use breaker_dialog::{BreakerAct, BreakerDialog};
pub use dialog::Dialog;
pub use equation::Equation;
pub use notice::{Empty, NeedsScripts, NoJob, ProblemNotice, Waiting};
pub use rule_dialog::{RuleAct, RuleDialog};
pub use timeline::{Crosshair, Timeline, Zoom};
pub use when::{Ago, At, Freshness};
