//! Decides what the gates do. In: trips and resets of people, offered rates from the board. Out:
//! gate modes and budgets, a durable journal, events for the log.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stateward_model::breaker::{Action, Breaker, Input, Phase, Policy, step};
use stateward_model::wire::{Command, CommandProgress, JobEvent, Order};

use crate::clock::Clock;
use crate::error::Error;
use crate::job::{JobControl, PauseReason};
use crate::policy::{BREAKERS_FILE, Decisions, Journal, Progress, Taken};
use crate::state::{GateMode, SharedGate, StateConfig};
use crate::telemetry::{Board, ShardBoard};

/// What to do with a journal that cannot be read.
const WAY_OUT: &str = "restore it from a copy, or delete it to close all breakers";

/// One breaker in the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct JournaledBreaker {
    pub(crate) operator: String,
    pub(crate) state: String,
    pub(crate) breaker: Breaker,
    /// `None`: the one that code declares.
    pub(crate) policy: Option<Policy>,
}

/// `breakers.json` in the job's folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct BreakerJournal {
    /// Highest command version taken in.
    pub(crate) version: u64,
    pub(crate) breakers: Vec<JournaledBreaker>,
    pub(crate) decisions: Decisions,
}

/// One breaker at work.
struct Governed {
    config: StateConfig,
    gate: Arc<SharedGate>,
    breaker: Breaker,
    policy: Policy,
    overridden: bool,
    /// (wall ms, offered so far), oldest first, spanning the policy's window.
    samples: VecDeque<(i64, u64)>,
    offered_per_second: f64,
    budget_micros: u64,
}

/// What the agent reports of a breaker.
#[derive(Clone, Debug)]
pub(crate) struct Ruling {
    pub(crate) id: u16,
    pub(crate) breaker: Breaker,
    pub(crate) policy: Policy,
    pub(crate) offered_per_second: f64,
}

/// All breakers of a job.
pub(crate) struct Governor {
    file: Journal,
    clock: Arc<dyn Clock>,
    control: Arc<JobControl>,
    breakers: Vec<Governed>,
    journal: BreakerJournal,
    progress: Progress,
    spill_bytes_max: u64,
    hold_millis_max: i64,
}

impl Governor {
    pub(crate) fn new(
        job_dir: &Path,
        clock: Arc<dyn Clock>,
        control: Arc<JobControl>,
        board: Arc<Board>,
        states: &[(StateConfig, Arc<SharedGate>)],
        limits: (u64, i64),
    ) -> Result<Self, Error> {
        let file = Journal::new(job_dir.join(BREAKERS_FILE));
        let journal: BreakerJournal = file.read(WAY_OUT)?;
        let breakers = states
            .iter()
            .map(|(config, gate)| {
                let known = journal
                    .breakers
                    .iter()
                    .find(|b| b.operator == config.operator && b.state == config.options.name);
                let policy = known.and_then(|known| known.policy.clone());
                Governed {
                    overridden: policy.is_some(),
                    policy: policy.unwrap_or_else(|| config.options.breaker.clone()),
                    breaker: known.map(|known| known.breaker.clone()).unwrap_or_default(),
                    config: config.clone(),
                    gate: Arc::clone(gate),
                    samples: VecDeque::new(),
                    offered_per_second: 0.0,
                    budget_micros: clock.monotonic_micros(),
                }
            })
            .collect();
        let (spill_bytes_max, hold_millis_max) = limits;
        let mut governor = Self {
            file,
            progress: Progress::new(Arc::clone(&clock), board),
            clock,
            control,
            breakers,
            journal,
            spill_bytes_max,
            hold_millis_max,
        };
        governor.breakers.iter_mut().for_each(Governed::rule);
        Ok(governor)
    }

    /// Highest command version taken in.
    pub(crate) fn version(&self) -> u64 {
        self.journal.version
    }

    /// Takes a person's order: journal first, then effect. Orders about other things are not for it.
    pub(crate) fn order(&mut self, command: &Command) -> Result<Taken, Error> {
        let Some(done) = name_of(&command.order) else { return Ok(Taken::Done) };
        let now = self.clock.now_millis();
        if command.version != 0 && command.version <= self.journal.version {
            return Ok(Taken::Done);
        }
        self.journal.version = self.journal.version.max(command.version);
        let (operator, state) = (command.operator.as_str(), command.state.as_str());
        let found = self
            .breakers
            .iter_mut()
            .find(|b| b.config.operator == operator && b.config.options.name == state);
        let Some(governed) = found else {
            let detail = format!("this job has no state {operator}/{state}");
            self.write_journal()?;
            return Ok(self.progress.refuse(command.version, detail));
        };
        let id = governed.config.id;
        governed.take(&command.order, now);
        let text = format!(
            "{done} by {}: {} (breaker of {operator}/{state} is now {:?})",
            command.actor, command.reason, governed.breaker.phase
        );
        let version = command.version;
        self.journal.decisions.push(now, command.clone());
        self.write_journal()?;
        self.progress.delivered(version);
        if let Some(governed) = self.breakers.iter_mut().find(|b| b.config.id == id) {
            governed.rule();
            self.progress.follow(version, id, governed.gate.version());
        }
        self.note(operator, state, text);
        Ok(Taken::Done)
    }

    fn note(&self, operator: &str, state: &str, text: String) {
        self.control.log.push(JobEvent {
            wall_millis: self.clock.now_millis(),
            kind: "breaker".into(),
            operator: Some(operator.into()),
            state: Some(state.into()),
            text,
        });
    }

    fn write_journal(&mut self) -> Result<(), Error> {
        self.journal.breakers = self
            .breakers
            .iter()
            .map(|b| JournaledBreaker {
                operator: b.config.operator.clone(),
                state: b.config.options.name.clone(),
                breaker: b.breaker.clone(),
                policy: b.overridden.then(|| b.policy.clone()),
            })
            .collect();
        self.file.write(&self.journal)
    }

    /// Looks at the rates and the spills, and moves every breaker; a few times a second.
    pub(crate) fn tick(&mut self, boards: &[ShardBoard]) -> Result<(), Error> {
        let now = self.clock.now_millis();
        let micros = self.clock.monotonic_micros();
        let mut moved = Vec::new();
        for governed in &mut self.breakers {
            let before = governed.breaker.phase;
            governed.observe(boards, now, micros);
            if governed.breaker.phase != before {
                moved.push((
                    governed.config.operator.clone(),
                    governed.config.options.name.clone(),
                    format!(
                        "breaker moved from {before:?} to {:?} at {:.0} events/s",
                        governed.breaker.phase, governed.offered_per_second
                    ),
                ));
            }
        }
        if !moved.is_empty() {
            self.write_journal()?;
            self.breakers.iter_mut().for_each(Governed::rule);
            for (operator, state, text) in moved {
                self.note(&operator, &state, text);
            }
        }
        self.progress.look(boards, |state| state.gate_version);
        self.guard_spill(boards);
        Ok(())
    }

    /// §7.6: at a high-water mark the sources stop; barriers and what is in flight go on.
    fn guard_spill(&mut self, boards: &[ShardBoard]) {
        let operators = boards.iter().flat_map(|board| &board.operators);
        let (mut bytes, mut held) = (0, 0);
        for operator in operators {
            bytes += operator.pending_bytes;
            held = held.max(operator.watermark_held_millis);
        }
        let paused = self.control.paused_for(PauseReason::Spill);
        let over = bytes >= self.spill_bytes_max || held >= self.hold_millis_max;
        let under = bytes < self.spill_bytes_max / 5 * 4 && held < self.hold_millis_max;
        if !paused && over {
            self.control.pause_sources(PauseReason::Spill, true);
            let text = format!(
                "sources stop: {bytes} bytes are spilled and the emitted watermark is held by {held} ms; reset the breaker, or raise its limit"
            );
            self.control.log.note(self.clock.as_ref(), "source_paused", text);
        } else if paused && under {
            self.control.pause_sources(PauseReason::Spill, false);
            self.control.log.note(
                self.clock.as_ref(),
                "source_resumed",
                "the spill has drained below its mark",
            );
        }
    }

    pub(crate) fn rulings(&self) -> Vec<Ruling> {
        let ruling = |b: &Governed| Ruling {
            id: b.config.id,
            breaker: b.breaker.clone(),
            policy: b.policy.clone(),
            offered_per_second: b.offered_per_second,
        };
        self.breakers.iter().map(ruling).collect()
    }

    pub(crate) fn take_progress(&mut self) -> Vec<CommandProgress> {
        self.progress.take()
    }
}

/// What an order did to a breaker; `None` where it is not for breakers.
fn name_of(order: &Order) -> Option<&'static str> {
    match order {
        Order::Trip { .. } => Some("tripped"),
        Order::Reset => Some("reset"),
        Order::Policy { .. } => Some("policy changed"),
        _ => None,
    }
}

impl Governed {
    fn take(&mut self, order: &Order, now: i64) {
        match order {
            Order::Trip { action, until_millis } => {
                let input = Input::Trip { action: *action, until_millis: *until_millis };
                self.breaker = step(&self.breaker, &self.policy, &input, now);
            }
            Order::Reset => {
                self.breaker = step(&self.breaker, &self.policy, &Input::Reset, now);
            }
            Order::Policy { policy } => {
                self.policy = policy.clone();
                self.overridden = true;
            }
            _ => {}
        }
    }

    /// Tells the shards.
    fn rule(&mut self) {
        let mode = match (self.breaker.phase, self.breaker.action) {
            (Phase::Closed, _) => GateMode::Pass,
            (Phase::HalfOpen, _) => GateMode::Replay,
            (_, Action::Limit) if self.policy.writes_per_second_max.is_some() => GateMode::Budget,
            _ => GateMode::Refuse,
        };
        self.gate.set(mode);
    }

    fn observe(&mut self, boards: &[ShardBoard], now: i64, micros: u64) {
        let of_state = |board: &ShardBoard| {
            board.states.iter().find(|s| s.id == self.config.id).map_or(0, |s| s.flow.offered)
        };
        let offered: u64 = boards.iter().map(of_state).sum();
        let operator = boards.iter().flat_map(|board| &board.operators);
        let pending =
            operator.filter(|op| op.operator == self.config.operator).map(|op| op.pending).sum();
        self.samples.push_back((now, offered));
        let window = self.policy.window_millis as i64;
        while self.samples.len() > 2
            && self.samples.get(1).is_some_and(|(at, _)| now.saturating_sub(*at) >= window)
        {
            self.samples.pop_front();
        }
        let oldest = self.samples.front().copied().unwrap_or((now, offered));
        let seconds = (now.saturating_sub(oldest.0) as f64 / 1e3).max(window as f64 / 1e3);
        self.offered_per_second = offered.saturating_sub(oldest.1) as f64 / seconds.max(1e-3);
        let input = Input::Tick { offered_per_second: self.offered_per_second, pending };
        self.breaker = step(&self.breaker, &self.policy, &input, now);
        self.refill(micros);
    }

    /// Budget since the last tick, at the rate that the phase allows.
    fn refill(&mut self, micros: u64) {
        let rate = match self.breaker.phase {
            Phase::HalfOpen => self.policy.replay_per_second,
            _ => self.policy.writes_per_second_max,
        };
        let seconds = micros.saturating_sub(self.budget_micros) as f64 / 1e6;
        match rate {
            Some(rate) => {
                let events = (rate * seconds.min(1.0)) as i64;
                if events > 0 {
                    self.gate.set_budget(events);
                    self.budget_micros = micros;
                }
            }
            None => self.gate.set_budget(i64::MAX),
        }
    }
}
