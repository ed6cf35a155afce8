//! What user code sees of timers, and an operator's timers on one shard.
//!
//! Registrations are staged while user code runs and applied when it has returned: an event that a
//! breaker refuses leaves none behind (SEMANTICS §7.3).

use std::cell::RefCell;

use stateward_model::ClockKind;

use crate::breaker::Spill;
use crate::error::Error;
use crate::state::{Gate, TimerTable};
use crate::telemetry::Site;

/// Name of the state of timers on the watermark.
pub(super) const EVENT_TIMERS: &str = "_timers.event";
/// Name of the state of timers on the wall clock.
pub(super) const PROCESSING_TIMERS: &str = "_timers.processing";

/// A timer that fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timer {
    /// The time that it was registered for, ms.
    pub ts: i64,
    /// The clock it goes by.
    pub clock: ClockKind,
}

/// The timers of one key.
///
/// A timer is one (key, time, clock): registering it again changes nothing. It fires once, when its
/// clock has reached its time and not before, after the records that arrived up to then; a time that
/// is past fires at once. Timers are state: what is registered, deleted and fired is committed with
/// everything else. They are still pending when a job ends, and when it is started again.
#[derive(Clone, Copy, Debug)]
pub struct Timers<'a> {
    stage: &'a TimerStage,
}

impl<'a> Timers<'a> {
    pub(super) fn new(stage: &'a TimerStage) -> Self {
        Self { stage }
    }

    /// Registers a timer that fires when the operator's watermark reaches `ts`, in ms.
    ///
    /// # Errors
    /// Where the operator has not opened them
    /// ([`Open::event_time_timers`](crate::Open::event_time_timers)).
    #[track_caller]
    pub fn register_event_time(self, ts: i64) -> Result<(), Error> {
        self.stage.push(ClockKind::EventTime, ts, true)
    }

    /// Registers a timer that fires when the wall clock reaches `ts`, in ms.
    ///
    /// # Errors
    /// Where the operator has not opened them
    /// ([`Open::processing_time_timers`](crate::Open::processing_time_timers)).
    #[track_caller]
    pub fn register_processing_time(self, ts: i64) -> Result<(), Error> {
        self.stage.push(ClockKind::ProcessingTime, ts, true)
    }

    /// Deletes a timer on the watermark, if it is pending.
    ///
    /// # Errors
    /// As [`Timers::register_event_time`].
    #[track_caller]
    pub fn delete_event_time(self, ts: i64) -> Result<(), Error> {
        self.stage.push(ClockKind::EventTime, ts, false)
    }

    /// Deletes a timer on the wall clock, if it is pending.
    ///
    /// # Errors
    /// As [`Timers::register_processing_time`].
    #[track_caller]
    pub fn delete_processing_time(self, ts: i64) -> Result<(), Error> {
        self.stage.push(ClockKind::ProcessingTime, ts, false)
    }
}

/// One call of user code.
#[derive(Clone, Copy, Debug)]
struct Call {
    timer: Timer,
    registers: bool,
    site: Site,
}

/// The calls that user code made for the event at hand.
#[derive(Debug, Default)]
pub(crate) struct TimerStage {
    calls: RefCell<Vec<Call>>,
    opened: [bool; 2],
}

impl TimerStage {
    fn is_empty(&self) -> bool {
        self.calls.borrow().is_empty()
    }

    #[track_caller]
    fn push(&self, clock: ClockKind, ts: i64, registers: bool) -> Result<(), Error> {
        let (opened, way_out) = match clock {
            ClockKind::EventTime => (self.opened[0], "event_time_timers"),
            ClockKind::ProcessingTime => (self.opened[1], "processing_time_timers"),
        };
        if !opened {
            return Err(Error::Declaration(format!(
                "a timer was registered or deleted by an operator that has not opened such timers; call open.{way_out}() where its states are opened"
            )));
        }
        let site = Site { at: std::panic::Location::caller(), name: None };
        self.calls.borrow_mut().push(Call { timer: Timer { ts, clock }, registers, site });
        Ok(())
    }
}

/// The timers of one operator on one shard; empty where it has opened none.
#[derive(Default)]
pub(crate) struct OperatorTimers {
    event: Option<TimerTable>,
    processing: Option<TimerTable>,
    stage: TimerStage,
    /// Records that a barrier overtook; only operators with timers on the watermark have any.
    pub(super) held: Option<Spill>,
}

impl OperatorTimers {
    pub(crate) fn new(tables: Vec<TimerTable>, held: Option<Spill>) -> Self {
        let mut timers = Self { held, ..Self::default() };
        for table in tables {
            match table.clock() {
                ClockKind::EventTime => timers.event = Some(table),
                ClockKind::ProcessingTime => timers.processing = Some(table),
            }
        }
        timers.stage.opened = [timers.event.is_some(), timers.processing.is_some()];
        timers
    }

    pub(super) fn stage(&self) -> &TimerStage {
        &self.stage
    }

    pub(super) fn table(&mut self, clock: ClockKind) -> Option<&mut TimerTable> {
        match clock {
            ClockKind::EventTime => self.event.as_mut(),
            ClockKind::ProcessingTime => self.processing.as_mut(),
        }
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = &TimerTable> {
        self.event.iter().chain(&self.processing)
    }

    pub(super) fn tables_mut(&mut self) -> impl Iterator<Item = &mut TimerTable> {
        self.event.iter_mut().chain(&mut self.processing)
    }

    pub(super) fn gates(&mut self) -> impl Iterator<Item = &mut Gate> {
        self.tables_mut().map(TimerTable::gate)
    }

    /// Asks the breakers of the timers' states about what is staged.
    pub(super) fn admit(&mut self, event: u64) {
        if self.stage.is_empty() {
            return;
        }
        let calls = std::mem::take(&mut *self.stage.calls.borrow_mut());
        for call in calls.iter().filter(|call| call.registers) {
            if let Some(table) = self.table(call.timer.clock) {
                table.admit(event);
            }
        }
        *self.stage.calls.borrow_mut() = calls;
    }

    /// Drops what is staged.
    pub(super) fn drop_staged(&mut self) {
        self.stage.calls.borrow_mut().clear();
    }

    /// Applies what is staged, in order, to the timers of one stream key.
    pub(super) fn apply(&mut self, stream_row_key: &[u8], epoch: u64) -> Result<(), Error> {
        if self.stage.is_empty() {
            return Ok(());
        }
        let mut calls = std::mem::take(&mut *self.stage.calls.borrow_mut());
        for Call { timer, registers, site } in calls.drain(..) {
            let Some(table) = self.table(timer.clock) else { continue };
            if registers {
                table.register(stream_row_key, timer.ts, epoch, site)?;
            } else {
                table.delete(stream_row_key, timer.ts, epoch, site)?;
            }
        }
        // hands the room back
        *self.stage.calls.borrow_mut() = calls;
        Ok(())
    }
}
