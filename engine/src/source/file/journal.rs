//! A journal of bytes that cannot be read again.
//!
//! `journal/<source uid>/<first byte>.journal`, each a run of frames `length u32 | crc32 u32 | bytes`
//! (little endian). A frame is synced before anyone sees its bytes.
//!
//! 1. A segment's name is the number of the first byte in it, counted over the source's whole life,
//!    so segments need no index.
//! 2. Every start begins a new segment; a torn frame can therefore only be the last of its segment,
//!    and the next one begins with the byte that it would have begun with.
//! 3. A segment is deleted when all of it is committed and a later one exists.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::durable;
use crate::error::Error;

const SEGMENT_BYTES_MAX: u64 = 8 << 20;
const FRAME_HEADER_BYTES: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    start: u64,
    end: u64,
}

/// The segments there are, oldest first; shared by the thread that writes and the one that commits.
#[derive(Clone, Debug)]
pub(super) struct Segments {
    folder: PathBuf,
    list: Arc<Mutex<VecDeque<Segment>>>,
}

impl Segments {
    fn path(&self, start: u64) -> PathBuf {
        self.folder.join(format!("{start:020}.journal"))
    }

    fn with<O>(&self, act: impl FnOnce(&mut VecDeque<Segment>) -> O) -> O {
        act(&mut self.list.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Deletes what lies wholly before `offset`. A file that cannot be deleted is tried again at
    /// the next start.
    pub(super) fn delete_before(&self, offset: u64) {
        loop {
            let done = self.with(|list| match (list.front().copied(), list.len()) {
                (Some(first), 2..) if first.end <= offset => list.pop_front(),
                _ => None,
            });
            let Some(done) = done else { return };
            if let Err(error) = fs::remove_file(self.path(done.start)) {
                tracing::warn!(path = %self.path(done.start).display(), %error,
                    "cannot delete a journal segment");
            }
        }
    }
}

/// What a journal held when it was opened.
pub(super) struct Recovered {
    pub(super) writer: Writer,
    /// Bytes from the wanted offset on, in pieces, oldest first.
    pub(super) bytes: VecDeque<Vec<u8>>,
}

/// Opens the journal in `folder` to go on after byte `offset`.
pub(super) fn open(folder: &Path, offset: u64) -> Result<Recovered, Error> {
    durable::make_dir(folder)?;
    let segments = Segments { folder: folder.to_path_buf(), list: Arc::default() };
    let mut bytes = VecDeque::new();
    let mut end = None;
    for start in starts(folder)? {
        let path = segments.path(start);
        if let Some(expected) = end
            && start != expected
        {
            return Err(Error::Damaged {
                path,
                offset: 0,
                detail: format!(
                    "the journal before it ends at byte {expected}; restore the segments between"
                ),
            });
        }
        if end.is_none() && start > offset {
            return Err(lost(folder, offset, &format!("it begins at byte {start}")));
        }
        let found = read_segment(&path, start, offset, &mut bytes)?;
        segments.with(|list| list.push_back(Segment { start, end: found }));
        end = Some(found);
    }
    let end = end.unwrap_or(0);
    if end < offset {
        return Err(lost(folder, offset, &format!("it ends at byte {end}")));
    }
    // An empty last segment is written over: its name is the new one's.
    segments.with(|list| {
        if list.back().is_some_and(|last| last.start == end) {
            list.pop_back();
        }
    });
    let writer = Writer::begin(segments, end)?;
    writer.segments.delete_before(offset);
    Ok(Recovered { writer, bytes })
}

fn lost(folder: &Path, offset: u64, found: &str) -> Error {
    Error::Input {
        place: folder.display().to_string(),
        detail: format!(
            "the committed position is byte {offset} of the journal, but {found}; restore the \
             folder, or start the job anew in another one"
        ),
    }
}

fn starts(folder: &Path) -> Result<Vec<u64>, Error> {
    let refused = || Error::io("cannot list the journal", folder);
    let mut starts = Vec::new();
    for entry in fs::read_dir(folder).map_err(refused())? {
        let name = entry.map_err(refused())?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".journal"));
        starts.extend(number.and_then(|number| number.parse::<u64>().ok()));
    }
    starts.sort_unstable();
    Ok(starts)
}

/// Appends the bytes from `offset` on to `bytes`; gives the number of the byte after the segment.
fn read_segment(
    path: &Path,
    start: u64,
    offset: u64,
    bytes: &mut VecDeque<Vec<u8>>,
) -> Result<u64, Error> {
    let content = fs::read(path).map_err(Error::io("cannot read the journal", path))?;
    let mut rest = content.as_slice();
    let mut at = start;
    while let Some((frame, after)) = split_frame(rest) {
        let end = at + frame.len() as u64;
        if end > offset {
            let skip = usize::try_from(offset.saturating_sub(at)).unwrap_or(usize::MAX);
            bytes.push_back(frame.get(skip..).unwrap_or_default().to_vec());
        }
        at = end;
        rest = after;
    }
    Ok(at)
}

/// The first frame of `bytes`, `None` if it is torn.
fn split_frame(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    let (checksum, rest) = rest.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length) as usize;
    let frame = rest.get(..length)?;
    let is_whole = crc32fast::hash(frame) == u32::from_le_bytes(*checksum) && length > 0;
    is_whole.then(|| (frame, rest.get(length..).unwrap_or_default()))
}

/// Appends to the newest segment.
pub(super) struct Writer {
    pub(super) segments: Segments,
    file: File,
    start: u64,
    end: u64,
    scratch: Vec<u8>,
}

impl Writer {
    fn begin(segments: Segments, start: u64) -> Result<Self, Error> {
        let path = segments.path(start);
        let file = durable::make_file(&path)?;
        segments.with(|list| list.push_back(Segment { start, end: start }));
        Ok(Self { segments, file, start, end: start, scratch: Vec::new() })
    }

    /// Appends a frame and syncs it.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if self.end - self.start >= SEGMENT_BYTES_MAX {
            *self = Self::begin(self.segments.clone(), self.end)?;
        }
        self.scratch.clear();
        self.scratch.reserve(FRAME_HEADER_BYTES + bytes.len());
        self.scratch.extend((bytes.len() as u32).to_le_bytes());
        self.scratch.extend(crc32fast::hash(bytes).to_le_bytes());
        self.scratch.extend(bytes);
        self.file
            .write_all(&self.scratch)
            .and_then(|()| self.file.sync_data())
            .map_err(Error::io("cannot append to the journal", self.segments.path(self.start)))?;
        self.end += bytes.len() as u64;
        let end = self.end;
        self.segments.with(|list| {
            if let Some(last) = list.back_mut() {
                last.end = end;
            }
        });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(recovered: &Recovered) -> Vec<u8> {
        recovered.bytes.iter().flatten().copied().collect()
    }

    #[test]
    fn what_was_appended_is_there_again_from_any_byte() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = open(folder.path(), 0).unwrap().writer;
        journal.append(b"hello\n").unwrap();
        journal.append(b"world\n").unwrap();
        drop(journal);
        for offset in 0..=12 {
            let recovered = open(folder.path(), offset).unwrap();
            assert_eq!(joined(&recovered), b"hello\nworld\n"[offset as usize..]);
        }
    }

    #[test]
    fn a_torn_frame_is_dropped_at_every_byte() {
        let whole = tempfile::tempdir().unwrap();
        let mut journal = open(whole.path(), 0).unwrap().writer;
        journal.append(b"one\n").unwrap();
        journal.append(b"two\n").unwrap();
        let path = journal.segments.path(0);
        let content = fs::read(path).unwrap();
        for cut in 0..content.len() {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join(format!("{:020}.journal", 0)), &content[..cut]).unwrap();
            let mut recovered = open(folder.path(), 0).unwrap();
            let kept = if cut < 12 { &b""[..] } else { b"one\n" };
            assert_eq!(joined(&recovered), kept, "cut at {cut}");
            recovered.writer.append(b"new\n").unwrap();
            let again = joined(&open(folder.path(), 0).unwrap());
            assert_eq!(again, [kept, b"new\n"].concat(), "cut at {cut}");
        }
    }

    #[test]
    fn committed_segments_are_deleted_and_a_lost_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        open(folder.path(), 0).unwrap().writer.append(b"one\n").unwrap();
        open(folder.path(), 0).unwrap().writer.append(b"two\n").unwrap();
        let recovered = open(folder.path(), 4).unwrap();
        assert_eq!(joined(&recovered), b"two\n");
        assert_eq!(starts(folder.path()).unwrap(), [4, 8]);
        recovered.writer.segments.delete_before(8);
        assert_eq!(starts(folder.path()).unwrap(), [8]);
        let error = open(folder.path(), 4).err().unwrap().to_string();
        assert!(error.contains("byte 4"), "{error}");
    }
}
