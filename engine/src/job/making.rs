//! Makes a shard on its own thread: its nodes never leave it.

use std::path::PathBuf;
use std::sync::Arc;

use super::builder::Job;
use super::control::JobControl;
use super::graph::{ShardBuild, StoreSettings};
use super::options::RunOptions;
use super::shard::{FromShard, Shard};
use crate::changelog::SegmentedLog;
use crate::checkpoint::RecoveredShard;
use crate::error::Error;
use crate::policy::ShardClock;
use crate::state::{SharedGate, SharedTtl};
use crate::store::{CachePool, RocksOptions};
use crate::telemetry::Board;

/// What a shard's thread makes its shard from.
pub(super) struct Making {
    pub(super) index: usize,
    pub(super) job: Arc<Job>,
    pub(super) recovered: RecoveredShard,
    pub(super) ends: Vec<Box<dyn std::any::Any + Send>>,
    pub(super) options: RunOptions,
    pub(super) rocks: RocksOptions,
    pub(super) caches: CachePool,
    pub(super) control: Arc<JobControl>,
    pub(super) board: Arc<Board>,
    pub(super) processing: ShardClock,
    pub(super) gates: Vec<Arc<SharedGate>>,
    pub(super) ttls: Vec<Arc<SharedTtl>>,
    pub(super) to_coordinator: crossbeam_channel::Sender<FromShard>,
    pub(super) job_dir: PathBuf,
    pub(super) first_epoch: u64,
    pub(super) families: Vec<String>,
}

impl Making {
    /// Makes the shard with its nodes; call it on the shard's own thread.
    pub(super) fn make(self) -> Result<Shard, Error> {
        let RecoveredShard { db, heaps, meta, cut_offs } = self.recovered;
        let of_state =
            |id: u16| cut_offs.iter().find(|(other, _)| *other == id).map(|(_, c)| Arc::clone(c));
        let cut_offs: Vec<_> =
            self.job.states.iter().filter_map(|state| of_state(state.id)).collect();
        let mut build = ShardBuild {
            shard: self.index,
            shards: self.job.parallelism,
            groups: self.job.key_groups,
            job_dir: self.job_dir.clone(),
            clock: Arc::clone(&self.options.clock),
            wakers: Arc::clone(&self.control.wakers),
            first_epoch: self.first_epoch,
            nodes: &self.job.nodes,
            edges: &self.job.edges,
            ends: self.ends,
            states: &self.job.states,
            gates: &self.gates,
            ttls: &self.ttls,
            cut_offs: &cut_offs,
            stores: StoreSettings { rocks: self.rocks, caches: self.caches },
            db: Arc::clone(&db),
            heaps,
            meta: &meta,
        };
        let nodes = self.job.nodes.iter().map(|node| (node.make)(&mut build));
        let nodes = nodes.collect::<Result<Vec<_>, Error>>()?;
        let log_dir = self.job_dir.join(format!("changelog/shard-{}", self.index));
        Ok(Shard {
            index: self.index,
            nodes,
            control: self.control,
            clock: self.options.clock,
            processing: self.processing,
            board: self.board,
            changelog: SegmentedLog::start(&log_dir, self.first_epoch)?,
            to_coordinator: self.to_coordinator,
            db,
            families: self.families,
            job_dir: self.job_dir,
            edges: self.job.edges.len(),
            meta,
            committed: self.first_epoch - 1,
        })
    }
}
