//! What a server wants of an engine, and how far it got.

use serde::{Deserialize, Serialize};

use crate::breaker::{Action, Policy};
use crate::identity::Name;

/// What the server wants of one breaker: the latest version wins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BreakerCommand {
    /// Grows with every command of the server; also the command's id.
    pub version: u64,
    /// Operator that owns the state.
    pub operator: Name,
    /// The state.
    pub state: Name,
    /// What to do.
    pub order: BreakerOrder,
    /// Who said so.
    pub actor: String,
    /// Why.
    pub reason: String,
}

/// What a person, or a rule, wants a breaker to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum BreakerOrder {
    /// Open it until reset, or until its end.
    Trip {
        /// What to do with events.
        action: Action,
        /// When it ends by itself.
        until_millis: Option<i64>,
    },
    /// Replay and close it.
    Reset,
    /// Replace the automatic policy.
    Policy {
        /// The new policy.
        policy: Policy,
    },
}

/// The answer to a long poll: commands above the version asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Commands {
    /// Version to ask after next time.
    pub version: u64,
    /// In version order.
    pub breakers: Vec<BreakerCommand>,
}

/// How far a command got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandPhase {
    /// Stored by the server.
    Requested,
    /// Persisted by the engine.
    Delivered,
    /// In force on some shards.
    Applied,
    /// In force everywhere.
    Done,
    /// Not carried out.
    Refused,
    /// No answer within the limit.
    TimedOut,
}

/// One step in a command's life.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandProgress {
    /// The command.
    pub version: u64,
    /// How far it got.
    pub phase: CommandPhase,
    /// Shards it is in force on.
    pub shards_applied: u16,
    /// Shards in all.
    pub shards: u16,
    /// Why it was refused, or what happened.
    pub detail: String,
    /// Engine wall clock.
    pub wall_millis: i64,
}
