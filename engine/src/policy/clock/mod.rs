//! Processing time: it never runs backwards, and a jump of the wall clock moves it only when a
//! person says so (SEMANTICS §1.10).
//!
//! ```text
//! wall clock       ──────────┐ jump ┌────────────────────
//! processing time  ──────────┴──────┴───── runs on ─────┬─ accept: + jump ─▶
//! expiry, timers   ──────────┤       stand              └─ compensate: as it runs ─▶
//! ```
//! 1. All shards and the governor read the clock through here, at least ten times a second. So a
//!    longer time between two readings means that the wall clock was set, or that the whole process
//!    stood still: a suspended machine, a debugger.
//! 2. Who sees a jump journals it before anybody goes by it, so that it still waits for its decision
//!    after a crash.
//! 3. What is written while a jump waits is stamped with the time that runs on. Where the jump is
//!    then accepted, such entries count as from that moment ([`Grace`]): none dies for a jump that it
//!    has not lived through.
//! 4. The time as of each commit is part of it, so that a wall clock which was set back while the
//!    job was down revives nothing.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use stateward_model::Grace;
use stateward_model::wire::ClockSample;

use super::{Decisions, Journal, Taken};
use crate::clock::Clock;
use crate::error::Error;
use crate::job::JobControl;
use crate::state::SharedTtl;

/// What to do with a journal that cannot be read.
const WAY_OUT: &str = "restore it from a copy, or delete it to go by the wall clock as if no jump had been compensated";
/// No reading yet.
const NEVER: i64 = i64::MIN;

/// What a turn of a shard goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProcessingTime {
    /// What entries are stamped with, ms.
    pub(crate) now: i64,
    /// Where expiry and timers stand while a jump waits for a decision.
    pub(crate) stands_at: Option<i64>,
    /// What was written while a jump waited that was accepted since.
    pub(crate) grace: Option<Grace>,
    /// Wall clock without the jumps of this run: for how long something has been idle.
    pub(crate) awake: i64,
}

/// A jump that waits for a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Jump {
    millis: i64,
    stands_at_millis: i64,
    since_millis: i64,
}

/// How processing time follows from the wall clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Ruling {
    /// Jumps that were compensated: processing time is so far behind the wall clock.
    shift_millis: i64,
    jump: Option<Jump>,
    grace: Option<Grace>,
}

impl Ruling {
    fn now(&self, wall: i64) -> i64 {
        let waits = self.jump.map_or(0, |jump| jump.millis);
        wall.saturating_sub(self.shift_millis).saturating_sub(waits)
    }
}

/// What to make of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClockOrder {
    /// The time has passed: expiry goes on at the new time.
    Accept,
    /// It has not passed for the states: their clock stays behind the wall clock by the jump.
    Compensate,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Ordered {
    order: ClockOrder,
    jump_millis: i64,
    actor: String,
    reason: String,
}

/// `clock.json` in the job's folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct ClockJournal {
    ruling: Ruling,
    decisions: Decisions<Ordered>,
}

#[derive(Debug)]
struct Guarded {
    journal: ClockJournal,
    /// Jumps of this run, forwards less backwards, whatever was decided of them.
    lost_millis: i64,
}

/// The processing time of a job; shards look through a [`ShardClock`].
#[derive(Debug)]
pub(crate) struct ProcessingClock {
    clock: Arc<dyn Clock>,
    control: Arc<JobControl>,
    file: Journal,
    /// Longest time between two readings that is no jump; `None` where no state goes by this clock.
    jump_millis_max: Option<i64>,
    /// TTLs of the states that do.
    ttls: Vec<Arc<SharedTtl>>,
    /// The last reading ([`ProcessingClock::reading`]).
    seen: AtomicI64,
    /// Latest processing time that anybody was told.
    latest: AtomicI64,
    /// Grows with every change of what is guarded.
    version: AtomicU64,
    guarded: Mutex<Guarded>,
}

impl ProcessingClock {
    /// Goes on from the processing time of the last commit, and from what was decided before.
    pub(crate) fn open(
        job_dir: &Path,
        clock: Arc<dyn Clock>,
        control: Arc<JobControl>,
        (jump_millis_max, ttls): (i64, Vec<Arc<SharedTtl>>),
        committed_millis: Option<i64>,
    ) -> Result<Arc<Self>, Error> {
        let file = Journal::new(job_dir.join("clock.json"));
        let journal: ClockJournal = file.read(WAY_OUT)?;
        let opened = Self {
            clock,
            control,
            file,
            jump_millis_max: (!ttls.is_empty()).then_some(jump_millis_max),
            ttls,
            seen: AtomicI64::new(NEVER),
            latest: AtomicI64::new(committed_millis.unwrap_or(i64::MIN)),
            version: AtomicU64::new(1),
            guarded: Mutex::new(Guarded { journal, lost_millis: 0 }),
        };
        opened.tell_of_the_past();
        Ok(Arc::new(opened))
    }

    /// A journal is whole before it is used, so a panic leaves a whole one behind.
    fn lock(&self) -> MutexGuard<'_, Guarded> {
        self.guarded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell_of_the_past(&self) {
        let ruling = self.lock().journal.ruling;
        let now = ruling.now(self.clock.now_millis());
        if let Some(jump) = ruling.jump {
            self.note(format!(
                "a jump of the clock by {} ms still waits for a decision; expiry and timers of processing time stand: accept it or compensate it",
                jump.millis
            ));
        }
        let behind = self.latest.load(Ordering::Acquire).saturating_sub(now);
        if self.jump_millis_max.is_some_and(|max| behind > max) {
            self.tell_of_standing(behind);
        }
    }

    fn tell_of_standing(&self, behind_millis: i64) {
        self.note(format!(
            "the clock went back by {behind_millis} ms; processing time stands until it has caught up: compensate to let it go on at once"
        ));
    }

    fn note(&self, text: String) {
        tracing::warn!("{text}");
        self.control.log.note(self.clock.as_ref(), "clock_jump", text);
    }

    /// What is compared from one reading to the next. A clock that moves in steps says by its
    /// monotonic part how much of a step was meant.
    fn reading(&self, wall: i64) -> i64 {
        if self.clock.is_stepped() {
            let monotonic = i64::try_from(self.clock.monotonic_micros() / 1_000);
            wall.saturating_sub(monotonic.unwrap_or(i64::MAX))
        } else {
            wall
        }
    }

    /// Looks whether the clock jumped; no lock while it does not.
    fn observe(&self, wall: i64) -> Result<(), Error> {
        let Some(max) = self.jump_millis_max else { return Ok(()) };
        let reading = self.reading(wall);
        let seen = self.seen.load(Ordering::Acquire);
        let step = reading.saturating_sub(seen);
        if seen == NEVER || step.saturating_abs() > max {
            return self.judge(max);
        }
        if step != 0 {
            // where another thread was faster its reading stays: this one may be from before a jump
            let order = (Ordering::AcqRel, Ordering::Acquire);
            self.seen.compare_exchange(seen, reading, order.0, order.1).ok();
        }
        Ok(())
    }

    /// Reads again, with no other thread at it, and decides.
    fn judge(&self, max: i64) -> Result<(), Error> {
        let mut guarded = self.lock();
        let wall = self.clock.now_millis();
        let reading = self.reading(wall);
        let seen = self.seen.load(Ordering::Acquire);
        let step = reading.saturating_sub(seen);
        if seen != NEVER && step > max {
            self.stand(&mut guarded, wall, max)?;
        } else if seen != NEVER && step < max.saturating_neg() {
            let now = guarded.journal.ruling.now(wall);
            self.tell_of_standing(self.latest.load(Ordering::Acquire).saturating_sub(now));
        }
        if seen != NEVER {
            guarded.lost_millis = guarded.lost_millis.saturating_add(step);
            self.version.fetch_add(1, Ordering::AcqRel);
        }
        // behind the version: who sees this reading sees what was made of it
        self.seen.store(reading, Ordering::Release);
        Ok(())
    }

    /// The clock jumped to `wall`: expiry stands from now on, unless that only makes up for a clock
    /// that was set back.
    fn stand(&self, guarded: &mut Guarded, wall: i64, max: i64) -> Result<(), Error> {
        let ruling = guarded.journal.ruling;
        let latest = self.latest.load(Ordering::Acquire);
        let waited = ruling.jump.map_or(0, |jump| jump.millis);
        let jump = Jump {
            // processing time goes on from where it was
            millis: wall.saturating_sub(ruling.shift_millis).saturating_sub(latest),
            stands_at_millis: ruling.jump.map_or(latest, |jump| jump.stands_at_millis),
            since_millis: ruling.jump.map_or(wall, |jump| jump.since_millis),
        };
        if jump.millis.saturating_sub(waited) <= max {
            return Ok(());
        }
        self.rule(guarded, Ruling { jump: Some(jump), ..ruling }, None)?;
        self.note(format!(
            "the clock jumped forward by {} ms; expiry and timers of processing time stand: accept it where that time has passed for the states, compensate it where the machine or the process stood still",
            jump.millis
        ));
        Ok(())
    }

    /// Journals a ruling, then lets it take effect.
    fn rule(
        &self,
        guarded: &mut Guarded,
        ruling: Ruling,
        ordered: Option<Ordered>,
    ) -> Result<(), Error> {
        let mut journal = guarded.journal.clone();
        journal.ruling = ruling;
        if let Some(ordered) = ordered {
            journal.decisions.push(self.clock.now_millis(), ordered);
        }
        self.file.write(&journal)?;
        guarded.journal = journal;
        self.version.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// Takes a person's decision on the jump that waits, or on a clock that was set back.
    pub(crate) fn order(
        &self,
        order: ClockOrder,
        actor: &str,
        reason: &str,
    ) -> Result<Taken, Error> {
        let mut guarded = self.lock();
        let ruling = guarded.journal.ruling;
        let wall = self.clock.now_millis();
        let behind = self.latest.load(Ordering::Acquire).saturating_sub(ruling.now(wall));
        let (jump_millis, ruled) = match (ruling.jump, order) {
            (Some(jump), ClockOrder::Accept) => {
                let accepted = Ruling { jump: None, ..ruling };
                let since = jump.stands_at_millis.saturating_sub(1);
                let grace = Grace { after_millis: since, until_millis: accepted.now(wall) };
                let oldest = since.saturating_sub(self.longest_ttl_millis());
                let grace =
                    grace.with(ruling.grace.filter(|earlier| earlier.until_millis > oldest));
                (jump.millis, Ruling { grace: Some(grace), ..accepted })
            }
            (Some(jump), ClockOrder::Compensate) => {
                let shift_millis = ruling.shift_millis.saturating_add(jump.millis);
                (jump.millis, Ruling { shift_millis, jump: None, ..ruling })
            }
            (None, ClockOrder::Compensate) if self.jump_millis_max.is_some_and(|m| behind > m) => {
                let shift_millis = ruling.shift_millis.saturating_sub(behind);
                (behind.saturating_neg(), Ruling { shift_millis, ..ruling })
            }
            (None, _) => {
                return Ok(Taken::Refused("no jump of the clock waits for a decision".into()));
            }
        };
        let (actor, reason) = (actor.to_owned(), reason.to_owned());
        let done = match order {
            ClockOrder::Accept => "accepted: expiry goes on at the wall clock",
            ClockOrder::Compensate => "compensated: expiry goes on as if it had not been",
        };
        let text =
            format!("the jump of the clock by {jump_millis} ms is {done}, by {actor}: {reason}");
        self.rule(&mut guarded, ruled, Some(Ordered { order, jump_millis, actor, reason }))?;
        self.control.log.note(self.clock.as_ref(), "clock_jump", text);
        Ok(Taken::Done)
    }

    /// What is older than this has expired in every state that goes by this clock.
    fn longest_ttl_millis(&self) -> i64 {
        self.ttls.iter().filter_map(|ttl| ttl.get().2).max().unwrap_or(0)
    }

    /// Processing time by a ruling, never less than before.
    fn advance(&self, ruling: &Ruling, wall: i64) -> i64 {
        let now = ruling.now(wall);
        let latest = self.latest.load(Ordering::Acquire);
        if now <= latest {
            return latest;
        }
        self.latest.fetch_max(now, Ordering::AcqRel).max(now)
    }

    /// Looks at the clock on behalf of all: while user code keeps every shard busy, time passes.
    pub(crate) fn tick(&self) -> Result<(), Error> {
        let wall = self.clock.now_millis();
        self.observe(wall)?;
        let ruling = self.lock().journal.ruling;
        self.advance(&ruling, wall);
        Ok(())
    }

    /// What a commit says of processing time: nothing that it contains is stamped later.
    pub(crate) fn latest(&self) -> Option<i64> {
        Some(self.latest.load(Ordering::Acquire)).filter(|latest| *latest != i64::MIN)
    }

    pub(crate) fn sample(&self) -> ClockSample {
        let ruling = self.lock().journal.ruling;
        ClockSample {
            shift_millis: ruling.shift_millis,
            jump_millis: ruling.jump.map(|jump| jump.millis),
            since_millis: ruling.jump.map(|jump| jump.since_millis),
        }
    }
}

/// A shard's copy of what is in force.
#[derive(Debug)]
pub(crate) struct ShardClock {
    shared: Arc<ProcessingClock>,
    version: u64,
    ruling: Ruling,
    lost_millis: i64,
}

impl ShardClock {
    pub(crate) fn new(shared: Arc<ProcessingClock>) -> Self {
        Self { shared, version: 0, ruling: Ruling::default(), lost_millis: 0 }
    }

    /// The time at a reading of the wall clock; once a turn of the shard.
    pub(crate) fn at(&mut self, wall: i64) -> Result<ProcessingTime, Error> {
        self.shared.observe(wall)?;
        let version = self.shared.version.load(Ordering::Acquire);
        if version != self.version {
            let guarded = self.shared.lock();
            // under the lock, so that it is the version of what is copied
            self.version = self.shared.version.load(Ordering::Acquire);
            (self.ruling, self.lost_millis) = (guarded.journal.ruling, guarded.lost_millis);
        }
        Ok(ProcessingTime {
            now: self.shared.advance(&self.ruling, wall),
            stands_at: self.ruling.jump.map(|jump| jump.stands_at_millis),
            grace: self.ruling.grace,
            awake: wall.saturating_sub(self.lost_millis),
        })
    }
}
