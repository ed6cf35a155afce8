//! A running job.

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use stateward_model::breaker::{Action, Policy};
use stateward_model::wire::{Command, Hello, Order, Report};

use super::control::JobControl;
use super::govern::{SharedGoverning, lock};
use super::savepoint::Savepoints;
use crate::checkpoint::JobFolder;
use crate::error::Error;
use crate::policy::{ClockOrder, Taken};
use crate::savepoint::Savepoint;

/// A job that runs on its own threads.
pub struct JobHandle {
    pub(super) control: Arc<JobControl>,
    governing: SharedGoverning,
    savepoints: Savepoints,
    work: Vec<JoinHandle<()>>,
    link: Vec<JoinHandle<()>>,
    _folder: JobFolder,
}

impl std::fmt::Debug for JobHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobHandle")
            .field("epoch", &self.control.committed())
            .finish_non_exhaustive()
    }
}

impl JobHandle {
    pub(super) fn new(
        control: Arc<JobControl>,
        governing: SharedGoverning,
        savepoints: Savepoints,
        (work, link): (Vec<JoinHandle<()>>, Vec<JoinHandle<()>>),
        folder: JobFolder,
    ) -> Self {
        Self { control, governing, savepoints, work, link, _folder: folder }
    }

    /// Asks the job to take a checkpoint and end; [`JobHandle::wait`] tells when it has.
    pub fn stop(&self) {
        self.control.stop();
    }

    /// Makes a checkpoint now, and waits until it is published. Returns its epoch.
    ///
    /// # Errors
    /// [`Error::Refused`] where it fails or the job ends before; the text says why.
    pub fn checkpoint(&self) -> Result<u64, Error> {
        self.savepoints.checkpoint()
    }

    /// Writes a savepoint: everything of the job at one epoch that ends from now on, in one file, from
    /// which it can be restored anywhere ([`RunOptions::restore_from`](crate::RunOptions::restore_from)).
    /// The job stands still only as for a checkpoint; the file is written on the calling thread. It has
    /// its name once it is whole and synced, and never takes another file's.
    ///
    /// # Errors
    /// [`Error::Refused`] where the file is there already, the checkpoint that is made for it fails, or
    /// the job ends before; else where it cannot be written.
    pub fn savepoint(&self, to: impl AsRef<Path>) -> Result<Savepoint, Error> {
        self.savepoints.savepoint(Some(to.as_ref()), false)
    }

    /// As [`JobHandle::savepoint`], of the epoch that the job ends with: nothing is processed after it.
    ///
    /// # Errors
    /// As [`JobHandle::savepoint`]; the job ends all the same, and one can be made of it by
    /// [`Savepoint::of_stopped_job`].
    pub fn stop_with_savepoint(&self, to: impl AsRef<Path>) -> Result<Savepoint, Error> {
        self.savepoints.savepoint(Some(to.as_ref()), true)
    }

    pub(crate) fn control(&self) -> &JobControl {
        &self.control
    }

    /// Tells whether the job has ended; its figures are then final.
    pub fn has_ended(&self) -> bool {
        self.work.iter().chain(&self.link).all(JoinHandle::is_finished)
    }

    /// Last committed epoch.
    pub fn epoch(&self) -> u64 {
        self.control.committed()
    }

    /// Waits until the job ends: all finite sources have ended and everything spilled is replayed,
    /// [`JobHandle::stop`] was called, or it failed.
    ///
    /// # Errors
    /// What made it fail.
    pub fn wait(mut self) -> Result<(), Error> {
        self.join();
        self.control.take_failure().map_or(Ok(()), Err)
    }

    /// Waits for all threads.
    fn join(&mut self) {
        for thread in self.work.drain(..) {
            joined(thread);
        }
        self.control.exit();
        for thread in self.link.drain(..) {
            joined(thread);
        }
    }

    fn order(
        &self,
        operator: &str,
        state: &str,
        order: Order,
        actor: &str,
        reason: &str,
    ) -> Result<(), Error> {
        let command = Command::local((operator, state), order, actor, reason)
            .map_err(|e| Error::Declaration(e.to_string()))?;
        let order = lock(&self.governing).order(&command)?;
        taken(order)
    }

    /// Trips the breaker of a state by hand: it stays open until [`JobHandle::reset`]. In the
    /// journal, with actor and reason, before it takes effect.
    ///
    /// # Errors
    /// Where the journal cannot be written, a name is no name, or the job has no such state.
    pub fn trip(
        &self,
        operator: &str,
        state: &str,
        action: Action,
        actor: &str,
        reason: &str,
    ) -> Result<(), Error> {
        let order = Order::Trip { action, until_millis: None };
        self.order(operator, state, order, actor, reason)
    }

    /// Resets the breaker of a state: what it diverted is replayed, then it closes.
    ///
    /// # Errors
    /// As [`JobHandle::trip`].
    pub fn reset(
        &self,
        operator: &str,
        state: &str,
        actor: &str,
        reason: &str,
    ) -> Result<(), Error> {
        self.order(operator, state, Order::Reset, actor, reason)
    }

    /// Replaces the automatic policy of a state's breaker.
    ///
    /// # Errors
    /// As [`JobHandle::trip`].
    pub fn set_policy(
        &self,
        operator: &str,
        state: &str,
        policy: Policy,
        actor: &str,
        reason: &str,
    ) -> Result<(), Error> {
        self.order(operator, state, Order::Policy { policy }, actor, reason)
    }

    /// Puts another TTL in place of the one that code declares, until [`JobHandle::revert_ttl`] or,
    /// where given, until a wall clock in ms; `None` for a state whose entries never expire. What a
    /// shorter one hides can be brought back for an hour (SEMANTICS §1.14).
    ///
    /// # Errors
    /// [`Error::Refused`] below the state's minimum, or for an end that has passed; else as
    /// [`JobHandle::trip`].
    pub fn set_ttl(
        &self,
        operator: &str,
        state: &str,
        ttl: Option<Duration>,
        until_millis: Option<i64>,
        actor: &str,
        reason: &str,
    ) -> Result<(), Error> {
        let millis = |ttl: Duration| i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
        let order = Order::Ttl { ttl_millis: ttl.map(millis), until_millis };
        self.order(operator, state, order, actor, reason)
    }

    /// Goes back to the TTL that code declares.
    ///
    /// # Errors
    /// As [`JobHandle::trip`].
    pub fn revert_ttl(
        &self,
        operator: &str,
        state: &str,
        actor: &str,
        reason: &str,
    ) -> Result<(), Error> {
        self.order(operator, state, Order::TtlRevert, actor, reason)
    }

    /// Lets go for good what a shortened TTL hides.
    ///
    /// # Errors
    /// As [`JobHandle::trip`].
    pub fn reclaim_now(
        &self,
        operator: &str,
        state: &str,
        actor: &str,
        reason: &str,
    ) -> Result<(), Error> {
        self.order(operator, state, Order::ReclaimNow, actor, reason)
    }

    /// Gets back at once what bytes written-off entries of a state hold, within the budget; with
    /// `dry_run` the log only says what that would free and read.
    ///
    /// # Errors
    /// As [`JobHandle::trip`].
    pub fn clean(
        &self,
        operator: &str,
        state: &str,
        dry_run: bool,
        actor: &str,
        reason: &str,
    ) -> Result<(), Error> {
        self.order(operator, state, Order::Clean { dry_run }, actor, reason)
    }

    /// Cleans a state only on demand, until [`JobHandle::resume_cleanup`] or, where given, until a
    /// wall clock in ms.
    ///
    /// # Errors
    /// As [`JobHandle::trip`].
    pub fn pause_cleanup(
        &self,
        operator: &str,
        state: &str,
        until_millis: Option<i64>,
        actor: &str,
        reason: &str,
    ) -> Result<(), Error> {
        self.order(operator, state, Order::PauseCleanup { until_millis }, actor, reason)
    }

    /// Cleans a state again as its figures ask for it.
    ///
    /// # Errors
    /// As [`JobHandle::trip`].
    pub fn resume_cleanup(
        &self,
        operator: &str,
        state: &str,
        actor: &str,
        reason: &str,
    ) -> Result<(), Error> {
        self.order(operator, state, Order::ResumeCleanup, actor, reason)
    }

    /// The jump of the clock that waits has really passed for the job's states: expiry and timers of
    /// processing time go on at the wall clock. What was written meanwhile lives its whole TTL from
    /// now on. In the journal, with actor and reason, before it takes effect (SEMANTICS §1.10).
    ///
    /// # Errors
    /// [`Error::Refused`] where no jump waits, or where the journal cannot be written.
    pub fn accept_clock_jump(&self, actor: &str, reason: &str) -> Result<(), Error> {
        self.clock_order(ClockOrder::Accept, actor, reason)
    }

    /// The jump of the clock that waits has not passed for the job's states: their clock stays behind
    /// the wall clock by it, for old and new entries alike, over restarts too. Where the wall clock was
    /// set back instead, processing time goes on at once from where it stands.
    ///
    /// # Errors
    /// As [`JobHandle::accept_clock_jump`].
    pub fn compensate_clock_jump(&self, actor: &str, reason: &str) -> Result<(), Error> {
        self.clock_order(ClockOrder::Compensate, actor, reason)
    }

    fn clock_order(&self, order: ClockOrder, actor: &str, reason: &str) -> Result<(), Error> {
        let clock = Arc::clone(&lock(&self.governing).clock);
        taken(clock.order(order, actor, reason)?)
    }

    /// The job's declaration, as the server gets it.
    pub fn hello(&self) -> Hello {
        lock(&self.governing).reporter.hello()
    }

    /// The present figures, as a report that is not sent and not numbered.
    pub fn figures(&self) -> Report {
        lock(&self.governing).peek()
    }
}

/// A handle that is dropped ends its job at once, as a crash would: the next start goes on from the
/// last commit.
impl Drop for JobHandle {
    fn drop(&mut self) {
        self.control.exit();
        self.join();
    }
}

fn taken(order: Taken) -> Result<(), Error> {
    match order {
        Taken::Done => Ok(()),
        Taken::Refused(why) => Err(Error::Refused(why)),
    }
}

/// Waits for a thread; one that panicked has already failed the job.
fn joined(thread: JoinHandle<()>) {
    if thread.join().is_err() {
        tracing::warn!("a thread of the job panicked");
    }
}
