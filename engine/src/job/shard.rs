//! One shard: its thread's loop.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Sender;

use super::control::JobControl;
use super::node::{Node, NodeEnv, Polled, encode_entry};
use super::savepoint::link_waiting;
use crate::changelog::{Entry, LogPosition, OperatorMeta, SegmentedLog, ShardMeta};
use crate::checkpoint::{Saving, ShardPart, Unfinished, remove_dir, write_shard_meta};
use crate::clock::Clock;
use crate::durable;
use crate::error::Error;
use crate::kill;
use crate::policy::ShardClock;
use crate::store::ShardDb;
use crate::telemetry::{Board, ShardBoard};

/// Longest a shard sleeps when nothing wakes it.
const PARK: Duration = Duration::from_millis(2);
/// How often figures are copied out and the clock of processing-time states moves on.
const TICK_MICROS: u64 = 100_000;

/// Flows with the records and divides epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Barrier {
    pub(crate) epoch: u64,
    pub(crate) checkpoint: bool,
}

/// What a shard tells the coordinator.
pub(crate) enum FromShard {
    /// Its part of the epoch is appended; these files have to be synced.
    Ready {
        shard: usize,
        epoch: u64,
        log: LogPosition,
        sync: Vec<(PathBuf, Arc<File>)>,
        /// What waits as of the end of the epoch: diverted and held events, diverted and due timers.
        pending: u64,
    },
    /// Its part of the checkpoint is on disk.
    Saved { shard: usize, result: Result<ShardPart, Error> },
}

/// A shard with its nodes, in topological order.
pub(crate) struct Shard {
    pub(crate) index: usize,
    pub(crate) nodes: Vec<Box<dyn Node>>,
    pub(crate) control: Arc<JobControl>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) processing: ShardClock,
    pub(crate) board: Arc<Board>,
    pub(crate) changelog: SegmentedLog,
    pub(crate) to_coordinator: Sender<FromShard>,
    pub(crate) db: Arc<ShardDb>,
    pub(crate) families: Vec<String>,
    pub(crate) job_dir: PathBuf,
    pub(crate) edges: usize,
    pub(crate) meta: ShardMeta,
    pub(crate) committed: u64,
}

impl Shard {
    /// Runs until the job exits.
    pub(crate) fn run(mut self) -> Result<(), Error> {
        self.control.wakers.register(self.index);
        let mut epoch_meta = ShardMeta::default();
        let mut sync = Vec::new();
        let mut passed = 0;
        let mut barrier: Option<Barrier> = None;
        // nodes that rest until the checkpoint is taken: what they did next would be in it too
        let mut resting = vec![false; self.nodes.len()];
        let (mut next_tick, mut nudges_seen) = (0, 0);
        while !self.control.exiting() {
            // read before the commit is taken: no barrier is injected while the shard does not yet
            // know of the commit that the barrier waited for
            let requested = self.control.requested();
            self.take_commit()?;
            let mut progress = false;
            let wall = self.clock.now_millis();
            let processing = self.processing.at(wall)?;
            let now = self.clock.monotonic_micros();
            let nudges = self.control.nudges();
            let tick = now >= next_tick || nudges != nudges_seen;
            nudges_seen = nudges;
            // downstream first, so that what is full drains before more comes
            for (node, rests) in self.nodes.iter_mut().zip(&mut resting).rev() {
                if *rests {
                    node.flush();
                    continue;
                }
                let passed_before = passed;
                let mut env = NodeEnv {
                    wall,
                    processing,
                    clock: self.clock.as_ref(),
                    control: &self.control,
                    requested,
                    changelog: &mut self.changelog,
                    meta: &mut epoch_meta,
                    sync: &mut sync,
                    nodes_passed: &mut passed,
                    barrier: &mut barrier,
                };
                progress |= node.poll(&mut env)? == Polled::Progress;
                *rests =
                    *env.nodes_passed > passed_before && env.barrier.is_some_and(|b| b.checkpoint);
                if tick && !*rests {
                    node.tick(&mut env)?;
                }
            }
            // a checkpoint waits for the commit, so every barrier must have left this shard
            let nodes = &mut self.nodes;
            let leaves = |b: &mut Barrier| !b.checkpoint || nodes.iter_mut().all(|n| n.flush());
            if passed == resting.len()
                && let Some(done) = barrier.take_if(leaves)
            {
                passed = 0;
                resting.fill(false);
                let meta = std::mem::take(&mut epoch_meta);
                self.end_epoch(done, meta, std::mem::take(&mut sync))?;
            }
            if tick {
                next_tick = now + TICK_MICROS;
                self.publish();
            }
            if !progress {
                std::thread::park_timeout(PARK);
            }
        }
        if !self.control.failed() {
            self.publish();
        }
        Ok(())
    }

    /// Publishes what is left; the job has come to its end.
    pub(crate) fn close(&mut self) -> Result<(), Error> {
        self.nodes.iter_mut().try_for_each(|node| node.close())
    }

    fn take_commit(&mut self) -> Result<(), Error> {
        let committed = self.control.committed();
        if committed > self.committed {
            self.committed = committed;
            kill::point("before-publish");
            for node in &mut self.nodes {
                node.committed(committed)?;
            }
            if self.control.all_partitions_finished() && self.control.is_last(committed) {
                self.close()?;
            }
        }
        Ok(())
    }

    fn end_epoch(
        &mut self,
        barrier: Barrier,
        meta: ShardMeta,
        sync: Vec<(PathBuf, Arc<File>)>,
    ) -> Result<(), Error> {
        kill::point("before-append");
        let epoch = barrier.epoch;
        self.meta.advance(meta.clone());
        let pending = |operator: &OperatorMeta| operator.sample.pending + operator.waiting;
        let pending = meta.operators.iter().map(pending).sum();
        self.changelog.append(&encode_entry(&Entry::End { epoch, meta })?)?;
        self.changelog.flush()?;
        kill::point("after-append");
        let mut sync = sync;
        sync.push(self.changelog.file());
        let log = self.changelog.position();
        let ready = FromShard::Ready { shard: self.index, epoch, log, sync, pending };
        self.tell(ready);
        if barrier.checkpoint {
            let result = self.checkpoint(epoch);
            self.changelog.roll(epoch + 1)?;
            self.tell(FromShard::Saved { shard: self.index, result });
        }
        Ok(())
    }

    /// The coordinator has room for a message per shard and kind; it is gone only after a failure.
    fn tell(&self, message: FromShard) {
        if self.to_coordinator.send(message).is_err() {
            self.control.exit();
        }
    }

    /// Waits for the commit, brings the stores up to it and saves them.
    fn checkpoint(&mut self, epoch: u64) -> Result<ShardPart, Error> {
        while self.control.committed() < epoch {
            if self.control.exiting() {
                return Ok(ShardPart::default());
            }
            std::thread::park_timeout(PARK);
        }
        let began = self.clock.monotonic_micros();
        self.take_commit()?;
        let dir = Unfinished::dir(&self.job_dir, epoch).join(format!("shard-{}", self.index));
        remove_dir(&dir)?;
        durable::make_dir(&dir)?;
        let clock = Arc::clone(&self.clock);
        let mut saving = Saving {
            dir: &dir,
            clock: clock.as_ref(),
            deadline_micros: self.control.checkpoint_deadline(),
            part: ShardPart::default(),
        };
        for node in &mut self.nodes {
            node.checkpoint(&mut saving, &mut self.meta)?;
        }
        saving.check()?;
        kill::point("mid-checkpoint");
        self.db.checkpoint(&dir.join("db"), &self.families)?;
        write_shard_meta(&dir, &self.meta)?;
        if self.control.wishes.wants_files(epoch) {
            link_waiting(&self.job_dir, self.index, epoch, &self.meta)?;
        }
        let totals = || self.meta.states.iter().map(|(_, meta)| meta.ledger.total());
        Ok(ShardPart {
            entries: totals().map(|total| total.entries).sum(),
            logical_bytes: totals().map(|total| total.bytes).sum(),
            pause_micros: self.clock.monotonic_micros().saturating_sub(began),
            ..saving.part
        })
    }

    fn publish(&mut self) {
        let mut board = ShardBoard { edges: vec![0; self.edges], ..ShardBoard::default() };
        for node in &mut self.nodes {
            node.report(&mut board);
        }
        self.board.publish(self.index, board);
    }
}
