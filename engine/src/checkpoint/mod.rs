//! What a job can be recovered from. In: the shards' parts of a checkpoint, the changelog behind it.
//! Out: shards at the last committed epoch. Never here: when an epoch ends, user code, a row's value.
//!
//! ```text
//! job.json                                states, key groups, shards, generation
//! checkpoints/<epoch>/about.json          what it is of; size and xxh3 of every other file; sealed
//! checkpoints/<epoch>/shard-<n>/          db/ (hard links), *.heap, shard.meta
//! checkpoints/.<epoch>/                   unfinished
//! checkpoints/copies/                     a full one that is no longer recovered from: its files
//!                                         mend those that newer ones share
//! ```
//! 1. Each shard saves its part while it stands still; the rest (digests, copies, publication,
//!    retention) happens on a thread of its own while the job goes on.
//! 2. A checkpoint counts from the rename on. One that fails changes nothing but the figures; the
//!    next one is tried (SEMANTICS §4.2).
//! 3. The changelog reaches back to the oldest checkpoint that is retained.
//! 4. Hard links share inodes, so damage of one file can reach every checkpoint: from time to time a
//!    full one has copies of its own. Every file's size and digest are verified before it is used.

mod folder;
mod file;
mod about;
mod size;
mod retention;
mod publish;
mod recovery;

pub(crate) use about::{About, read_shard_meta, write_shard_meta};
pub(crate) use file::{link_files, record_files};
pub(crate) use folder::{Declared, JobFolder, Manifest, RetiredSink, StateEntry};
pub(crate) use publish::{Published, Publisher, Saving, ShardPart, Unfinished, failure_of};
pub(crate) use recovery::{Recovered, RecoveredShard, Recovery, open_shard, read_verified};
pub(crate) use retention::{Retention, checkpoints, keep_only, remove_dir};
pub(crate) use size::{folder_bytes, folder_parts};
