//! The only place of the engine that reads a clock.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Where wall time comes from; injected, so that tests own it.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Milliseconds since the Unix epoch, UTC.
    fn now_millis(&self) -> i64;
    /// Microseconds on a clock that never runs backwards; for durations.
    fn monotonic_micros(&self) -> u64;
}

/// The machine's clock.
#[derive(Clone, Debug)]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// Starts a clock whose monotonic part begins at 0.
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn now_millis(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn monotonic_micros(&self) -> u64 {
        self.start.elapsed().as_micros() as u64
    }
}

/// A clock that moves only when told; clones share the time.
///
/// # Examples
/// ```
/// use stateward_engine::{Clock, ManualClock};
/// let clock = ManualClock::at(1_000);
/// clock.advance(500);
/// assert_eq!(clock.now_millis(), 1_500);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ManualClock {
    millis: Arc<AtomicI64>,
}

impl ManualClock {
    /// Starts at `millis`.
    pub fn at(millis: i64) -> Self {
        Self { millis: Arc::new(AtomicI64::new(millis)) }
    }

    /// Moves forward by `millis`.
    pub fn advance(&self, millis: i64) {
        self.millis.fetch_add(millis, Ordering::SeqCst);
    }

    /// Jumps to `millis`, forwards or backwards.
    pub fn set(&self, millis: i64) {
        self.millis.store(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now_millis(&self) -> i64 {
        self.millis.load(Ordering::SeqCst)
    }

    fn monotonic_micros(&self) -> u64 {
        self.now_millis().max(0) as u64 * 1_000
    }
}
