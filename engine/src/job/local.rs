//! What a running job does for whoever asks through the socket in its folder.

use std::path::Path;
use std::sync::Arc;

use stateward_model::wire::Command;

use super::control::JobControl;
use super::govern::{SharedGoverning, lock};
use super::savepoint::Savepoints;
use crate::control::{JobStatus, Outcome, Serve, What};
use crate::error::Error;
use crate::policy::Taken;

/// Most bytes of a reason or an actor: it is kept in a journal.
const WORDS_BYTES_MAX: usize = 1_000;

/// Answers requests.
pub(super) fn answers(
    control: Arc<JobControl>,
    governing: SharedGoverning,
    savepoints: Savepoints,
    shards: usize,
) -> Serve {
    Arc::new(move |what| match what {
        What::Status => Outcome::Status(status(&control, &governing, shards)),
        What::Checkpoint => {
            savepoints.checkpoint().map_or_else(failed, |epoch| Outcome::Checkpoint { epoch })
        }
        What::Savepoint { path } => savepoint(&savepoints, path.as_deref(), false),
        What::StopWithSavepoint { path } => savepoint(&savepoints, path.as_deref(), true),
        What::Stop => {
            control.stop();
            Outcome::Stopping
        }
        What::Order { order } => ordered(&governing, order),
    })
}

fn failed(error: Error) -> Outcome {
    match error {
        Error::Refused(why) => Outcome::Refused { why },
        other => Outcome::Failed { why: other.to_string() },
    }
}

fn savepoint(savepoints: &Savepoints, path: Option<&Path>, stop: bool) -> Outcome {
    savepoints.savepoint(path, stop).map_or_else(failed, Outcome::Savepoint)
}

fn status(control: &JobControl, governing: &SharedGoverning, shards: usize) -> JobStatus {
    let figures = lock(governing).peek();
    let stocks = || figures.states.iter().map(|state| &state.stock);
    JobStatus {
        epoch: control.committed(),
        shards,
        states: figures.states.len(),
        entries: stocks().map(|stock| stock.entries).sum(),
        logical_bytes: stocks().map(|stock| stock.logical_bytes).sum(),
        checkpoint_millis: figures.job.checkpoint_millis,
    }
}

/// §7.8: a person's action needs a reason; it is in the journal before it takes effect.
fn ordered(governing: &SharedGoverning, order: Command) -> Outcome {
    let fits = |words: &str| !words.trim().is_empty() && words.len() <= WORDS_BYTES_MAX;
    if !fits(&order.actor) || !fits(&order.reason) {
        let why =
            format!("an order needs an actor and a reason, each of 1 to {WORDS_BYTES_MAX} bytes");
        return Outcome::Refused { why };
    }
    // numbers belong to the server's commands
    match lock(governing).order(&Command { version: 0, ..order }) {
        Ok(Taken::Done) => Outcome::Done,
        Ok(Taken::Refused(why)) => Outcome::Refused { why },
        Err(e) => failed(e),
    }
}
