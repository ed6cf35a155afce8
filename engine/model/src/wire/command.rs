//! What a server wants of an engine, and how far it got.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer, Serialize};

use crate::breaker::{Action, Policy};
use crate::identity::{Name, NameError};

/// What the server wants of one state: the latest version of each class of orders wins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// Grows with every command of the server; also the command's id.
    pub version: u64,
    /// Operator that owns the state.
    pub operator: Name,
    /// The state.
    pub state: Name,
    /// What to do.
    pub order: Order,
    /// Who said so.
    pub actor: String,
    /// Why.
    pub reason: String,
}

impl Command {
    /// An order that somebody gives to the engine itself, without a server, and so without a version.
    ///
    /// # Errors
    /// Where operator or state is no name.
    pub fn local(
        (operator, state): (&str, &str),
        order: Order,
        actor: &str,
        reason: &str,
    ) -> Result<Self, NameError> {
        Ok(Self {
            version: 0,
            operator: Name::new(operator)?,
            state: Name::new(state)?,
            order,
            actor: actor.to_owned(),
            reason: reason.to_owned(),
        })
    }
}

/// What a person, or a rule, wants to happen to a state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// Open the breaker until reset, or until its end.
    Trip {
        /// What to do with events.
        action: Action,
        /// When it ends by itself.
        until_millis: Option<i64>,
    },
    /// Replay what the breaker diverted, and close it.
    Reset,
    /// Replace the breaker's automatic policy.
    Policy {
        /// The new policy.
        policy: Policy,
    },
    /// Put another TTL in place of the one that code declares (SEMANTICS §1.14).
    Ttl {
        /// In ms; `None`: entries never expire.
        ttl_millis: Option<i64>,
        /// When it ends by itself.
        until_millis: Option<i64>,
    },
    /// Go back to the TTL that code declares.
    TtlRevert,
    /// Let go for good what a shortened TTL hides; it cannot be brought back.
    ReclaimNow,
    /// Get back at once what bytes written-off entries hold.
    Clean {
        /// Only say what it would do.
        dry_run: bool,
    },
    /// Clean the state only when asked.
    PauseCleanup {
        /// When that ends by itself.
        until_millis: Option<i64>,
    },
    /// Clean the state again.
    ResumeCleanup,
}

/// Orders of one class replace one another; those of different classes do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderClass {
    /// Whether a breaker is open.
    Phase,
    /// By which policy a breaker opens.
    Policy,
    /// Which TTL holds.
    Ttl,
    /// What goes for good.
    Reclaim,
    /// What is cleaned once.
    Clean,
    /// Whether a state is cleaned.
    Cleanup,
}

impl OrderClass {
    /// Name in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Phase => "phase",
            Self::Policy => "policy",
            Self::Ttl => "ttl",
            Self::Reclaim => "reclaim",
            Self::Clean => "clean",
            Self::Cleanup => "cleanup",
        }
    }
}

impl Order {
    /// Its class.
    pub fn class(&self) -> OrderClass {
        match self {
            Self::Trip { .. } | Self::Reset => OrderClass::Phase,
            Self::Policy { .. } => OrderClass::Policy,
            Self::Ttl { .. } | Self::TtlRevert => OrderClass::Ttl,
            Self::ReclaimNow => OrderClass::Reclaim,
            Self::Clean { .. } => OrderClass::Clean,
            Self::PauseCleanup { .. } | Self::ResumeCleanup => OrderClass::Cleanup,
        }
    }

    /// Its name: on the wire, in tables and on screen.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Trip { .. } => "trip",
            Self::Reset => "reset",
            Self::Policy { .. } => "policy",
            Self::Ttl { .. } => "ttl",
            Self::TtlRevert => "ttl_revert",
            Self::ReclaimNow => "reclaim_now",
            Self::Clean { .. } => "clean",
            Self::PauseCleanup { .. } => "pause_cleanup",
            Self::ResumeCleanup => "resume_cleanup",
        }
    }

    /// Its name in the audit log: what it is about, and what it does.
    pub fn action(&self) -> &'static str {
        match self {
            Self::Trip { .. } => "breaker.trip",
            Self::Reset => "breaker.reset",
            Self::Policy { .. } => "breaker.policy",
            Self::Ttl { .. } => "ttl.set",
            Self::TtlRevert => "ttl.revert",
            Self::ReclaimNow => "ttl.reclaim",
            Self::Clean { dry_run: true } => "cleanup.dry_run",
            Self::Clean { dry_run: false } => "cleanup.run",
            Self::PauseCleanup { .. } => "cleanup.pause",
            Self::ResumeCleanup => "cleanup.resume",
        }
    }

    /// When it ends by itself.
    pub fn until_millis(&self) -> Option<i64> {
        match self {
            Self::Trip { until_millis, .. }
            | Self::Ttl { until_millis, .. }
            | Self::PauseCleanup { until_millis } => *until_millis,
            _ => None,
        }
    }
}

/// The answer to a long poll: commands above the version asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Commands {
    /// Version to ask after next time.
    pub version: u64,
    /// In version order.
    #[serde(deserialize_with = "known")]
    pub commands: Vec<Command>,
}

/// Leaves out what a newer server says and this engine does not understand: the rest is still to be
/// carried out, and the server sees that nobody takes it.
fn known<'de, D: Deserializer<'de>>(commands: D) -> Result<Vec<Command>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Known {
        Yes(Command),
        No(IgnoredAny),
    }
    let commands = Vec::<Known>::deserialize(commands)?;
    let known = commands.into_iter().filter_map(|command| match command {
        Known::Yes(command) => Some(command),
        Known::No(IgnoredAny) => None,
    });
    Ok(known.collect())
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
