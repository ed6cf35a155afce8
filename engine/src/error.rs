//! The engine's one public error.

use std::io;
use std::path::{Path, PathBuf};

/// What can go wrong in a job; the text says what was got, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A job, operator, state, source or sink has a bad or repeated name, or settings that
    /// contradict one another. Fix the code that builds the job.
    #[error("job declaration: {0}")]
    Declaration(String),
    /// A value could not be encoded or decoded.
    #[error("{place}: {detail}")]
    Codec {
        /// Which state, record or file.
        place: String,
        /// What was expected and what was got.
        detail: String,
    },
    /// A file could not be read or written.
    #[error("{action} {}: {source}{}", path.display(), way_out(&source.to_string()))]
    Io {
        /// What was being done.
        action: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file's bytes contradict their checksum or format.
    #[error("{} is damaged at byte {offset}: {detail}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What was found, and the way out.
        detail: String,
    },
    /// The data folder cannot be used: in use, another version, another topology.
    #[error("data folder {}: {detail}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why, and the way out.
        detail: String,
    },
    /// RocksDB refused.
    #[error("state store {}: {detail}{}", path.display(), way_out(detail))]
    Store {
        /// The store's folder.
        path: PathBuf,
        /// What RocksDB said.
        detail: String,
    },
    /// Input that cannot be read at all (a single bad row is a dead letter instead).
    #[error("input {place}: {detail}")]
    Input {
        /// File and position.
        place: String,
        /// What is wrong, and the way out.
        detail: String,
    },
    /// User code of an operator failed.
    #[error("operator {operator}: {source}")]
    Operator {
        /// Its uid.
        operator: String,
        /// What it said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A write breaker refused a write: return it, the engine diverts the event whole and nothing
    /// of it remains. Swallowing it changes nothing.
    #[error("the write breaker of state {state} diverts this event")]
    Diverted {
        /// The state.
        state: String,
    },
    /// A checkpoint took longer than its timeout.
    #[error(
        "it took longer than the timeout of checkpoints; raise it, or give the job a faster disk"
    )]
    CheckpointTimeout,
    /// An order is not carried out.
    #[error("refused: {0}")]
    Refused(String),
    /// No job runs in a folder, or it does not listen.
    #[error("no job runs in {}, so there is nobody to ask", path.display())]
    NotRunning {
        /// The job's folder.
        path: PathBuf,
    },
    /// A thread of the job panicked: a bug, in the engine or in user code.
    #[error("thread {0} panicked; its message is on standard error")]
    ThreadLost(String),
}

/// What the system says of a full disk, also through RocksDB.
const DISK_FULL: &str = "No space left on device";

/// What to do about an error of the system's, where it is not in its words.
fn way_out(system: &str) -> &'static str {
    if system.contains(DISK_FULL) {
        "; free some space and start again, nothing that was committed is lost"
    } else {
        ""
    }
}

impl Error {
    /// Tells whether the disk was full: what could not be written is then not damaged.
    pub(crate) fn is_disk_full(&self) -> bool {
        // the system's words are in the text, whoever passed them on
        self.to_string().contains(DISK_FULL)
    }

    /// Wraps an I/O error with the file it concerns.
    pub fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |source| Self::Io { action, path, source }
    }

    /// Wraps an error of user code; the engine fills the operator in.
    pub fn user(source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Operator { operator: String::new(), source: source.into() }
    }
}
