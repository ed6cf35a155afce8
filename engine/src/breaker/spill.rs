//! Diverted events and timers of one operator on one shard, in order of arrival (SEMANTICS §7.6).
//! Also what a barrier overtakes while timers fire.
//!
//! ```text
//! spill/shard-<n>/op-<k>/<offset of its first record>.spill    frames of Spilled
//! ```
//! Offsets count from the first record ever. An epoch commits head and tail together with
//! everything else; recovery cuts the tail back to the committed one and reads on at the head.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stateward_model::ClockKind;

use crate::changelog::{FrameReader, SpillPosition, SyncFile, put_frame};
use crate::durable;
use crate::error::Error;

/// Bytes after which a new file begins.
const SEGMENT_BYTES: u64 = 16 << 20;

/// One diverted event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Spilled {
    pub(crate) key: Vec<u8>,
    pub(crate) event: Vec<u8>,
    pub(crate) ts: i64,
    pub(crate) hash: u64,
    /// The clock it came with (SEMANTICS §7.4).
    pub(crate) watermark: Option<i64>,
    /// It is a timer for `ts` on this clock, and there is no event.
    pub(crate) timer: Option<ClockKind>,
}

struct Segment {
    first: u64,
    path: PathBuf,
}

struct Head {
    event: Spilled,
    next: u64,
}

/// The spill of one operator on one shard.
pub(crate) struct Spill {
    dir: PathBuf,
    segments: Vec<Segment>,
    file: Option<Arc<File>>,
    reader: Option<(u64, FrameReader)>,
    position: SpillPosition,
    buffer: Vec<u8>,
    head: Option<Head>,
    /// Keys that divert, with how many of their events wait.
    keys: HashMap<Vec<u8>, u64>,
    pending: u64,
    /// Those of them that are timers on the watermark, and on the wall clock.
    pending_timers: (u64, u64),
    pending_bytes: u64,
    /// Event times of what waits would need a heap; the oldest is kept as a lower bound that is
    /// exact again whenever the spill drains.
    oldest_ts: Option<i64>,
    /// Files with bytes that no barrier has handed over to be synced; the last may be the one in hand.
    unsynced: Vec<SyncFile>,
}

impl Spill {
    /// Opens the spill at its committed position; what lies behind the tail never happened.
    pub(crate) fn open(dir: &Path, position: SpillPosition) -> Result<Self, Error> {
        durable::make_dir(dir)?;
        let mut spill = Self::new(dir, position);
        spill.find_segments()?;
        spill.cut_tail()?;
        spill.recount()?;
        Ok(spill)
    }

    /// Opens, to be read only, a spill whose files others write behind the tail.
    pub(crate) fn open_shared(dir: &Path, position: SpillPosition) -> Result<Self, Error> {
        let mut spill = Self::new(dir, position);
        spill.find_segments()?;
        spill.recount()?;
        Ok(spill)
    }

    fn new(dir: &Path, position: SpillPosition) -> Self {
        Self {
            dir: dir.to_path_buf(),
            segments: Vec::new(),
            file: None,
            reader: None,
            position,
            buffer: Vec::new(),
            head: None,
            keys: HashMap::new(),
            pending: 0,
            pending_timers: (0, 0),
            pending_bytes: 0,
            oldest_ts: None,
            unsynced: Vec::new(),
        }
    }

    fn find_segments(&mut self) -> Result<(), Error> {
        for entry in fs::read_dir(&self.dir).map_err(Error::io("list", &self.dir))? {
            let path = entry.map_err(Error::io("list", &self.dir))?.path();
            let first = path.file_stem().and_then(|s| s.to_str()).and_then(|s| s.parse().ok());
            if let Some(first) = first {
                self.segments.push(Segment { first, path });
            }
        }
        self.segments.sort_by_key(|segment| segment.first);
        Ok(())
    }

    fn cut_tail(&mut self) -> Result<(), Error> {
        let tail = self.position.tail;
        while let Some(last) = self.segments.last() {
            if last.first < tail {
                let file = OpenOptions::new()
                    .write(true)
                    .open(&last.path)
                    .map_err(Error::io("open", &last.path))?;
                let length = file.metadata().map_err(Error::io("read", &last.path))?.len();
                if last.first + length < tail {
                    return Err(Error::Damaged {
                        path: last.path.clone(),
                        offset: length,
                        detail: "the committed spill is longer than its file; restore the folder from a copy".into(),
                    });
                }
                file.set_len(tail - last.first).map_err(Error::io("cut", &last.path))?;
                break;
            }
            fs::remove_file(&last.path).map_err(Error::io("remove", &last.path))?;
            self.segments.pop();
        }
        Ok(())
    }

    /// Rebuilds the diverting keys from what waits.
    fn recount(&mut self) -> Result<(), Error> {
        let committed = self.position;
        while let Some(next) = self.peek()?.map(|(_, next)| next) {
            if let Some(head) = self.head.take() {
                self.note(&head.event, next - self.position.head);
            }
            self.position.head = next;
        }
        self.position = committed;
        self.reader = None;
        Ok(())
    }

    fn note(&mut self, event: &Spilled, bytes: u64) {
        *self.keys.entry(event.key.clone()).or_default() += 1;
        self.pending += 1;
        if let Some(clock) = event.timer {
            *self.pending_timers_mut(clock) += 1;
        }
        self.pending_bytes += bytes;
        self.oldest_ts = Some(self.oldest_ts.map_or(event.ts, |oldest| oldest.min(event.ts)));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pending == 0
    }

    /// Tells whether events of this key wait: then later ones must wait too (SEMANTICS §7.4).
    pub(crate) fn holds_key(&self, key: &[u8]) -> bool {
        !self.keys.is_empty() && self.keys.contains_key(key)
    }

    pub(crate) fn keys(&self) -> u64 {
        self.keys.len() as u64
    }

    /// Events that wait, and the bytes of all that waits.
    pub(crate) fn pending(&self) -> (u64, u64) {
        (self.pending - self.pending_timers.0 - self.pending_timers.1, self.pending_bytes)
    }

    /// Timers that wait, by their clock.
    pub(crate) fn pending_timers(&self, clock: ClockKind) -> u64 {
        match clock {
            ClockKind::EventTime => self.pending_timers.0,
            ClockKind::ProcessingTime => self.pending_timers.1,
        }
    }

    fn pending_timers_mut(&mut self, clock: ClockKind) -> &mut u64 {
        match clock {
            ClockKind::EventTime => &mut self.pending_timers.0,
            ClockKind::ProcessingTime => &mut self.pending_timers.1,
        }
    }

    /// A lower bound of the event times that wait.
    pub(crate) fn oldest_ts(&self) -> Option<i64> {
        self.oldest_ts.filter(|_| !self.is_empty())
    }

    /// Appends an event.
    pub(crate) fn push(&mut self, event: &Spilled) -> Result<(), Error> {
        let payload = postcard::to_stdvec(event).map_err(|e| Error::Codec {
            place: "spill".into(),
            detail: format!("a diverted event cannot be encoded: {e}"),
        })?;
        let before = self.buffer.len();
        put_frame(&payload, &mut self.buffer);
        let bytes = (self.buffer.len() - before) as u64;
        self.position.tail += bytes;
        self.note(event, bytes);
        if self.buffer.len() >= 1 << 18 { self.write() } else { Ok(()) }
    }

    /// Hands what was pushed to the system.
    fn write(&mut self) -> Result<(), Error> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let written_to = self.position.tail - self.buffer.len() as u64;
        let full = self.segments.last().is_none_or(|s| written_to - s.first >= SEGMENT_BYTES);
        if full || self.file.is_none() {
            if full {
                let path = self.dir.join(format!("{written_to:020}.spill"));
                self.segments.push(Segment { first: written_to, path });
            }
            let Some(last) = self.segments.last() else { return Ok(()) };
            let mut file = if full {
                durable::make_file(&last.path)?
            } else {
                let file = OpenOptions::new().write(true).open(&last.path);
                file.map_err(Error::io("open", &last.path))?
            };
            file.seek(SeekFrom::Start(written_to - last.first))
                .map_err(Error::io("open", &last.path))?;
            self.file = Some(Arc::new(file));
        }
        if let (Some(file), Some(last)) = (&self.file, self.segments.last()) {
            let mut to: &File = file;
            to.write_all(&self.buffer).map_err(Error::io("append to", &last.path))?;
            if self.unsynced.last().is_none_or(|(path, _)| *path != last.path) {
                self.unsynced.push((last.path.clone(), Arc::clone(file)));
            }
        }
        self.buffer.clear();
        Ok(())
    }

    /// Reads the oldest event that waits, with the offset behind it.
    pub(crate) fn peek(&mut self) -> Result<Option<(&Spilled, u64)>, Error> {
        if self.head.is_none() && self.position.head < self.position.tail {
            self.write()?;
            self.head = Some(self.read_head()?);
        }
        Ok(self.head.as_ref().map(|head| (&head.event, head.next)))
    }

    fn read_head(&mut self) -> Result<Head, Error> {
        let head = self.position.head;
        let segment = self.segments.iter().rev().find(|segment| segment.first <= head);
        let Some(segment) = segment else {
            return Err(Error::Damaged {
                path: self.dir.clone(),
                offset: head,
                detail: "the spill file that holds the oldest diverted event is gone; restore the folder from a copy".into(),
            });
        };
        let fresh = match &self.reader {
            Some((first, reader)) if *first == segment.first => first + reader.offset() != head,
            _ => true,
        };
        if fresh {
            let mut reader = FrameReader::open(&segment.path)?;
            reader.seek(head - segment.first)?;
            self.reader = Some((segment.first, reader));
        }
        let Some((first, reader)) = &mut self.reader else {
            return Err(Error::ThreadLost("spill reader".into()));
        };
        let mut payload = Vec::new();
        if !reader.next(&mut payload)? {
            return Err(reader.damaged());
        }
        let event = reader.decode(&payload)?;
        Ok(Head { event, next: *first + reader.offset() })
    }

    /// Takes the oldest event, which has been looked at: it was applied, or is about to be.
    pub(crate) fn pop(&mut self) -> Option<Spilled> {
        let head = self.head.take()?;
        let bytes = head.next - self.position.head;
        self.position.head = head.next;
        self.pending -= 1;
        if let Some(clock) = head.event.timer {
            *self.pending_timers_mut(clock) -= 1;
        }
        self.pending_bytes -= bytes;
        if let Some(waiting) = self.keys.get_mut(&head.event.key) {
            *waiting -= 1;
            if *waiting == 0 {
                self.keys.remove(&head.event.key);
            }
        }
        if self.is_empty() {
            self.oldest_ts = None;
        }
        Some(head.event)
    }

    /// At a barrier: the position for the epoch, and the files to sync.
    pub(crate) fn prepare(&mut self) -> Result<(SpillPosition, Vec<SyncFile>), Error> {
        self.write()?;
        Ok((self.position, std::mem::take(&mut self.unsynced)))
    }

    /// After the commit of an epoch with this position: removes files that nobody needs.
    pub(crate) fn committed(&mut self, position: SpillPosition) -> Result<(), Error> {
        while let [first, second, ..] = self.segments.as_slice() {
            if second.first > position.head {
                break;
            }
            fs::remove_file(&first.path).map_err(Error::io("remove", &first.path))?;
            self.segments.remove(0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(key: u8, ts: i64) -> Spilled {
        Spilled {
            key: vec![key],
            event: vec![key; 100],
            ts,
            hash: u64::from(key),
            watermark: None,
            timer: None,
        }
    }

    /// §7.6, §4.8: an epoch that fills a file and begins the next has both to sync.
    #[test]
    fn a_full_file_is_synced_too() {
        let dir = tempfile::tempdir().unwrap();
        let mut spill = Spill::open(dir.path(), SpillPosition::default()).unwrap();
        let synced = |spill: &mut Spill| {
            let (_, files) = spill.prepare().unwrap();
            files.iter().map(|(path, _)| fs::metadata(path).unwrap().len()).collect::<Vec<_>>()
        };
        let mut large = event(1, 1);
        large.event = vec![1; SEGMENT_BYTES as usize];
        spill.push(&event(1, 0)).unwrap();
        spill.push(&large).unwrap();
        spill.push(&event(1, 2)).unwrap();
        let lengths = synced(&mut spill);
        assert!(
            matches!(lengths[..], [full, next] if full > SEGMENT_BYTES && next > 0),
            "{lengths:?}"
        );
        assert_eq!(synced(&mut spill).len(), 0);
        spill.push(&event(1, 3)).unwrap();
        assert_eq!(synced(&mut spill).len(), 1);
    }

    /// §7.6: what is behind the committed tail never happened, what is in front of it waits.
    #[test]
    fn comes_back_at_the_committed_position() {
        let dir = tempfile::tempdir().unwrap();
        let mut spill = Spill::open(dir.path(), SpillPosition::default()).unwrap();
        for n in 0..10 {
            spill.push(&event(n % 3, i64::from(n))).unwrap();
        }
        assert_eq!(spill.peek().unwrap().unwrap().0, &event(0, 0));
        spill.pop();
        let (committed, _) = spill.prepare().unwrap();
        spill.push(&event(9, 99)).unwrap();
        spill.prepare().unwrap();
        spill.peek().unwrap();
        spill.pop();
        drop(spill);
        let mut spill = Spill::open(dir.path(), committed).unwrap();
        assert_eq!(spill.pending().0, 9);
        assert!(spill.holds_key(&[0]) && !spill.holds_key(&[9]));
        assert_eq!(spill.oldest_ts(), Some(1));
        for n in 1..10 {
            assert_eq!(spill.peek().unwrap().unwrap().0, &event(n % 3, i64::from(n)));
            spill.pop();
        }
        assert!(spill.peek().unwrap().is_none() && spill.is_empty());
        spill.push(&event(4, 4)).unwrap();
        assert_eq!(spill.peek().unwrap().unwrap().0, &event(4, 4));
    }
}
