//! From the shards' parts to a checkpoint that counts, on a thread of its own.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use stateward_model::wire::{CheckpointFailure, CheckpointKind, CheckpointRun};

use super::about::{ABOUT_FILE, About};
use super::file::{Digest, FileRecord, files_below, is_shared, replace_by_copy};
use super::retention::{Retention, folder, remove_dir, retain};
use crate::clock::Clock;
use crate::durable;
use crate::error::Error;
use crate::kill;

/// What one shard's part of a checkpoint says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShardPart {
    pub(crate) entries: u64,
    pub(crate) logical_bytes: u64,
    pub(crate) excluded_entries: u64,
    pub(crate) excluded_bytes: u64,
    pub(crate) cleanup_micros: u64,
    pub(crate) pause_micros: u64,
}

/// What a node saves its share of a checkpoint with.
pub(crate) struct Saving<'a> {
    /// The shard's part of the unfinished checkpoint.
    pub(crate) dir: &'a Path,
    pub(crate) clock: &'a dyn Clock,
    /// Monotonic time at which the checkpoint is given up.
    pub(crate) deadline_micros: u64,
    pub(crate) part: ShardPart,
}

impl Saving<'_> {
    /// Gives up when it has taken too long.
    pub(crate) fn check(&self) -> Result<(), Error> {
        check_deadline(self.clock, self.deadline_micros)
    }
}

fn check_deadline(clock: &dyn Clock, deadline_micros: u64) -> Result<(), Error> {
    if clock.monotonic_micros() <= deadline_micros {
        return Ok(());
    }
    Err(Error::CheckpointTimeout)
}

/// Says of what kind a failure is.
pub(crate) fn failure_of(error: &Error) -> CheckpointFailure {
    match error {
        Error::CheckpointTimeout => CheckpointFailure::Timeout,
        Error::Damaged { .. } => CheckpointFailure::Damaged,
        other if other.is_disk_full() => CheckpointFailure::DiskFull,
        _ => CheckpointFailure::Io,
    }
}

/// A checkpoint that every shard has saved its part of.
#[derive(Clone, Debug)]
pub(crate) struct Unfinished {
    pub(crate) epoch: u64,
    /// Monotonic time at which it was asked for.
    pub(crate) began_micros: u64,
    pub(crate) deadline_micros: u64,
    pub(crate) wall_millis: i64,
    /// The job ends with it.
    pub(crate) last: bool,
    pub(crate) parts: Vec<ShardPart>,
}

impl Unfinished {
    /// The folder that it is in until it counts.
    pub(crate) fn dir(job_dir: &Path, epoch: u64) -> PathBuf {
        folder(job_dir).join(format!(".{epoch}"))
    }

    fn run(&self) -> CheckpointRun {
        let sum = |of: fn(&ShardPart) -> u64| self.parts.iter().map(of).sum();
        CheckpointRun {
            epoch: self.epoch,
            wall_millis: self.wall_millis,
            pause_micros: self.parts.iter().map(|part| part.pause_micros).max().unwrap_or(0),
            entries: sum(|part| part.entries),
            logical_bytes: sum(|part| part.logical_bytes),
            cleanup_micros: sum(|part| part.cleanup_micros),
            excluded_entries: sum(|part| part.excluded_entries),
            excluded_bytes: sum(|part| part.excluded_bytes),
            ..CheckpointRun::default()
        }
    }
}

/// What came of a checkpoint.
#[derive(Debug)]
pub(crate) struct Published {
    pub(crate) run: CheckpointRun,
    /// Ids of those that can be restored, newest first; of the time before where it failed.
    pub(crate) retained: Option<Vec<u64>>,
    /// What did not work and is no failure of the checkpoint itself.
    pub(crate) told: Option<String>,
}

/// A file that was digested, as long as it is the same one.
#[derive(Clone, Copy, Debug)]
struct Known {
    inode: u64,
    digest: Digest,
}

/// Publishes checkpoints of one run of a job.
pub(crate) struct Publisher {
    job_dir: PathBuf,
    shards: usize,
    generation: u32,
    retention: Retention,
    full_interval_millis: i64,
    clock: Arc<dyn Clock>,
    /// Files of the newest checkpoint, by path within it.
    known: HashMap<String, Known>,
    /// See [`About::full_millis`]; `None` before the first checkpoint.
    full_millis: Option<i64>,
    /// The next one is full, whatever the clock says.
    full_now: bool,
}

impl Publisher {
    /// For a run that goes on from the checkpoint in `from`.
    pub(crate) fn new(
        (job_dir, shards, generation): (&Path, usize, u32),
        from: Option<&Path>,
        retention: Retention,
        full_interval_millis: i64,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Error> {
        let mut publisher = Self {
            job_dir: job_dir.to_path_buf(),
            shards,
            generation,
            retention,
            full_interval_millis,
            clock,
            known: HashMap::new(),
            full_millis: None,
            full_now: false,
        };
        if let Some(dir) = from {
            let about = About::read(dir)?;
            publisher.full_millis = Some(about.full_millis);
            // the run shares its files now
            publisher.full_now = about.kind == CheckpointKind::Full;
            for FileRecord { path, digest } in about.files {
                let inode = inode(&dir.join(&path))?;
                publisher.known.insert(path, Known { inode, digest });
            }
        }
        Ok(publisher)
    }

    /// Publishes a checkpoint; a failed one leaves the former ones in force.
    pub(crate) fn publish(&mut self, unfinished: &Unfinished) -> Published {
        let mut run = unfinished.run();
        let done = self.complete(unfinished, &mut run);
        run.micros = self.clock.monotonic_micros().saturating_sub(unfinished.began_micros);
        if let Err(e) = done {
            (run.failure, run.detail) = (Some(failure_of(&e)), Some(e.to_string()));
            let dir = Unfinished::dir(&self.job_dir, unfinished.epoch);
            let told = remove_dir(&dir).err().map(|e| e.to_string());
            return Published { run, retained: None, told };
        }
        match retain(&self.job_dir, self.shards, self.retention) {
            Ok(retained) => {
                kill::point("after-log-cut");
                Published { run, retained: Some(retained), told: None }
            }
            Err(e) => {
                let told = format!("checkpoint {} is there, but {e}", run.epoch);
                Published { run, retained: None, told: Some(told) }
            }
        }
    }

    fn complete(&mut self, unfinished: &Unfinished, run: &mut CheckpointRun) -> Result<(), Error> {
        let epoch = unfinished.epoch;
        let dir = Unfinished::dir(&self.job_dir, epoch);
        let full_millis = *self.full_millis.get_or_insert(unfinished.wall_millis);
        let due = unfinished.wall_millis.saturating_sub(full_millis) >= self.full_interval_millis;
        // whoever stops a job does not wait for copies that the next run can make
        let full = due || (self.full_now && !unfinished.last);
        run.kind = if full { CheckpointKind::Full } else { CheckpointKind::Incremental };
        let mut about = About::new(epoch, self.shards, self.generation, unfinished.wall_millis);
        about.kind = run.kind;
        if run.kind == CheckpointKind::Incremental {
            about.full_millis = full_millis;
        }
        let mut known = HashMap::new();
        for path in files_below(&dir)? {
            check_deadline(self.clock.as_ref(), unfinished.deadline_micros)?;
            let shared = is_shared(Path::new(&path));
            let is = self.digest(&dir, &path, shared, run.kind)?;
            let bytes = is.digest.bytes;
            if shared && run.kind == CheckpointKind::Incremental {
                run.linked_bytes += bytes;
            } else {
                run.copied_bytes += bytes;
            }
            run.files += u64::from(shared);
            about.files.push(FileRecord { path: path.clone(), digest: is.digest });
            known.insert(path, is);
        }
        check_deadline(self.clock.as_ref(), unfinished.deadline_micros)?;
        about.write(&dir)?;
        kill::point("before-checkpoint-rename");
        durable::rename(&dir, &folder(&self.job_dir).join(epoch.to_string()))?;
        kill::point("after-checkpoint-rename");
        (self.known, self.full_millis) = (known, Some(about.full_millis));
        self.full_now &= !full;
        Ok(())
    }

    /// The digest of a file, read only where it is not known; in a full checkpoint a copy takes the
    /// place of a link.
    fn digest(
        &self,
        dir: &Path,
        path: &str,
        shared: bool,
        kind: CheckpointKind,
    ) -> Result<Known, Error> {
        debug_assert!(path != ABOUT_FILE, "it is written when all files are known");
        let file = dir.join(path);
        // of the file that the run uses, which the next checkpoint links again
        let inode = inode(&file)?;
        let before = self.known.get(path).filter(|known| shared && known.inode == inode);
        if let Some(known) = before.filter(|_| kind == CheckpointKind::Incremental) {
            return Ok(*known);
        }
        if !shared || kind == CheckpointKind::Incremental {
            return Ok(Known { inode, digest: Digest::of(&file)? });
        }
        let digest = replace_by_copy(&file, &file)?;
        match before {
            Some(known) if known.digest != digest => Err(Error::Damaged {
                path: file,
                offset: 0,
                detail: format!(
                    "the file that the job uses is {} bytes with checksum {:016x} and was {} bytes with {:016x}; start the job again, so that it goes on from the last whole copy",
                    digest.bytes, digest.xxh3, known.digest.bytes, known.digest.xxh3
                ),
            }),
            _ => Ok(Known { inode, digest }),
        }
    }
}

fn inode(path: &Path) -> Result<u64, Error> {
    Ok(fs::metadata(path).map_err(Error::io("read", path))?.ino())
}
