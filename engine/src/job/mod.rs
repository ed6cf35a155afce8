//! How a job is declared, run, committed and recovered. In: sources, user code, sinks. Out: shard
//! threads, one commit record per epoch, checkpoints. Never here: rows, TTL.
//!
//! 1. A shard is one thread. It owns a range of key groups and one instance of every node.
//! 2. One epoch is in flight at a time: the next barrier is requested when the last epoch is
//!    committed. While it is being committed the shards already process the next one.
//! 3. An epoch is committed when every shard has appended its batch, everything has been synced,
//!    and the commit record has been synced after it (SEMANTICS §4.1).

mod wish;
mod control;
mod exchange;
mod node;
mod source;
mod sink;
mod builder;
mod graph;
mod divide;
mod restore;
mod rescale;
mod shard;
mod checkpoints;
mod coordinator;
mod savepoint;
mod govern;
mod local;
mod memory;
mod options;
mod making;
mod start;
mod handle;
#[cfg(test)]
mod tests;

pub use builder::{Job, JobBuilder, KeyedStream, Record, Stream};
pub use handle::JobHandle;
pub use options::RunOptions;
pub use source::{FuturePolicy, Watermarks};

pub(crate) use control::{JobControl, PauseReason};
pub(crate) use coordinator::SharedFigures;
pub(crate) use exchange::{Arrived, Input, Output, Routed};
pub(crate) use graph::{held_dir, spill_dir};
pub(crate) use node::{Node, NodeEnv, Polled, encode_entry};
pub(crate) use shard::Barrier;
