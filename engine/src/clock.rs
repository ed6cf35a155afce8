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
    /// Whether it moves in steps that somebody else decides on. Of a clock that runs by itself, a
    /// long time between two readings tells that the process stood still (SEMANTICS §1.10); of this
    /// one, only what its wall part moves beyond the monotonic one.
    fn is_stepped(&self) -> bool {
        false
    }
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
    /// What of `millis` passed while the process ran.
    awake_millis: Arc<AtomicI64>,
}

impl ManualClock {
    /// Starts at `millis`.
    pub fn at(millis: i64) -> Self {
        Self {
            millis: Arc::new(AtomicI64::new(millis)),
            awake_millis: Arc::new(AtomicI64::new(millis)),
        }
    }

    /// Moves forward by `millis`: time that passes while everything runs.
    pub fn advance(&self, millis: i64) {
        // the monotonic part first: a thread that reads in between must not take this for a jump
        self.awake_millis.fetch_add(millis, Ordering::SeqCst);
        self.millis.fetch_add(millis, Ordering::SeqCst);
    }

    /// Moves the wall clock alone, forwards or backwards: a machine that was suspended, a process
    /// in a debugger, a clock that was set.
    pub fn jump(&self, millis: i64) {
        self.millis.fetch_add(millis, Ordering::SeqCst);
    }

    /// Puts the clock to `millis`. Forwards it is time that passes, backwards a clock that was set.
    pub fn set(&self, millis: i64) {
        let now = self.millis.load(Ordering::SeqCst);
        if millis >= now {
            self.advance(millis - now);
        } else {
            self.jump(millis - now);
        }
    }
}

impl Clock for ManualClock {
    fn now_millis(&self) -> i64 {
        self.millis.load(Ordering::SeqCst)
    }

    fn monotonic_micros(&self) -> u64 {
        self.awake_millis.load(Ordering::SeqCst).max(0) as u64 * 1_000
    }

    fn is_stepped(&self) -> bool {
        true
    }
}
