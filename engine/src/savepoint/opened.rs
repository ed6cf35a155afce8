//! A checkpoint's folder, or a stopped job's, opened as a snapshot.

use std::fs;
use std::path::Path;

use stateward_model::longer_ttl;

use super::header::{Header, SavedJournal, SavedState};
use super::read::SavepointFile;
use super::snapshot::{Queue, Shards, Snapshot};
use crate::changelog::{CommitHistory, ShardMeta};
use crate::checkpoint::{About, JobFolder, Manifest, Recovery, open_shard, read_verified};
use crate::error::Error;
use crate::policy::{JOURNAL_FILES, TTL_FILE, journaled};
use crate::store::RocksOptions;

/// Bytes of the block cache, and of a memtable, of databases that are only read through.
const READ_THROUGH_BYTES: (usize, usize) = (4 << 20, 1 << 20);

/// Options of databases that are only read through.
pub(crate) fn read_through() -> RocksOptions {
    RocksOptions::new(READ_THROUGH_BYTES.0, READ_THROUGH_BYTES.1)
}

/// What people decided about a job, as its folder has it.
fn journals(job_dir: &Path) -> Result<Vec<SavedJournal>, Error> {
    let mut found = Vec::new();
    for file in JOURNAL_FILES {
        let path = job_dir.join(file);
        match fs::read_to_string(&path) {
            Ok(text) => found.push(SavedJournal { file: file.into(), text }),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(Error::io("read", &path)(e)),
        }
    }
    Ok(found)
}

/// Puts together everything of a job but its rows.
pub(crate) fn header(
    job_dir: &Path,
    manifest: &Manifest,
    metas: &[&ShardMeta],
    (epoch, wall_millis): (u64, i64),
) -> Result<Header, Error> {
    let mut header = Header::of(manifest, metas, epoch, wall_millis);
    header.journals = journals(job_dir)?;
    let ttls = header.journals.iter().find(|journal| journal.file == TTL_FILE);
    let policies = ttls.map(|ttls| journaled(&ttls.text)).transpose();
    let policies = policies.map_err(|detail| Error::Damaged {
        path: job_dir.join(TTL_FILE),
        offset: 0,
        detail,
    })?;
    let policies = policies.unwrap_or_default();
    for SavedState { entry, meta } in &mut header.states {
        let of =
            policies.iter().find(|of| (&of.operator, &of.state) == (&entry.operator, &entry.state));
        if let Some((meta, of)) = meta.as_mut().zip(of) {
            // what a shortened TTL hides can still be brought back (SEMANTICS §1.14)
            let mut policy = of.policy.clone();
            policy.tick(wall_millis);
            meta.kept_millis = longer_ttl(meta.kept_millis, policy.kept_millis());
        }
    }
    Ok(header)
}

/// Opens the checkpoint in `dir`, of the job in `job_dir`, through clones in `scratch`; what waits is
/// in `waiting_in`.
pub(crate) fn open_checkpoint(
    (dir, about): (&Path, &About),
    job_dir: &Path,
    waiting_in: &Path,
    scratch: &Path,
) -> Result<Shards, Error> {
    let manifest = Manifest::read(job_dir)?.ok_or_else(|| Error::Folder {
        path: job_dir.to_path_buf(),
        detail: format!(
            "there is no job.json, which says what the states of checkpoint {} are; put the one of its job there, or restore from a savepoint",
            dir.display()
        ),
    })?;
    let manifest = Manifest { shards: about.shards, generation: about.generation, ..manifest };
    let rocks = read_through();
    let shard = |shard: usize| {
        let name = format!("shard-{shard}");
        open_shard(&manifest, &rocks, Some(&dir.join(&name)), &scratch.join("open").join(name))
    };
    let recovered = (0..about.shards).map(shard).collect::<Result<Vec<_>, Error>>()?;
    let metas: Vec<&ShardMeta> = recovered.iter().map(|shard| &shard.meta).collect();
    let header = header(job_dir, &manifest, &metas, (about.applied_epoch, about.wall_millis))?;
    let (waiting_in, scratch) = (waiting_in.to_path_buf(), Some(scratch.to_path_buf()));
    Ok(Shards { header, recovered, waiting_in, scratch })
}

/// Opens what a job can be restored from: a savepoint's file, or the folder of one of its checkpoints,
/// which is read through clones in `scratch`. All of it is verified before it is used.
pub(crate) fn open(path: &Path, scratch: &Path) -> Result<Box<dyn Snapshot>, Error> {
    if !path.is_dir() {
        let file = SavepointFile::open(path)?;
        file.verify()?;
        return Ok(Box::new(file));
    }
    let about = read_verified(path)?;
    // jobs/<job>/checkpoints/<epoch>
    let whole = path.canonicalize().map_err(Error::io("open", path))?;
    let job_dir = whole.ancestors().nth(2).unwrap_or(&whole);
    let opened = open_checkpoint((&whole, &about), job_dir, job_dir, scratch)?;
    for operator in &opened.header.operators {
        for queue in [Queue::Spilled, Queue::Held] {
            let uid = &operator.meta.sample.operator;
            opened.waiting(uid, queue, &mut |_| Ok(())).map_err(|e| Error::Refused(format!(
                "checkpoint {} goes with events that wait at operator {uid} and are no longer whole in the folder of its job ({e}); restore from a savepoint, which holds them",
                path.display()
            )))?;
        }
    }
    Ok(Box::new(opened))
}

/// Recovers a job that does not run, and gives it to `read` as a snapshot.
pub(crate) fn with_stopped_job<T>(
    job_dir: &Path,
    told: impl FnMut(String),
    read: impl FnOnce(&dyn Snapshot) -> Result<T, Error>,
) -> Result<T, Error> {
    let nothing = || {
        Error::Refused(format!(
            "{} holds no job that has committed anything; see `stateward job list` for those there are",
            job_dir.display()
        ))
    };
    let manifest = Manifest::read(job_dir)?.ok_or_else(nothing)?;
    let folder = JobFolder::lock(job_dir.to_path_buf())?;
    let history = CommitHistory::read(&job_dir.join("changelog/commits"))?;
    let last = history.last.clone().ok_or_else(nothing)?;
    let manifest = Manifest { shards: last.shards.len(), generation: last.generation, ..manifest };
    let rocks = read_through();
    let recovery =
        Recovery { folder: &folder, manifest: &manifest, rocks: &rocks, history: &history };
    let recovered = recovery.run(told)?.shards;
    let metas: Vec<&ShardMeta> = recovered.iter().map(|shard| &shard.meta).collect();
    let header = header(job_dir, &manifest, &metas, (last.epoch, last.wall_millis))?;
    read(&Shards { header, recovered, waiting_in: job_dir.to_path_buf(), scratch: None })
}
