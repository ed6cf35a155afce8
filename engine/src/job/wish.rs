//! Checkpoints that somebody waits for: a person, or whoever writes a savepoint.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crossbeam_channel::{Receiver, Sender, bounded};

use super::savepoint::scratch;
use crate::checkpoint::{link_files, remove_dir};
use crate::error::Error;

/// Most that wait at a time; more are refused.
const WISHES_MAX: usize = 16;

/// A checkpoint as it was wished for, or why there is none.
pub(super) type Granted = Result<Kept, String>;

/// A checkpoint that was published.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) epoch: u64,
    /// Links to its files, for whoever wished for them.
    pub(super) files: Option<PathBuf>,
}

#[derive(Debug)]
struct Wish {
    /// Its files are wanted too.
    files: bool,
    /// Only the checkpoint that the job ends with will do.
    at_end: bool,
    /// The checkpoint that grants it, once that has been asked for.
    epoch: Option<u64>,
    granted: Sender<Granted>,
}

/// The wishes of one job.
#[derive(Debug, Default)]
pub(crate) struct Wishes {
    all: Mutex<Vec<Wish>>,
    /// One has no epoch yet: looked at once an epoch, without the lock.
    any_new: AtomicBool,
    /// Newest epoch whose files somebody wants.
    files_of: AtomicU64,
}

impl Wishes {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Wish>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wishes for a checkpoint of an epoch that ends from now on; with `at_end`, of the job's last.
    pub(super) fn add(&self, files: bool, at_end: bool) -> Result<Receiver<Granted>, Error> {
        let (granted, answer) = bounded(1);
        let mut all = self.lock();
        if all.len() >= WISHES_MAX {
            return Err(Error::Refused(format!(
                "{WISHES_MAX} others wait for a checkpoint of this job already; wait for one of them"
            )));
        }
        all.push(Wish { files, at_end, epoch: None, granted });
        if !at_end {
            self.any_new.store(true, Ordering::Release);
        }
        Ok(answer)
    }

    /// Tells whether a checkpoint is wished for that has not been asked for.
    pub(super) fn any_new(&self) -> bool {
        self.any_new.load(Ordering::Acquire)
    }

    /// A checkpoint of this epoch is asked for, `last` where the job ends with it.
    pub(super) fn begin(&self, epoch: u64, last: bool) {
        let mut all = self.lock();
        self.any_new.store(false, Ordering::Release);
        for wish in all.iter_mut().filter(|wish| wish.epoch.is_none() && (last || !wish.at_end)) {
            wish.epoch = Some(epoch);
            if wish.files {
                self.files_of.store(epoch, Ordering::Release);
            }
        }
    }

    /// Tells whether the files of this epoch's checkpoint are wanted.
    pub(super) fn wants_files(&self, epoch: u64) -> bool {
        self.files_of.load(Ordering::Acquire) == epoch
    }

    /// What came of a checkpoint: published, unless it says why not.
    pub(super) fn settle(&self, epoch: u64, failed: Option<&str>, job_dir: &Path) {
        let mut all = self.lock();
        let (mine, others) = all.drain(..).partition(|wish| wish.epoch == Some(epoch));
        *all = others;
        let mine: Vec<Wish> = mine;
        let files = mine.iter().any(|wish| wish.files).then(|| {
            let to = scratch(job_dir, epoch);
            let from = job_dir.join(format!("checkpoints/{epoch}"));
            if failed.is_some() {
                // what the shards have linked already
                remove_dir(&to).map(|()| to)
            } else {
                link_files(&from, &to).map(|()| to)
            }
        });
        let files = files.map(|files| files.map_err(|e| e.to_string()));
        for wish in mine {
            let files = files.clone().filter(|_| wish.files).transpose();
            let granted = failed.map_or_else(
                || files.map(|files| Kept { epoch, files }),
                |why| Err(why.to_owned()),
            );
            // whoever waited may have gone
            drop(wish.granted.send(granted));
        }
    }
}
