//! When a write breaker moves (SEMANTICS §7): one pure [`step`], all effects happen around it.
//!
//! A breaker guards one state of one operator. Its *phase* is what it does now; its [`Policy`] says
//! what trips it by itself. A person's trip is the phase [`Phase::ForcedOpen`].

use serde::{Deserialize, Serialize};

/// What a breaker does now (SEMANTICS §7.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Every write passes.
    #[default]
    Closed,
    /// Tripped by its own policy.
    Open,
    /// Replaying what it diverted, under a budget.
    HalfOpen,
    /// Tripped by a person, until reset or its own end.
    ForcedOpen,
}

/// Every phase with its label value.
pub const PHASES: [(Phase, &str); 4] = [
    (Phase::Closed, "closed"),
    (Phase::Open, "open"),
    (Phase::HalfOpen, "half_open"),
    (Phase::ForcedOpen, "forced_open"),
];

/// What happens to an event that would write while the breaker is open (SEMANTICS §7.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A paced queue: a budget at the threshold is spent on the oldest spilled events first.
    Limit,
    /// Every event that would write is diverted.
    #[default]
    Divert,
}

/// Whether a policy acts (SEMANTICS §7.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// Trips the breaker.
    Enforced,
    /// Only tells what would have tripped. The default of a new automatic policy.
    #[default]
    MetricsOnly,
    /// Does nothing.
    Disabled,
}

/// What trips and resets a breaker by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Policy {
    /// Whether the policy acts.
    pub enforcement: Enforcement,
    /// Trips above this offered rate in events a second; `None`: never.
    pub writes_per_second_max: Option<f64>,
    /// Resets below this share (0 to 1) of the trip threshold: the hysteresis.
    pub reset_ratio: f64,
    /// Length of the sliding window that the rate is taken over.
    pub window_millis: u64,
    /// Shortest time it stays open.
    pub open_millis_min: u64,
    /// What an open breaker does when its own policy tripped it.
    pub action: Action,
    /// Replay budget of a half-open breaker, in events a second; `None`: as fast as it goes.
    pub replay_per_second: Option<f64>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            enforcement: Enforcement::MetricsOnly,
            writes_per_second_max: None,
            reset_ratio: 0.8,
            window_millis: 10_000,
            open_millis_min: 30_000,
            action: Action::Limit,
            replay_per_second: None,
        }
    }
}

/// A breaker between two steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    /// What it does now.
    pub phase: Phase,
    /// What an open phase does with events.
    pub action: Action,
    /// Engine wall clock in ms when the phase began.
    pub since_millis: i64,
    /// When a forced phase ends by itself; `None`: when a person resets it.
    pub until_millis: Option<i64>,
    /// A policy that is [`Enforcement::MetricsOnly`] would hold it open now.
    pub would_trip: bool,
}

impl Breaker {
    /// Tells whether writes may be refused or earlier ones still wait.
    pub fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }
}

/// What happened to a breaker.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Time passed.
    Tick {
        /// Events a second that wanted to write, applied or diverted, over the policy's window.
        offered_per_second: f64,
        /// Spilled events that wait for replay.
        pending: u64,
    },
    /// A person tripped it.
    Trip {
        /// What to do with events.
        action: Action,
        /// When it ends by itself.
        until_millis: Option<i64>,
    },
    /// A person reset it.
    Reset,
}

/// Moves a breaker: the whole state machine of SEMANTICS §7.1 to §7.5.
///
/// # Examples
/// ```
/// use stateward_model::breaker::{Action, Breaker, Input, Phase, Policy, step};
/// let trip = Input::Trip { action: Action::Divert, until_millis: None };
/// let open = step(&Breaker::default(), &Policy::default(), &trip, 0);
/// assert_eq!(open.phase, Phase::ForcedOpen);
/// let half = step(&open, &Policy::default(), &Input::Reset, 1);
/// assert_eq!(half.phase, Phase::HalfOpen);
/// let drained = Input::Tick { offered_per_second: 0.0, pending: 0 };
/// assert_eq!(step(&half, &Policy::default(), &drained, 2).phase, Phase::Closed);
/// ```
#[must_use]
pub fn step(breaker: &Breaker, policy: &Policy, input: &Input, now_millis: i64) -> Breaker {
    let mut next = breaker.clone();
    match *input {
        Input::Trip { action, until_millis } => {
            next.until_millis = until_millis;
            next.action = action;
            enter(&mut next, Phase::ForcedOpen, now_millis);
        }
        Input::Reset => {
            if matches!(breaker.phase, Phase::Open | Phase::ForcedOpen) {
                next.until_millis = None;
                enter(&mut next, Phase::HalfOpen, now_millis);
            }
        }
        Input::Tick { offered_per_second, pending } => {
            tick(&mut next, policy, offered_per_second, pending, now_millis);
        }
    }
    next
}

fn tick(next: &mut Breaker, policy: &Policy, offered: f64, pending: u64, now_millis: i64) {
    let over = |share: f64| policy.writes_per_second_max.is_some_and(|max| offered > max * share);
    let enforced = policy.enforcement == Enforcement::Enforced;
    next.would_trip = policy.enforcement == Enforcement::MetricsOnly && over(1.0);
    match next.phase {
        Phase::Closed | Phase::HalfOpen if enforced && over(1.0) => {
            next.action = policy.action;
            enter(next, Phase::Open, now_millis);
        }
        Phase::HalfOpen if pending == 0 => enter(next, Phase::Closed, now_millis),
        Phase::Open => {
            let open_millis = now_millis.saturating_sub(next.since_millis);
            let long_enough = open_millis >= policy.open_millis_min as i64;
            if !enforced || (long_enough && !over(policy.reset_ratio)) {
                enter(next, Phase::HalfOpen, now_millis);
            }
        }
        Phase::ForcedOpen if next.until_millis.is_some_and(|until| until <= now_millis) => {
            next.until_millis = None;
            enter(next, Phase::HalfOpen, now_millis);
        }
        Phase::Closed | Phase::HalfOpen | Phase::ForcedOpen => {}
    }
}

fn enter(next: &mut Breaker, phase: Phase, now_millis: i64) {
    if next.phase != phase {
        next.phase = phase;
        next.since_millis = now_millis;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(enforcement: Enforcement) -> Policy {
        Policy { enforcement, writes_per_second_max: Some(100.0), ..Policy::default() }
    }

    fn tick_of(offered_per_second: f64, pending: u64) -> Input {
        Input::Tick { offered_per_second, pending }
    }

    /// §7.2: minimum open time and a lower reset threshold.
    #[test]
    fn rate_trigger_has_hysteresis() {
        let p = policy(Enforcement::Enforced);
        let closed = Breaker::default();
        assert_eq!(step(&closed, &p, &tick_of(100.0, 0), 0).phase, Phase::Closed);
        let open = step(&closed, &p, &tick_of(101.0, 0), 0);
        assert_eq!((open.phase, open.action), (Phase::Open, Action::Limit));
        assert_eq!(step(&open, &p, &tick_of(0.0, 5), 29_999).phase, Phase::Open);
        assert_eq!(step(&open, &p, &tick_of(90.0, 5), 30_000).phase, Phase::Open);
        let half = step(&open, &p, &tick_of(80.0, 5), 30_000);
        assert_eq!(half.phase, Phase::HalfOpen);
        assert_eq!(step(&half, &p, &tick_of(80.0, 5), 40_000).phase, Phase::HalfOpen);
        assert_eq!(step(&half, &p, &tick_of(101.0, 5), 40_000).phase, Phase::Open);
        assert_eq!(step(&half, &p, &tick_of(80.0, 0), 40_000).phase, Phase::Closed);
    }

    /// §7.1: `metrics_only` tells and does nothing, `disabled` does not even tell.
    #[test]
    fn metrics_only_never_acts() {
        let told =
            step(&Breaker::default(), &policy(Enforcement::MetricsOnly), &tick_of(1e9, 0), 0);
        assert_eq!((told.phase, told.would_trip), (Phase::Closed, true));
        let off = step(&Breaker::default(), &policy(Enforcement::Disabled), &tick_of(1e9, 0), 0);
        assert_eq!((off.phase, off.would_trip), (Phase::Closed, false));
    }

    /// §7.1: a person's trip holds until reset or its own end, whatever the rate.
    #[test]
    fn forced_open_ends_by_reset_or_expiry() {
        let p = policy(Enforcement::Enforced);
        let trip = Input::Trip { action: Action::Divert, until_millis: Some(1_000) };
        let forced = step(&Breaker::default(), &p, &trip, 0);
        assert_eq!(step(&forced, &p, &tick_of(0.0, 0), 999).phase, Phase::ForcedOpen);
        assert_eq!(step(&forced, &p, &tick_of(0.0, 3), 1_000).phase, Phase::HalfOpen);
        assert_eq!(step(&forced, &p, &Input::Reset, 5).phase, Phase::HalfOpen);
        assert_eq!(step(&Breaker::default(), &p, &Input::Reset, 5).phase, Phase::Closed);
    }
}
