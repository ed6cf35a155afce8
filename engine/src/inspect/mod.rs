//! Reads what a job left on disk, without the job: folders and checkpoints of Stateward's,
//! RocksDB folders, checkpoints and savepoints of Apache Flink's.
//!
//! In: a folder, perhaps copied from a running job. Out: per state, and per table, how much there
//! is, how old, how much of it expired. Never here: a write, a lock, a repair, a clock.
//!
//! ```text
//! recognise  what the folder is: parts, each a database, a stream or a shard
//! walk       every part, family by family, row by row  ◀─ rocks, flink
//! scout      first pass: how rows are built (guessed where nothing tells), and the newest time
//! tally      second pass: figures
//! ```
//! 1. RocksDB is not asked: its files are parsed here. It wants a whole folder and its lock, and
//!    a checkpoint of Flink's has tables without a folder, a copy may have half of one.
//! 2. Every length from outside is checked before it is used; damage costs what is damaged.
//! 3. What was guessed says so, and what could not be read is listed. Unknown is never 0.

mod bytes;
mod report;
mod place;
mod rocks;
mod flink;
mod form;
mod checkpoint;
mod recognise;
mod walk;
mod scout;
mod tally;
mod count;
#[cfg(test)]
mod tests;

use std::path::Path;

pub use checkpoint::{Inspected, Row, StateRows, inspect};
pub use report::{
    Basis, Figures, FileInspection, FolderVerdict, Inspection, LargeKey, NowFrom, Stamp,
    StateInspection, TakenFor, Unread,
};

use crate::error::Error;

/// What to judge by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InspectOptions {
    /// Instant that ages and expiry go by, ms; without one the newest time in the folder, or the
    /// checkpoint's own clock.
    pub now_millis: Option<i64>,
    /// TTL of the states that none is given for, ms.
    pub ttl_millis: Option<i64>,
    /// TTL by state, or by `operator/state`, ms.
    pub ttl_millis_of: Vec<(String, i64)>,
}

impl InspectOptions {
    /// The TTL that a state is judged by.
    fn ttl_of(&self, operator: Option<&str>, state: &str) -> Option<i64> {
        let is_meant = |name: &str| {
            let of_operator = operator.map(|operator| format!("{operator}/{state}"));
            name == state || of_operator.as_deref() == Some(name)
        };
        let named = self.ttl_millis_of.iter().find(|(name, _)| is_meant(name));
        named.map(|(_, ttl)| *ttl).or(self.ttl_millis)
    }
}

/// Reads a folder through and says what is in it. `progress` gets bytes done and bytes in all.
///
/// The folder is only read: no file in it is created, changed or locked.
///
/// # Errors
/// Where the folder is none that is known, or cannot be listed. A file in it that cannot be read
/// is no error but an [`Unread`].
///
/// # Examples
/// ```
/// use stateward_engine::inspect::{InspectOptions, analyse};
/// let empty = std::env::temp_dir().join("stateward-no-such-folder");
/// assert!(analyse(&empty, &InspectOptions::default(), &mut |_, _| {}).is_err());
/// ```
pub fn analyse(
    dir: &Path,
    options: &InspectOptions,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Inspection, Error> {
    count::inspection(dir, options, progress)
}
