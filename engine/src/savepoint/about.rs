//! What people are told of a savepoint.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::header::{Header, Totals};
use super::read::SavepointFile;
use super::snapshot::Snapshot;
use crate::error::Error;

/// A savepoint: a file from which a job goes on in another folder, with another number of shards,
/// on other backends.
///
/// # Examples
/// ```no_run
/// use stateward_engine::Savepoint;
/// let savepoint = Savepoint::read("monday.savepoint")?;
/// println!("{} at epoch {}", savepoint.job_name, savepoint.epoch);
/// # Ok::<(), stateward_engine::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Savepoint {
    /// The file.
    pub path: PathBuf,
    /// Its length.
    pub file_bytes: u64,
    /// Namespace of the job.
    pub namespace: String,
    /// The job.
    pub job_name: String,
    /// Newest epoch that is in it.
    pub epoch: u64,
    /// Wall clock of that epoch, ms.
    pub wall_millis: i64,
    /// Shards that the job had.
    pub shards: usize,
    /// States.
    pub states: usize,
    /// Entries of all states.
    pub entries: u64,
    /// Their keys and values, bytes.
    pub logical_bytes: u64,
    /// Expired entries that were left out (SEMANTICS §1.12).
    pub excluded_entries: u64,
    /// Their keys and values, bytes.
    pub excluded_bytes: u64,
}

impl Savepoint {
    pub(super) fn new(path: &Path, file_bytes: u64, header: &Header, totals: &Totals) -> Self {
        let sum = |of: fn(&super::header::StateTotals) -> u64| totals.states.iter().map(of).sum();
        Self {
            path: path.to_path_buf(),
            file_bytes,
            namespace: header.namespace.clone(),
            job_name: header.job_name.clone(),
            epoch: header.epoch,
            wall_millis: header.wall_millis,
            shards: header.shards,
            states: header.states.len(),
            entries: sum(|state| state.entries),
            logical_bytes: sum(|state| state.bytes),
            excluded_entries: sum(|state| state.excluded_entries),
            excluded_bytes: sum(|state| state.excluded_bytes),
        }
    }

    /// Reads what a savepoint says of itself; its rows are verified when they are restored.
    ///
    /// # Errors
    /// [`Error::Damaged`] where the file is damaged, cut off or no savepoint; else where it cannot be
    /// read.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let file = SavepointFile::open(path.as_ref())?;
        Ok(Self::new(file.path(), file.bytes(), file.header(), file.totals()))
    }
}
