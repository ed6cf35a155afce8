//! Synthetic rows that prove that a TTL works (SEMANTICS §9).

use serde::{Deserialize, Serialize};

/// How far a canary is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CanaryPhase {
    /// It lives.
    Written,
    /// It has expired: no read would return it.
    Expired,
    /// It is gone for good.
    WrittenOff,
}

/// The canaries of a state, one after another on each shard; counts are cumulative over the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CanarySample {
    /// Canaries that were written.
    pub written: u64,
    /// Those that expired.
    pub expired: u64,
    /// Those that were written off.
    pub written_off: u64,
    /// Those whose bytes are gone.
    pub removed: u64,
    /// Those that were overdue at one phase.
    pub overdue_total: u64,
    /// How far behind is the present one that is least far.
    pub phase: Option<CanaryPhase>,
    /// Engine wall clock when that phase began.
    pub since_millis: Option<i64>,
    /// A present one is overdue.
    pub overdue: bool,
    /// From expiry to write-off of the last one, in ms of the state's clock.
    pub write_off_millis: Option<i64>,
    /// From write-off until its bytes were gone, in ms of the wall clock.
    pub removal_millis: Option<i64>,
}

impl CanarySample {
    /// Adds another shard's: counts add up, of the rest the worse one stands.
    pub fn add(&mut self, other: &Self) {
        self.written += other.written;
        self.expired += other.expired;
        self.written_off += other.written_off;
        self.removed += other.removed;
        self.overdue_total += other.overdue_total;
        let before = |a: &Self, b: &Self| {
            b.phase.is_some() && (a.phase.is_none() || b.since_millis < a.since_millis)
        };
        if before(self, other) {
            (self.phase, self.since_millis) = (other.phase, other.since_millis);
        }
        self.overdue |= other.overdue;
        self.write_off_millis = self.write_off_millis.max(other.write_off_millis);
        self.removal_millis = self.removal_millis.max(other.removal_millis);
    }
}
