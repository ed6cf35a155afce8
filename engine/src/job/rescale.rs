//! From one number of shards to another, before a job starts (SEMANTICS §4.1; DESIGN, Epochs).
//!
//! 1. The old shards are recovered as for a start, and divided anew by key group into a checkpoint of
//!    an epoch of its own, with a log generation of its own.
//! 2. The commit record of that epoch is the switch: until it is synced, the old shards hold, and
//!    everything that was made is in nobody's way; after it, the new ones.

use super::Job;
use super::divide::{Division, commit};
use crate::changelog::{CommitHistory, ShardMeta};
use crate::checkpoint::{
    JobFolder, Manifest, RecoveredShard, Recovery, RetiredSink, keep_only, remove_dir,
};
use crate::clock::Clock;
use crate::error::Error;
use crate::kill;
use crate::savepoint::{Header, Queue, Shards};
use crate::store::RocksOptions;

/// A rescale of one folder.
pub(super) struct Rescale<'a> {
    pub(super) folder: &'a JobFolder,
    pub(super) job: &'a Job,
    pub(super) rocks: &'a RocksOptions,
    pub(super) history: &'a CommitHistory,
    pub(super) clock: &'a dyn Clock,
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
        let then =
            Manifest { shards: new, generation: manifest.generation + 1, ..manifest.clone() };
        let metas: Vec<&ShardMeta> = from.iter().map(|shard| &shard.meta).collect();
        let header = Header::of(manifest, &metas, last.epoch, last.wall_millis);
        let waiting_in = self.folder.path.clone();
        let shards = Shards { header, recovered: from, waiting_in, scratch: None };
        let metas: Vec<&ShardMeta> = shards.recovered.iter().map(|shard| &shard.meta).collect();
        let mut division = Division::new(self.folder, &then, self.rocks, epoch)?;
        // behind what the old shards have, in the same files
        let ends = |operator: &str, queue: Queue, shard: usize| {
            let meta = metas.get(shard).and_then(|meta| meta.operator(operator));
            meta.map(|meta| queue.position(meta)).unwrap_or_default()
        };
        let rows = division.take(&shards, |_operator| true, &ends)?;
        for shard in 0..new {
            division.set_sinks(shard, sinks(shard, &metas, manifest));
        }
        kill::point("mid-rescale");
        let wall_millis = self.clock.now_millis();
        division.publish(wall_millis)?;
        kill::point("before-rescale-commit");
        commit(self.folder, &then, (epoch, wall_millis), last.clock_millis)?;
        kill::point("after-rescale-commit");
        drop(shards);
        *manifest = then;
        self.forget(manifest, epoch, old)?;
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

    /// After the switch: what belongs to the old shards alone can go.
    fn forget(&self, manifest: &mut Manifest, epoch: u64, old: usize) -> Result<(), Error> {
        let new = manifest.shards;
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

/// A shard's own positions, or those that one of its number had when it was last there.
fn sinks(shard: usize, metas: &[&ShardMeta], manifest: &Manifest) -> Vec<(String, Vec<u8>)> {
    if let Some(meta) = metas.get(shard) {
        return meta.sinks.clone();
    }
    let retired = manifest.retired_sinks.iter().filter(|sink| sink.shard == shard);
    retired.map(|sink| (sink.uid.clone(), sink.position.clone())).collect()
}
