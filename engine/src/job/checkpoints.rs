//! When a checkpoint is due, what came of it, and when the sources wait for one.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use stateward_model::wire::{CheckpointRun, CheckpointSample};

use super::control::{JobControl, PauseReason};
use super::coordinator::{CommitFigures, Pace, SharedFigures};
use crate::checkpoint::{Published, ShardPart, Unfinished, failure_of, folder_bytes, remove_dir};
use crate::clock::Clock;
use crate::error::Error;

/// Shortest time between two attempts while the changelog is over its limit.
const RETRY_MICROS: u64 = 1_000_000;
/// How long it waits for a publication before it looks whether the job failed.
const PATIENCE: Duration = Duration::from_millis(20);

/// The coordinator's side of checkpoints.
pub(crate) struct Checkpoints {
    job_dir: PathBuf,
    pace: Pace,
    control: Arc<JobControl>,
    clock: Arc<dyn Clock>,
    figures: SharedFigures,
    to_publisher: Sender<Unfinished>,
    published: Receiver<Published>,
    /// Handed over, and not heard of again.
    in_flight: bool,
    /// When the last one was asked for.
    last_micros: u64,
    /// Changelog on disk that is not the shards' present files.
    older_bytes: u64,
    /// It was said that the changelog grows.
    growth_told: bool,
}

impl Checkpoints {
    pub(crate) fn new(
        job_dir: PathBuf,
        pace: Pace,
        control: Arc<JobControl>,
        clock: Arc<dyn Clock>,
        figures: SharedFigures,
        (to_publisher, published): (Sender<Unfinished>, Receiver<Published>),
    ) -> Self {
        let last_micros = clock.monotonic_micros();
        let older_bytes = folder_bytes(&job_dir.join("changelog"));
        Self {
            job_dir,
            pace,
            control,
            clock,
            figures,
            to_publisher,
            published,
            in_flight: false,
            last_micros,
            older_bytes,
            growth_told: false,
        }
    }

    /// Tells whether the next epoch should end in a checkpoint; one is made at a time.
    pub(crate) fn is_due(&self, now_micros: u64) -> bool {
        let since = now_micros.saturating_sub(self.last_micros);
        let fresh_bytes = self.with_figures(|figures| figures.changelog_bytes);
        let starved = self.control.paused_for(PauseReason::Changelog) && since >= RETRY_MICROS;
        !self.in_flight
            && (self.control.wishes.any_new()
                || since >= self.pace.checkpoint_interval.as_micros() as u64
                || fresh_bytes > self.pace.changelog_bytes_due
                || starved)
    }

    /// One is asked for, of this epoch; returns the time at which it is given up.
    pub(crate) fn begin(&mut self, epoch: u64, now_micros: u64) -> u64 {
        self.control.wishes.begin(epoch, self.control.is_last(epoch));
        self.last_micros = now_micros;
        now_micros.saturating_add(self.pace.checkpoint_timeout.as_micros() as u64)
    }

    /// Every shard has saved its part, or could not.
    pub(crate) fn saved(
        &mut self,
        epoch: u64,
        last: bool,
        parts: Result<Vec<ShardPart>, (usize, Error)>,
    ) {
        let wall_millis = self.clock.now_millis();
        let (shard, e) = match parts {
            Ok(parts) => {
                let began_micros = self.last_micros;
                let deadline_micros = self.control.checkpoint_deadline();
                let unfinished =
                    Unfinished { epoch, began_micros, deadline_micros, wall_millis, last, parts };
                // a publisher that is gone has failed the job
                self.in_flight = self.to_publisher.send(unfinished).is_ok();
                return;
            }
            Err(failed) => failed,
        };
        let run = CheckpointRun {
            epoch,
            wall_millis,
            micros: self.clock.monotonic_micros().saturating_sub(self.last_micros),
            failure: Some(failure_of(&e)),
            detail: Some(format!("shard {shard}: {e}")),
            ..CheckpointRun::default()
        };
        let told = remove_dir(&Unfinished::dir(&self.job_dir, epoch)).err();
        self.settle(Published { run, retained: None, told: told.map(|e| e.to_string()) });
    }

    /// Takes in what the publisher has come to, and lets the sources wait or go on.
    pub(crate) fn look(&mut self) {
        if let Ok(published) = self.published.try_recv() {
            self.in_flight = false;
            self.settle(published);
        }
        self.guard_changelog();
    }

    /// Waits until nothing is in flight, or the job has failed.
    pub(crate) fn wait(&mut self) {
        while self.in_flight {
            match self.published.recv_timeout(PATIENCE) {
                Ok(published) => {
                    self.in_flight = false;
                    self.settle(published);
                }
                Err(RecvTimeoutError::Timeout) if !self.control.exiting() => {}
                Err(_) => return,
            }
        }
    }

    fn settle(&mut self, published: Published) {
        let Published { run, retained, told } = published;
        // before the next one begins, so that this one is there still
        self.control.wishes.settle(run.epoch, run.detail.as_deref(), &self.job_dir);
        if let Some(why) = &run.detail {
            let text = format!(
                "checkpoint {} failed: {why}; the former ones stay in force, the next one is tried",
                run.epoch
            );
            self.note("checkpoint_failed", text);
        }
        if let Some(text) = told {
            self.note("checkpoint_failed", text);
        }
        let fresh_bytes = self.with_figures(|figures| {
            if run.failure.is_none() {
                figures.checkpoint_micros.add(run.micros, 1);
                figures.checkpoint_millis = Some(run.wall_millis);
                figures.checkpoint_bytes = run.linked_bytes + run.copied_bytes;
            }
            if let Some(retained) = retained {
                figures.checkpoints.retained = retained;
            }
            figures.checkpoints.add(run);
            figures.changelog_bytes
        });
        let all_bytes = folder_bytes(&self.job_dir.join("changelog"));
        self.older_bytes = all_bytes.saturating_sub(fresh_bytes);
    }

    /// §4.2: a changelog that no checkpoint cuts first tells, then stops the sources.
    fn guard_changelog(&mut self) {
        let limit = self.pace.changelog_bytes_max;
        let bytes = self.older_bytes + self.with_figures(|figures| figures.changelog_bytes);
        let waits = self.control.paused_for(PauseReason::Changelog);
        if bytes >= limit / 2 && !self.growth_told {
            self.growth_told = true;
            self.note(
                "changelog_grows",
                format!(
                    "the changelog has {bytes} bytes; at {limit} the sources wait until a checkpoint comes about"
                ),
            );
        } else if bytes < limit / 4 {
            self.growth_told = false;
        }
        if !waits && bytes >= limit {
            self.wait_for_checkpoint(true);
            self.note(
                "source_paused",
                format!(
                    "sources stop: the changelog has {bytes} bytes and no checkpoint comes about; see why they fail, or raise its limit of {limit}"
                ),
            );
        } else if waits && bytes < limit / 5 * 4 {
            self.wait_for_checkpoint(false);
            self.note("source_resumed", "a checkpoint has cut the changelog".into());
        }
    }

    fn wait_for_checkpoint(&self, wait: bool) {
        self.control.pause_sources(PauseReason::Changelog, wait);
        self.with_figures(|figures| figures.checkpoints.sources_wait = wait);
    }

    fn note(&self, kind: &str, text: String) {
        self.control.log.note(self.clock.as_ref(), kind, text);
    }

    fn with_figures<T>(&self, f: impl FnOnce(&mut CommitFigures) -> T) -> T {
        f(&mut self.figures.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What is known of a job's checkpoints before it has made one.
pub(crate) fn first_sample(retained: Vec<u64>, pace: &Pace) -> CheckpointSample {
    CheckpointSample {
        retained,
        changelog_bytes_max: pace.changelog_bytes_max,
        ..CheckpointSample::default()
    }
}
