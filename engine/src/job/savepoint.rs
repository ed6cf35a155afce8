//! Savepoints of a running job, and of a stopped one (DESIGN, Checkpoints).
//!
//! A checkpoint is made for it, and its files, with those of what waits, are linked aside. Everything
//! else, reading the rows in order, compressing, writing, is done by whoever asked, while the job goes
//! on.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};

use super::control::JobControl;
use super::wish::{Granted, Kept};
use crate::changelog::ShardMeta;
use crate::checkpoint::{About, link_files, remove_dir};
use crate::error::Error;
use crate::savepoint::{Queue, Savepoint, open_checkpoint, with_stopped_job, write};

/// Where a job's folder keeps its savepoints, unless they go elsewhere.
const FOLDER: &str = "savepoints";

/// How long is waited for a checkpoint before the job is looked at.
const PATIENCE: Duration = Duration::from_millis(20);

/// Where the files of a checkpoint are while a savepoint is made of it.
pub(super) fn scratch(job_dir: &Path, epoch: u64) -> PathBuf {
    job_dir.join(FOLDER).join(format!(".{epoch}"))
}

/// Where a checkpoint is opened that a job is restored from.
pub(super) fn restore_scratch(job_dir: &Path) -> PathBuf {
    job_dir.join(FOLDER).join(".restore")
}

/// Removes what savepoints left behind that were cut off.
pub(super) fn remove_scratches(job_dir: &Path) -> Result<(), Error> {
    let dir = job_dir.join(FOLDER);
    for entry in std::fs::read_dir(&dir).into_iter().flatten() {
        let path = entry.map_err(Error::io("list", &dir))?.path();
        let hidden = path.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"."));
        if hidden && path.is_dir() {
            remove_dir(&path)?;
        } else if hidden {
            std::fs::remove_file(&path).map_err(Error::io("remove", &path))?;
        }
    }
    Ok(())
}

/// Links the files of what waits on a shard: the job removes them as soon as it has come to them.
pub(super) fn link_waiting(
    job_dir: &Path,
    shard: usize,
    epoch: u64,
    meta: &ShardMeta,
) -> Result<(), Error> {
    let to = scratch(job_dir, epoch);
    for operator in &meta.operators {
        for queue in [Queue::Spilled, Queue::Held] {
            let position = queue.position(operator);
            if position.head < position.tail {
                let uid = &operator.sample.operator;
                let to = queue.dir(&to, shard, uid);
                remove_dir(&to)?;
                link_files(&queue.dir(job_dir, shard, uid), &to)?;
            }
        }
    }
    Ok(())
}

/// Where a savepoint goes that was given no name.
pub(super) fn default_path(job_dir: &Path, epoch: u64) -> PathBuf {
    job_dir.join(FOLDER).join(format!("{epoch}.savepoint"))
}

/// Makes checkpoints and savepoints of one running job, one savepoint at a time.
#[derive(Clone, Debug)]
pub(super) struct Savepoints {
    job_dir: PathBuf,
    control: Arc<JobControl>,
    one_at_a_time: Arc<Mutex<()>>,
}

impl Savepoints {
    pub(super) fn new(job_dir: PathBuf, control: Arc<JobControl>) -> Self {
        Self { job_dir, control, one_at_a_time: Arc::default() }
    }

    /// Makes a checkpoint now; returns its epoch when it is published.
    pub(super) fn checkpoint(&self) -> Result<u64, Error> {
        let answer = self.control.wishes.add(false, false)?;
        self.wait(&answer).map(|kept| kept.epoch)
    }

    /// Makes a savepoint; with `stop`, of the job's last epoch.
    pub(super) fn savepoint(&self, to: Option<&Path>, stop: bool) -> Result<Savepoint, Error> {
        let _guard = self.one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = self.control.wishes.add(true, stop)?;
        if stop {
            self.control.stop();
        }
        let Kept { epoch, files } = self.wait(&answer)?;
        let files = files.unwrap_or_else(|| scratch(&self.job_dir, epoch));
        let about = About::read(&files)?;
        let snapshot = open_checkpoint((&files, &about), &self.job_dir, &files, &files)?;
        let to = to.map_or_else(|| default_path(&self.job_dir, epoch), Path::to_path_buf);
        write(&snapshot, &to)
    }

    fn wait(&self, answer: &Receiver<Granted>) -> Result<Kept, Error> {
        let ended = || {
            Error::Refused(
                "the job ended before the checkpoint was published; it can be made of the stopped job"
                    .into(),
            )
        };
        let granted = loop {
            match answer.recv_timeout(PATIENCE) {
                Ok(granted) => break granted,
                Err(RecvTimeoutError::Timeout) if !self.control.exiting() => {}
                // it may have come in between
                Err(_) => break answer.try_recv().map_err(|_none| ended())?,
            }
        };
        granted.map_err(|why| {
            Error::Refused(format!("the checkpoint that was made for it failed: {why}"))
        })
    }
}

impl Savepoint {
    /// Writes a savepoint of a job that does not run, at its last committed epoch, into a file that
    /// was not there before; without a name, into the job's own folder of savepoints.
    ///
    /// # Errors
    /// [`Error::Folder`] where the job runs; [`Error::Refused`] where it has committed nothing, or the
    /// file is there already; else where the folder is damaged or the file cannot be written.
    pub fn of_stopped_job(
        data_dir: impl AsRef<Path>,
        job: &str,
        to: Option<&Path>,
    ) -> Result<Self, Error> {
        let job_dir = data_dir.as_ref().join("jobs").join(job);
        let told = |text: String| tracing::warn!("{text}");
        with_stopped_job(&job_dir, told, |snapshot| {
            let epoch = snapshot.header().epoch;
            let to = to.map_or_else(|| default_path(&job_dir, epoch), Path::to_path_buf);
            write(snapshot, &to)
        })
    }
}
