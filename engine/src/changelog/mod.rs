//! The truth: what every committed epoch changed. In: an epoch's row changes and its end record.
//! Out: the same, in order, at recovery. Never here: what the bytes of a row mean.
//!
//! ```text
//! changelog/commits/<first epoch>.log     frames of CommitRecord
//! changelog/shard-<n>/<first epoch>.log   frames of Entry
//! frame = length: u32 | crc32 of the payload: u32 | payload          (big-endian)
//! ```
//! 1. An epoch is committed exactly when its commit record is whole on disk; the record names, for
//!    every shard, the file and the length up to which that shard's log belongs to committed epochs.
//! 2. Bytes behind that length never happened: recovery cuts them off.
//! 3. A damaged frame before that length is an error that names file and offset, never skipped.
//! 4. A checkpoint starts new files, so that old ones can be removed whole.

mod frame;
mod log;
mod record;
mod history;

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) use frame::{FrameReader, put_frame};
pub(crate) use history::{CommitHistory, cut};
pub(crate) use log::{SegmentedLog, segments};
pub(crate) use record::{
    CommitRecord, Entry, FRAME_BYTES, LogPosition, OperatorMeta, RowsBuilder, ShardMeta,
    SourcePosition, SpillPosition, StateMeta, for_each_row,
};

/// A file that must be synced before a commit record is written, with its path for the error.
pub(crate) type SyncFile = (PathBuf, Arc<File>);
