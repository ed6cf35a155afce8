//! Savepoints: a job at one epoch in one file. In: a snapshot of a job, from its shards or from such a
//! file. Out: the file, or the snapshot again. Never here: threads, who asked for it.
//!
//! ```text
//! file    = "STATEWRD" | version: u32 | block* | offset of the last block: u64 | "STATEWRD"
//! block   = kind: u8 | owner: u16 | raw length: u32 | stored length: u32 | xxh3: u64 | zstd(payload)
//! header  = what the job is, states with their schemas and TTLs, clocks, source and sink positions,
//!           equations, people's decisions                                               (JSON)
//! rows    = rows of one state in key order, about 1 MiB a block          (as in the changelog)
//! recent  = keys of a state that expired lately; spilled, held = events that wait     (postcard)
//! totals  = entries and bytes by state, and what was left out, the last block          (JSON)
//! ```
//! 1. Nothing in it depends on the number of shards or on where rows rested: a row key begins with its
//!    key group, and the number of those is for ever.
//! 2. A hash covers a block's head, payload and place, so no block can be damaged, cut out or take
//!    another one's place unnoticed. What is damaged is an error with file and offset.
//! 3. What is expired for good at the state's clock is left out and counted (SEMANTICS §1.12).
//! 4. It has its name only when it is whole and synced, and never takes another file's.

mod block;
mod header;
mod snapshot;
mod about;
mod write;
mod read;
mod opened;
mod preview;
#[cfg(test)]
mod tests;

pub use about::Savepoint;
pub use preview::{RestorePreview, StateFate, StatePreview};

pub(crate) use header::{Header, SavedOperator, SavedState};
pub(crate) use opened::{open, open_checkpoint, with_stopped_job};
pub(crate) use preview::{Judging, preview_state};
pub(crate) use read::SavepointFile;
pub(crate) use snapshot::{Queue, Shards, Snapshot};
pub(crate) use write::write;
