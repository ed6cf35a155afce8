//! Who an engine is and what its job declares.

use serde::{Deserialize, Serialize};

use crate::breaker::Policy;
use crate::identity::Name;
use crate::ttl::{ClockKind, UpdateType, Visibility};

/// An engine says who it is, once per run and after every reconnect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// Must be [`PROTOCOL`](super::PROTOCOL).
    pub protocol: u32,
    /// `UUIDv7` of this start of the job.
    pub run: String,
    /// Namespace of the job.
    pub namespace: Name,
    /// Name of the job.
    pub job_name: Name,
    /// Build id of the job's binary.
    pub build_id: String,
    /// Source revision, where the build knew it.
    pub commit: Option<String>,
    /// Version of the engine library.
    pub engine_version: String,
    /// Engine wall clock when the run started.
    pub started_millis: i64,
    /// Engine wall clock now; the server measures the offset.
    pub wall_millis: i64,
    /// Shards.
    pub parallelism: u16,
    /// Key groups.
    pub key_groups: u16,
    /// Event time per wall time where a source replays; 1 for live input.
    pub replay_factor: f64,
    /// Sources, operators and sinks, in topological order.
    pub nodes: Vec<NodeDeclaration>,
    /// Edges between nodes.
    pub edges: Vec<EdgeDeclaration>,
    /// States with their declarations.
    pub states: Vec<StateDeclaration>,
}

/// What a node of the topology is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeKind {
    /// Reads input.
    Source,
    /// Processes records.
    Operator,
    /// Writes output.
    Sink,
}

/// One node of the topology.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeDeclaration {
    /// Uid, unique within the job.
    pub uid: Name,
    /// What it is.
    pub kind: NodeKind,
    /// Where it is declared, `file:line:column`.
    pub site: String,
    /// What it reads or writes, in words: a path, a format.
    pub detail: String,
}

/// One edge of the topology.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EdgeDeclaration {
    /// Uid of the upstream node.
    pub from: Name,
    /// Uid of the downstream node.
    pub to: Name,
    /// Whether records are exchanged by key.
    pub exchange: bool,
}

/// One state as code declares it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateDeclaration {
    /// Operator that owns it.
    pub operator: Name,
    /// Its name.
    pub state: Name,
    /// `"value"`, `"map"` or `"timer"`.
    pub kind: String,
    /// `"rocksdb"` or `"heap"`.
    pub backend: String,
    /// TTL; `None`: entries never expire.
    pub ttl_millis: Option<i64>,
    /// What stamps.
    pub update_type: UpdateType,
    /// Whether expired entries may be returned.
    pub visibility: Visibility,
    /// Which clock judges.
    pub clock: ClockKind,
    /// The breaker's own policy.
    pub breaker: Policy,
    /// Where it is declared, `file:line:column`.
    pub site: String,
}

/// The server's answer to a [`Hello`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HelloReply {
    /// The protocol the server speaks.
    pub protocol: u32,
    /// Highest sequence number of this run that is stored.
    pub stored_seq: Option<u64>,
}
