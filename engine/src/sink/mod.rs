//! Where results go. In: records. Out: whatever is outside, once per committed record. Never here:
//! keys, state.

mod file;
mod collect;

use std::fmt;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::Error;

pub use collect::CollectSink;
pub use file::FileSink;

/// What a writer is opened with.
#[derive(Clone, Debug)]
pub struct SinkContext {
    /// Uid of the sink.
    pub uid: String,
    /// Shard it runs on.
    pub shard: usize,
    /// Folder of the job, where relative paths are taken from.
    pub job_dir: PathBuf,
}

/// An output. One writer per shard.
pub trait Sink<T>: Send + Sync + fmt::Debug + 'static {
    /// Opens a shard's writer. With a position, everything written after it was never committed
    /// and must vanish; without one the job has never committed, and the same holds for everything.
    ///
    /// # Errors
    /// Where the output cannot be opened, or is shorter than `position` says.
    fn open(
        &self,
        context: SinkContext,
        position: Option<&[u8]>,
    ) -> Result<Box<dyn SinkWriter<T>>, Error>;
    /// What it writes, in words, for the lineage page.
    fn detail(&self) -> String;
}

/// What a writer hands over at a barrier.
#[derive(Debug, Default)]
pub struct Prepared {
    /// Position after everything written before the barrier; goes into the epoch.
    pub position: Vec<u8>,
    /// Files that must be synced before the commit record is written.
    pub sync: Vec<(PathBuf, Arc<File>)>,
}

/// Writes one shard's share.
pub trait SinkWriter<T>: Send {
    /// Takes one record with its event time.
    ///
    /// # Errors
    /// Where the output refuses, for example because the disk is full.
    fn write(&mut self, value: &T, ts: i64) -> Result<(), Error>;
    /// Hands everything before the barrier to the system, so that syncing the files makes it durable.
    ///
    /// # Errors
    /// As [`SinkWriter::write`].
    fn prepare(&mut self) -> Result<Prepared, Error>;
    /// The epoch of the last `prepare` is committed: publish.
    ///
    /// # Errors
    /// Where publishing fails; it must be possible to do it again after a restart.
    fn committed(&mut self) -> Result<(), Error>;
    /// The job ends after a commit: publish what is left.
    ///
    /// # Errors
    /// As [`SinkWriter::committed`].
    fn close(&mut self) -> Result<(), Error>;
}
