//! What a data folder says of its jobs, whether they run or not.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use serde::Serialize;

use super::client::ControlClient;
use super::protocol::JobStatus;
use crate::changelog::CommitHistory;
use crate::checkpoint::{About, Manifest, checkpoints, folder_bytes, read_shard_meta};
use crate::error::Error;
use crate::savepoint::Savepoint;

/// One job of a data folder. What is not known is `None`, never 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct JobSummary {
    /// Its name.
    pub name: String,
    /// Whether a process has it.
    pub running: bool,
    /// Last committed epoch.
    pub epoch: Option<u64>,
    /// Shards.
    pub shards: usize,
    /// States.
    pub states: usize,
    /// Entries: of a running job now, of a stopped one at its newest checkpoint.
    pub entries: Option<u64>,
    /// Their keys and values, bytes.
    pub logical_bytes: Option<u64>,
    /// What the folder takes up, bytes.
    pub folder_bytes: u64,
    /// Epoch of the newest checkpoint.
    pub checkpoint_epoch: Option<u64>,
    /// Its wall clock, ms.
    pub checkpoint_millis: Option<i64>,
    /// Savepoints in its folder, newest first.
    pub savepoints: Vec<Savepoint>,
    /// What could not be found out, and why.
    pub unread: Vec<String>,
}

/// Lists the jobs of a data folder, by name. Reads only.
///
/// # Errors
/// Where the folder cannot be listed; what is wrong with one job is told in its summary.
///
/// # Examples
/// ```
/// let dir = std::env::temp_dir().join("stateward-no-such-folder");
/// assert!(stateward_engine::list_jobs(dir).unwrap().is_empty());
/// ```
pub fn list_jobs(data_dir: impl AsRef<Path>) -> Result<Vec<JobSummary>, Error> {
    let data_dir = data_dir.as_ref();
    let dir = data_dir.join("jobs");
    let mut found = Vec::new();
    if !dir.exists() {
        return Ok(found);
    }
    for entry in fs::read_dir(&dir).map_err(Error::io("list", &dir))? {
        let path = entry.map_err(Error::io("list", &dir))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if let Some(name) = name.filter(|_| path.join("job.json").exists()) {
            found.push(summary(data_dir, &path, name));
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn summary(data_dir: &Path, job_dir: &Path, name: &str) -> JobSummary {
    let mut unread = Vec::new();
    let mut known = |result: Result<(), Error>| {
        if let Err(e) = result {
            unread.push(e.to_string());
        }
    };
    let mut summary = JobSummary {
        name: name.to_owned(),
        running: is_locked(job_dir),
        epoch: None,
        shards: 0,
        states: 0,
        entries: None,
        logical_bytes: None,
        folder_bytes: folder_bytes(job_dir),
        checkpoint_epoch: None,
        checkpoint_millis: None,
        savepoints: Vec::new(),
        unread: Vec::new(),
    };
    known(from_manifest(job_dir, &mut summary));
    known(from_checkpoint(job_dir, &mut summary));
    if summary.running {
        known(ControlClient::new(data_dir, name).status().map(|status| now(&status, &mut summary)));
    } else {
        let commits = job_dir.join("changelog/commits");
        known(CommitHistory::peek(&commits).map(|history| {
            summary.epoch = history.last.map(|last| last.epoch);
        }));
    }
    for entry in fs::read_dir(job_dir.join("savepoints")).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|extension| extension == "savepoint") {
            known(Savepoint::read(&path).map(|savepoint| summary.savepoints.push(savepoint)));
        }
    }
    summary.savepoints.sort_by(|a, b| (b.epoch, &b.path).cmp(&(a.epoch, &a.path)));
    summary.unread = unread;
    summary
}

/// Tells whether a process has a job's folder.
fn is_locked(job_dir: &Path) -> bool {
    let lock = File::open(job_dir.join("lock"));
    // shared, so that two who look do not take each other for the job
    lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

fn from_manifest(job_dir: &Path, summary: &mut JobSummary) -> Result<(), Error> {
    if let Some(manifest) = Manifest::read(job_dir)? {
        (summary.shards, summary.states) = (manifest.shards, manifest.states.len());
    }
    Ok(())
}

fn from_checkpoint(job_dir: &Path, summary: &mut JobSummary) -> Result<(), Error> {
    let Some((epoch, dir)) = checkpoints(job_dir)?.into_iter().next() else { return Ok(()) };
    let about = About::read(&dir)?;
    (summary.checkpoint_epoch, summary.checkpoint_millis) = (Some(epoch), Some(about.wall_millis));
    let (mut entries, mut bytes) = (0, 0);
    for shard in 0..about.shards {
        let meta = read_shard_meta(&dir.join(format!("shard-{shard}")))?;
        for (_, state) in &meta.states {
            entries += state.ledger.total().entries;
            bytes += state.ledger.total().bytes;
        }
    }
    (summary.entries, summary.logical_bytes) = (Some(entries), Some(bytes));
    Ok(())
}

/// What a running job says itself is newer.
fn now(status: &JobStatus, summary: &mut JobSummary) {
    summary.epoch = Some(status.epoch);
    (summary.shards, summary.states) = (status.shards, status.states);
    summary.entries = Some(status.entries);
    summary.logical_bytes = Some(status.logical_bytes);
}
