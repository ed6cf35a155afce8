//! What goes over the socket.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use stateward_model::wire::Command;

use crate::savepoint::Savepoint;

/// Version of the protocol. Fields that are not known are ignored.
pub(crate) const PROTOCOL: u32 = 1;

/// Longest line, in bytes; a longer one is refused.
pub(crate) const LINE_BYTES_MAX: u64 = 64 << 10;

/// A request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) protocol: u32,
    #[serde(flatten)]
    pub(crate) what: What,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub(crate) enum What {
    /// How is it?
    Status,
    /// Make a checkpoint now.
    Checkpoint,
    /// Write a savepoint; without a path, into the job's own folder.
    Savepoint { path: Option<PathBuf> },
    /// End, as at Ctrl-C.
    Stop,
    /// End with a savepoint of the last epoch.
    StopWithSavepoint { path: Option<PathBuf> },
    /// Give an order about a state.
    Order { order: Command },
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) protocol: u32,
    #[serde(flatten)]
    pub(crate) outcome: Outcome,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub(crate) enum Outcome {
    Status(JobStatus),
    /// Published.
    Checkpoint {
        epoch: u64,
    },
    /// Written.
    Savepoint(Savepoint),
    /// It will end.
    Stopping,
    /// It is in the journal and in force.
    Done,
    /// It is not done; the text says why, and what to do.
    Refused {
        why: String,
    },
    /// It was tried and failed.
    Failed {
        why: String,
    },
}

/// How a running job is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct JobStatus {
    /// Last committed epoch.
    pub epoch: u64,
    /// Its shards.
    pub shards: usize,
    /// States.
    pub states: usize,
    /// Entries of all states, expired ones that are not written off included.
    pub entries: u64,
    /// Their keys and values, bytes.
    pub logical_bytes: u64,
    /// Wall clock of the last checkpoint, ms; `None` before the first one.
    pub checkpoint_millis: Option<i64>,
}
