//! Which TTL each state has: the declared one, or what a person put in its place (SEMANTICS §1.14).

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stateward_model::wire::{Command, CommandProgress, JobEvent, Order, OrderClass};
use stateward_model::{TtlOverride, TtlPolicy};

use super::{Decisions, Journal, Progress, TTL_FILE, Taken};
use crate::clock::Clock;
use crate::error::Error;
use crate::job::JobControl;
use crate::state::{SharedTtl, StateConfig};
use crate::telemetry::{Board, ShardBoard};

/// What to do with a journal that cannot be read.
const WAY_OUT: &str =
    "restore it from a copy, or delete it to go back to the TTLs that code declares";

/// One state in the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Journaled {
    pub(crate) operator: String,
    pub(crate) state: String,
    pub(crate) policy: TtlPolicy,
}

/// `ttl.json` in the job's folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct TtlJournal {
    /// Highest command version taken in.
    version: u64,
    states: Vec<Journaled>,
    decisions: Decisions,
}

/// One state's TTL.
struct Governed {
    config: StateConfig,
    policy: TtlPolicy,
    shared: Arc<SharedTtl>,
}

impl Governed {
    fn rule(&self) {
        self.shared.set(self.policy.effective_millis(), self.policy.kept_millis());
    }
}

/// All TTLs of a job.
pub(crate) struct TtlGovernor {
    file: Journal,
    clock: Arc<dyn Clock>,
    control: Arc<JobControl>,
    states: Vec<Governed>,
    version: u64,
    decisions: Decisions,
    progress: Progress,
}

impl TtlGovernor {
    /// Takes up what was decided before, and what code declares now.
    pub(crate) fn new(
        job_dir: &Path,
        clock: Arc<dyn Clock>,
        control: Arc<JobControl>,
        board: Arc<Board>,
        states: &[(StateConfig, Arc<SharedTtl>)],
    ) -> Result<Self, Error> {
        let file = Journal::new(job_dir.join(TTL_FILE));
        let journal: TtlJournal = file.read(WAY_OUT)?;
        let mut governor = Self {
            file,
            progress: Progress::new(Arc::clone(&clock), board),
            clock,
            control,
            states: Vec::new(),
            version: journal.version,
            decisions: journal.decisions.clone(),
        };
        for (config, shared) in states {
            let is_it = |known: &&Journaled| {
                known.operator == config.operator && known.state == config.options.name
            };
            let known = journal.states.iter().find(is_it).map(|known| known.policy.clone());
            let governed = governor.declare(config, shared, known);
            governed.rule();
            governor.states.push(governed);
        }
        if governor.journal() != journal {
            governor.write()?;
        }
        Ok(governor)
    }

    /// §1.14: an override outlives a redeploy; what code declares is kept beside it.
    fn declare(
        &self,
        config: &StateConfig,
        shared: &Arc<SharedTtl>,
        known: Option<TtlPolicy>,
    ) -> Governed {
        let now = self.clock.now_millis();
        let declared = config.ttl_millis();
        let shared = Arc::clone(shared);
        let Some(mut policy) = known else {
            return Governed { config: config.clone(), policy: TtlPolicy::new(declared), shared };
        };
        policy.tick(now);
        let former = policy.declared_millis;
        policy.declare(declared, now);
        let mut governed = Governed { config: config.clone(), policy, shared };
        if let Some(set) = governed.policy.overridden.clone() {
            if let Some(why) = governed.config.objection(set.ttl_millis) {
                governed.policy.revert(now);
                self.note(config, format!("the TTL that {} set is given up: {why}", set.actor));
            } else if former != declared {
                self.note(
                    config,
                    format!(
                        "code now declares {} instead of {}; {} set by {} stays in force: {}",
                        words(declared),
                        words(former),
                        words(set.ttl_millis),
                        set.actor,
                        set.reason
                    ),
                );
            }
        } else if former != declared {
            let text =
                format!("code now declares {} instead of {}", words(declared), words(former));
            self.note(config, text + &undo_words(&governed.policy));
        }
        governed
    }

    /// Highest command version taken in.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// Takes a person's order: journal first, then effect. Other orders are not for it.
    pub(crate) fn order(&mut self, command: &Command) -> Result<Taken, Error> {
        let now = self.clock.now_millis();
        if command.order.class() != OrderClass::Ttl && command.order.class() != OrderClass::Reclaim
            || command.version != 0 && command.version <= self.version
        {
            return Ok(Taken::Done);
        }
        self.version = self.version.max(command.version);
        let (operator, state) = (command.operator.as_str(), command.state.as_str());
        let found = self
            .states
            .iter_mut()
            .find(|s| s.config.operator == operator && s.config.options.name == state);
        let Some(governed) = found else {
            let why = format!("this job has no state {operator}/{state}");
            return self.refuse(command, why);
        };
        let text = match &command.order {
            Order::Ttl { ttl_millis, until_millis } => {
                let passed = until_millis.is_some_and(|until| until <= now);
                let objection = governed.config.objection(*ttl_millis);
                let objection = objection.or(passed.then(|| "its end has passed".to_owned()));
                if let Some(why) = objection {
                    return self.refuse(command, why);
                }
                let before = governed.policy.effective_millis();
                governed.policy.set(TtlOverride {
                    ttl_millis: *ttl_millis,
                    until_millis: *until_millis,
                    since_millis: now,
                    actor: command.actor.clone(),
                    reason: command.reason.clone(),
                });
                format!("TTL changed from {} to {}", words(before), words(*ttl_millis))
            }
            Order::TtlRevert => {
                governed.policy.revert(now);
                format!(
                    "TTL back to what code declares, {}",
                    words(governed.policy.declared_millis)
                )
            }
            Order::ReclaimNow => {
                governed.policy.reclaim_now();
                "what the TTL hides goes for good".to_owned()
            }
            _ => return Ok(Taken::Done),
        };
        let text = text + &undo_words(&governed.policy);
        let config = governed.config.clone();
        self.decisions.push(now, command.clone());
        self.write()?;
        self.progress.delivered(command.version);
        if let Some(governed) = self.states.iter().find(|s| s.config.id == config.id) {
            governed.rule();
            self.progress.follow(command.version, config.id, governed.shared.version());
        }
        self.note(&config, format!("{text}, by {}: {}", command.actor, command.reason));
        Ok(Taken::Done)
    }

    fn refuse(&mut self, command: &Command, why: String) -> Result<Taken, Error> {
        self.write()?;
        Ok(self.progress.refuse(command.version, why))
    }

    /// Ends what has ended, and looks how far the shards are; a few times a second.
    pub(crate) fn tick(&mut self, boards: &[ShardBoard]) -> Result<(), Error> {
        let now = self.clock.now_millis();
        let mut ended = Vec::new();
        for governed in &mut self.states {
            let (before, hidden) =
                (governed.policy.effective_millis(), governed.policy.undo_until_millis());
            if !governed.policy.tick(now) {
                continue;
            }
            let effective = governed.policy.effective_millis();
            let text = if effective != before {
                format!("the temporary TTL {} has ended: {} again", words(before), words(effective))
            } else if hidden.is_some() && governed.policy.undo_until_millis().is_none() {
                "the time to undo a shortened TTL is over: what it hid goes for good".to_owned()
            } else {
                String::new()
            };
            ended.push((governed.config.clone(), text));
        }
        if !ended.is_empty() {
            self.write()?;
            for (config, text) in ended {
                self.states.iter().filter(|s| s.config.id == config.id).for_each(Governed::rule);
                if !text.is_empty() {
                    self.note(&config, text);
                }
            }
        }
        self.progress.look(boards, |state| state.ttl_version);
        Ok(())
    }

    /// The policy of each state, by id.
    pub(crate) fn policies(&self) -> Vec<(u16, TtlPolicy)> {
        self.states.iter().map(|s| (s.config.id, s.policy.clone())).collect()
    }

    pub(crate) fn take_progress(&mut self) -> Vec<CommandProgress> {
        self.progress.take()
    }

    fn note(&self, config: &StateConfig, text: String) {
        self.control.log.push(JobEvent {
            wall_millis: self.clock.now_millis(),
            kind: "ttl".into(),
            operator: Some(config.operator.clone()),
            state: Some(config.options.name.clone()),
            text,
        });
    }

    fn journal(&self) -> TtlJournal {
        let journaled = |s: &Governed| Journaled {
            operator: s.config.operator.clone(),
            state: s.config.options.name.clone(),
            policy: s.policy.clone(),
        };
        let states = self.states.iter().map(journaled).collect();
        TtlJournal { version: self.version, states, decisions: self.decisions.clone() }
    }

    fn write(&self) -> Result<(), Error> {
        self.file.write(&self.journal())
    }
}

/// What a journal of this text says of each state.
pub(crate) fn journaled(text: &str) -> Result<Vec<Journaled>, String> {
    let journal: TtlJournal = serde_json::from_str(text).map_err(|e| format!("{e}; {WAY_OUT}"))?;
    Ok(journal.states)
}

/// A TTL for the log.
fn words(ttl_millis: Option<i64>) -> String {
    ttl_millis.map_or_else(|| "no TTL".to_owned(), |ttl| format!("{ttl} ms"))
}

fn undo_words(policy: &TtlPolicy) -> String {
    if policy.undo_until_millis().is_some() {
        "; what that hides can be brought back for an hour".to_owned()
    } else {
        String::new()
    }
}
