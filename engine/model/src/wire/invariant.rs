//! What a job demands of its own states.

use serde::{Deserialize, Serialize};

/// An invariant that code declares on a state, cumulative over the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InvariantSample {
    /// What must hold, in words.
    pub name: String,
    /// Values that were looked at: live ones that were read, and those that were written.
    pub checked: u64,
    /// Those for which it did not hold.
    pub violations: u64,
    /// Hash of the key of the last of those.
    pub last_hash: Option<u64>,
    /// Engine wall clock then.
    pub last_millis: Option<i64>,
}

impl InvariantSample {
    /// Adds another shard's.
    pub fn add(&mut self, other: &Self) {
        self.checked += other.checked;
        self.violations += other.violations;
        if other.last_millis > self.last_millis {
            (self.last_hash, self.last_millis) = (other.last_hash, other.last_millis);
        }
    }
}
