//! Decides when epochs end and commits them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};
use stateward_model::wire::CheckpointSample;

use super::checkpoints::Checkpoints;
use super::control::JobControl;
use super::shard::FromShard;
use crate::changelog::{CommitRecord, LogPosition, SegmentedLog};
use crate::clock::Clock;
use crate::error::Error;
use crate::kill;
use crate::policy::ProcessingClock;
use crate::telemetry::Dense;

/// How long the coordinator waits for a shard before it looks whether the job failed.
const PATIENCE: Duration = Duration::from_millis(20);

/// When epochs and checkpoints are due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) commit_interval: Duration,
    pub(crate) checkpoint_interval: Duration,
    pub(crate) checkpoints_kept: usize,
    pub(crate) checkpoint_timeout: Duration,
    pub(crate) full_checkpoint_interval: Duration,
    /// Changelog since the last checkpoint above which the next one is due at once.
    pub(crate) changelog_bytes_due: u64,
    /// Changelog on disk above which the sources wait.
    pub(crate) changelog_bytes_max: u64,
}

/// Figures of commits and checkpoints.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommitFigures {
    pub(crate) commit_micros: Dense,
    pub(crate) checkpoint_micros: Dense,
    pub(crate) checkpoint_millis: Option<i64>,
    pub(crate) checkpoint_bytes: u64,
    pub(crate) checkpoints: CheckpointSample,
    /// Of the shards' present files.
    pub(crate) changelog_bytes: u64,
}

pub(crate) type SharedFigures = Arc<Mutex<CommitFigures>>;

/// The commit thread of a job.
pub(crate) struct Coordinator {
    pub(crate) control: Arc<JobControl>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) processing: Arc<ProcessingClock>,
    /// Events and timers that waited at the end of the last epoch; a run begins as if there were any.
    pub(crate) pending: u64,
    pub(crate) from_shards: Receiver<FromShard>,
    pub(crate) shards: usize,
    pub(crate) commits: SegmentedLog,
    pub(crate) commit_interval: Duration,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) generation: u32,
    pub(crate) next_epoch: u64,
    pub(crate) figures: SharedFigures,
}

impl Coordinator {
    /// Commits epochs until the job ends.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        let mut drained_epochs = 0;
        while !self.control.exiting() {
            let began = self.clock.monotonic_micros();
            let finished = self.control.all_partitions_finished() && self.pending == 0;
            if finished && drained_epochs >= 2 {
                self.control.stop();
            }
            let stopping = self.control.stopping();
            self.checkpoints.look();
            if stopping {
                self.checkpoints.wait();
                self.control.end_with(self.next_epoch);
            }
            let checkpoint = stopping || self.checkpoints.is_due(began);
            if !self.epoch(began, checkpoint)? {
                break;
            }
            drained_epochs = if finished { drained_epochs + 1 } else { 0 };
            if stopping {
                self.checkpoints.wait();
                break;
            }
            // what was asked before the barrier is answered by it
            self.control.take_commit_wanted();
            self.rest(began);
        }
        self.control.exit();
        Ok(())
    }

    /// Waits for the rest of the commit interval; not when the job is about to end or a write cache
    /// fills.
    fn rest(&self, began: u64) {
        let interval = self.commit_interval.as_micros() as u64;
        loop {
            let ending = self.control.stopping() || self.control.all_partitions_finished();
            let now = self.clock.monotonic_micros();
            let spent = now.saturating_sub(began);
            let wanted = self.control.take_commit_wanted() || self.control.wishes.any_new();
            if self.control.exiting() || ending || wanted || spent >= interval {
                return;
            }
            std::thread::sleep(Duration::from_micros((interval - spent).min(5_000)));
        }
    }

    /// Runs one epoch to its commit; `false` when the job exits first.
    fn epoch(&mut self, began: u64, checkpoint: bool) -> Result<bool, Error> {
        let epoch = self.next_epoch;
        let deadline = checkpoint.then(|| self.checkpoints.begin(epoch, began));
        self.control.request(epoch, deadline);
        let mut positions = vec![LogPosition::default(); self.shards];
        let mut all_pending = 0;
        for _ in 0..self.shards {
            let ready = self.receive();
            let Some(FromShard::Ready { shard, epoch: of, log, sync, pending }) = ready else {
                return Ok(false);
            };
            all_pending += pending;
            assert_eq!(of, epoch, "shard {shard} ended another epoch than the one requested");
            kill::point("before-sync");
            for (path, file) in sync {
                file.sync_data().map_err(Error::io("sync", &path))?;
            }
            if let Some(slot) = positions.get_mut(shard) {
                *slot = log;
            }
        }
        self.commit(epoch, positions)?;
        kill::point("after-sync");
        (self.next_epoch, self.pending) = (epoch + 1, all_pending);
        self.control.commit(epoch);
        let micros = self.clock.monotonic_micros().saturating_sub(began);
        self.with_figures(|figures| figures.commit_micros.add(micros, 1));
        if checkpoint {
            return self.checkpoint(epoch);
        }
        Ok(true)
    }

    fn receive(&self) -> Option<FromShard> {
        loop {
            match self.from_shards.recv_timeout(PATIENCE) {
                Ok(message) => return Some(message),
                Err(RecvTimeoutError::Timeout) if !self.control.exiting() => {}
                Err(_) => return None,
            }
        }
    }

    fn with_figures(&self, f: impl FnOnce(&mut CommitFigures)) {
        f(&mut self.figures.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn commit(&mut self, epoch: u64, shards: Vec<LogPosition>) -> Result<(), Error> {
        let bytes: u64 = shards.iter().map(|position| position.bytes).sum();
        let record = CommitRecord {
            epoch,
            generation: self.generation,
            wall_millis: self.clock.now_millis(),
            clock_millis: self.processing.latest(),
            shards,
        };
        let payload = postcard::to_stdvec(&record)
            .map_err(|e| Error::Codec { place: "commit record".into(), detail: e.to_string() })?;
        self.commits.append(&payload)?;
        self.commits.flush()?;
        let (path, file) = self.commits.file();
        file.sync_data().map_err(Error::io("sync", &path))?;
        self.with_figures(|figures| figures.changelog_bytes = bytes);
        Ok(())
    }

    /// Collects the shards' parts and hands them on; a failed one is no failure of the job.
    fn checkpoint(&mut self, epoch: u64) -> Result<bool, Error> {
        let mut parts = Ok(Vec::new());
        for _ in 0..self.shards {
            let Some(FromShard::Saved { shard, result }) = self.receive() else {
                return Ok(false);
            };
            match (result, &mut parts) {
                (Ok(part), Ok(parts)) => parts.push(part),
                (Err(e), Ok(_)) => parts = Err((shard, e)),
                (_, Err(_)) => {}
            }
        }
        self.roll(epoch)?;
        self.checkpoints.saved(epoch, self.control.is_last(epoch), parts);
        Ok(true)
    }

    /// Begins a new file of commit records, as every shard has begun a new log. It repeats the last
    /// commit, so that older files can go.
    fn roll(&mut self, epoch: u64) -> Result<(), Error> {
        self.commits.roll(epoch + 1)?;
        self.commit(epoch, vec![LogPosition { first_epoch: epoch + 1, bytes: 0 }; self.shards])
    }
}
