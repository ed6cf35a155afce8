//! How long after their expiry entries are removed (SEMANTICS §9).

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;

/// Physical removal of expired entries minus their expiry, in ms of the state's clock, on both sides
/// of zero: in the buckets of [`crate::bucket_of`], which have a bucket for each of the first ms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OvershootSample {
    /// Removed at their expiry or after it.
    pub late: Histogram,
    /// Removed before it: by a TTL that has become longer since.
    pub early: Histogram,
}

impl OvershootSample {
    /// Adds another shard's.
    pub fn add(&mut self, other: &Self) {
        self.late.merge(&other.late);
        self.early.merge(&other.early);
    }
}
