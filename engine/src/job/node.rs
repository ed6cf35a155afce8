//! What a shard knows of its nodes.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use super::control::JobControl;
use super::shard::Barrier;
use crate::changelog::{Entry, SegmentedLog, ShardMeta};
use crate::checkpoint::Saving;
use crate::clock::Clock;
use crate::error::Error;
use crate::policy::ProcessingTime;
use crate::telemetry::ShardBoard;

/// How a poll went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Polled {
    Progress,
    Idle,
    /// Output waits for room downstream.
    Blocked,
}

/// What a node may use of its shard.
pub(crate) struct NodeEnv<'a> {
    /// Wall clock of this turn.
    pub(crate) wall: i64,
    /// Processing time of this turn.
    pub(crate) processing: ProcessingTime,
    pub(crate) clock: &'a dyn Clock,
    pub(crate) control: &'a JobControl,
    /// Newest epoch whose barrier may be injected in this turn, and whether it ends in a checkpoint.
    pub(crate) requested: (u64, bool),
    pub(crate) changelog: &'a mut SegmentedLog,
    /// Collects what the epoch's end record will say.
    pub(crate) meta: &'a mut ShardMeta,
    /// Files to sync before the epoch commits.
    pub(crate) sync: &'a mut Vec<(PathBuf, Arc<File>)>,
    /// Nodes that the barrier has passed.
    pub(crate) nodes_passed: &'a mut usize,
    pub(crate) barrier: &'a mut Option<Barrier>,
}

impl NodeEnv<'_> {
    /// The node has taken its part of the epoch and sent the barrier on.
    pub(crate) fn passed(&mut self, barrier: Barrier) {
        *self.nodes_passed += 1;
        *self.barrier = Some(barrier);
    }

    pub(crate) fn micros(&self) -> u64 {
        self.clock.monotonic_micros()
    }

    pub(crate) fn log(&mut self, entry: &Entry<'_>) -> Result<(), Error> {
        self.changelog.append(&encode_entry(entry)?)
    }
}

pub(crate) fn encode_entry(entry: &Entry<'_>) -> Result<Vec<u8>, Error> {
    postcard::to_stdvec(entry).map_err(|e| Error::Codec {
        place: "changelog".into(),
        detail: format!("an entry cannot be encoded: {e}"),
    })
}

/// One node on one shard. All methods run on the shard's thread.
pub(crate) trait Node {
    /// Does a bounded piece of work; never blocks.
    fn poll(&mut self, env: &mut NodeEnv<'_>) -> Result<Polled, Error>;
    /// Sends on what waits for room downstream; `true` when nothing waits.
    fn flush(&mut self) -> bool {
        true
    }
    /// The epoch is committed.
    fn committed(&mut self, _epoch: u64) -> Result<(), Error> {
        Ok(())
    }
    /// Some fraction of a second has passed.
    fn tick(&mut self, _env: &mut NodeEnv<'_>) -> Result<(), Error> {
        Ok(())
    }
    /// Every epoch so far is committed: bring the stores up to it and complete `meta`.
    fn checkpoint(&mut self, _to: &mut Saving<'_>, _meta: &mut ShardMeta) -> Result<(), Error> {
        Ok(())
    }
    /// Copies figures out.
    fn report(&mut self, _board: &mut ShardBoard) {}
    /// The job has come to its end, after a commit.
    fn close(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
