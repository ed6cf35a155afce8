//! Takes orders about cleaning: once, pause, go on.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stateward_model::wire::{Command, CommandProgress, JobEvent, Order, OrderClass};

use super::request::{Demand, SharedRequests};
use crate::clock::Clock;
use crate::error::Error;
use crate::job::JobControl;
use crate::policy::{CLEANUP_FILE, Decisions, Journal, Progress, Taken};
use crate::state::StateConfig;
use crate::telemetry::Board;

/// What to do with a journal that cannot be read.
const WAY_OUT: &str = "restore it from a copy, or delete it to clean every state again";

/// A command that is not carried out yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Pending {
    version: u64,
    operator: String,
    state: String,
    dry_run: bool,
}

/// A state that is not cleaned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Paused {
    operator: String,
    state: String,
    until_millis: Option<i64>,
}

/// `cleanup.json` in the job's folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct CleanupJournal {
    /// Highest command version taken in.
    version: u64,
    pending: Vec<Pending>,
    paused: Vec<Paused>,
    decisions: Decisions,
}

/// All orders about cleaning.
pub(crate) struct CleanupGovernor {
    file: Journal,
    clock: Arc<dyn Clock>,
    control: Arc<JobControl>,
    states: Vec<StateConfig>,
    journal: CleanupJournal,
    requests: SharedRequests,
    progress: Progress,
}

impl CleanupGovernor {
    /// Takes up what was ordered before and is not done.
    pub(crate) fn new(
        job_dir: &Path,
        clock: Arc<dyn Clock>,
        control: Arc<JobControl>,
        board: Arc<Board>,
        states: Vec<StateConfig>,
        requests: SharedRequests,
    ) -> Result<Self, Error> {
        let file = Journal::new(job_dir.join(CLEANUP_FILE));
        let journal: CleanupJournal = file.read(WAY_OUT)?;
        let progress = Progress::new(Arc::clone(&clock), board);
        let governor = Self { file, clock, control, states, journal, requests, progress };
        let mut requests = governor.requests.lock();
        for pending in &governor.journal.pending {
            if let Some(state) = governor.id_of(&pending.operator, &pending.state) {
                let Pending { version, dry_run, .. } = *pending;
                requests.demands.push_back(Demand { version, state, dry_run });
            }
        }
        for paused in &governor.journal.paused {
            if let Some(state) = governor.id_of(&paused.operator, &paused.state) {
                requests.paused.insert(state, paused.until_millis);
            }
        }
        drop(requests);
        Ok(governor)
    }

    fn id_of(&self, operator: &str, state: &str) -> Option<u16> {
        let mut states = self.states.iter();
        states.find(|s| s.operator == operator && s.options.name == state).map(|s| s.id)
    }

    /// Highest command version taken in.
    pub(crate) fn version(&self) -> u64 {
        self.journal.version
    }

    /// Takes a person's order: journal first, then effect. Orders about other things are not for it.
    pub(crate) fn order(&mut self, command: &Command) -> Result<Taken, Error> {
        let is_ours = matches!(command.order.class(), OrderClass::Clean | OrderClass::Cleanup);
        if !is_ours || command.version != 0 && command.version <= self.journal.version {
            return Ok(Taken::Done);
        }
        self.journal.version = self.journal.version.max(command.version);
        let (operator, state) = (command.operator.to_string(), command.state.to_string());
        let Some(id) = self.id_of(&operator, &state) else {
            self.file.write(&self.journal)?;
            let why = format!("this job has no state {operator}/{state}");
            return Ok(self.progress.refuse(command.version, why));
        };
        let of_state = |paused: &Paused| paused.operator == operator && paused.state == state;
        let version = command.version;
        let text = match command.order {
            Order::Clean { dry_run } => {
                self.journal.pending.push(Pending { version, operator, state, dry_run });
                if dry_run { "asked what cleaning would do" } else { "asked to clean" }
            }
            Order::PauseCleanup { until_millis } => {
                self.journal.paused.retain(|paused| !of_state(paused));
                self.journal.paused.push(Paused { operator, state, until_millis });
                "cleaning is paused"
            }
            _ => {
                self.journal.paused.retain(|paused| !of_state(paused));
                "cleaning goes on"
            }
        };
        self.journal.decisions.push(self.clock.now_millis(), command.clone());
        self.file.write(&self.journal)?;
        self.progress.delivered(version);
        let mut requests = self.requests.lock();
        match command.order {
            Order::Clean { dry_run } => {
                requests.demands.push_back(Demand { version, state: id, dry_run });
            }
            Order::PauseCleanup { until_millis } => {
                requests.paused.insert(id, until_millis);
                self.progress.done(version, String::new());
            }
            _ => {
                requests.paused.remove(&id);
                self.progress.done(version, String::new());
            }
        }
        drop(requests);
        self.note(command, format!("{text}, by {}: {}", command.actor, command.reason));
        Ok(Taken::Done)
    }

    fn note(&self, command: &Command, text: String) {
        self.control.log.push(JobEvent {
            wall_millis: self.clock.now_millis(),
            kind: "cleanup".into(),
            operator: Some(command.operator.to_string()),
            state: Some(command.state.to_string()),
            text,
        });
    }

    /// Tells what has been carried out; a few times a second.
    pub(crate) fn tick(&mut self) -> Result<(), Error> {
        let outcomes = std::mem::take(&mut self.requests.lock().outcomes);
        if outcomes.is_empty() {
            return Ok(());
        }
        for (version, outcome) in outcomes {
            self.journal.pending.retain(|pending| pending.version != version);
            if version == 0 {
                // ordered by code, which no server follows
                let text = outcome.unwrap_or_else(|why| why);
                self.control.log.note(self.clock.as_ref(), "cleanup", text);
                continue;
            }
            match outcome {
                Ok(text) => self.progress.done(version, text),
                Err(why) => drop(self.progress.refuse(version, why)),
            }
        }
        self.file.write(&self.journal)
    }

    /// States that are not cleaned, with the end of that.
    pub(crate) fn paused(&self) -> Vec<(u16, Option<i64>)> {
        let now = self.clock.now_millis();
        let requests = self.requests.lock();
        let paused = requests.paused.iter().map(|(id, until)| (*id, *until));
        paused.filter(|(_, until)| until.is_none_or(|until| now < until)).collect()
    }

    pub(crate) fn take_progress(&mut self) -> Vec<CommandProgress> {
        self.progress.take()
    }
}
