//! What a state's breaker lets a shard do, cheap enough to ask per write.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU8, AtomicU64, Ordering};

/// What a shard does with an event that writes the state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum GateMode {
    /// Let it pass.
    #[default]
    Pass,
    /// Let backlog be replayed, and new events of keys without backlog pass.
    Replay,
    /// Spend the budget, on backlog first.
    Budget,
    /// Divert it.
    Refuse,
}

/// The part of a breaker that its shards share with whoever decides; written between events only
/// in effect, because a shard reads it once a batch.
#[derive(Debug, Default)]
pub(crate) struct SharedGate {
    mode: AtomicU8,
    /// Grows with every change, so that the decider can see which shards have taken it up.
    version: AtomicU64,
    /// Events that may still be let through ([`GateMode::Budget`]) or replayed.
    budget: AtomicI64,
}

impl SharedGate {
    pub(crate) fn set(&self, mode: GateMode) {
        self.mode.store(mode as u8, Ordering::Release);
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn mode(&self) -> GateMode {
        match self.mode.load(Ordering::Acquire) {
            0 => GateMode::Pass,
            1 => GateMode::Replay,
            2 => GateMode::Budget,
            _ => GateMode::Refuse,
        }
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    pub(crate) fn set_budget(&self, events: i64) {
        self.budget.store(events, Ordering::Release);
    }

    /// Takes one event out of the budget.
    #[inline]
    pub(crate) fn spend(&self) -> bool {
        self.budget.fetch_sub(1, Ordering::AcqRel) > 0
    }

    pub(crate) fn has_budget(&self) -> bool {
        self.budget.load(Ordering::Acquire) > 0
    }
}

/// A shard's copy of a gate.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    pub(crate) shared: Arc<SharedGate>,
    /// As read at the beginning of the batch.
    pub(crate) mode: GateMode,
    /// The event at hand was refused.
    pub(crate) refused: bool,
    /// The event at hand has been paid for.
    pub(crate) paid: bool,
}

impl Gate {
    /// Decides about a write of the event at hand; all its writes share one decision.
    #[inline]
    pub(crate) fn admits(&mut self) -> bool {
        if self.refused {
            return false;
        }
        let admitted = match self.mode {
            GateMode::Pass | GateMode::Replay => true,
            GateMode::Budget => self.paid || self.shared.spend(),
            GateMode::Refuse => false,
        };
        self.paid |= admitted;
        self.refused = !admitted;
        admitted
    }

    /// Begins a new event.
    #[inline]
    pub(crate) fn next_event(&mut self) {
        (self.refused, self.paid) = (false, false);
    }
}
