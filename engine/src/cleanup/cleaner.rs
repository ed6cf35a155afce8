//! The thread that compacts.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};

use super::CleanupOptions;
use super::request::{Demand, Outcome, SharedRequests};
use crate::clock::Clock;
use crate::error::Error;
use crate::store::{Manual, Range, ShardDb, SharedReclaims};
use crate::telemetry::{Board, StateSnapshot};

/// How often it is looked for work.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Turns between two looks at the figures.
const LOOK_TURNS: u64 = 5;
/// Ranges of a state that one look samples.
const RANGES_MAX: usize = 256;
/// Share of a range from which on a demand rewrites it: none that a sample can see is left.
const DEMANDED_SHARE: f64 = 0.01;
/// A state whose last compaction freed less than this part of what was expected is left alone for a
/// while: its figures are estimates.
const POOR_SHARE: f64 = 0.1;
/// For how long.
const POOR_REST_MILLIS: i64 = 600_000;

/// What the cleaner remembers of a state on a shard.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    /// Wall clock since when some of it has been written off.
    since_millis: Option<i64>,
    /// Wall clock before which it is left alone.
    not_before_millis: i64,
}

/// Gets bytes back, on a thread of its own, because a compaction is waited for.
pub(crate) struct Cleaner {
    pub(crate) board: Arc<Board>,
    pub(crate) dbs: Vec<Arc<ShardDb>>,
    pub(crate) reclaims: SharedReclaims,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) options: CleanupOptions,
    pub(crate) requests: SharedRequests,
}

/// What one compaction cost.
#[derive(Debug)]
pub(super) struct Cost {
    took: Duration,
    pub(super) read_bytes: u64,
}

fn family_of(state: u16) -> String {
    format!("state-{state:03}")
}

impl Cleaner {
    /// Runs until `shards` closes, which it does when the last shard has ended.
    pub(crate) fn run(&self, shards: &Receiver<Infallible>) -> Result<(), Error> {
        let mut memory = HashMap::new();
        let mut wait = LOOK_INTERVAL;
        for turn in 0_u64.. {
            if shards.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                break;
            }
            wait = LOOK_INTERVAL;
            let demand = self.requests.lock().demands.pop_front();
            if let Some(demand) = demand {
                let outcome = self.carry_out(demand, shards)?;
                self.requests.lock().outcomes.push((demand.version, outcome));
            } else if turn % LOOK_TURNS == 0
                && let Some(cost) = self.look(&mut memory)?
            {
                wait = wait.max(self.options.rest(cost.took, cost.read_bytes));
            }
        }
        Ok(())
    }

    /// Compacts the range that frees most, of the states that are due.
    pub(super) fn look(
        &self,
        memory: &mut HashMap<(usize, u16), Memory>,
    ) -> Result<Option<Cost>, Error> {
        let now = self.clock.now_millis();
        let mut best: Option<(usize, u16, Range)> = None;
        for (shard, board) in self.board.read().into_iter().enumerate() {
            for state in &board.states {
                let memory = memory.entry((shard, state.id)).or_default();
                if !self.is_due(state, memory, now) {
                    continue;
                }
                let ranges = self.ranges(shard, state.id)?;
                let most = ranges.into_iter().max_by_key(Range::frees_bytes);
                match most {
                    Some(most) if most.frees_bytes() > 0 => {
                        let frees = most.frees_bytes();
                        if best.as_ref().is_none_or(|(_, _, best)| frees > best.frees_bytes()) {
                            best = Some((shard, state.id, most));
                        }
                    }
                    // what is written off never came to the disk, or is gone already
                    _ => memory.not_before_millis = now + POOR_REST_MILLIS,
                }
            }
        }
        let Some((shard, state, range)) = best else { return Ok(None) };
        let (cost, freed) = self.compact(shard, state, &range, Manual::Reclaim)?;
        if (freed as f64) < range.frees_bytes() as f64 * POOR_SHARE
            && let Some(memory) = memory.get_mut(&(shard, state))
        {
            memory.not_before_millis = now + POOR_REST_MILLIS;
        }
        Ok(Some(cost))
    }

    fn is_due(&self, state: &StateSnapshot, memory: &mut Memory, now: i64) -> bool {
        let (unreclaimed, live) = (state.stock.unreclaimed_bytes, state.stock.logical_bytes);
        if unreclaimed == 0 {
            memory.since_millis = None;
            return false;
        }
        let since = *memory.since_millis.get_or_insert(now);
        let paused = self.requests.lock().paused.get(&state.id).copied();
        let paused = paused.is_some_and(|until| until.is_none_or(|until| now < until));
        !paused
            && now >= memory.not_before_millis
            && self.options.is_due(unreclaimed, live, now.saturating_sub(since), now)
    }

    /// Ranges of a state with their sampled shares; none where it is not on disk.
    fn ranges(&self, shard: usize, state: u16) -> Result<Vec<Range>, Error> {
        let family = family_of(state);
        let Some(db) = self.dbs.get(shard).filter(|db| db.has(&family)) else {
            return Ok(Vec::new());
        };
        db.ranges(&family, RANGES_MAX)
    }

    fn compact(
        &self,
        shard: usize,
        state: u16,
        range: &Range,
        why: Manual,
    ) -> Result<(Cost, u64), Error> {
        let Some(db) = self.dbs.get(shard) else {
            return Ok((Cost { took: Duration::ZERO, read_bytes: 0 }, 0));
        };
        let began = self.clock.monotonic_micros();
        let freed = db.compact_range(&family_of(state), range, why)?;
        let micros = self.clock.monotonic_micros().saturating_sub(began);
        self.reclaims.add(state, micros);
        let cost = Cost { took: Duration::from_micros(micros), read_bytes: range.read_bytes };
        Ok((cost, freed))
    }

    /// Carries out what somebody asks for, at any hour, within the budget.
    pub(super) fn carry_out(
        &self,
        demand: Demand,
        shards: &Receiver<Infallible>,
    ) -> Result<Outcome, Error> {
        let began = self.clock.monotonic_micros();
        let (mut expected, mut reads, mut freed) = (0, 0, 0);
        for shard in 0..self.dbs.len() {
            let ranges = self.ranges(shard, demand.state)?;
            for range in ranges.iter().filter(|range| range.share >= DEMANDED_SHARE) {
                expected += range.frees_bytes();
                reads += range.read_bytes;
                if demand.dry_run {
                    continue;
                }
                let (cost, by_this) = self.compact(shard, demand.state, range, Manual::Demand)?;
                freed += by_this;
                let rest = self.options.rest(cost.took, cost.read_bytes);
                if shards.recv_timeout(rest) != Err(RecvTimeoutError::Timeout) {
                    return Ok(Err(format!("the job ended when {freed} bytes were freed")));
                }
            }
        }
        Ok(Ok(if demand.dry_run {
            format!("would free about {expected} bytes of files and read {reads} bytes")
        } else {
            let millis = self.clock.monotonic_micros().saturating_sub(began) / 1_000;
            format!("freed {freed} bytes of files, read {reads} bytes, in {millis} ms")
        }))
    }
}
