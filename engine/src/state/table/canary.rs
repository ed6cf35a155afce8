//! A synthetic row that proves that the state's TTL works, end to end: followed from being written
//! through its expiry, its invisibility and its write-off until its bytes are gone (SEMANTICS §9).
//!
//! 1. Its row key has a key group that no user key has, so no read or iteration comes by it, and it is
//!    not in the ledger, so nothing counts it.
//! 2. It is stamped so far in the past that it expires soon, whatever the TTL.
//! 3. Otherwise it is a row like any other: through the cache, the changelog, the store and its
//!    compactions. After a restart nobody follows it any more, and it goes as others do.

use std::time::Duration;

use stateward_model::key_hash;
use stateward_model::wire::{CanaryPhase, CanarySample};

use super::{Moment, Table};
use crate::codec::{CANARY_GROUP, row_header};
use crate::error::Error;
use crate::telemetry::Recorder;

/// By how much the state's clock may be ahead of a canary's expiry before it is written off.
const WRITE_OFF_MILLIS_MAX: i64 = 60_000;
/// How long its bytes may stay after that, wall clock: the scheduler's promise of a day, and some.
const REMOVAL_MILLIS_MAX: i64 = 26 * 3_600_000;

/// The one that is followed.
#[derive(Debug)]
struct Living {
    key: Vec<u8>,
    stamp: i64,
    phase: CanaryPhase,
    /// Wall clock when that phase began.
    since_wall: i64,
    /// State's clock when it expired.
    expiry: i64,
    told: bool,
}

/// A state's canaries: one after another.
#[derive(Debug)]
pub(super) struct Canaries {
    life_millis: i64,
    number: u64,
    living: Option<Living>,
    sample: CanarySample,
}

impl Canaries {
    pub(super) fn new(life: Duration) -> Self {
        let life_millis = i64::try_from(life.as_millis()).unwrap_or(i64::MAX / 4).max(1);
        Self { life_millis, number: 0, living: None, sample: CanarySample::default() }
    }

    /// How far canaries got.
    pub(super) fn sample(&self) -> CanarySample {
        let living = self.living.as_ref();
        CanarySample {
            phase: living.map(|living| living.phase),
            since_millis: living.map(|living| living.since_wall),
            overdue: living.is_some_and(|living| living.told),
            ..self.sample
        }
    }
}

impl<R: Recorder> Table<R> {
    /// Follows the canary, or writes the next one; returns what is wrong, once for each.
    pub(crate) fn follow_canary(&mut self, moment: &Moment) -> Result<Option<String>, Error> {
        let Some(mut canaries) = self.canaries.take() else { return Ok(None) };
        let told = self.step(&mut canaries, moment);
        self.canaries = Some(canaries);
        told
    }

    fn step(&mut self, all: &mut Canaries, moment: &Moment) -> Result<Option<String>, Error> {
        let Some((now, ttl)) = self.clock(moment).zip(self.rule.ttl_millis) else {
            return Ok(None);
        };
        let Some(mut living) = all.living.take() else {
            all.living = self.write_canary(all, (now, ttl), moment)?;
            return Ok(None);
        };
        let wall = moment.wall;
        match living.phase {
            CanaryPhase::Written if self.rule.hides(living.stamp, Some(now)) => {
                all.sample.expired += 1;
                living.expiry = self.rule.expires_at(living.stamp).unwrap_or(now);
                (living.phase, living.since_wall) = (CanaryPhase::Expired, wall);
            }
            CanaryPhase::Expired if living.stamp <= self.cut_off => {
                all.sample.written_off += 1;
                all.sample.write_off_millis = Some(now.saturating_sub(living.expiry));
                (living.phase, living.since_wall) = (CanaryPhase::WrittenOff, wall);
                living.told = false;
            }
            CanaryPhase::WrittenOff if !self.cache.holds(&living.key)? => {
                all.sample.removed += 1;
                all.sample.removal_millis = Some(wall.saturating_sub(living.since_wall));
                return Ok(None);
            }
            _ => {}
        }
        let late = match living.phase {
            CanaryPhase::Written => false,
            // what a longer TTL of before may bring back is not gone yet
            CanaryPhase::Expired => self.rule.removes(
                living.stamp,
                Some(now.saturating_sub(
                    WRITE_OFF_MILLIS_MAX + self.ledger.width_millis().cast_signed(),
                )),
            ),
            CanaryPhase::WrittenOff => wall.saturating_sub(living.since_wall) > REMOVAL_MILLIS_MAX,
        };
        let newly = late && !living.told;
        living.told |= late;
        all.sample.overdue_total += u64::from(newly);
        let waits = wall.saturating_sub(living.since_wall) / 1_000;
        let what = match living.phase {
            CanaryPhase::Written => "to expire",
            CanaryPhase::Expired => "to be written off",
            CanaryPhase::WrittenOff => "for its bytes to be reclaimed",
        };
        all.living = Some(living);
        Ok(newly.then(|| {
            format!(
                "a canary of state {} has waited {waits} s {what}: its cleanup does not work",
                self.config.place()
            )
        }))
    }

    /// Writes a row that expires after the canaries' life, or after the TTL where that is shorter.
    fn write_canary(
        &mut self,
        all: &mut Canaries,
        (now, ttl): (i64, i64),
        moment: &Moment,
    ) -> Result<Option<Living>, Error> {
        let stamp = now.saturating_sub(ttl.saturating_sub(all.life_millis).max(0));
        if stamp <= self.cut_off || stamp < self.rule.adopted_at_millis {
            return Ok(None);
        }
        all.number += 1;
        // a restart counts from 1 again, and must not meet a row of before
        let mut key = CANARY_GROUP.to_be_bytes().to_vec();
        key.extend_from_slice(&moment.wall.to_be_bytes());
        key.extend_from_slice(&all.number.to_be_bytes());
        let mut row = Vec::new();
        row_header(stamp, self.config.schema_id, &mut row);
        let slot = self.cache.locate(key_hash(&key), &key)?;
        self.cache.set_row(slot, moment.epoch, Some(&row));
        all.sample.written += 1;
        Ok(Some(Living {
            key,
            stamp,
            phase: CanaryPhase::Written,
            since_wall: moment.wall,
            expiry: 0,
            told: false,
        }))
    }

    /// Moves the cut-off over a canary that nothing else would move it over: where no entry is old
    /// enough, no bucket leaves the ledger.
    pub(super) fn write_off_canary(&mut self, limit: i64) {
        let living = self.canaries.as_ref().and_then(|all| all.living.as_ref());
        let Some(stamp) = living.map(|living| living.stamp).filter(|stamp| *stamp <= limit) else {
            return;
        };
        if stamp > self.cut_off && self.ledger.oldest().is_none_or(|oldest| oldest > stamp) {
            self.cut_off = stamp;
            self.ledger_changed = true;
        }
    }

    /// How far canaries got; `None` where there are none.
    pub(crate) fn canary(&self) -> Option<CanarySample> {
        self.canaries.as_ref().map(Canaries::sample)
    }
}
