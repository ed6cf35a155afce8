//! Named instants at which a crash test may kill the process.
//!
//! Without the feature `kill-points`, which only the crash tests turn on, this is nothing.

/// Every instant, in the order an epoch meets them.
#[cfg(feature = "kill-points")]
pub const POINTS: [&str; 9] = [
    "before-append",
    "after-append",
    "before-sync",
    "after-sync",
    "before-publish",
    "mid-checkpoint",
    "before-checkpoint-rename",
    "after-checkpoint-rename",
    "after-log-cut",
];

/// The instants of a rescale, in their order; an epoch does not meet them.
#[cfg(feature = "kill-points")]
pub const RESCALE_POINTS: [&str; 3] =
    ["mid-rescale", "before-rescale-commit", "after-rescale-commit"];

/// Kills the process here, as `kill -9` does, if `STATEWARD_KILL_AT` is `point:n` and this is the
/// n-th time that `point` is reached.
#[cfg(feature = "kill-points")]
pub(crate) fn point(name: &str) {
    use std::collections::HashMap;
    use std::sync::{Mutex, PoisonError};
    static SEEN: Mutex<Option<HashMap<String, u64>>> = Mutex::new(None);
    let Ok(wanted) = std::env::var("STATEWARD_KILL_AT") else { return };
    let Some((point, count)) = wanted.split_once(':') else { return };
    if point != name {
        return;
    }
    let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
    let times = seen.get_or_insert_default().entry(name.to_owned()).or_default();
    *times += 1;
    if Ok(*times) == count.parse() {
        let pid = std::process::id().to_string();
        if std::process::Command::new("kill").args(["-9", &pid]).status().is_err() {
            std::process::abort();
        }
    }
}

/// Nothing.
#[cfg(not(feature = "kill-points"))]
#[inline(always)]
pub(crate) fn point(_name: &str) {}
