//! Delivers events in order, at their pace, and knows at any time how to go on from there.
//!
//! Rows are delivered in *parts*: a row's events, or, where some are held back, first the one part
//! and later the other. All choices depend on the input alone, never on time, so a position only
//! counts what was done since the oldest row that is not delivered whole.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::HoldBack;
use super::dead_letter::DeadLetters;
use super::position::Position;
use super::replay::{Pacer, Replay};
use super::rows::{Next, RowAt, Rows};
use crate::clock::Clock;
use crate::error::Error;
use crate::source::{Poll, SourceContext, SourceReader, Timed};

/// So many rows without an event are read in one poll.
const ROWS_MAX: usize = 4096;

/// A row whose first part is delivered.
struct Held<T> {
    at: RowAt,
    pace_millis: i64,
    events: Vec<Timed<T>>,
}

/// The row read ahead; its events are in `FileReader::ahead_events`.
#[derive(Clone, Copy)]
struct Ahead {
    at: RowAt,
    pace_millis: i64,
}

pub(super) struct FileReader<T> {
    uid: String,
    clock: Arc<dyn Clock>,
    rows: Rows<T>,
    dead_letters: DeadLetters,
    rejected: u64,
    pacer: Option<Pacer>,
    hold_back: Option<HoldBack<T>>,

    ahead: Option<Ahead>,
    ahead_events: Vec<Timed<T>>,
    is_finished: bool,

    /// The part in delivery.
    part: VecDeque<Timed<T>>,
    /// Its row, unless it is the rest of the oldest held one.
    part_of: Option<Held<T>>,
    delivered: u64,
    held: VecDeque<Held<T>>,

    /// Rows before this one were read before the position that was opened: their rejections are known.
    known_ordinal: u64,
    last_position_offset: u64,
    failure: Option<Error>,
    /// The last look for a row found the end of what has been written.
    is_at_end: bool,
}

enum Step {
    Part,
    Wait(Duration),
    Again,
    Finished,
}

impl<T> FileReader<T> {
    pub(super) fn open(
        context: SourceContext,
        rows: Rows<T>,
        position: Option<Position>,
        hold_back: Option<HoldBack<T>>,
        replay: Option<Replay>,
    ) -> Result<Self, Error> {
        let position = position.unwrap_or_default();
        let path = context.job_dir.join("dead-letters").join(format!("{}.ndjson", context.uid));
        let mut reader = Self {
            uid: context.uid,
            clock: context.clock,
            rows,
            dead_letters: DeadLetters::open(path, position.dead_letter_bytes)?,
            rejected: position.rejected,
            pacer: replay.map(Pacer::new),
            hold_back,
            ahead: None,
            ahead_events: Vec::new(),
            is_finished: false,
            part: VecDeque::new(),
            part_of: None,
            delivered: 0,
            held: VecDeque::new(),
            known_ordinal: position.reread,
            last_position_offset: position.offset,
            failure: None,
            is_at_end: false,
        };
        reader.redo(&position)?;
        Ok(reader)
    }

    /// Does again, without delivering, what the position says was done since its row.
    fn redo(&mut self, position: &Position) -> Result<(), Error> {
        for _ in 0..position.advanced {
            self.read_until_row()?;
            self.begin_ahead();
            self.part.clear();
            self.end_part();
        }
        if position.delivered == 0 {
            return Ok(());
        }
        if position.of_held {
            self.begin_held();
        } else {
            self.read_until_row()?;
            self.begin_ahead();
        }
        let delivered = usize::try_from(position.delivered).unwrap_or(usize::MAX);
        self.part.drain(..delivered.min(self.part.len()));
        self.delivered = position.delivered;
        if self.part.is_empty() {
            self.end_part();
        }
        Ok(())
    }

    fn read_until_row(&mut self) -> Result<(), Error> {
        loop {
            match self.read_ahead()? {
                Step::Part if self.ahead.is_some() => return Ok(()),
                Step::Again => {}
                Step::Part | Step::Wait(_) | Step::Finished => {
                    return Err(Error::Input {
                        place: self.rows.in_words(self.rows.at(), 0),
                        detail: "the committed position lies in a row that is not there any more; \
                                 put the file back as it was"
                            .to_owned(),
                    });
                }
            }
        }
    }

    /// Begins the next part that is due.
    fn step(&mut self) -> Result<Step, Error> {
        if self.ahead.is_none() && !self.is_finished {
            match self.read_ahead()? {
                Step::Part => {}
                other => return Ok(other),
            }
        }
        let due_held =
            self.held.front().map(|held| (self.held_pace(held.pace_millis), held.at.round));
        let takes_held = match (due_held, self.ahead) {
            (Some((held, _)), Some(ahead)) => held <= ahead.pace_millis,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => return Ok(Step::Finished),
        };
        let (pace_millis, round) = match (due_held, self.ahead) {
            (Some(due), _) if takes_held => due,
            (_, Some(ahead)) => (ahead.pace_millis, ahead.at.round),
            _ => return Ok(Step::Finished),
        };
        let micros = self.clock.monotonic_micros();
        let wait = self.pacer.as_mut().and_then(|pacer| pacer.wait(pace_millis, round, micros));
        if let Some(wait) = wait {
            return Ok(Step::Wait(wait));
        }
        if takes_held {
            self.begin_held();
        } else {
            self.begin_ahead();
        }
        if self.part.is_empty() {
            self.end_part();
        }
        Ok(Step::Part)
    }

    fn held_pace(&self, pace_millis: i64) -> i64 {
        let after = self.hold_back.as_ref().map_or(0, |hold_back| hold_back.after_millis);
        pace_millis.saturating_add(after)
    }

    /// Reads rows until one has events; [`Step::Part`] if there is one.
    fn read_ahead(&mut self) -> Result<Step, Error> {
        for _ in 0..ROWS_MAX {
            let next = self.rows.next(&mut self.ahead_events)?;
            self.is_at_end = matches!(next, Next::Wait(_));
            let (at, row, reason) = match next {
                Next::Wait(wait) => return Ok(Step::Wait(wait)),
                Next::Finished => {
                    self.is_finished = true;
                    return Ok(if self.held.is_empty() { Step::Finished } else { Step::Part });
                }
                Next::Rejected { at, row, reason } => (at, row.to_vec(), reason),
                Next::Row(at) => {
                    let Some(first) = self.ahead_events.first() else { continue };
                    self.ahead = Some(Ahead { at, pace_millis: first.ts });
                    return Ok(Step::Part);
                }
            };
            if at.ordinal >= self.known_ordinal {
                self.rejected += 1;
                let place = self.rows.in_words(at, 1);
                self.dead_letters.append(&place, &row, &reason)?;
            }
        }
        Ok(Step::Again)
    }

    fn begin_ahead(&mut self) {
        let Some(Ahead { at, pace_millis }) = self.ahead.take() else { return };
        let mut events = Vec::new();
        match &self.hold_back {
            None => self.part.extend(self.ahead_events.drain(..)),
            Some(hold_back) => {
                for event in self.ahead_events.drain(..) {
                    if (hold_back.is_held)(&event.value) {
                        events.push(event);
                    } else {
                        self.part.push_back(event);
                    }
                }
            }
        }
        self.delivered = 0;
        self.part_of = Some(Held { at, pace_millis, events });
    }

    fn begin_held(&mut self) {
        let Some(held) = self.held.front_mut() else { return };
        self.part.extend(held.events.drain(..));
        self.delivered = 0;
    }

    fn end_part(&mut self) {
        self.delivered = 0;
        match self.part_of.take() {
            None => drop(self.held.pop_front()),
            Some(row) if self.hold_back.is_some() => self.held.push_back(row),
            Some(_) => {}
        }
    }

    /// The first row that is not delivered whole.
    fn base(&self) -> RowAt {
        let oldest = self.held.front().or(self.part_of.as_ref()).map(|row| row.at);
        oldest.or(self.ahead.map(|ahead| ahead.at)).unwrap_or_else(|| self.rows.at())
    }
}

impl<T: Send> SourceReader<T> for FileReader<T> {
    fn poll(&mut self, out: &mut Vec<Timed<T>>, max: usize) -> Result<Poll, Error> {
        if let Some(error) = self.failure.take() {
            return Err(error);
        }
        let before = out.len();
        while out.len() - before < max {
            if let Some(event) = self.part.pop_front() {
                out.push(event);
                self.delivered += 1;
                if self.part.is_empty() {
                    self.end_part();
                }
                continue;
            }
            let poll = match self.step() {
                Ok(Step::Part) => continue,
                Ok(Step::Again) => return Ok(Poll::Ready),
                Ok(Step::Wait(wait)) => Poll::Wait(wait),
                Ok(Step::Finished) => Poll::Finished,
                Err(error) if out.len() == before => return Err(error),
                Err(error) => {
                    // What was read before it is still delivered.
                    self.failure = Some(error);
                    return Ok(Poll::Ready);
                }
            };
            return Ok(if out.len() == before { poll } else { Poll::Ready });
        }
        Ok(Poll::Ready)
    }

    fn position(&mut self) -> Result<Vec<u8>, Error> {
        self.dead_letters.sync()?;
        let base = self.base();
        let mut position = Position {
            reread: self.rows.at().ordinal.max(self.known_ordinal) - base.ordinal,
            advanced: self.held.len() as u64,
            delivered: if self.part.is_empty() { 0 } else { self.delivered },
            of_held: self.part_of.is_none() && !self.part.is_empty(),
            dead_letter_bytes: self.dead_letters.length_bytes(),
            rejected: self.rejected,
            ..Position::default()
        };
        self.rows.locate(base, &mut position);
        self.last_position_offset = position.offset;
        position.encode(&self.uid)
    }

    fn position_text(&self) -> String {
        self.rows.in_words(self.base(), 0)
    }

    fn committed(&mut self) {
        self.rows.committed(self.last_position_offset);
    }

    fn clock_millis(&self) -> Option<i64> {
        self.pacer.as_ref()?.now_millis(self.clock.monotonic_micros())
    }

    fn caught_up(&self) -> bool {
        self.is_at_end && self.held.is_empty()
    }

    fn rejected(&self) -> u64 {
        self.rejected
    }

    fn loops(&self) -> u64 {
        self.base().round
    }
}
