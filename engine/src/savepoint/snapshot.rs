//! Everything of a job at one epoch, wherever it lies.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::header::Header;
use crate::breaker::{Spill, Spilled};
use crate::changelog::{OperatorMeta, SpillPosition};
use crate::checkpoint::{RecoveredShard, remove_dir};
use crate::codec::{is_canary, row_ts};
use crate::error::Error;
use crate::job::{held_dir, spill_dir};
use crate::store::{RecentSnapshot, RocksStore, StateStore};

/// What takes the rows of a state.
pub(crate) type VisitRow<'a> = &'a mut dyn FnMut(&[u8], &[u8]) -> Result<(), Error>;

/// What takes the events that wait.
pub(crate) type VisitEvent<'a> = &'a mut dyn FnMut(Spilled) -> Result<(), Error>;

/// Which of an operator's events wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queue {
    /// Diverted by a breaker.
    Spilled,
    /// Overtaken by a barrier.
    Held,
}

impl Queue {
    /// Where they wait in a job's folder.
    pub(crate) fn dir(self, job_dir: &Path, shard: usize, operator: &str) -> PathBuf {
        match self {
            Self::Spilled => spill_dir(job_dir, shard, operator),
            Self::Held => held_dir(job_dir, shard, operator),
        }
    }

    /// Which of them an epoch committed.
    pub(crate) fn position(self, meta: &OperatorMeta) -> SpillPosition {
        match self {
            Self::Spilled => meta.spill,
            Self::Held => meta.held,
        }
    }
}

/// Everything of a job at one epoch.
pub(crate) trait Snapshot {
    /// What is not rows.
    fn header(&self) -> &Header;
    /// Visits the rows of a state that are not written off, in key order.
    fn rows(&self, state: u16, visit: VisitRow<'_>) -> Result<(), Error>;
    /// The keys of a state whose entries expired lately.
    fn recent(&self, state: u16) -> Result<Option<RecentSnapshot>, Error>;
    /// Visits what waits at an operator, in an order that is right for each key.
    fn waiting(&self, operator: &str, queue: Queue, visit: VisitEvent<'_>) -> Result<(), Error>;
}

/// A job's shards, at the last committed epoch or at a checkpoint.
pub(crate) struct Shards {
    pub(crate) header: Header,
    pub(crate) recovered: Vec<RecoveredShard>,
    /// The folder that their spills are in.
    pub(crate) waiting_in: PathBuf,
    /// Removed with them.
    pub(crate) scratch: Option<PathBuf>,
}

impl Drop for Shards {
    fn drop(&mut self) {
        self.recovered.clear();
        if let Some(scratch) = &self.scratch {
            // what stays is removed by the next start
            drop(remove_dir(scratch));
        }
    }
}

impl Snapshot for Shards {
    fn header(&self) -> &Header {
        &self.header
    }

    /// A shard owns a range of key groups, and these come first in a key.
    fn rows(&self, state: u16, visit: VisitRow<'_>) -> Result<(), Error> {
        for shard in &self.recovered {
            let cut_off = shard.meta.state(state).map_or(i64::MIN, |meta| meta.cut_off);
            let mut failed = None;
            let mut visit = |key: &[u8], row: &[u8]| {
                if row_ts(row) > cut_off && !is_canary(key) {
                    failed = visit(key, row).err();
                }
                failed.is_none()
            };
            match shard.heaps.iter().find(|(id, _)| *id == state) {
                Some((_, heap)) => heap.scan(&[], &mut visit)?,
                None => RocksStore::new(Arc::clone(&shard.db), format!("state-{state:03}"))
                    .scan(&[], &mut visit)?,
            }
            if let Some(failed) = failed {
                return Err(failed);
            }
        }
        Ok(())
    }

    fn recent(&self, state: u16) -> Result<Option<RecentSnapshot>, Error> {
        let metas = self.recovered.iter().filter_map(|shard| shard.meta.state(state));
        let recent: Vec<&RecentSnapshot> = metas.filter_map(|meta| meta.recent.as_ref()).collect();
        Ok((!recent.is_empty()).then(|| RecentSnapshot::union(&recent)))
    }

    /// What belongs to one key waits on one shard.
    fn waiting(&self, operator: &str, queue: Queue, visit: VisitEvent<'_>) -> Result<(), Error> {
        for (shard, recovered) in self.recovered.iter().enumerate() {
            let Some(meta) = recovered.meta.operator(operator) else { continue };
            let position = queue.position(meta);
            if position.head == position.tail {
                continue;
            }
            let mut waiting =
                Spill::open_shared(&queue.dir(&self.waiting_in, shard, operator), position)?;
            while waiting.peek()?.is_some() {
                let Some(event) = waiting.pop() else { break };
                visit(event)?;
            }
        }
        Ok(())
    }
}
