//! Where shards put copies of their figures, a few times a second, for whoever reports them.

use std::sync::{Mutex, MutexGuard, PoisonError};

use stateward_model::Histogram;
use stateward_model::wire::{
    CanarySample, CleanupSample, ExpirySample, HotKeys, InvariantSample, OperatorSample,
    OvershootSample, SiteSample, SourceSample, StateFlow, StateStock,
};

/// Records along one edge.
pub(crate) type EdgeCount = u64;

/// One state on one shard.
#[derive(Clone, Debug, Default)]
pub(crate) struct StateSnapshot {
    pub(crate) id: u16,
    pub(crate) flow: StateFlow,
    pub(crate) stock: StateStock,
    pub(crate) at_read: Histogram,
    pub(crate) at_drop: Histogram,
    pub(crate) resident: Histogram,
    pub(crate) sweeps: Histogram,
    pub(crate) value_bytes: Histogram,
    pub(crate) overshoot: OvershootSample,
    pub(crate) hot: HotKeys,
    pub(crate) invariants: Vec<InvariantSample>,
    pub(crate) canary: Option<CanarySample>,
    pub(crate) cleanup: CleanupSample,
    pub(crate) expiry: ExpirySample,
    pub(crate) sites: Vec<SiteSample>,
    /// Version of the gate that the shard goes by.
    pub(crate) gate_version: u64,
    /// Version of the TTL that the shard goes by.
    pub(crate) ttl_version: u64,
}

/// One shard's figures.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShardBoard {
    pub(crate) states: Vec<StateSnapshot>,
    pub(crate) operators: Vec<OperatorSample>,
    pub(crate) sources: Vec<SourceSample>,
    pub(crate) edges: Vec<EdgeCount>,
}

/// All shards' figures. Locked a few times a second, never on the record path.
#[derive(Debug)]
pub(crate) struct Board {
    shards: Vec<Mutex<ShardBoard>>,
}

impl Board {
    pub(crate) fn new(shards: usize) -> Self {
        Self { shards: (0..shards).map(|_| Mutex::default()).collect() }
    }

    pub(crate) fn publish(&self, shard: usize, board: ShardBoard) {
        if let Some(slot) = self.shards.get(shard) {
            *lock(slot) = board;
        }
    }

    /// Number of shards.
    pub(crate) fn shards(&self) -> usize {
        self.shards.len()
    }

    pub(crate) fn read(&self) -> Vec<ShardBoard> {
        self.shards.iter().map(|shard| lock(shard).clone()).collect()
    }
}

/// A board is whole figures, so a shard that died while publishing left the former ones.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
