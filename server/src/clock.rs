//! The only place that reads the wall clock. Everything else is handed a [`Clock`], so that a test
//! moves time instead of waiting for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the server's wall clock in ms since the Unix epoch.
#[derive(Clone, Debug)]
pub(crate) enum Clock {
    /// The machine's.
    System,
    /// One that a test moves.
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests move time"))]
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// Makes a clock that stands still until it is moved.
    #[cfg(test)]
    pub(crate) fn manual(now_millis: i64) -> Self {
        Self::Manual(Arc::new(AtomicI64::new(now_millis)))
    }

    /// Moves a manual clock.
    #[cfg(test)]
    pub(crate) fn advance(&self, by_millis: i64) {
        if let Self::Manual(now) = self {
            now.fetch_add(by_millis, Ordering::SeqCst);
        }
    }

    /// Returns the time.
    pub(crate) fn now_millis(&self) -> i64 {
        match self {
            Self::Manual(now) => now.load(Ordering::SeqCst),
            Self::System => system_millis(),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the clock that others ask")]
fn system_millis() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}
