//! Where records come from. In: files, streams. Out: records with their event time and a position
//! to come back to. Never here: keys, watermarks beyond a reader's own partition, blocking.

mod memory;
mod file;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::error::Error;

pub use file::{Compression, FileSource, LostPosition, Replay};
pub use memory::MemorySource;

/// A record with its event time, milliseconds since the Unix epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timed<T> {
    /// The record.
    pub value: T,
    /// Its event time.
    pub ts: i64,
}

/// What a reader is opened with.
#[derive(Clone, Debug)]
pub struct SourceContext {
    /// Uid of the source.
    pub uid: String,
    /// Partition to read, below [`Source::partitions`].
    pub partition: u32,
    /// Folder of the job where the source may keep dead letters (`dead-letters/`) and journals.
    pub job_dir: PathBuf,
    /// Wall time.
    pub clock: Arc<dyn Clock>,
}

/// A replayable input. One reader per partition is opened, on the shard that owns it.
///
/// # Contract
/// A reader that is opened with a position returns exactly the records after it, in the same order.
pub trait Source<T>: Send + Sync + fmt::Debug + 'static {
    /// Number of partitions, at least 1 and the same at every start.
    fn partitions(&self) -> u32 {
        1
    }
    /// Opens one partition at `position`, or at the start.
    ///
    /// # Errors
    /// Where the input does not exist, or `position` is not to be found any more: the text names
    /// both and the way out.
    fn open(
        &self,
        context: SourceContext,
        position: Option<&[u8]>,
    ) -> Result<Box<dyn SourceReader<T>>, Error>;
    /// What it reads, in words, for the lineage page: `"CSV flights.csv.zst, 20000× replay"`.
    fn detail(&self) -> String;
    /// Event time that passes in one second of wall time; 1 for live input.
    fn replay_factor(&self) -> f64 {
        1.0
    }
}

/// What a poll found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// Records were appended, or more may follow at once.
    Ready,
    /// Nothing now; ask again after the duration at the latest.
    Wait(Duration),
    /// Nothing ever again.
    Finished,
}

/// Reads one partition. Called by one thread, must not block for longer than a few milliseconds.
pub trait SourceReader<T>: Send {
    /// Appends at most `max` records to `out`.
    ///
    /// # Errors
    /// Where the input cannot be read any further. A single bad row is not an error: it goes to the
    /// dead-letter file and is counted.
    fn poll(&mut self, out: &mut Vec<Timed<T>>, max: usize) -> Result<Poll, Error>;
    /// Encodes the position after the last record that `poll` appended, dead letters included:
    /// opened at it, the reader goes on with the next record. Called at every barrier.
    ///
    /// # Errors
    /// Where what the position promises (a journal, a dead-letter file) cannot be written.
    fn position(&mut self) -> Result<Vec<u8>, Error>;
    /// The position in words: `"flights.csv.zst row 10,000, loop 2"`.
    fn position_text(&self) -> String;
    /// The epoch that contains the last `position` is committed.
    fn committed(&mut self) {}
    /// "Now" of this source for the future guard: the replay clock of a replaying source (the
    /// largest event time its pace allows), `None`: wall time.
    fn clock_millis(&self) -> Option<i64> {
        None
    }
    /// A watermark that the input itself carries, ms: no record up to it follows. It counts beside the
    /// one that follows from the records' times, whichever is later; opened at a position, the reader
    /// knows it again.
    fn watermark_millis(&self) -> Option<i64> {
        None
    }
    /// Whether everything that there is in the input now has been read: what
    /// [`Watermarks::advance_when_idle`](crate::Watermarks::advance_when_idle) asks for. A reader
    /// that cannot tell says no, which is the default; one that waits for a replay's pace is not
    /// caught up.
    fn caught_up(&self) -> bool {
        false
    }
    /// Rows rejected to the dead-letter file since it was opened at the start.
    fn rejected(&self) -> u64 {
        0
    }
    /// How often the input began anew, for looping sources.
    fn loops(&self) -> u64 {
        0
    }
}
