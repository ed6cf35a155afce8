//! Decides when epochs end, commits them, publishes checkpoints, cuts the log.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};
use stateward_model::wire::{CheckpointFailure, CheckpointRun, CheckpointSample};

use super::control::JobControl;
use super::recovery::checkpoints;
use super::saved::About;
use super::shard::FromShard;
use crate::changelog::{CommitRecord, LogPosition, SegmentedLog};
use crate::clock::Clock;
use crate::durable;
use crate::error::Error;
use crate::kill;
use crate::telemetry::Dense;

/// How long the coordinator waits for a shard before it looks whether the job failed.
const PATIENCE: Duration = Duration::from_millis(20);

/// When epochs and checkpoints are due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) commit_interval: Duration,
    pub(crate) checkpoint_interval: Duration,
    pub(crate) checkpoints_kept: usize,
    /// Changelog above which a checkpoint is due at once.
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
    pub(crate) changelog_bytes: u64,
}

pub(crate) type SharedFigures = Arc<Mutex<CommitFigures>>;

/// The commit thread of a job.
pub(crate) struct Coordinator {
    pub(crate) control: Arc<JobControl>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Events and timers that waited at the end of the last epoch; a run begins as if there were any.
    pub(crate) pending: u64,
    pub(crate) from_shards: Receiver<FromShard>,
    pub(crate) shards: usize,
    pub(crate) job_dir: PathBuf,
    pub(crate) commits: SegmentedLog,
    pub(crate) pace: Pace,
    pub(crate) generation: u32,
    pub(crate) next_epoch: u64,
    pub(crate) figures: SharedFigures,
}

impl Coordinator {
    /// Commits epochs until the job ends.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        let mut last_checkpoint = self.clock.monotonic_micros();
        let mut drained_epochs = 0;
        while !self.control.exiting() {
            let began = self.clock.monotonic_micros();
            let finished = self.control.all_partitions_finished() && self.pending == 0;
            if finished && drained_epochs >= 2 {
                self.control.stop();
            }
            let stopping = self.control.stopping();
            let since = Duration::from_micros(began.saturating_sub(last_checkpoint));
            let checkpoint = stopping
                || since >= self.pace.checkpoint_interval
                || self.changelog_bytes() > self.pace.changelog_bytes_max;
            if stopping {
                self.control.end_with(self.next_epoch);
            }
            if !self.epoch(began, checkpoint)? {
                break;
            }
            drained_epochs = if finished { drained_epochs + 1 } else { 0 };
            if checkpoint {
                last_checkpoint = began;
            }
            if stopping {
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
        let interval = self.pace.commit_interval.as_micros() as u64;
        loop {
            let ending = self.control.stopping() || self.control.all_partitions_finished();
            let now = self.clock.monotonic_micros();
            let spent = now.saturating_sub(began);
            let wanted = self.control.take_commit_wanted();
            if self.control.exiting() || ending || wanted || spent >= interval {
                return;
            }
            std::thread::sleep(Duration::from_micros((interval - spent).min(5_000)));
        }
    }

    fn changelog_bytes(&self) -> u64 {
        self.figures.lock().unwrap_or_else(PoisonError::into_inner).changelog_bytes
    }

    /// Runs one epoch to its commit; `false` when the job exits first.
    fn epoch(&mut self, began: u64, checkpoint: bool) -> Result<bool, Error> {
        let epoch = self.next_epoch;
        if checkpoint {
            let dir = self.job_dir.join("checkpoints").join(format!(".{epoch}"));
            durable::make_dir(&dir)?;
        }
        self.control.request(epoch, checkpoint);
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
            return self.checkpoint(epoch, began);
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

    /// Publishes a checkpoint once every shard has saved its part; a failed one is told, counted
    /// and leaves the former ones in force.
    fn checkpoint(&mut self, epoch: u64, began: u64) -> Result<bool, Error> {
        let mut failed = None;
        for _ in 0..self.shards {
            let Some(FromShard::Saved { shard, result }) = self.receive() else {
                return Ok(false);
            };
            if let Err(e) = result {
                failed = Some(format!("shard {shard}: {e}"));
            }
        }
        let dir = self.job_dir.join("checkpoints");
        let unfinished = dir.join(format!(".{epoch}"));
        if let Some(why) = failed {
            fs::remove_dir_all(&unfinished).map_err(Error::io("remove", &unfinished))?;
            let run = CheckpointRun {
                epoch,
                wall_millis: self.clock.now_millis(),
                failure: Some(CheckpointFailure::Io),
                detail: Some(why.clone()),
                ..CheckpointRun::default()
            };
            self.with_figures(|figures| figures.checkpoints.add(run));
            let text = format!("checkpoint {epoch} failed: {why}; the former ones stay in force");
            self.control.log.note(self.clock.as_ref(), "checkpoint_failed", text);
            self.roll(epoch)?;
            return Ok(true);
        }
        self.publish(epoch, &unfinished, &dir)?;
        let micros = self.clock.monotonic_micros().saturating_sub(began);
        let (wall, bytes) = (self.clock.now_millis(), folder_bytes(&dir.join(epoch.to_string())));
        self.with_figures(|figures| {
            figures.checkpoint_micros.add(micros, 1);
            figures.checkpoint_millis = Some(wall);
            figures.checkpoint_bytes = bytes;
        });
        Ok(true)
    }

    /// Begins a new file of commit records, as every shard has begun a new log. It repeats the last
    /// commit, so that older files can go.
    fn roll(&mut self, epoch: u64) -> Result<(), Error> {
        self.commits.roll(epoch + 1)?;
        self.commit(epoch, vec![LogPosition { first_epoch: epoch + 1, bytes: 0 }; self.shards])
    }

    fn publish(&mut self, epoch: u64, unfinished: &Path, dir: &Path) -> Result<(), Error> {
        let wall_millis = self.clock.now_millis();
        About::new(epoch, self.shards, self.generation, wall_millis).write(unfinished)?;
        kill::point("before-checkpoint-rename");
        let published = dir.join(epoch.to_string());
        durable::rename(unfinished, &published)?;
        kill::point("after-checkpoint-rename");
        let kept = checkpoints(&self.job_dir)?;
        for (_, old) in kept.iter().skip(self.pace.checkpoints_kept) {
            fs::remove_dir_all(old).map_err(Error::io("remove", old))?;
        }
        self.roll(epoch)?;
        let oldest = kept.get(..self.pace.checkpoints_kept.min(kept.len()));
        if let Some((oldest, _)) = oldest.and_then(<[_]>::last) {
            let changelog = self.job_dir.join("changelog");
            SegmentedLog::cut_before(&changelog.join("commits"), oldest + 1)?;
            for shard in 0..self.shards {
                SegmentedLog::cut_before(&changelog.join(format!("shard-{shard}")), oldest + 1)?;
            }
        }
        kill::point("after-log-cut");
        Ok(())
    }
}

/// Bytes of all files below a folder.
pub(crate) fn folder_bytes(dir: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(dir) else { return 0 };
    let sizes = entries.flatten().map(|entry| match entry.metadata() {
        Ok(meta) if meta.is_dir() => folder_bytes(&entry.path()),
        Ok(meta) => meta.len(),
        Err(_) => 0,
    });
    sizes.sum()
}
