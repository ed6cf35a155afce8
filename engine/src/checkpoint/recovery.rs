//! From a folder to the last committed epoch: newest usable checkpoint, then the changelog.
//!
//! 1. The live stores of a former run are never used: they are replaced by a clone of a checkpoint.
//! 2. Checkpoints are tried newest first. Every file of one is verified before it is used; what is
//!    damaged is mended from another checkpoint's copy where there is one, else the checkpoint is
//!    passed over, and either is told (SEMANTICS §4.2). The log reaches back to the oldest one.
//! 3. Only frames of epochs with a commit record are applied. An epoch number is never used twice,
//!    so what an uncommitted epoch left in a log stays without effect for ever.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::about::{About, read_shard_meta};
use super::file::{Fault, clone_database, mend, verify};
use super::folder::{JobFolder, Manifest, StateEntry};
use super::retention::{checkpoints, remove_dir, remove_unfinished, sources_of_copies};
use crate::changelog::{
    CommitHistory, Entry, FrameReader, LogPosition, ShardMeta, cut, for_each_row, segments,
};
use crate::error::Error;
use crate::state::StateKind;
use crate::store::{
    Change, CutOff, HeapStore, RocksOptions, RocksStore, ShardDb, SharedCutOff, StateStore,
};

/// A job at its last committed epoch.
pub(crate) struct Recovered {
    pub(crate) shards: Vec<RecoveredShard>,
    /// The checkpoint that it goes on from; `None` where the changelog had everything.
    pub(crate) from: Option<PathBuf>,
}

/// One shard, at the last committed epoch.
pub(crate) struct RecoveredShard {
    pub(crate) db: Arc<ShardDb>,
    pub(crate) heaps: Vec<(u16, HeapStore)>,
    pub(crate) meta: ShardMeta,
    pub(crate) cut_offs: Vec<(u16, SharedCutOff)>,
}

/// Recovers shards of one folder.
pub(crate) struct Recovery<'a> {
    pub(crate) folder: &'a JobFolder,
    pub(crate) manifest: &'a Manifest,
    pub(crate) rocks: &'a RocksOptions,
    pub(crate) history: &'a CommitHistory,
}

impl Recovery<'_> {
    /// Brings all shards to the last committed epoch; `told` gets what was mended or passed over.
    pub(crate) fn run(&self, mut told: impl FnMut(String)) -> Result<Recovered, Error> {
        let committed = self.history.last_epoch();
        remove_unfinished(&self.folder.path)?;
        for (epoch, dir) in checkpoints(&self.folder.path)? {
            if epoch > committed {
                // made by a rescale that never came to its commit; its number will be used again
                remove_dir(&dir)?;
                continue;
            }
            let recovered =
                self.check(&dir, &mut told).and_then(|()| self.start_at(epoch, Some(&dir)));
            match recovered {
                Ok(shards) => return Ok(Recovered { shards, from: Some(dir) }),
                Err(e) if e.is_disk_full() => return Err(e),
                Err(e) => {
                    told(format!("checkpoint {epoch} cannot be used ({e}); trying the one before"));
                }
            }
        }
        let oldest_log = self.oldest_log()?;
        if committed > 0 && oldest_log.is_none_or(|first| first > 1) {
            return Err(Error::Folder {
                path: self.folder.path.clone(),
                detail: format!(
                    "no checkpoint can be used and the changelog no longer reaches back to the beginning, so epoch {committed} cannot be rebuilt; restore the folder from a copy, or delete it to start from nothing"
                ),
            });
        }
        Ok(Recovered { shards: self.start_at(0, None)?, from: None })
    }

    /// Verifies a checkpoint whole, and mends what another one has a copy of.
    fn check(&self, dir: &Path, told: &mut impl FnMut(String)) -> Result<(), Error> {
        let about = About::read(dir)?;
        self.check_layout(dir, &about)?;
        let faults = verify(dir, &about.files);
        if faults.is_empty() {
            return Ok(());
        }
        let sources = sources_of_copies(&self.folder.path, dir)?;
        for fault in faults {
            let Some(source) = mend(dir, &fault, &sources) else { return Err(fault.error) };
            let Fault { error, .. } = &fault;
            told(format!("{error}; it is mended from {}", source.display()));
        }
        Ok(())
    }

    /// A checkpoint of another layout of shards cannot be used: the log behind it is another one's.
    fn check_layout(&self, dir: &Path, about: &About) -> Result<(), Error> {
        let (is, kept) =
            ((about.shards, about.generation), (self.manifest.shards, self.manifest.generation));
        if is == kept {
            return Ok(());
        }
        Err(Error::Folder {
            path: dir.to_path_buf(),
            detail: format!(
                "it is of {} shards, generation {}, the job is of {}, generation {}",
                is.0, is.1, kept.0, kept.1
            ),
        })
    }

    fn oldest_log(&self) -> Result<Option<u64>, Error> {
        let dir = self.shard_log(0);
        if !dir.exists() {
            return Ok(None);
        }
        Ok(segments(&dir)?.first().map(|(epoch, _)| *epoch))
    }

    fn shard_log(&self, shard: usize) -> PathBuf {
        self.folder.path.join(format!("changelog/shard-{shard}"))
    }

    fn start_at(&self, epoch: u64, dir: Option<&Path>) -> Result<Vec<RecoveredShard>, Error> {
        (0..self.manifest.shards).map(|shard| self.shard(shard, epoch, dir)).collect()
    }

    fn shard(
        &self,
        shard: usize,
        epoch: u64,
        checkpoint: Option<&Path>,
    ) -> Result<RecoveredShard, Error> {
        let live = self.folder.path.join(format!("state/shard-{shard}"));
        let saved = checkpoint.map(|dir| dir.join(format!("shard-{shard}")));
        let mut recovered = open_shard(self.manifest, self.rocks, saved.as_deref(), &live)?;
        self.replay(shard, epoch, &mut recovered)?;
        Ok(recovered)
    }

    /// Applies the committed epochs behind `epoch` to a shard.
    fn replay(&self, shard: usize, epoch: u64, into: &mut RecoveredShard) -> Result<(), Error> {
        let Some(last) = &self.history.last else { return Ok(()) };
        let dir = self.shard_log(shard);
        let end = last.shards.get(shard).copied().unwrap_or_default();
        let all = segments(&dir)?;
        for (at, (first, path)) in all.iter().enumerate() {
            if *first > end.first_epoch {
                fs::remove_file(path).map_err(Error::io("remove", path))?;
                continue;
            }
            let next = all.get(at + 1).map(|(next, _)| *next);
            let is_last = *first == end.first_epoch;
            if is_last || next.is_none_or(|next| next > epoch + 1) {
                self.replay_file(path, is_last.then_some(end), epoch, into)?;
            }
            if is_last {
                cut(path, end.bytes)?;
            }
        }
        Ok(())
    }

    fn replay_file(
        &self,
        path: &Path,
        end: Option<LogPosition>,
        epoch: u64,
        into: &mut RecoveredShard,
    ) -> Result<(), Error> {
        let length = fs::metadata(path).map_err(Error::io("read", path))?.len();
        let until = end.map_or(length, |end| end.bytes);
        let mut frames = FrameReader::open(path)?;
        let mut payload = Vec::new();
        while frames.offset() < until {
            if !frames.next(&mut payload)? {
                return Err(frames.damaged());
            }
            let entry: Entry<'_> = frames.decode(&payload)?;
            let of = match &entry {
                Entry::Rows { epoch, .. } | Entry::End { epoch, .. } => *epoch,
            };
            if of <= epoch || !self.history.epochs.contains(&of) {
                continue;
            }
            match entry {
                Entry::Rows { state, rows, .. } => {
                    if !apply_rows(state, rows, into)? {
                        return Err(frames.damaged());
                    }
                }
                Entry::End { meta, .. } => into.meta.advance(meta),
            }
        }
        Ok(())
    }
}

/// Reads what a checkpoint says of itself, and verifies every file of it.
pub(crate) fn read_verified(dir: &Path) -> Result<About, Error> {
    let about = About::read(dir)?;
    match verify(dir, &about.files).into_iter().next() {
        Some(fault) => Err(fault.error),
        None => Ok(about),
    }
}

/// Opens a shard at what a checkpoint saved of it, or empty; its database is a clone in `live`, which
/// is made anew.
pub(crate) fn open_shard(
    manifest: &Manifest,
    rocks: &RocksOptions,
    saved: Option<&Path>,
    live: &Path,
) -> Result<RecoveredShard, Error> {
    remove_dir(live)?;
    fs::create_dir_all(live).map_err(Error::io("create", live))?;
    if let Some(saved) = saved {
        clone_database(&saved.join("db"), &live.join("db"))?;
    }
    let mut cut_offs: Vec<(u16, SharedCutOff)> = Vec::new();
    let mut families = Vec::new();
    for state in &manifest.states {
        let cut_off: SharedCutOff = Arc::new(CutOff::new(StateKind::hashed_from(&state.kind)));
        if state.backend == "rocksdb" {
            families.push((format!("state-{:03}", state.id), Some(Arc::clone(&cut_off))));
        }
        cut_offs.push((state.id, cut_off));
    }
    let db = ShardDb::open(&live.join("db"), rocks, &families)?;
    let mut heaps = Vec::new();
    for (id, _) in &cut_offs {
        let is_heap = |s: &&StateEntry| s.id == *id && s.backend == "heap";
        if manifest.states.iter().any(|s| is_heap(&s)) {
            let name = format!("state-{id:03}");
            let loaded = saved.map(|saved| HeapStore::load(saved, &name));
            heaps.push((*id, loaded.transpose()?.unwrap_or_default()));
        }
    }
    let meta = saved.map(read_shard_meta).transpose()?.unwrap_or_default();
    Ok(RecoveredShard { db, heaps, meta, cut_offs })
}

fn apply_rows(state: u16, rows: &[u8], into: &mut RecoveredShard) -> Result<bool, Error> {
    let mut changes: Vec<Change<'_>> = Vec::new();
    let whole = for_each_row(rows, |key, row| changes.push((key, row)));
    match into.heaps.iter_mut().find(|(id, _)| *id == state) {
        Some((_, heap)) => heap.apply(&changes)?,
        None => {
            RocksStore::new(Arc::clone(&into.db), format!("state-{state:03}")).apply(&changes)?;
        }
    }
    Ok(whole)
}
