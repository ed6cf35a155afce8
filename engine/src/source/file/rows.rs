//! Rows in order, each with its place. In: bytes. Out: the events of a row, or why it was rejected.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use super::format::{Format, Split};
use super::input::{Filled, Input};
use super::position::{Identity, Position, in_words};
use crate::error::Error;
use crate::source::Timed;

/// Where a row is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RowAt {
    /// Which of the files since opening.
    file: u64,
    /// Its first byte.
    pub(super) offset: u64,
    /// Rows before it in the file.
    pub(super) row: u64,
    /// Loops before it.
    pub(super) round: u64,
    /// Rows before it since opening.
    pub(super) ordinal: u64,
}

/// What [`Rows::next`] found.
pub(super) enum Next<'a> {
    /// A row; its events were appended, shifted by the loop.
    Row(RowAt),
    /// A row that cannot be read.
    Rejected { at: RowAt, row: &'a [u8], reason: String },
    /// Nothing yet.
    Wait(Duration),
    /// Nothing ever again.
    Finished,
}

/// A file that positions may lie in.
struct Known {
    file: u64,
    path: PathBuf,
    /// Kept when the file is left behind.
    identity: Option<Identity>,
}

pub(super) struct Rows<T> {
    format: Box<dyn Format<T>>,
    input: Box<dyn Input>,
    buffer: Vec<u8>,
    /// First byte of `buffer` that was not taken.
    start: usize,
    at: RowAt,
    is_ended: bool,
    header: Option<Vec<u8>>,
    known: VecDeque<Known>,
}

impl<T> Rows<T> {
    pub(super) fn open(
        format: Box<dyn Format<T>>,
        input: Box<dyn Input>,
        position: Option<&Position>,
        eager_header: bool,
    ) -> Result<Self, Error> {
        let mut rows = Self {
            format,
            input,
            buffer: Vec::new(),
            start: 0,
            at: RowAt::default(),
            is_ended: false,
            header: None,
            known: VecDeque::new(),
        };
        rows.at.round = rows.input.round();
        rows.learn();
        let offset = position.map_or(0, |position| position.offset);
        let is_pipe = rows.input.repeats_header();
        if let Some(header) = position.and_then(|position| position.header.as_deref()) {
            rows.format.split(header, true);
            rows.take_header(header)?;
        } else if rows.format.has_header() && (eager_header || offset > 0) && !is_pipe {
            rows.read_header()?;
        }
        if let Some(position) = position
            && offset > 0
        {
            if !is_pipe {
                rows.input.seek(offset)?;
                rows.buffer.clear();
                rows.start = 0;
            }
            rows.at.offset = offset;
            rows.at.row = position.row;
            rows.is_ended = false;
        }
        Ok(rows)
    }

    /// The place of the row that comes next.
    pub(super) fn at(&self) -> RowAt {
        self.at
    }

    /// Takes the next row.
    pub(super) fn next(&mut self, events: &mut Vec<Timed<T>>) -> Result<Next<'_>, Error> {
        loop {
            let pending = self.buffer.get(self.start..).unwrap_or_default();
            let bytes = match self.format.split(pending, self.is_ended) {
                Split::Need => match self.more()? {
                    Some(next) => return Ok(next),
                    None => continue,
                },
                Split::Blank { bytes } => {
                    self.take(bytes);
                    continue;
                }
                Split::TooLong { bytes } => return Ok(self.reject(bytes, "too long".to_owned())),
                Split::Row { bytes } => bytes,
            };
            if self.format.has_header() && self.take_if_header(bytes)? {
                continue;
            }
            let row = self.buffer.get(self.start..self.start + bytes).unwrap_or_default();
            let before = events.len();
            if let Err(reason) = self.format.decode(row, events) {
                events.truncate(before);
                return Ok(self.reject(bytes, reason));
            }
            let shift = self.input.shift_millis();
            for event in events.iter_mut().skip(before) {
                event.ts = event.ts.saturating_add(shift);
            }
            let at = self.at;
            self.take_row(bytes);
            return Ok(Next::Row(at));
        }
    }

    /// Gets more bytes, or goes to the next file; gives what to answer if there is neither.
    fn more(&mut self) -> Result<Option<Next<'static>>, Error> {
        if !self.is_ended {
            self.buffer.drain(..self.start);
            self.start = 0;
            match self.input.fill(&mut self.buffer)? {
                Filled::Bytes => {}
                Filled::Idle(wait) => return Ok(Some(Next::Wait(wait))),
                Filled::Ended => self.is_ended = true,
            }
            return Ok(None);
        }
        self.remember();
        if !self.input.advance()? {
            return Ok(Some(Next::Finished));
        }
        self.is_ended = false;
        self.buffer.clear();
        self.start = 0;
        self.header = None;
        self.at = RowAt {
            file: self.at.file + 1,
            offset: 0,
            row: 0,
            round: self.input.round(),
            ordinal: self.at.ordinal,
        };
        self.learn();
        Ok(None)
    }

    fn reject(&mut self, bytes: usize, reason: String) -> Next<'_> {
        let at = self.at;
        let start = self.start;
        self.take_row(bytes);
        let row = self.buffer.get(start..start + bytes).unwrap_or_default();
        Next::Rejected { at, row, reason }
    }

    fn take(&mut self, bytes: usize) {
        self.start += bytes;
        self.at.offset += bytes as u64;
    }

    fn take_row(&mut self, bytes: usize) {
        self.take(bytes);
        self.at.row += 1;
        self.at.ordinal += 1;
    }

    /// Takes the row that was split last if it is the header.
    fn take_if_header(&mut self, bytes: usize) -> Result<bool, Error> {
        let row = self.buffer.get(self.start..self.start + bytes).unwrap_or_default();
        match &self.header {
            Some(header) if !(self.input.repeats_header() && header == row) => return Ok(false),
            Some(_) => {}
            None => {
                let row = row.to_vec();
                self.take_header(&row)?;
            }
        }
        self.take(bytes);
        Ok(true)
    }

    fn take_header(&mut self, row: &[u8]) -> Result<(), Error> {
        self.format.header(row).map_err(|detail| Error::Input {
            place: format!("{}, header", self.path().display()),
            detail,
        })?;
        self.header = Some(row.to_vec());
        Ok(())
    }

    /// Reads up to the header, so that a wrong one is an error at once.
    fn read_header(&mut self) -> Result<(), Error> {
        while self.header.is_none() {
            let pending = self.buffer.get(self.start..).unwrap_or_default();
            match self.format.split(pending, self.is_ended) {
                Split::Row { bytes } => {
                    self.take_if_header(bytes)?;
                }
                Split::Blank { bytes } => self.take(bytes),
                Split::Need if !self.is_ended => match self.input.fill(&mut self.buffer)? {
                    Filled::Bytes => {}
                    Filled::Idle(_) | Filled::Ended => self.is_ended = true,
                },
                Split::Need | Split::TooLong { .. } => {
                    return Err(Error::Input {
                        place: self.path().display().to_string(),
                        detail: "has no header line; its first line must name the columns"
                            .to_owned(),
                    });
                }
            }
        }
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.input.identity().path
    }

    fn learn(&mut self) {
        self.known.push_back(Known { file: self.at.file, path: self.path(), identity: None });
    }

    fn remember(&mut self) {
        let identity = self.input.identity();
        if let Some(known) = self.known.back_mut() {
            known.identity = Some(identity);
        }
    }

    /// Writes the place of `at` into `position`, and forgets files before it.
    pub(super) fn locate(&mut self, at: RowAt, position: &mut Position) {
        while self.known.len() > 1 && self.known.front().is_some_and(|known| known.file < at.file) {
            self.known.pop_front();
        }
        let left = self.known.front().and_then(|known| known.identity.as_ref());
        position.mark = match left {
            Some(identity) => identity.mark(at.offset),
            None => self.input.identity().mark(at.offset),
        };
        position.offset = at.offset;
        position.row = at.row;
        position.round = at.round;
        position.header = if self.input.repeats_header() { self.header.clone() } else { None };
    }

    pub(super) fn committed(&mut self, offset: u64) {
        self.input.committed(offset);
    }

    /// `at` in words.
    pub(super) fn in_words(&self, at: RowAt, rows: u64) -> String {
        let known = self.known.iter().find(|known| known.file == at.file);
        let path = known.map_or_else(|| self.path(), |known| known.path.clone());
        if path.as_os_str().is_empty() {
            return in_words("the pipe".as_ref(), at.row + rows, at.round);
        }
        in_words(&path, at.row + rows, at.round)
    }
}
