//! How far commands got: persisted, in force on n of m shards, done or refused.

use std::sync::Arc;

use stateward_model::wire::{CommandPhase, CommandProgress};

use crate::clock::Clock;
use crate::telemetry::{Board, ShardBoard, StateSnapshot};

/// How an order was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Taken {
    /// In the journal, or not for this governor, or known already.
    Done,
    /// Not carried out, with the reason.
    Refused(String),
}

/// A command that is in a journal and not yet in force on every shard.
struct Underway {
    version: u64,
    state: u16,
    wanted: u64,
    applied: u16,
}

/// Follows the commands of one governor.
pub(crate) struct Progress {
    clock: Arc<dyn Clock>,
    board: Arc<Board>,
    underway: Vec<Underway>,
    steps: Vec<CommandProgress>,
}

impl Progress {
    pub(crate) fn new(clock: Arc<dyn Clock>, board: Arc<Board>) -> Self {
        Self { clock, board, underway: Vec::new(), steps: Vec::new() }
    }

    fn tell(&mut self, version: u64, phase: CommandPhase, shards_applied: u16, detail: String) {
        let shards = self.board.shards() as u16;
        let wall_millis = self.clock.now_millis();
        let step = CommandProgress { version, phase, shards_applied, shards, detail, wall_millis };
        self.steps.push(step);
    }

    /// The command is not carried out.
    pub(crate) fn refuse(&mut self, version: u64, why: String) -> Taken {
        self.tell(version, CommandPhase::Refused, 0, why.clone());
        Taken::Refused(why)
    }

    /// The command is in the journal.
    pub(crate) fn delivered(&mut self, version: u64) {
        self.tell(version, CommandPhase::Delivered, 0, String::new());
    }

    /// The command is carried out.
    pub(crate) fn done(&mut self, version: u64, detail: String) {
        self.tell(version, CommandPhase::Done, self.board.shards() as u16, detail);
    }

    /// The command is in force on a shard once that shows this version, or a later one, of what was
    /// changed for it.
    pub(crate) fn follow(&mut self, version: u64, state: u16, wanted: u64) {
        self.underway.push(Underway { version, state, wanted, applied: 0 });
    }

    /// Looks at the shards; `shown` is the version that a shard goes by.
    pub(crate) fn look(&mut self, boards: &[ShardBoard], shown: impl Fn(&StateSnapshot) -> u64) {
        let mut underway = std::mem::take(&mut self.underway);
        underway.retain_mut(|underway| {
            let in_force = |board: &&ShardBoard| {
                let mut states = board.states.iter();
                states.any(|state| state.id == underway.state && shown(state) >= underway.wanted)
            };
            let applied = boards.iter().filter(in_force).count() as u16;
            let done = usize::from(applied) == boards.len();
            if applied > underway.applied || done {
                underway.applied = applied;
                let phase = if done { CommandPhase::Done } else { CommandPhase::Applied };
                self.tell(underway.version, phase, applied, String::new());
            }
            !done
        });
        self.underway = underway;
    }

    /// Takes the steps since the last call.
    pub(crate) fn take(&mut self) -> Vec<CommandProgress> {
        std::mem::take(&mut self.steps)
    }
}
