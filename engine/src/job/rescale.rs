//! From one number of shards to another, before a job starts (SEMANTICS §4.1; DESIGN, Epochs).
//!
//! 1. The old shards are recovered as for a start, and divided anew by key group into a checkpoint of
//!    an epoch of its own, with a log generation of its own.
//! 2. The commit record of that epoch is the switch: until it is synced, the old shards hold, and
//!    everything that was made is in nobody's way; after it, the new ones.
//! 3. Rows at or below the cut-off of their old shard are left out, so that the new shards' cut-off
//!    can be the least of the old ones and no row that is dead comes back.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Job;
use super::exchange::{shard_of, shard_of_group};
use super::graph::{held_dir, spill_dir};
use crate::breaker::Spill;
use crate::changelog::{
    CommitHistory, CommitRecord, LogPosition, OperatorMeta, SegmentedLog, ShardMeta,
    SourcePosition, SpillPosition, StateMeta,
};
use crate::checkpoint::{
    About, JobFolder, Manifest, RecoveredShard, Recovery, RetiredSink, StateEntry, keep_only,
    record_files, remove_dir, write_shard_meta,
};
use crate::clock::Clock;
use crate::codec::{group_of, logical_bytes, row_ts};
use crate::durable;
use crate::error::Error;
use crate::kill;
use crate::state::{StateKind, time_of};
use crate::store::{
    Change, Ledger, RecentSnapshot, RocksOptions, RocksStore, ShardDb, StateStore, save_heap,
};

/// How the folders begin in which new shards are filled.
const SCRATCH: &str = "rescale-";

/// Rows of one state that a new shard takes in at once.
const ROWS_AT_ONCE: usize = 1 << 15;

/// A rescale of one folder.
pub(super) struct Rescale<'a> {
    pub(super) folder: &'a JobFolder,
    pub(super) job: &'a Job,
    pub(super) rocks: &'a RocksOptions,
    pub(super) history: &'a CommitHistory,
    pub(super) clock: &'a dyn Clock,
}

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

/// Removes the databases of a rescale that was cut off.
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

impl Rescale<'_> {
    /// Divides the job anew into as many shards as it asks for; `told` gets what was passed over.
    /// Returns what happened, in words.
    pub(super) fn run(
        &self,
        manifest: &mut Manifest,
        told: impl FnMut(String),
    ) -> Result<String, Error> {
        let (old, new) = (manifest.shards, self.job.parallelism);
        let Some(last) = &self.history.last else {
            // nothing was ever committed, so there is nothing to divide
            manifest.shards = new;
            self.folder.write(manifest)?;
            return Ok(format!("runs on {new} shards instead of {old}"));
        };
        let recovery =
            Recovery { folder: self.folder, manifest, rocks: self.rocks, history: self.history };
        let from = recovery.run(told)?.shards;
        self.settle_sinks(manifest, &from, new)?;
        let epoch = last.epoch + 1;
        let generation = manifest.generation + 1;
        let unfinished = self.folder.path.join(format!("checkpoints/.{epoch}"));
        remove_dir(&unfinished)?;
        let mut targets = (0..new)
            .map(|shard| self.target(manifest, &unfinished, shard))
            .collect::<Result<Vec<_>, _>>()?;
        let mut rows = 0;
        for state in &manifest.states {
            rows += self.divide_state(state, &from, &mut targets)?;
        }
        self.divide_operators(&from, &mut targets)?;
        let metas: Vec<&ShardMeta> = from.iter().map(|shard| &shard.meta).collect();
        for (shard, target) in targets.iter_mut().enumerate() {
            target.meta.sources = sources(&metas);
            target.meta.sinks = sinks(shard, &metas, manifest);
        }
        kill::point("mid-rescale");
        self.save(manifest, targets)?;
        let mut about = About::new(epoch, new, generation, self.clock.now_millis());
        about.files = record_files(&unfinished)?;
        about.write(&unfinished)?;
        durable::rename(&unfinished, &self.folder.path.join(format!("checkpoints/{epoch}")))?;
        kill::point("before-rescale-commit");
        self.commit(&CommitRecord {
            epoch,
            generation,
            wall_millis: self.clock.now_millis(),
            clock_millis: self.history.last.as_ref().and_then(|last| last.clock_millis),
            shards: vec![LogPosition { first_epoch: epoch + 1, bytes: 0 }; new],
        })?;
        kill::point("after-rescale-commit");
        drop(from);
        self.forget(manifest, epoch, new, generation)?;
        Ok(format!("divided anew, from {old} to {new} shards, at epoch {epoch}: {rows} rows"))
    }

    /// Publishes what the sinks of shards that are no more have committed, and keeps their positions
    /// for the day that such a shard comes back.
    fn settle_sinks(
        &self,
        manifest: &mut Manifest,
        from: &[RecoveredShard],
        new: usize,
    ) -> Result<(), Error> {
        for (shard, recovered) in from.iter().enumerate().skip(new) {
            for (uid, position) in &recovered.meta.sinks {
                let node = self.job.nodes.iter().find(|node| node.uid == *uid);
                if let Some(settle) = node.and_then(|node| node.settle.as_ref()) {
                    settle(shard, &self.folder.path, position)?;
                }
                manifest.retired_sinks.retain(|sink| (sink.shard, &sink.uid) != (shard, uid));
                let (uid, position) = (uid.clone(), position.clone());
                manifest.retired_sinks.push(RetiredSink { shard, uid, position });
            }
        }
        self.folder.write(manifest)
    }

    fn target(&self, manifest: &Manifest, dir: &Path, shard: usize) -> Result<Target, Error> {
        let dir = dir.join(format!("shard-{shard}"));
        durable::make_dir(&dir)?;
        let scratch = self.folder.path.join(format!("state/{SCRATCH}{shard}"));
        remove_dir(&scratch)?;
        fs::create_dir_all(&scratch).map_err(Error::io("create", &scratch))?;
        let families: Vec<_> =
            manifest.rocks_families().into_iter().map(|name| (name, None)).collect();
        let db = ShardDb::open(&scratch.join("db"), self.rocks, &families)?;
        Ok(Target { dir, scratch, db, meta: ShardMeta::default() })
    }

    /// Divides the rows of one state, and makes its ledgers anew from them.
    fn divide_state(
        &self,
        state: &StateEntry,
        from: &[RecoveredShard],
        targets: &mut [Target],
    ) -> Result<u64, Error> {
        let family = format!("state-{:03}", state.id);
        let metas: Vec<&StateMeta> =
            from.iter().filter_map(|shard| shard.meta.state(state.id)).collect();
        let ttl_millis = metas.iter().find_map(|meta| meta.ttl_millis);
        let is_timer = state.kind == StateKind::Timer.as_str();
        let is_heap = state.backend == "heap";
        let mut tallies: Vec<Tally> = targets
            .iter()
            .map(|_| Tally { ledger: Ledger::new(ttl_millis), next_timer: None, rows: Vec::new() })
            .collect();
        let mut rows = 0;
        for recovered in from {
            let cut_off = recovered.meta.state(state.id).map_or(i64::MIN, |meta| meta.cut_off);
            let mut failed = None;
            let mut visit = |key: &[u8], row: &[u8]| {
                if row_ts(row) <= cut_off {
                    return true;
                }
                let shard = shard_of_group(group_of(key), self.job.key_groups, tallies.len());
                let Some((tally, target)) = tallies.get_mut(shard).zip(targets.get(shard)) else {
                    return true;
                };
                rows += 1;
                tally.ledger.add(row_ts(row), logical_bytes(key, row));
                if is_timer {
                    let time = time_of(key);
                    tally.next_timer = Some(tally.next_timer.map_or(time, |next| next.min(time)));
                }
                tally.rows.push((key.into(), row.to_vec()));
                if !is_heap && tally.rows.len() >= ROWS_AT_ONCE {
                    failed = tally.hand_over(target, &family).err();
                }
                failed.is_none()
            };
            match recovered.heaps.iter().find(|(id, _)| *id == state.id) {
                Some((_, heap)) => heap.scan(&[], &mut visit)?,
                None => {
                    RocksStore::new(Arc::clone(&recovered.db), family.clone())
                        .scan(&[], &mut visit)?;
                }
            }
            if let Some(failed) = failed {
                return Err(failed);
            }
        }
        for (tally, target) in tallies.iter_mut().zip(targets) {
            if is_heap {
                let rows = tally.rows.iter().map(|(key, row)| (&**key, row.as_slice()));
                save_heap(&target.dir, &family, rows)?;
            } else {
                tally.hand_over(target, &family)?;
            }
            if !metas.is_empty() {
                let meta = merged_state(&metas, tally.ledger.clone(), tally.next_timer);
                target.meta.states.push((state.id, meta));
            }
        }
        Ok(rows)
    }

    /// Merges clocks and counts, and divides what waits by key.
    fn divide_operators(
        &self,
        from: &[RecoveredShard],
        targets: &mut [Target],
    ) -> Result<(), Error> {
        let mut operators: Vec<&str> = Vec::new();
        for meta in from.iter().flat_map(|shard| &shard.meta.operators) {
            if !operators.contains(&meta.sample.operator.as_str()) {
                operators.push(&meta.sample.operator);
            }
        }
        for operator in operators {
            let metas: Vec<OperatorMeta> = from
                .iter()
                .map(|shard| shard.meta.operator(operator).cloned().unwrap_or_default())
                .collect();
            let spills = self.divide_waiting(
                &metas,
                targets.len(),
                |meta| meta.spill,
                |shard| spill_dir(&self.folder.path, shard, operator),
            )?;
            let held = self.divide_waiting(
                &metas,
                targets.len(),
                |meta| meta.held,
                |shard| held_dir(&self.folder.path, shard, operator),
            )?;
            let waits: Vec<u64> = spills.iter().map(|(_, events)| *events).collect();
            for (shard, target) in targets.iter_mut().enumerate() {
                let mut meta = merged_operator(&metas, &waits, shard);
                meta.spill = spills.get(shard).map(|(position, _)| *position).unwrap_or_default();
                meta.held = held.get(shard).map(|(position, _)| *position).unwrap_or_default();
                target.meta.operators.push(meta);
            }
        }
        Ok(())
    }

    /// Appends what waits on the old shards behind the ends of the new shards' files, in the order of
    /// the old ones: what belongs to one key comes from one of them. Returns the new positions and how
    /// many events wait there.
    fn divide_waiting(
        &self,
        metas: &[OperatorMeta],
        new: usize,
        position_of: impl Fn(&OperatorMeta) -> SpillPosition,
        dir_of: impl Fn(usize) -> PathBuf,
    ) -> Result<Vec<(SpillPosition, u64)>, Error> {
        // all are read before any is written to, because opening cuts what is not committed
        let mut from = Vec::new();
        for (shard, meta) in metas.iter().enumerate() {
            let position = position_of(meta);
            if position.head < position.tail {
                from.push(Spill::open(&dir_of(shard), position)?);
            }
        }
        if from.is_empty() {
            let ends = (0..new).map(|shard| metas.get(shard).map(&position_of).unwrap_or_default());
            return Ok(ends.map(|position| (position, 0)).collect());
        }
        let mut to = Vec::new();
        for shard in 0..new {
            let tail = metas.get(shard).map(|meta| position_of(meta).tail).unwrap_or_default();
            to.push(Spill::open(&dir_of(shard), SpillPosition { head: tail, tail })?);
        }
        for spill in &mut from {
            while spill.peek()?.is_some() {
                let Some(event) = spill.pop() else { break };
                let shard = shard_of(event.hash, self.job.key_groups, new);
                if let Some(target) = to.get_mut(shard) {
                    target.push(&event)?;
                }
            }
        }
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

    fn save(&self, manifest: &Manifest, targets: Vec<Target>) -> Result<(), Error> {
        for (shard, target) in targets.into_iter().enumerate() {
            target.db.checkpoint(&target.dir.join("db"), &manifest.rocks_families())?;
            write_shard_meta(&target.dir, &target.meta)?;
            drop(target.db);
            remove_dir(&target.scratch)?;
            let epoch_after = self.history.last_epoch() + 2;
            let log = self.folder.path.join(format!("changelog/shard-{shard}"));
            let (path, file) = SegmentedLog::start(&log, epoch_after)?.file();
            file.sync_all().map_err(Error::io("sync", &path))?;
        }
        Ok(())
    }

    fn commit(&self, record: &CommitRecord) -> Result<(), Error> {
        let dir = self.folder.path.join("changelog/commits");
        let mut log = SegmentedLog::start(&dir, record.epoch)?;
        let payload = postcard::to_stdvec(record)
            .map_err(|e| Error::Codec { place: "commit record".into(), detail: e.to_string() })?;
        log.append(&payload)?;
        log.flush()?;
        let (path, file) = log.file();
        file.sync_data().map_err(Error::io("sync", &path))
    }

    /// After the switch: what belongs to the old shards alone can go.
    fn forget(
        &self,
        manifest: &mut Manifest,
        epoch: u64,
        new: usize,
        generation: u32,
    ) -> Result<(), Error> {
        let old = manifest.shards;
        (manifest.shards, manifest.generation) = (new, generation);
        manifest.retired_sinks.retain(|sink| sink.shard >= new);
        self.folder.write(manifest)?;
        for shard in new..old {
            for dir in ["changelog", "spill", "held", "state"] {
                remove_dir(&self.folder.path.join(format!("{dir}/shard-{shard}")))?;
            }
        }
        keep_only(&self.folder.path, epoch)
    }
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

/// Every shard gets all positions, and takes those of its own partitions.
fn sources(metas: &[&ShardMeta]) -> Vec<SourcePosition> {
    metas.iter().flat_map(|meta| meta.sources.iter().cloned()).collect()
}

/// A shard's own positions, or those that one of its number had when it was last there.
fn sinks(shard: usize, metas: &[&ShardMeta], manifest: &Manifest) -> Vec<(String, Vec<u8>)> {
    if let Some(meta) = metas.get(shard) {
        return meta.sinks.clone();
    }
    let retired = manifest.retired_sinks.iter().filter(|sink| sink.shard == shard);
    retired.map(|sink| (sink.uid.clone(), sink.position.clone())).collect()
}

/// The least of the clocks; unknown where one of them is.
fn least(clocks: impl Iterator<Item = Option<i64>>) -> Option<i64> {
    clocks.reduce(|a, b| a.zip(b).map(|(a, b)| a.min(b))).flatten()
}

fn merged_state(metas: &[&StateMeta], ledger: Ledger, next_timer: Option<i64>) -> StateMeta {
    let all = || metas.iter();
    let recent: Vec<&RecentSnapshot> = all().filter_map(|meta| meta.recent.as_ref()).collect();
    StateMeta {
        ledger,
        cut_off: all().map(|meta| meta.cut_off).min().unwrap_or(i64::MIN),
        ttl_millis: all().find_map(|meta| meta.ttl_millis),
        adopted_at_millis: all().map(|meta| meta.adopted_at_millis).max().unwrap_or(i64::MIN),
        unreclaimed_bytes: 0,
        sequence: all().map(|meta| meta.sequence).max().unwrap_or(0),
        recent: (!recent.is_empty()).then(|| RecentSnapshot::union(&recent)),
        next_timer,
    }
}

/// Counts go to the first shard, but for what waits on the others: so the equations of §7.7 hold on
/// each of them and for all together.
fn merged_operator(metas: &[OperatorMeta], waits: &[u64], shard: usize) -> OperatorMeta {
    let waits_here = waits.get(shard).copied().unwrap_or(0);
    let mut sample = metas.first().map(|meta| meta.sample.clone()).unwrap_or_default();
    for meta in metas.iter().skip(1) {
        let part = &meta.sample;
        sample.arrived += part.arrived;
        sample.applied += part.applied;
        sample.spilled += part.spilled;
        sample.late += part.late;
        sample.dead_lettered += part.dead_lettered;
        sample.replayed += part.replayed;
        sample.discarded += part.discarded;
        sample.emitted += part.emitted;
        sample.operator.clone_from(&part.operator);
    }
    if shard == 0 {
        let elsewhere: u64 = waits.iter().skip(1).sum();
        sample.arrived -= elsewhere;
        sample.spilled -= elsewhere;
    } else {
        sample = stateward_model::wire::OperatorSample {
            operator: sample.operator,
            arrived: waits_here,
            spilled: waits_here,
            ..Default::default()
        };
    }
    sample.pending = waits_here;
    OperatorMeta {
        watermark: least(metas.iter().map(|meta| meta.watermark)),
        emitted_watermark: least(metas.iter().map(|meta| meta.emitted_watermark)),
        sample,
        waiting: metas.iter().map(|meta| meta.waiting).sum(),
        ..OperatorMeta::default()
    }
}
