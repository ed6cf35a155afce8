//! The bytes of one file after the other, whole or as they come.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::LostPosition;
use super::compression::Compression;
use super::cursor::{Cursor, Inode};
use super::position::{Identity, Position};
use super::rotation::siblings;
use crate::clock::Clock;
use crate::error::Error;

/// Which files are read, and how.
#[derive(Clone, Debug)]
pub(super) struct FileSet {
    pub(super) paths: Vec<PathBuf>,
    pub(super) rotated: bool,
    pub(super) follow: bool,
    pub(super) compression: Compression,
    pub(super) loop_shift_millis: Option<i64>,
}

impl FileSet {
    pub(super) fn one(path: PathBuf) -> Self {
        Self {
            paths: vec![path],
            rotated: false,
            follow: false,
            compression: Compression::Auto,
            loop_shift_millis: None,
        }
    }

    pub(super) fn describe(&self, is_pipe: bool) -> String {
        if is_pipe {
            return "from a pipe, journalled".to_owned();
        }
        let name = |path: &PathBuf| {
            path.file_name().map_or_else(
                || path.display().to_string(),
                |name| name.to_string_lossy().into_owned(),
            )
        };
        let mut text = self.paths.first().map(name).unwrap_or_default();
        if self.paths.len() > 1 {
            // Writing to a String cannot fail.
            let _infallible = write!(text, " and {} more", self.paths.len() - 1);
        }
        text
    }

    /// The file that grows: the last one.
    fn live(&self) -> &Path {
        self.paths.last().map_or(Path::new(""), PathBuf::as_path)
    }

    /// All files there are, in reading order.
    fn list(&self) -> Result<Vec<PathBuf>, Error> {
        if !self.rotated && !self.follow {
            return Ok(self.paths.clone());
        }
        let mut files = self.paths.clone();
        files.pop();
        files.extend(siblings(self.live()).map_err(Error::io("cannot list", self.live()))?);
        Ok(files)
    }

    /// Where reading begins without a position.
    fn first(&self, list: &[PathBuf]) -> usize {
        if self.follow && !self.rotated { list.len().saturating_sub(1) } else { 0 }
    }
}

/// What [`Input::fill`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filled {
    /// Appended bytes.
    Bytes,
    /// Nothing yet; ask again after the duration.
    Idle(Duration),
    /// The file ends here; the next one may follow.
    Ended,
}

/// Bytes that are read once, in files.
pub(super) trait Input: Send {
    /// Appends bytes of the current file to `buffer`.
    fn fill(&mut self, buffer: &mut Vec<u8>) -> Result<Filled, Error>;
    /// Goes to the start of the next file after [`Filled::Ended`]; `false` if there is none.
    fn advance(&mut self) -> Result<bool, Error>;
    /// Goes to a byte of the current file.
    fn seek(&mut self, offset: u64) -> Result<(), Error>;
    /// The current file.
    fn identity(&self) -> Identity;
    /// How often the input began anew.
    fn round(&self) -> u64 {
        0
    }
    /// Added to all event times.
    fn shift_millis(&self) -> i64 {
        0
    }
    /// Whether a lost position was given up.
    fn started_over(&self) -> bool {
        false
    }
    /// Whether the header may come again in the middle, because a new writer began.
    fn repeats_header(&self) -> bool {
        false
    }
    /// Everything up to `offset` is committed.
    fn committed(&mut self, _offset: u64) {}
}

/// After this time a renamed file is done even if the new one is still empty.
const ROTATION_GRACE_MILLIS: i64 = 5_000;
const FOLLOW_WAIT: Duration = Duration::from_millis(100);

pub(super) struct FilesInput {
    files: FileSet,
    clock: Arc<dyn Clock>,
    list: Vec<PathBuf>,
    index: usize,
    cursor: Cursor,
    round: u64,
    started_over: bool,
    follow: Follow,
}

/// What is known about the end of a followed file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follow {
    /// There may be more.
    Reading,
    /// At the end: before going on, see whether it is still the same file.
    AtEnd,
    /// Renamed away since the time; what its writer still has open may come.
    Renamed { since_millis: i64, was_read_again: bool },
    /// Cut under us: begin again at its start.
    Rewritten,
}

impl FilesInput {
    pub(super) fn open(
        files: FileSet,
        position: Option<&Position>,
        lost_position: LostPosition,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Error> {
        let list = files.list()?;
        let (index, started_over) = match position {
            None => (files.first(&list), false),
            Some(position) => match find(&files, &list, position) {
                Some(index) => (index, false),
                None if lost_position == LostPosition::Fail => return Err(lost(position)),
                None => {
                    tracing::warn!(reason = %lost(position), "starting over with the oldest file");
                    (0, true)
                }
            },
        };
        let path = list.get(index).map_or(files.live(), PathBuf::as_path);
        let mut cursor = Cursor::open(path, files.compression)?;
        if let Some(position) = position {
            // Learns the head again, so that the next position is as good as this one.
            cursor.begins_like(position.mark.head)?;
            cursor.seek(0, files.compression)?;
        }
        let round = position.map_or(0, |position| if started_over { 0 } else { position.round });
        let follow = Follow::Reading;
        Ok(Self { files, clock, list, index, cursor, round, started_over, follow })
    }

    /// Whether the current file may still grow.
    fn is_live(&self) -> bool {
        self.files.follow && !self.cursor.is_compressed() && self.index + 1 >= self.list.len()
    }

    /// What to do at the end of the file that grows.
    fn at_end(&mut self) -> Result<Filled, Error> {
        let refused = || Error::io("cannot look at", self.files.live());
        let metadata = match fs::metadata(self.files.live()) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Filled::Idle(FOLLOW_WAIT));
            }
            Err(error) => return Err(refused()(error)),
        };
        if Inode::of(&metadata) == self.cursor.inode {
            self.follow = Follow::AtEnd;
            return Ok(Filled::Idle(FOLLOW_WAIT));
        }
        let now_millis = self.clock.now_millis();
        let (since_millis, was_read_again) = match self.follow {
            Follow::Renamed { since_millis, was_read_again } => (since_millis, was_read_again),
            _ => (now_millis, false),
        };
        self.follow = Follow::Renamed { since_millis, was_read_again: true };
        let is_over = metadata.len() > 0 || now_millis - since_millis >= ROTATION_GRACE_MILLIS;
        if was_read_again && is_over {
            return Ok(Filled::Ended);
        }
        Ok(Filled::Idle(if was_read_again { FOLLOW_WAIT } else { Duration::ZERO }))
    }

    /// Opens the file that follows the current one in a fresh listing.
    fn advance_rotated(&mut self) -> Result<(), Error> {
        self.list = self.files.list()?;
        let mut current = None;
        for (index, path) in self.list.iter().enumerate() {
            if fs::metadata(path).is_ok_and(|found| Inode::of(&found) == self.cursor.inode) {
                current = Some(index);
            }
        }
        self.index = match current {
            Some(index) if self.follow != Follow::Rewritten => index + 1,
            _ => self.list.len().saturating_sub(1),
        };
        let path = self.list.get(self.index).map_or(self.files.live(), PathBuf::as_path);
        self.cursor = Cursor::open(path, self.files.compression)?;
        self.follow = Follow::Reading;
        Ok(())
    }
}

impl Input for FilesInput {
    fn fill(&mut self, buffer: &mut Vec<u8>) -> Result<Filled, Error> {
        if self.follow == Follow::AtEnd {
            let rewritten = self
                .cursor
                .was_rewritten()
                .map_err(Error::io("cannot look at", &self.cursor.path))?;
            if rewritten {
                self.follow = Follow::Rewritten;
                return Ok(Filled::Ended);
            }
        }
        if self.cursor.read(buffer)? > 0 {
            self.follow = match self.follow {
                Follow::Renamed { since_millis, .. } => {
                    Follow::Renamed { since_millis, was_read_again: false }
                }
                _ => Follow::Reading,
            };
            return Ok(Filled::Bytes);
        }
        if self.is_live() { self.at_end() } else { Ok(Filled::Ended) }
    }

    fn advance(&mut self) -> Result<bool, Error> {
        if self.files.follow {
            self.advance_rotated()?;
            return Ok(true);
        }
        self.index += 1;
        if self.index >= self.list.len() {
            if self.files.loop_shift_millis.is_none() {
                self.index = self.list.len().saturating_sub(1);
                return Ok(false);
            }
            self.index = 0;
            self.round += 1;
        }
        let path = self.list.get(self.index).map_or(self.files.live(), PathBuf::as_path);
        self.cursor = Cursor::open(path, self.files.compression)?;
        Ok(true)
    }

    fn seek(&mut self, offset: u64) -> Result<(), Error> {
        if self.cursor.seek(offset, self.files.compression)? {
            return Ok(());
        }
        Err(Error::Input {
            place: self.cursor.path.display().to_string(),
            detail: format!(
                "the committed position is byte {offset}, but the decompressed file has only {} \
                 bytes; put the whole file back",
                self.cursor.offset()
            ),
        })
    }

    fn identity(&self) -> Identity {
        Identity {
            path: self.cursor.path.clone(),
            inode: self.cursor.inode.number,
            head: self.cursor.head().to_vec(),
        }
    }

    fn round(&self) -> u64 {
        self.round
    }

    fn shift_millis(&self) -> i64 {
        let shift = self.files.loop_shift_millis.unwrap_or(0);
        shift.saturating_mul(i64::try_from(self.round).unwrap_or(i64::MAX))
    }

    fn started_over(&self) -> bool {
        self.started_over
    }
}

/// The file in `list` that `position` lies in.
fn find(files: &FileSet, list: &[PathBuf], position: &Position) -> Option<usize> {
    let mark = &position.mark;
    let path = mark.path();
    let mut best: Option<(u8, usize)> = None;
    for (index, candidate) in list.iter().enumerate() {
        let Ok(mut cursor) = Cursor::open(candidate, files.compression) else { continue };
        let is_shorter = !cursor.is_compressed()
            && file_bytes(candidate).is_none_or(|bytes| bytes < position.offset);
        if is_shorter || !cursor.begins_like(mark.head).unwrap_or(false) {
            continue;
        }
        let same_inode = cursor.inode.number == mark.inode;
        let score = u8::from(same_inode) * 2 + u8::from(*candidate == path);
        let may_be_recompressed = (files.rotated || files.follow) && mark.head.bytes > 0;
        if (score > 0 || may_be_recompressed) && best.is_none_or(|(found, _)| score > found) {
            best = Some((score, index));
        }
    }
    best.map(|(_, index)| index)
}

fn file_bytes(path: &Path) -> Option<u64> {
    fs::metadata(path).ok().map(|found| found.len())
}

fn lost(position: &Position) -> Error {
    let path = position.mark.path();
    let found = match fs::metadata(&path) {
        Ok(found) => format!("has inode {} and {} bytes now", found.ino(), found.len()),
        Err(error) => format!("cannot be looked at: {error}"),
    };
    Error::Input {
        place: path.display().to_string(),
        detail: format!(
            "the committed position, byte {} in inode {}, is gone: the file {found}, and none here \
             is long enough and begins like the one that was read. Put it back, or accept the loss \
             with .on_lost_position(LostPosition::StartOver)",
            position.offset, position.mark.inode
        ),
    }
}
