//! The thread that looks after breakers, reports and files.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};
use stateward_model::wire::{Command, Report};

use super::control::JobControl;
use crate::agent::{Link, Reporter, Rulings};
use crate::breaker::Governor;
use crate::cleanup::CleanupGovernor;
use crate::error::Error;
use crate::policy::{ProcessingClock, Taken, TtlGovernor};
use crate::telemetry::Board;

/// How often breakers are looked at.
const GOVERN_INTERVAL: Duration = Duration::from_millis(100);
/// Turns of the governor between two reports: one a second.
const REPORT_TURNS: u32 = 10;

/// What the governor's thread and the handle share.
pub(super) struct Governing {
    pub(super) clock: Arc<ProcessingClock>,
    pub(super) breakers: Governor,
    pub(super) ttls: TtlGovernor,
    pub(super) cleanups: CleanupGovernor,
    pub(super) board: Arc<Board>,
    pub(super) reporter: Reporter,
}

pub(super) type SharedGoverning = Arc<Mutex<Governing>>;

/// A panic while governing leaves whole figures behind; going on is better than a second panic.
pub(super) fn lock(governing: &SharedGoverning) -> MutexGuard<'_, Governing> {
    governing.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Governing {
    /// Takes a person's order.
    pub(super) fn order(&mut self, command: &Command) -> Result<Taken, Error> {
        match self.breakers.order(command)? {
            Taken::Done => {}
            refused @ Taken::Refused(_) => return Ok(refused),
        }
        match self.ttls.order(command)? {
            Taken::Done => self.cleanups.order(command),
            refused @ Taken::Refused(_) => Ok(refused),
        }
    }

    /// Highest command version taken in.
    pub(super) fn version(&self) -> u64 {
        let versions = [self.breakers.version(), self.ttls.version(), self.cleanups.version()];
        versions.into_iter().max().unwrap_or(0)
    }

    fn tick(&mut self) -> Result<(), Error> {
        self.clock.tick()?;
        let boards = self.board.read();
        self.breakers.tick(&boards)?;
        self.ttls.tick(&boards)?;
        self.cleanups.tick()
    }

    fn rulings(&self) -> Rulings {
        Rulings {
            breakers: self.breakers.rulings(),
            ttls: self.ttls.policies(),
            paused: self.cleanups.paused(),
            clock: self.clock.sample(),
        }
    }

    /// Figures now.
    pub(super) fn peek(&self) -> Report {
        self.reporter.peek(&self.rulings())
    }

    fn report(&mut self, control: &JobControl, ended: Option<String>, dropped: u64) -> Report {
        let rulings = self.rulings();
        let mut progress = self.breakers.take_progress();
        progress.append(&mut self.ttls.take_progress());
        progress.append(&mut self.cleanups.take_progress());
        self.reporter.next(&rulings, progress, control.log.drain(), ended, dropped)
    }
}

/// Governs until `shards` closes, which it does when the last shard has published its figures and
/// ended, however it ended; reports once a second where there is a link.
pub(super) fn govern(
    governing: &SharedGoverning,
    control: &JobControl,
    link: Option<&Link>,
    shards: &Receiver<Infallible>,
) -> Result<(), Error> {
    let (mut turn, mut dropped) = (0_u32, 0_u64);
    loop {
        let mut shared = lock(governing);
        for command in link.iter().flat_map(|link| link.commands()) {
            if let Taken::Refused(why) = shared.order(&command)? {
                tracing::warn!(version = command.version, %why, "command is refused");
            }
        }
        shared.tick()?;
        turn += 1;
        if turn % REPORT_TURNS == 1
            && let Some(link) = link
        {
            let sent = link.has_room() && link.report(shared.report(control, None, dropped));
            dropped += u64::from(!sent);
        }
        drop(shared);
        if shards.recv_timeout(GOVERN_INTERVAL) == Err(RecvTimeoutError::Disconnected) {
            break;
        }
    }
    // a last look at the last figures: what has drained is closed, and reported so
    if !control.failed() {
        lock(governing).tick()?;
    }
    if let Some(link) = link {
        let why = if control.failed() { "failed" } else { "stopped" };
        let last = lock(governing).report(control, Some(why.into()), dropped);
        if !link.report(last) {
            tracing::warn!("the last report had no room");
        }
    }
    Ok(())
}
