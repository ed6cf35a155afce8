//! A job that a test drives step by step.

use std::path::Path;
use std::time::Duration;

use stateward_model::wire::{JobEvent, OperatorSample, Report, StateSample};

use super::feed::{Feed, FeedSource};
use super::folder::ScratchFolder;
use crate::clock::ManualClock;
use crate::error::Error;
use crate::job::{Job, JobHandle, RunOptions};

/// Looks at the job before a step counts as hanging: half a minute of real time.
const LOOKS_MAX: u32 = 15_000;
/// Between two of them.
const LOOK_INTERVAL: Duration = Duration::from_millis(2);

type Build = Box<dyn Fn() -> Result<Job, Error> + Send>;
type Configure = Box<dyn Fn(RunOptions) -> RunOptions + Send>;

/// A job on a [`ManualClock`], in a folder in memory that is removed with it.
///
/// Nothing happens by itself but the processing of what was fed: commits come when a step asks for
/// them, time moves in [`TestJob::advance`], checkpoints come with [`TestJob::checkpoint`]. Each step
/// leaves the job at rest, so that what a test then reads does not depend on the speed of the machine.
///
/// A step panics where the job does not come to rest within half a minute.
pub struct TestJob {
    build: Build,
    configure: Configure,
    clock: ManualClock,
    feeds: Vec<Box<dyn Feed>>,
    handle: Option<JobHandle>,
    // dropped last: the job writes into it
    folder: Option<ScratchFolder>,
}

impl std::fmt::Debug for TestJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestJob").field("feeds", &self.feeds).finish_non_exhaustive()
    }
}

impl TestJob {
    /// A job that `build` makes anew for each start. The clock begins at 0.
    pub fn new(build: impl Fn() -> Result<Job, Error> + Send + 'static) -> Self {
        Self {
            build: Box::new(build),
            configure: Box::new(|options| options),
            clock: ManualClock::at(0),
            feeds: Vec::new(),
            handle: None,
            folder: None,
        }
    }

    /// What a step waits for: all that was pushed into this feed. It may be called for several.
    #[must_use]
    pub fn fed_by<T: Send + 'static>(mut self, feed: &FeedSource<T>) -> Self {
        self.feeds.push(Box::new(feed.clone()));
        self
    }

    /// Begins at this time instead of 0; the clone goes on being shared.
    #[must_use]
    pub fn clock(mut self, clock: &ManualClock) -> Self {
        self.clock = clock.clone();
        self
    }

    /// Changes the options of every start, after the kit's own.
    #[must_use]
    pub fn options(
        mut self,
        configure: impl Fn(RunOptions) -> RunOptions + Send + 'static,
    ) -> Self {
        self.configure = Box::new(configure);
        self
    }

    /// Starts the job, or starts it again in its folder.
    ///
    /// # Errors
    /// As [`Job::start`].
    ///
    /// # Panics
    /// Where it runs already.
    pub fn start(&mut self) -> Result<(), Error> {
        assert!(self.handle.is_none(), "the job runs already; crash() or stop() it first");
        let job = (self.build)()?;
        let folder = match self.folder.take() {
            Some(folder) => folder,
            None => ScratchFolder::new()?,
        };
        let options = RunOptions::new(folder.path()).clock(self.clock.clone());
        let options = options.checkpoint_interval(Duration::from_secs(u64::from(u32::MAX)));
        self.folder = Some(folder);
        self.handle = Some(job.start((self.configure)(options))?);
        Ok(())
    }

    /// The running job, for everything that the kit has no step for.
    ///
    /// # Panics
    /// Where it does not run.
    pub fn handle(&self) -> &JobHandle {
        match &self.handle {
            Some(handle) => handle,
            None => panic!("the job does not run; start() it first"),
        }
    }

    /// The job's clock.
    pub fn manual_clock(&self) -> &ManualClock {
        &self.clock
    }

    /// The job's folder: `jobs/<job>` is in it.
    ///
    /// # Panics
    /// Before the first start.
    pub fn folder(&self) -> &Path {
        match &self.folder {
            Some(folder) => folder.path(),
            None => panic!("the job has no folder yet; start() it first"),
        }
    }

    /// Waits until everything that was fed is committed, and all timers that are due have fired.
    ///
    /// # Errors
    /// What the job failed with.
    pub fn settle(&mut self) -> Result<(), Error> {
        loop {
            self.wait_until("what was fed is committed", |job| {
                job.feeds.iter().all(|feed| feed.is_committed())
            })?;
            // an epoch later every shard knows of the commit, one more and all that followed from
            // it is committed too
            let Some(reached) = self.handle.as_ref().map(|handle| handle.epoch() + 2) else {
                return Ok(());
            };
            self.wait_until("two more epochs", |job| job.handle().epoch() >= reached)?;
            if self.handle.is_none() || !self.timers_are_due() {
                return Ok(());
            }
        }
    }

    fn timers_are_due(&self) -> bool {
        let report = self.handle().figures();
        let clock_of = |operator: &str, clock| {
            let timers = |state: &&StateSample| {
                state.operator == operator && state.state == format!("_timers.{clock}")
            };
            report.states.iter().find(timers).and_then(|state| state.stock.clock_millis)
        };
        let mut timers = report.operators.iter().flat_map(|operator| {
            operator.timers.iter().map(move |timers| (operator.operator.as_str(), timers))
        });
        timers.any(|(operator, timers)| {
            let due = timers.next_due_millis.zip(clock_of(operator, timers.clock_label()));
            due.is_some_and(|(due, now)| due <= now)
        })
    }

    /// Lets time pass while everything runs, then waits as [`TestJob::settle`] does.
    ///
    /// # Errors
    /// What the job failed with.
    pub fn advance(&mut self, time: Duration) -> Result<(), Error> {
        self.clock.advance(i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
        self.settle()
    }

    /// Lets time pass while the process stands still, as in a debugger or on a suspended machine, then
    /// waits as [`TestJob::settle`] does.
    ///
    /// # Errors
    /// What the job failed with.
    pub fn suspend(&mut self, time: Duration) -> Result<(), Error> {
        self.clock.jump(i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
        self.settle()
    }

    /// Takes a checkpoint, and waits until it is published.
    ///
    /// # Errors
    /// What the job failed with, or [`Error::Refused`] where it goes on and the checkpoint has failed.
    pub fn checkpoint(&mut self) -> Result<(), Error> {
        let taken = self.handle().checkpoint();
        if self.handle().has_ended() {
            return self.handle.take().map_or(Ok(()), JobHandle::wait);
        }
        taken.map(drop)
    }

    /// Ends the job at once, as `kill -9` would: what is not committed is gone. [`TestJob::start`]
    /// goes on from the last commit.
    pub fn crash(&mut self) {
        self.handle = None;
    }

    /// Stops the job with a checkpoint, and waits until it has ended.
    ///
    /// # Errors
    /// What the job failed with.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.handle().stop();
        self.finish()
    }

    /// Waits until the job ends: its feeds have been ended, or [`TestJob::stop`] was called.
    ///
    /// # Errors
    /// What the job failed with.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.wait_until("its end", |job| job.handle().has_ended())?;
        self.handle.take().map_or(Ok(()), JobHandle::wait)
    }

    /// The present figures.
    pub fn figures(&self) -> Report {
        self.handle().figures()
    }

    /// The figures of a state as of the last step.
    ///
    /// # Panics
    /// Where the job has no such state.
    pub fn state(&self, operator: &str, state: &str) -> StateSample {
        let is_it = |sample: &StateSample| sample.operator == operator && sample.state == state;
        match self.figures().states.into_iter().find(is_it) {
            Some(sample) => sample,
            None => panic!("the job has no state {operator}/{state}"),
        }
    }

    /// The figures of an operator as of the last step.
    ///
    /// # Panics
    /// Where the job has no such operator.
    pub fn operator(&self, operator: &str) -> OperatorSample {
        match self.figures().operators.into_iter().find(|sample| sample.operator == operator) {
            Some(sample) => sample,
            None => panic!("the job has no operator {operator}"),
        }
    }

    /// What happened since the last call: starts, jumps of the clock, failed checkpoints, decisions.
    pub fn events(&self) -> Vec<JobEvent> {
        self.handle().control().log.drain()
    }

    /// Drives the job until `holds`: epochs end, entries are swept, figures are published. A job that
    /// ends instead is waited for.
    fn wait_until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) -> Result<(), Error> {
        for _ in 0..LOOKS_MAX {
            if holds(self) {
                return Ok(());
            }
            let handle = self.handle();
            if handle.has_ended() {
                return self.handle.take().map_or(Ok(()), JobHandle::wait);
            }
            handle.control().nudge();
            handle.control().ask_for_commit();
            std::thread::park_timeout(LOOK_INTERVAL);
        }
        let backlog: Vec<String> = self.feeds.iter().map(|feed| feed.backlog()).collect();
        panic!("the job does not come to {what}: {backlog:?}, {:?}", self.figures().operators);
    }
}
