//! What changed, for pages that are open: a broadcast that nobody waits for.

use serde::Serialize;
use stateward_model::alert::Phase;

/// One change. A receiver that falls behind loses events, never the server's time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum LiveEvent {
    /// A report was stored; at most one a second and job.
    Report {
        /// `namespace/job_name`.
        job: String,
    },
    /// An alert instance changed its phase.
    Alert {
        /// Name of the rule.
        rule: String,
        /// `namespace/job_name/operator/state`.
        of: String,
        /// The phase it entered.
        phase: Phase,
    },
    /// A breaker command was made, or got further.
    Command {
        /// `namespace/job_name/operator/state`.
        of: String,
        /// The command.
        version: u64,
    },
}

impl LiveEvent {
    /// Name of the server-sent event.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Report { .. } => "report",
            Self::Alert { .. } => "alert",
            Self::Command { .. } => "command",
        }
    }
}

/// Events that a slow receiver may be behind before it loses some.
pub(crate) const LIVE_EVENTS_MAX: usize = 256;
