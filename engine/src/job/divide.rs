//! Divides a snapshot of a job anew by key group, into a checkpoint of as many shards as are wanted.
//!
//! 1. Rows that are written off are not in a snapshot, so that the new shards' cut-off can be the least
//!    of the old ones and no row that is dead comes back.
//! 2. The checkpoint is nothing until a commit record names its epoch: whoever divides decides when
//!    that is.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::exchange::{shard_of, shard_of_group};
use crate::breaker::Spill;
use crate::changelog::{CommitRecord, LogPosition, SegmentedLog, ShardMeta, SpillPosition};
use crate::checkpoint::{
    About, JobFolder, Manifest, StateEntry, record_files, remove_dir, write_shard_meta,
};
use crate::codec::{group_of, logical_bytes, row_ts};
use crate::durable;
use crate::error::Error;
use crate::savepoint::{Queue, SavedOperator, SavedState, Snapshot};
use crate::state::{StateKind, time_of};
use crate::store::{Change, Ledger, RocksOptions, RocksStore, ShardDb, StateStore, save_heap};

/// How the folders begin in which new shards are filled.
const SCRATCH: &str = "rescale-";

/// Rows of one state that a new shard takes in at once.
const ROWS_AT_ONCE: usize = 1 << 15;

/// A new shard while it is filled.
struct Target {
    /// Its part of the checkpoint.
    dir: PathBuf,
    scratch: PathBuf,
    db: Arc<ShardDb>,
    meta: ShardMeta,
}

/// What the rows of one state on one new shard say about themselves.
struct Tally {
    ledger: Ledger,
    next_timer: Option<i64>,
    rows: Vec<(Box<[u8]>, Vec<u8>)>,
}

/// Where events end that wait on a shard already.
pub(super) type EndsOf<'a> = &'a dyn Fn(&str, Queue, usize) -> SpillPosition;

/// Removes the databases of a division that was cut off.
pub(super) fn remove_scratch(folder: &JobFolder) -> Result<(), Error> {
    let dir = folder.path.join("state");
    for entry in fs::read_dir(&dir).into_iter().flatten() {
        let path = entry.map_err(Error::io("list", &dir))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(SCRATCH) {
            remove_dir(&path)?;
        }
    }
    Ok(())
}

/// New shards of a job.
pub(super) struct Division<'a> {
    folder: &'a JobFolder,
    /// The job as it will be.
    manifest: &'a Manifest,
    /// Of the checkpoint.
    epoch: u64,
    unfinished: PathBuf,
    targets: Vec<Target>,
}

impl<'a> Division<'a> {
    /// Makes empty shards, as many as the manifest says.
    pub(super) fn new(
        folder: &'a JobFolder,
        manifest: &'a Manifest,
        rocks: &RocksOptions,
        epoch: u64,
    ) -> Result<Self, Error> {
        let unfinished = folder.path.join(format!("checkpoints/.{epoch}"));
        remove_dir(&unfinished)?;
        let target = |shard| target(folder, manifest, rocks, &unfinished, shard);
        let targets = (0..manifest.shards).map(target).collect::<Result<_, Error>>()?;
        Ok(Self { folder, manifest, epoch, unfinished, targets })
    }

    /// Divides rows, and of the operators to `keep` clocks, counts and what waits, which goes behind
    /// `ends`. Every shard gets all source positions, and takes those of its own partitions. Returns
    /// the number of rows.
    pub(super) fn take(
        &mut self,
        from: &dyn Snapshot,
        keep: impl Fn(&str) -> bool,
        ends: EndsOf<'_>,
    ) -> Result<u64, Error> {
        let mut rows = 0;
        for state in &self.manifest.states {
            // the id of one that stays behind may be another one's now
            let is_it = |saved: &&SavedState| {
                let of = &saved.entry;
                of.id == state.id && (&of.operator, &of.state) == (&state.operator, &state.state)
            };
            let saved = from.header().states.iter().find(is_it);
            if let Some(saved) = saved {
                rows +=
                    divide_state(state, saved, from, self.manifest.key_groups, &mut self.targets)?;
            }
        }
        let kept = |op: &&SavedOperator| keep(&op.meta.sample.operator);
        for operator in from.header().operators.iter().filter(kept) {
            self.divide_operator(operator, from, ends)?;
        }
        for target in &mut self.targets {
            target.meta.sources.clone_from(&from.header().sources);
        }
        Ok(rows)
    }

    /// Gives a shard the positions of its sinks.
    pub(super) fn set_sinks(&mut self, shard: usize, sinks: Vec<(String, Vec<u8>)>) {
        if let Some(target) = self.targets.get_mut(shard) {
            target.meta.sinks = sinks;
        }
    }

    /// Merges clocks and counts, and divides what waits by key.
    fn divide_operator(
        &mut self,
        operator: &SavedOperator,
        from: &dyn Snapshot,
        ends: EndsOf<'_>,
    ) -> Result<(), Error> {
        let uid = operator.meta.sample.operator.as_str();
        let spills = self.divide_waiting(uid, Queue::Spilled, operator.spilled, from, ends)?;
        let held = self.divide_waiting(uid, Queue::Held, operator.held, from, ends)?;
        let waits: Vec<u64> = spills.iter().map(|(_, events)| *events).collect();
        for (shard, target) in self.targets.iter_mut().enumerate() {
            let mut meta = operator.share(&waits, shard);
            meta.spill = spills.get(shard).map(|(position, _)| *position).unwrap_or_default();
            meta.held = held.get(shard).map(|(position, _)| *position).unwrap_or_default();
            target.meta.operators.push(meta);
        }
        Ok(())
    }

    /// Appends what waits to the new shards' files, in the snapshot's order. Returns the new positions
    /// and how many events wait there.
    fn divide_waiting(
        &self,
        operator: &str,
        queue: Queue,
        any: bool,
        from: &dyn Snapshot,
        ends: EndsOf<'_>,
    ) -> Result<Vec<(SpillPosition, u64)>, Error> {
        let new = self.targets.len();
        if !any {
            return Ok((0..new).map(|shard| (ends(operator, queue, shard), 0)).collect());
        }
        let mut to = Vec::new();
        for shard in 0..new {
            let tail = ends(operator, queue, shard).tail;
            let dir = queue.dir(&self.folder.path, shard, operator);
            to.push(Spill::open(&dir, SpillPosition { head: tail, tail })?);
        }
        from.waiting(operator, queue, &mut |event| {
            let shard = shard_of(event.hash, self.manifest.key_groups, new);
            to.get_mut(shard).map_or(Ok(()), |target: &mut Spill| target.push(&event))
        })?;
        let mut positions = Vec::new();
        for spill in &mut to {
            let (position, files) = spill.prepare()?;
            for (path, file) in files {
                file.sync_data().map_err(Error::io("sync", &path))?;
            }
            positions.push((position, spill.pending().0));
        }
        Ok(positions)
    }

    /// Makes the checkpoint, durably.
    pub(super) fn publish(self, wall_millis: i64) -> Result<(), Error> {
        let Self { folder, manifest, epoch, unfinished, targets } = self;
        for (shard, target) in targets.into_iter().enumerate() {
            target.db.checkpoint(&target.dir.join("db"), &manifest.rocks_families())?;
            write_shard_meta(&target.dir, &target.meta)?;
            drop(target.db);
            remove_dir(&target.scratch)?;
            let log = folder.path.join(format!("changelog/shard-{shard}"));
            let (path, file) = SegmentedLog::start(&log, epoch + 1)?.file();
            file.sync_all().map_err(Error::io("sync", &path))?;
        }
        let mut about = About::new(epoch, manifest.shards, manifest.generation, wall_millis);
        about.files = record_files(&unfinished)?;
        about.write(&unfinished)?;
        durable::rename(&unfinished, &folder.path.join(format!("checkpoints/{epoch}")))
    }
}

/// Commits the epoch of a checkpoint that a division made: from here on the new shards hold.
pub(super) fn commit(
    folder: &JobFolder,
    manifest: &Manifest,
    (epoch, wall_millis): (u64, i64),
    clock_millis: Option<i64>,
) -> Result<(), Error> {
    let record = CommitRecord {
        epoch,
        generation: manifest.generation,
        wall_millis,
        clock_millis,
        shards: vec![LogPosition { first_epoch: epoch + 1, bytes: 0 }; manifest.shards],
    };
    let mut log = SegmentedLog::start(&folder.path.join("changelog/commits"), epoch)?;
    let payload = postcard::to_stdvec(&record)
        .map_err(|e| Error::Codec { place: "commit record".into(), detail: e.to_string() })?;
    log.append(&payload)?;
    log.flush()?;
    let (path, file) = log.file();
    file.sync_data().map_err(Error::io("sync", &path))
}

fn target(
    folder: &JobFolder,
    manifest: &Manifest,
    rocks: &RocksOptions,
    unfinished: &Path,
    shard: usize,
) -> Result<Target, Error> {
    let dir = unfinished.join(format!("shard-{shard}"));
    durable::make_dir(&dir)?;
    let scratch = folder.path.join(format!("state/{SCRATCH}{shard}"));
    remove_dir(&scratch)?;
    fs::create_dir_all(&scratch).map_err(Error::io("create", &scratch))?;
    let families: Vec<_> = manifest.rocks_families().into_iter().map(|name| (name, None)).collect();
    let db = ShardDb::open(&scratch.join("db"), rocks, &families)?;
    Ok(Target { dir, scratch, db, meta: ShardMeta::default() })
}

/// Divides the rows of one state, and makes its ledgers anew from them. Where they will rest is said
/// by `state`, not by where they were.
fn divide_state(
    state: &StateEntry,
    saved: &SavedState,
    from: &dyn Snapshot,
    key_groups: u16,
    targets: &mut [Target],
) -> Result<u64, Error> {
    let family = format!("state-{:03}", state.id);
    let ttl_millis = saved.meta.as_ref().and_then(|meta| meta.ttl_millis);
    let is_timer = state.kind == StateKind::Timer.as_str();
    let is_heap = state.backend == "heap";
    let empty = || Tally { ledger: Ledger::new(ttl_millis), next_timer: None, rows: Vec::new() };
    let mut tallies: Vec<Tally> = targets.iter().map(|_| empty()).collect();
    let mut rows = 0;
    from.rows(state.id, &mut |key, row| {
        let shard = shard_of_group(group_of(key), key_groups, tallies.len());
        let Some((tally, target)) = tallies.get_mut(shard).zip(targets.get(shard)) else {
            return Ok(());
        };
        rows += 1;
        tally.ledger.add(row_ts(row), logical_bytes(key, row));
        if is_timer {
            let time = time_of(key);
            tally.next_timer = Some(tally.next_timer.map_or(time, |next| next.min(time)));
        }
        tally.rows.push((key.into(), row.to_vec()));
        if !is_heap && tally.rows.len() >= ROWS_AT_ONCE {
            tally.hand_over(target, &family)?;
        }
        Ok(())
    })?;
    let recent = from.recent(state.id)?;
    for (tally, target) in tallies.iter_mut().zip(targets) {
        if is_heap {
            let rows = tally.rows.iter().map(|(key, row)| (&**key, row.as_slice()));
            save_heap(&target.dir, &family, rows)?;
        } else {
            tally.hand_over(target, &family)?;
        }
        if let Some(meta) = &saved.meta {
            let meta = meta.restored(tally.ledger.clone(), tally.next_timer, recent.clone());
            target.meta.states.push((state.id, meta));
        }
    }
    Ok(rows)
}

impl Tally {
    fn hand_over(&mut self, target: &Target, family: &str) -> Result<(), Error> {
        let changes: Vec<Change<'_>> =
            self.rows.iter().map(|(key, row)| (&**key, Some(row.as_slice()))).collect();
        if !changes.is_empty() {
            RocksStore::new(Arc::clone(&target.db), family.to_owned()).apply_sorted(&changes)?;
        }
        self.rows.clear();
        Ok(())
    }
}
