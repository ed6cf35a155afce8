//! How long after their expiry entries were removed (SEMANTICS §9).

use stateward_model::wire::OvershootSample;

use super::counters::Dense;

/// Physical removal minus expiry, on both sides of zero.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overshoot {
    late: Dense,
    early: Dense,
}

impl Overshoot {
    /// An entry went so long after its expiry, in ms of the state's clock; before it where negative.
    pub(crate) fn add(&mut self, millis: i64) {
        let side = if millis < 0 { &mut self.early } else { &mut self.late };
        side.add(millis.unsigned_abs(), 1);
    }

    /// Adds what another one counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.late.merge(&other.late);
        self.early.merge(&other.early);
    }

    pub(super) fn copy_from(&mut self, other: &Self) {
        self.late.copy_from(&other.late);
        self.early.copy_from(&other.early);
    }

    pub(crate) fn pack(&self) -> OvershootSample {
        OvershootSample { late: self.late.pack(), early: self.early.pack() }
    }
}
