//! Which checkpoints are there, which stay, and what of the changelog with them.

use std::fs;
use std::path::{Path, PathBuf};

use stateward_model::wire::CheckpointKind;

use super::about::About;
use crate::changelog::{SegmentedLog, segments};
use crate::durable;
use crate::error::Error;

/// How many checkpoints stay, and how much changelog behind them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retention {
    /// At least 1.
    pub(crate) kept: usize,
    /// Above half of it the older ones give way, before the sources have to wait.
    pub(crate) changelog_bytes_max: u64,
}

/// Folder of the checkpoints.
pub(super) fn folder(job_dir: &Path) -> PathBuf {
    job_dir.join("checkpoints")
}

/// Folder of a full checkpoint that only mends others.
fn copies(job_dir: &Path) -> PathBuf {
    folder(job_dir).join("copies")
}

/// The published checkpoints, newest first.
pub(crate) fn checkpoints(job_dir: &Path) -> Result<Vec<(u64, PathBuf)>, Error> {
    let dir = folder(job_dir);
    let mut found = Vec::new();
    if !dir.exists() {
        return Ok(found);
    }
    for entry in fs::read_dir(&dir).map_err(Error::io("list", &dir))? {
        let path = entry.map_err(Error::io("list", &dir))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let Ok(epoch) = name.parse() {
            found.push((epoch, path));
        }
    }
    found.sort_by(|a, b| b.cmp(a));
    Ok(found)
}

/// Removes what a run that was cut off left behind.
pub(super) fn remove_unfinished(job_dir: &Path) -> Result<(), Error> {
    let dir = folder(job_dir);
    if !dir.exists() {
        return Ok(());
    }
    for entry in fs::read_dir(&dir).map_err(Error::io("list", &dir))? {
        let path = entry.map_err(Error::io("list", &dir))?.path();
        if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")) {
            remove_dir(&path)?;
        }
    }
    Ok(())
}

/// Removes a folder that may be gone already.
pub(crate) fn remove_dir(dir: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(dir) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(Error::io("remove", dir)(e)),
        _ => Ok(()),
    }
}

/// Where copies of a checkpoint's files may be: every other one, and a full one that gave way.
pub(super) fn sources_of_copies(job_dir: &Path, of: &Path) -> Result<Vec<PathBuf>, Error> {
    let others = checkpoints(job_dir)?.into_iter().map(|(_, dir)| dir).filter(|dir| dir != of);
    Ok(others.chain([copies(job_dir)]).collect())
}

/// Removes what is too many, oldest first, and the changelog that nobody needs then. Returns the ids
/// of those that stay, newest first.
pub(super) fn retain(
    job_dir: &Path,
    shards: usize,
    retention: Retention,
) -> Result<Vec<u64>, Error> {
    let all = checkpoints(job_dir)?;
    let mut kept = all.len().min(retention.kept);
    while kept > 1
        && let Some((oldest, _)) = all.get(kept - 1)
        && changelog_behind(job_dir, shards, *oldest)? > retention.changelog_bytes_max / 2
    {
        kept -= 1;
    }
    let (stay, go) = all.split_at_checked(kept).unwrap_or_default();
    if !go.is_empty() {
        give_way(job_dir, stay, go)?;
    }
    if let Some((oldest, _)) = stay.last() {
        for dir in log_dirs(job_dir, shards) {
            SegmentedLog::cut_before(&dir, oldest + 1)?;
        }
    }
    Ok(stay.iter().map(|(epoch, _)| *epoch).collect())
}

/// The newest full one among those that go stays as a source of copies, until there is a newer one.
fn give_way(job_dir: &Path, stay: &[(u64, PathBuf)], go: &[(u64, PathBuf)]) -> Result<(), Error> {
    let copies = copies(job_dir);
    let is_full =
        |dir: &PathBuf| About::read(dir).is_ok_and(|about| about.kind == CheckpointKind::Full);
    let newer_is_full = stay.iter().any(|(_, dir)| is_full(dir));
    let newest_full = go.iter().map(|(_, dir)| dir).find(|dir| !newer_is_full && is_full(dir));
    if newer_is_full || newest_full.is_some() {
        remove_dir(&copies)?;
    }
    for (_, dir) in go {
        if Some(dir) == newest_full {
            durable::rename(dir, &copies)?;
        } else {
            remove_dir(dir)?;
        }
    }
    Ok(())
}

/// Removes every other checkpoint, and the copies: another layout of shards has other files.
pub(crate) fn keep_only(job_dir: &Path, epoch: u64) -> Result<(), Error> {
    remove_dir(&copies(job_dir))?;
    for (other, dir) in checkpoints(job_dir)? {
        if other != epoch {
            remove_dir(&dir)?;
        }
    }
    Ok(())
}

fn log_dirs(job_dir: &Path, shards: usize) -> impl Iterator<Item = PathBuf> {
    let changelog = job_dir.join("changelog");
    let of_shards = (0..shards).map(|shard| format!("shard-{shard}"));
    of_shards.chain(["commits".to_owned()]).map(move |name| changelog.join(name))
}

/// Bytes of changelog that a recovery from the checkpoint of `epoch` needs.
fn changelog_behind(job_dir: &Path, shards: usize, epoch: u64) -> Result<u64, Error> {
    let mut bytes = 0;
    for dir in log_dirs(job_dir, shards) {
        let behind = segments(&dir)?.into_iter().filter(|(first, _)| *first > epoch);
        for (_, path) in behind {
            bytes += fs::metadata(&path).map_err(Error::io("read", &path))?.len();
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn publish(job_dir: &Path, epoch: u64, kind: CheckpointKind) {
        let dir = folder(job_dir).join(epoch.to_string());
        fs::create_dir_all(&dir).unwrap();
        About { kind, ..About::new(epoch, 1, 0, 0) }.write(&dir).unwrap();
    }

    fn log(job_dir: &Path, first_epochs: &[u64], bytes: usize) {
        for dir in log_dirs(job_dir, 1) {
            fs::create_dir_all(&dir).unwrap();
            for first in first_epochs {
                fs::write(dir.join(format!("{first:020}.log")), vec![0; bytes]).unwrap();
            }
        }
    }

    fn first_epochs(job_dir: &Path) -> Vec<u64> {
        let segments = segments(&job_dir.join("changelog/shard-0")).unwrap();
        segments.into_iter().map(|(first, _)| first).collect()
    }

    /// §4.2: the last N stay, and the changelog back to the oldest of them.
    #[test]
    fn the_last_ones_stay_with_their_changelog() {
        let dir = tempfile::tempdir().unwrap();
        for epoch in [10, 20, 30, 40] {
            publish(dir.path(), epoch, CheckpointKind::Incremental);
        }
        log(dir.path(), &[1, 11, 21, 31, 41], 100);
        let retention = Retention { kept: 3, changelog_bytes_max: 1 << 20 };
        assert_eq!(retain(dir.path(), 1, retention).unwrap(), [40, 30, 20]);
        assert_eq!(first_epochs(dir.path()), [21, 31, 41]);
    }

    /// §4.2: older ones give way to the changelog's limit, the newest one never.
    #[test]
    fn older_ones_give_way_to_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        for epoch in [10, 20, 30] {
            publish(dir.path(), epoch, CheckpointKind::Incremental);
        }
        log(dir.path(), &[11, 21, 31], 100);
        // two logs of 100 bytes from each of two checkpoints on
        let retention = Retention { kept: 3, changelog_bytes_max: 800 };
        assert_eq!(retain(dir.path(), 1, retention).unwrap(), [30, 20]);
        let retention = Retention { kept: 3, changelog_bytes_max: 10 };
        assert_eq!(retain(dir.path(), 1, retention).unwrap(), [30]);
        assert_eq!(first_epochs(dir.path()), [31]);
    }

    /// §4.2: a full one that gives way is kept as a source of copies until there is a newer one.
    #[test]
    fn a_full_one_stays_as_a_source_of_copies() {
        use CheckpointKind::{Full, Incremental};
        let dir = tempfile::tempdir().unwrap();
        let epoch_of_copies =
            || About::read(&copies(dir.path())).ok().map(|about| about.applied_epoch);
        let retention = Retention { kept: 1, changelog_bytes_max: 1 << 20 };
        let runs = [
            (10, Full, None),
            (20, Incremental, Some(10)),
            (30, Incremental, Some(10)),
            (40, Full, None),
            (50, Incremental, Some(40)),
        ];
        for (epoch, kind, expected) in runs {
            log(dir.path(), &[epoch + 1], 1);
            publish(dir.path(), epoch, kind);
            assert_eq!(retain(dir.path(), 1, retention).unwrap(), [epoch]);
            assert_eq!(epoch_of_copies(), expected, "at {epoch}");
        }
    }
}
