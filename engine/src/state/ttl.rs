//! The TTL that a state's shards go by, and who else may change it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The part of a TTL that shards share with whoever decides; a shard looks a few times a second,
/// between two events.
#[derive(Debug, Default)]
pub(crate) struct SharedTtl {
    /// Grows with every change, so that the decider can see which shards have taken it up.
    version: AtomicU64,
    /// The TTL by which entries are seen, and the one by which they go for good.
    ttl: Mutex<(Option<i64>, Option<i64>)>,
}

impl SharedTtl {
    /// In force before any shard has looked.
    pub(crate) fn new(ttl_millis: Option<i64>) -> Self {
        Self { version: AtomicU64::new(0), ttl: Mutex::new((ttl_millis, ttl_millis)) }
    }

    pub(crate) fn set(&self, ttl_millis: Option<i64>, kept_millis: Option<i64>) {
        let mut ttl = self.ttl.lock().unwrap_or_else(PoisonError::into_inner);
        *ttl = (ttl_millis, kept_millis);
        self.version.fetch_add(1, Ordering::AcqRel);
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The TTLs with their version.
    pub(crate) fn get(&self) -> (u64, Option<i64>, Option<i64>) {
        let ttl = self.ttl.lock().unwrap_or_else(PoisonError::into_inner);
        (self.version(), ttl.0, ttl.1)
    }
}
