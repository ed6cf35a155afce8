//! Jobs that are killed, and what must be left of them.
//!
//! In: a seed. Out: an input file, the jobs that read it (run by the program `crash-job`, so that
//! they can be killed), and a canonical form of everything a job leaves behind, to compare. Never
//! here: a sleep; whoever waits does so for an event and for a bounded number of turns.

mod random;
mod event;
mod flow;
mod breaker;
mod count;
mod timer;
mod remains;
mod life;

pub use breaker::{WRITER, breaker_job, breaker_options};
pub use count::{COUNT, check_counts, count_job, count_options, write_count_input};
pub use event::{Event, write_input};
pub use flow::{ENRICH, FLOW, MERGE, SHARDS_VARIABLE, flow_job, flow_options};
pub use life::{Ended, Life, Program};
pub use random::Random;
pub use remains::{Remains, StateKey};
pub use timer::{TIMERS, check_timers, timer_job, timer_options};

use serde::{Deserialize, Serialize};
use stateward_engine::JobHandle;
use stateward_model::wire::Report;

/// What `crash-job` tells of a run that came to its end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// The last figures.
    pub report: Report,
    /// Edges that exchange records by key.
    pub exchanges: usize,
    /// Whether rows of an uncommitted epoch were ever moved out of a full write cache.
    pub overflowed: bool,
}

/// Name of the file that an [`Outcome`] is written to, in the data folder.
pub const OUTCOME_FILE: &str = "outcome.json";

/// Name of the file that the epoch is written to which a life began at, in the data folder.
pub const RECOVERED_FILE: &str = "recovered.txt";

/// Name of the file that is made, in the data folder, when a person's trip of the breaker has been
/// answered.
pub const TRIPPED_FILE: &str = "tripped.txt";

/// Name of the file that is made, in the data folder, by a life that finds the breaker not closed
/// when it begins, and removed by one that finds it closed.
pub const BREAKER_OPEN_FILE: &str = "breaker-open.txt";

/// A turn of waiting.
pub const TURN: std::time::Duration = std::time::Duration::from_millis(2);

/// Waits for something that takes at most a minute on a busy machine.
///
/// # Errors
/// When it does not come.
pub fn wait_for<T>(
    what: &str,
    mut look: impl FnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    const TURNS_MAX: usize = 60_000;
    for _ in 0..TURNS_MAX {
        if let Some(found) = look()? {
            return Ok(found);
        }
        std::thread::park_timeout(TURN);
    }
    anyhow::bail!("never came: {what}")
}

/// Checks the two equations of SEMANTICS §7.7 on every operator that has spoken.
///
/// # Errors
/// When one does not hold, with the figures.
pub fn check_conservation(handle: &JobHandle) -> anyhow::Result<()> {
    for operator in handle.figures().operators {
        let accounted =
            operator.applied + operator.spilled + operator.late + operator.dead_lettered;
        let waited = operator.replayed + operator.discarded + operator.pending;
        anyhow::ensure!(
            operator.arrived == accounted && operator.spilled == waited,
            "events got lost: {operator:?}"
        );
    }
    Ok(())
}
