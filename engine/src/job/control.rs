//! What the threads of a job share: a few atomics, read once per turn of a shard's loop.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::Thread;

use stateward_model::wire::JobEvent;

use super::wish::Wishes;
use crate::clock::Clock;
use crate::error::Error;

/// Events kept until the agent fetches them; more are dropped and counted.
const EVENTS_MAX: usize = 1_024;

/// Wakes parked shards.
#[derive(Debug)]
pub(crate) struct Wakers {
    shards: Vec<OnceLock<Thread>>,
}

impl Wakers {
    pub(crate) fn new(shards: usize) -> Arc<Self> {
        Arc::new(Self { shards: (0..shards).map(|_| OnceLock::new()).collect() })
    }

    /// The calling thread is this shard.
    pub(crate) fn register(&self, shard: usize) {
        if let Some(slot) = self.shards.get(shard) {
            slot.get_or_init(std::thread::current);
        }
    }

    pub(crate) fn wake(&self, shard: usize) {
        if let Some(thread) = self.shards.get(shard).and_then(OnceLock::get) {
            thread.unpark();
        }
    }

    pub(crate) fn wake_all(&self) {
        (0..self.shards.len()).for_each(|shard| self.wake(shard));
    }
}

/// What happened to a job, for its log on the server.
#[derive(Debug, Default)]
pub(crate) struct JobLog {
    events: Mutex<VecDeque<JobEvent>>,
    dropped: AtomicU64,
}

impl JobLog {
    pub(crate) fn push(&self, event: JobEvent) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() < EVENTS_MAX {
            events.push_back(event);
        } else {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Notes an event that concerns the job as a whole.
    pub(crate) fn note(&self, clock: &dyn Clock, kind: &str, text: impl Into<String>) {
        self.push(JobEvent {
            wall_millis: clock.now_millis(),
            kind: kind.into(),
            operator: None,
            state: None,
            text: text.into(),
        });
    }

    pub(crate) fn drain(&self) -> Vec<JobEvent> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).drain(..).collect()
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

/// Why the sources wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PauseReason {
    /// The spill is full (SEMANTICS §7.6).
    Spill,
    /// The changelog is, for no checkpoint comes about (SEMANTICS §4.2).
    Changelog,
}

impl PauseReason {
    fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Shared between shards, coordinator, governor and handle.
#[derive(Debug)]
pub(crate) struct JobControl {
    /// Newest epoch whose barrier the sources may inject.
    requested: AtomicU64,
    /// Newest requested epoch that ends in a checkpoint.
    checkpoint: AtomicU64,
    /// Monotonic time at which the checkpoint that was requested last is given up.
    checkpoint_deadline: AtomicU64,
    committed: AtomicU64,
    /// Finish the epoch in flight, take a checkpoint, end.
    stop: AtomicBool,
    /// The epoch that the job ends with, once that is known; 0 until then.
    last: AtomicU64,
    /// End now; set after the last commit, or on failure.
    exit: AtomicBool,
    /// Bits of [`PauseReason`].
    paused: AtomicU8,
    /// A write cache fills with what is not committed.
    commit_wanted: AtomicBool,
    /// Grows when somebody wants shards to do now what they do a few times a second.
    nudges: AtomicU64,
    running_partitions: AtomicU64,
    /// Checkpoints that somebody waits for.
    pub(crate) wishes: Wishes,
    failure: Mutex<Option<Error>>,
    pub(crate) wakers: Arc<Wakers>,
    pub(crate) log: JobLog,
}

impl JobControl {
    pub(crate) fn new(shards: usize, committed: u64, partitions: u64) -> Arc<Self> {
        Arc::new(Self {
            requested: AtomicU64::new(committed),
            checkpoint: AtomicU64::new(0),
            committed: AtomicU64::new(committed),
            stop: AtomicBool::new(false),
            last: AtomicU64::new(0),
            exit: AtomicBool::new(false),
            paused: AtomicU8::new(0),
            checkpoint_deadline: AtomicU64::new(u64::MAX),
            commit_wanted: AtomicBool::new(false),
            nudges: AtomicU64::new(0),
            running_partitions: AtomicU64::new(partitions),
            wishes: Wishes::default(),
            failure: Mutex::new(None),
            wakers: Wakers::new(shards),
            log: JobLog::default(),
        })
    }

    /// Asks the sources for a barrier; of a checkpoint where there is a deadline for one.
    pub(crate) fn request(&self, epoch: u64, deadline_micros: Option<u64>) {
        if let Some(deadline) = deadline_micros {
            self.checkpoint_deadline.store(deadline, Ordering::Release);
            self.checkpoint.store(epoch, Ordering::Release);
        }
        self.requested.store(epoch, Ordering::Release);
        self.wakers.wake_all();
    }

    /// Newest requested epoch, and whether it ends in a checkpoint.
    pub(crate) fn requested(&self) -> (u64, bool) {
        let epoch = self.requested.load(Ordering::Acquire);
        (epoch, self.checkpoint.load(Ordering::Acquire) == epoch)
    }

    /// Monotonic time at which the checkpoint is given up.
    pub(crate) fn checkpoint_deadline(&self) -> u64 {
        self.checkpoint_deadline.load(Ordering::Acquire)
    }

    /// Asks for the end of the epoch before its interval is over.
    pub(crate) fn ask_for_commit(&self) {
        self.commit_wanted.store(true, Ordering::Release);
    }

    /// Whether somebody asked since the last look.
    pub(crate) fn take_commit_wanted(&self) -> bool {
        self.commit_wanted.swap(false, Ordering::AcqRel)
    }

    /// Asks all shards to sweep and to publish their figures, whatever their clock says.
    pub(crate) fn nudge(&self) {
        self.nudges.fetch_add(1, Ordering::Release);
        self.wakers.wake_all();
    }

    /// How often that was asked for.
    pub(crate) fn nudges(&self) -> u64 {
        self.nudges.load(Ordering::Relaxed)
    }

    pub(crate) fn commit(&self, epoch: u64) {
        self.committed.store(epoch, Ordering::Release);
        self.wakers.wake_all();
    }

    pub(crate) fn committed(&self) -> u64 {
        self.committed.load(Ordering::Acquire)
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }

    pub(crate) fn stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// No epoch follows this one.
    pub(crate) fn end_with(&self, epoch: u64) {
        self.last.store(epoch, Ordering::Release);
    }

    /// Tells whether the job ends with this epoch.
    pub(crate) fn is_last(&self, epoch: u64) -> bool {
        self.last.load(Ordering::Acquire) == epoch
    }

    pub(crate) fn exit(&self) {
        self.exit.store(true, Ordering::Release);
        self.wakers.wake_all();
    }

    pub(crate) fn exiting(&self) -> bool {
        self.exit.load(Ordering::Acquire)
    }

    /// Ends the job with an error; the first one is kept.
    pub(crate) fn fail(&self, error: Error) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.exit();
    }

    pub(crate) fn failed(&self) -> bool {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(crate) fn take_failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Stops or restarts the sources for one reason; barriers go on.
    pub(crate) fn pause_sources(&self, reason: PauseReason, paused: bool) {
        if paused {
            self.paused.fetch_or(reason.bit(), Ordering::AcqRel);
        } else {
            self.paused.fetch_and(!reason.bit(), Ordering::AcqRel);
        }
    }

    /// Tells whether they wait for this reason.
    pub(crate) fn paused_for(&self, reason: PauseReason) -> bool {
        self.paused.load(Ordering::Acquire) & reason.bit() != 0
    }

    /// Tells whether they wait at all.
    pub(crate) fn sources_paused(&self) -> bool {
        self.paused.load(Ordering::Acquire) != 0
    }

    /// A partition has nothing left, ever.
    pub(crate) fn partition_finished(&self) {
        self.running_partitions.fetch_sub(1, Ordering::AcqRel);
    }

    pub(crate) fn all_partitions_finished(&self) -> bool {
        self.running_partitions.load(Ordering::Acquire) == 0
    }
}
