//! Reads files: CSV, NDJSON and free lines, plain or compressed, once, round and round, or as they
//! grow; and pipes, which cannot be read again.
//!
//! In: a path and a function from a row to events. Out: a [`Source`] of one partition. Never here:
//! a lost row (a bad one is kept in the dead-letter file), a silent jump over a lost position.
//!
//! ```text
//! input (files, follow | pipe ── journal) ─▶ rows (format) ─▶ reader (hold back, replay pace) ─▶ poll
//!                                              │ bad row                │
//!                                              ▼                        ▼
//!                                        dead letters               position
//! ```
//!
//! 1. A position names the first row that is not yet delivered whole, and how much was done from
//!    there on. Opening at it reads those rows again and drops exactly what was done.
//! 2. Files are recognised by the beginning of their decompressed content, then by inode and path:
//!    a rotated, compressed or re-copied file is found again, another file of the same name is not
//!    taken for it.

mod columns;
mod compression;
mod cursor;
mod dead_letter;
mod format;
mod rotation;
mod input;
mod pipe;
mod journal;
mod position;
mod replay;
mod rows;
mod reader;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;

use self::format::{Csv, Format, FormatOptions, Lines, Ndjson};
use self::input::{FileSet, FilesInput, Input};
use self::pipe::PipeInput;
use self::position::Position;
use self::reader::FileReader;
use self::rows::Rows;
use super::{Source, SourceContext, SourceReader, Timed};
use crate::error::Error;

pub use self::compression::Compression;
pub use self::replay::Replay;

/// What a file source does when the file that its committed position lies in is gone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LostPosition {
    /// The job does not start, and says what is missing. The default.
    #[default]
    Fail,
    /// Begins at the start of the oldest file there is, with a warning: rows between the position
    /// and that file are lost, rows of the files that are there may be read a second time.
    StartOver,
}

/// Opens something that can be read once only.
pub(crate) type PipeFactory = dyn Fn() -> Box<dyn Read + Send> + Send + Sync;
type FormatFactory<T> = dyn Fn(FormatOptions) -> Box<dyn Format<T>> + Send + Sync;
type IsHeld<T> = dyn Fn(&T) -> bool + Send + Sync;

/// Which events of a row come later than the others, and by how much.
pub(crate) struct HoldBack<T> {
    after_millis: i64,
    is_held: Arc<IsHeld<T>>,
}

impl<T> Clone for HoldBack<T> {
    fn clone(&self) -> Self {
        Self { after_millis: self.after_millis, is_held: Arc::clone(&self.is_held) }
    }
}

/// Reads events from files or standard input; one partition.
///
/// A row becomes any number of events. A row that cannot be read is counted and kept with its place
/// and the reason in `dead-letters/<source uid>.ndjson` of the job's folder. The path `-` is
/// standard input, see [`FileSource::pipe`].
///
/// # Examples
/// ```
/// use serde::Deserialize;
/// use stateward_engine::{FileSource, Timed};
///
/// #[derive(Deserialize)]
/// struct Reading {
///     ts_ms: i64,
///     sensor: String,
///     celsius: f64,
/// }
///
/// let source = FileSource::csv("readings.csv.zst", |row: Reading| {
///     [Timed { value: (row.sensor, row.celsius), ts: row.ts_ms }]
/// });
/// # let _: FileSource<(String, f64)> = source;
/// ```
pub struct FileSource<T> {
    format: Arc<FormatFactory<T>>,
    format_name: &'static str,
    options: FormatOptions,
    files: FileSet,
    pipe: Option<Arc<PipeFactory>>,
    replay: Option<Replay>,
    hold_back: Option<HoldBack<T>>,
    lost_position: LostPosition,
}

impl<T> fmt::Debug for FileSource<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileSource")
            .field("format", &self.format_name)
            .field("files", &self.files)
            .field("replay", &self.replay)
            .finish_non_exhaustive()
    }
}

impl<T: Send + 'static> FileSource<T> {
    /// Reads comma-separated values with a header line. A row is deserialized into `R` by the names
    /// of the columns; an empty field is `None` for an `Option`.
    ///
    /// Every field of `R` must be a column, else opening fails and names the column and the header.
    /// A column that `R` does not know is noted in the log, or refused, see
    /// [`deny_unknown_columns`](Self::deny_unknown_columns).
    pub fn csv<R, I, F>(path: impl AsRef<Path>, row: F) -> Self
    where
        R: DeserializeOwned + 'static,
        I: IntoIterator<Item = Timed<T>>,
        F: Fn(R) -> I + Send + Sync + 'static,
    {
        let row = Arc::new(row);
        Self::new(
            path.as_ref(),
            "CSV",
            Arc::new(move |options| Box::new(Csv::<R, F>::new(Arc::clone(&row), options))),
        )
    }

    /// Reads JSON, one value a line.
    pub fn ndjson<R, I, F>(path: impl AsRef<Path>, row: F) -> Self
    where
        R: DeserializeOwned + 'static,
        I: IntoIterator<Item = Timed<T>>,
        F: Fn(R) -> I + Send + Sync + 'static,
    {
        let row = Arc::new(row);
        Self::new(
            path.as_ref(),
            "NDJSON",
            Arc::new(move |_| Box::new(Ndjson::<R, F>::new(Arc::clone(&row)))),
        )
    }

    /// Reads lines of text. `parse` may make any number of events of a line, none if it does not
    /// concern the job, or reject it with a reason.
    pub fn lines<I, F>(path: impl AsRef<Path>, parse: F) -> Self
    where
        I: IntoIterator<Item = Timed<T>>,
        F: Fn(&str) -> Result<I, String> + Send + Sync + 'static,
    {
        let parse = Arc::new(parse);
        Self::new(
            path.as_ref(),
            "lines",
            Arc::new(move |_| Box::new(Lines::new(Arc::clone(&parse)))),
        )
    }

    fn new(path: &Path, format_name: &'static str, format: Arc<FormatFactory<T>>) -> Self {
        let source = Self {
            format,
            format_name,
            options: FormatOptions::default(),
            files: FileSet::one(path.to_path_buf()),
            pipe: None,
            replay: None,
            hold_back: None,
            lost_position: LostPosition::default(),
        };
        if path == Path::new("-") {
            return source.pipe(|| Box::new(std::io::stdin()));
        }
        source
    }

    /// Reads these files one after the other instead of the one path.
    #[must_use]
    pub fn files<P: Into<PathBuf>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.files.paths = paths.into_iter().map(Into::into).collect();
        self
    }

    /// Begins with the rotated siblings of the path, oldest first: `auth.log.2.gz`, `auth.log.1`,
    /// `auth.log`, or with dates, `auth.log-20261129`.
    #[must_use]
    pub fn rotated(mut self) -> Self {
        self.files.rotated = true;
        self
    }

    /// Says how the files are compressed. Default: by their first bytes.
    #[must_use]
    pub fn compression(mut self, compression: Compression) -> Self {
        self.files.compression = compression;
        self
    }

    /// Refuses a CSV file with a column that the row type does not know.
    #[must_use]
    pub fn deny_unknown_columns(mut self) -> Self {
        self.options.deny_unknown_columns = true;
        self
    }

    /// Paces the rows by their first event's time and makes the replay's time the source's clock
    /// for the future guard. Default: as they come, judged by wall time.
    #[must_use]
    pub fn replay(mut self, replay: Replay) -> Self {
        self.replay = Some(replay);
        self
    }

    /// Begins anew at the end, forever, with all event times shifted by a further `shift` (rounded
    /// down to milliseconds); choose it no shorter than the span of the events. Implies a
    /// [`replay`](Self::replay), as fast as possible unless set.
    #[must_use]
    pub fn looping(mut self, shift: Duration) -> Self {
        self.files.loop_shift_millis = Some(i64::try_from(shift.as_millis()).unwrap_or(i64::MAX));
        self
    }

    /// Goes on reading a plain file as it grows, by inode and offset, across rotation by renaming
    /// (once the new file has content, or after a grace of 5 s) and by copying and truncating.
    #[must_use]
    pub fn follow(mut self) -> Self {
        self.files.follow = true;
        self
    }

    /// Holds the events of a row for which `is_held` is true back until the input reaches rows that
    /// are `after` later, as if they had been written there. So one table of plans and outcomes
    /// replays as the two streams that it once was, in a fixed order.
    ///
    /// A row counts by the time of its first event. Not for [`follow`](Self::follow) or pipes.
    #[must_use]
    pub fn hold_back(
        mut self,
        after: Duration,
        is_held: impl Fn(&T) -> bool + Send + Sync + 'static,
    ) -> Self {
        let after_millis = i64::try_from(after.as_millis()).unwrap_or(i64::MAX);
        self.hold_back = Some(HoldBack { after_millis, is_held: Arc::new(is_held) });
        self
    }

    /// Says what happens when the committed position is gone. Default: [`LostPosition::Fail`].
    #[must_use]
    pub fn on_lost_position(mut self, lost_position: LostPosition) -> Self {
        self.lost_position = lost_position;
        self
    }

    /// Reads something that cannot be read again, instead of the path: a thread of its own reads
    /// whole lines, keeps them in a synced journal in the job's folder, and only then hands them on.
    /// The journal is cut behind the committed position, and read again after a restart.
    ///
    /// A line is safe once it is in the journal; what a killed process had taken from the pipe but
    /// not yet written there is lost, as with any pipe. The thread outlives the job until the pipe
    /// moves or closes.
    #[must_use]
    pub fn pipe(mut self, open: impl Fn() -> Box<dyn Read + Send> + Send + Sync + 'static) -> Self {
        self.pipe = Some(Arc::new(open));
        self
    }

    fn check(&self, uid: &str) -> Result<(), Error> {
        let contradiction = if self.files.follow && self.files.loop_shift_millis.is_some() {
            "it cannot follow a growing file and loop"
        } else if self.hold_back.is_some() && (self.files.follow || self.pipe.is_some()) {
            "it cannot hold events back in input that has no end yet"
        } else if self.pipe.is_some() && self.files.loop_shift_millis.is_some() {
            "it cannot loop over a pipe"
        } else if self.files.paths.is_empty() {
            "it has no file"
        } else if self.files.paths.len() > 1 && (self.files.follow || self.files.rotated) {
            "of several files none is followed or looked for rotated ones; give the one"
        } else if self.files.loop_shift_millis == Some(0) {
            "a loop needs a shift of at least a millisecond"
        } else if self.replay.is_some_and(|replay| !replay.is_valid()) {
            "a replay's speed must be a number above 0"
        } else {
            return Ok(());
        };
        Err(Error::Declaration(format!("source {uid}: {contradiction}")))
    }

    fn input(
        &self,
        context: &SourceContext,
        position: Option<&Position>,
    ) -> Result<Box<dyn Input>, Error> {
        if let Some(pipe) = &self.pipe {
            let offset = position.map_or(0, |position| position.offset);
            return Ok(Box::new(PipeInput::open(context, offset, pipe())?));
        }
        let files = FilesInput::open(
            self.files.clone(),
            position,
            self.lost_position,
            Arc::clone(&context.clock),
        )?;
        Ok(Box::new(files))
    }
}

impl<T: Send + 'static> Source<T> for FileSource<T> {
    fn open(
        &self,
        context: SourceContext,
        position: Option<&[u8]>,
    ) -> Result<Box<dyn SourceReader<T>>, Error> {
        self.check(&context.uid)?;
        let mut position =
            position.map(|bytes| Position::decode(bytes, &context.uid)).transpose()?;
        let input = self.input(&context, position.as_ref())?;
        if input.started_over()
            && let Some(position) = &mut position
        {
            position.start_over();
        }
        let eager_header = self.pipe.is_none() && !self.files.follow;
        let rows = Rows::open((self.format)(self.options), input, position.as_ref(), eager_header)?;
        let looping = self.files.loop_shift_millis.is_some();
        let replay = self.replay.or_else(|| looping.then(Replay::as_fast_as_possible));
        let reader = FileReader::open(context, rows, position, self.hold_back.clone(), replay)?;
        Ok(Box::new(reader))
    }

    fn detail(&self) -> String {
        let mut text = format!("{} {}", self.format_name, self.files.describe(self.pipe.is_some()));
        if let Some(replay) = self.replay {
            text.push_str(", ");
            text.push_str(&replay.to_string());
        }
        if self.files.loop_shift_millis.is_some() {
            text.push_str(", looping");
        }
        if self.files.follow {
            text.push_str(", followed");
        }
        text
    }

    fn replay_factor(&self) -> f64 {
        self.replay.and_then(Replay::factor).unwrap_or(1.0)
    }
}
