//! What user code does to one row: read, write, merge, delete.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use stateward_model::{UpdateType, Visibility};

use super::{Found, Moment, RowAddress, Table};
use crate::codec::{
    decode_value, encode_value, logical_bytes, row_header, row_schema, row_ts, row_value,
};
use crate::error::Error;
use crate::state::Lookup;
use crate::telemetry::{Access, Recorder, Site};

/// What was found where a row is to be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) slot: u32,
    pub(super) found: Found,
    /// Logical bytes of the row that is there.
    pub(super) bytes: u64,
}

impl<R: Recorder> Table<R> {
    /// Reads a value (SEMANTICS §1.4 to §1.6).
    pub(crate) fn read<V: DeserializeOwned>(
        &mut self,
        at: RowAddress<'_>,
        moment: &Moment,
        site: Site,
    ) -> Result<Lookup<V>, Error> {
        self.recorder.flow(|flow| flow.reads += 1);
        let slot = self.cache.locate(at.hash, at.key)?;
        let row = self.cache.row(slot);
        let bytes = row.map_or(0, |row| logical_bytes(at.key, row));
        match self.judge(row, moment) {
            Found::Live(ts) => {
                let value = self.decode(row.unwrap_or_default(), at.hash)?;
                self.recorder.age_at_read(self.seen_now(moment).map_or(0, |now| now - ts));
                if !self.config.options.invariants.is_empty() {
                    self.check_row(slot, at.hash, moment);
                }
                let kind = self.refresh(slot, ts, bytes, moment);
                self.recorder.access(site, kind, bytes);
                Ok(Lookup::Live(value))
            }
            Found::Expired(ts) => {
                self.recorder.access(site, Access::Read, bytes);
                let relaxed = self.config.visibility() == Visibility::ReturnExpiredIfNotCleanedUp;
                let stale = if relaxed {
                    Some(self.decode(row.unwrap_or_default(), at.hash)?)
                } else {
                    None
                };
                self.miss(ts, true, at.hash, moment);
                if self.rule.removes(ts, self.clock(moment)) {
                    self.remove_expired(slot, ts, at.hash, moment);
                }
                Ok(match stale {
                    Some(value) => {
                        self.recorder.flow(|flow| flow.stale_returned += 1);
                        Lookup::Live(value)
                    }
                    None => Lookup::Expired { ts },
                })
            }
            Found::WrittenOff(ts) => {
                self.recorder.access(site, Access::Read, 0);
                Ok(self.gone(Some(ts), at.hash, moment))
            }
            Found::Absent => {
                self.recorder.access(site, Access::Read, 0);
                let recent = self.recent.get(at.hash);
                Ok(self.gone(recent, at.hash, moment))
            }
        }
    }

    fn decode<V: DeserializeOwned>(&self, row: &[u8], hash: u64) -> Result<V, Error> {
        self.decode_as(row_schema(row), row_value(row), hash)
    }

    /// Decodes a value of a version of its type, an older one too; errors name the key by its hash.
    pub(super) fn decode_as<V: DeserializeOwned>(
        &self,
        version: u16,
        bytes: &[u8],
        hash: u64,
    ) -> Result<V, Error> {
        let place = || format!("state {}, key {hash:016x}", self.config.place());
        if version == self.config.schema_id {
            return decode_value(bytes, place);
        }
        let evolution = self.config.evolutions.get(usize::from(version)).and_then(Option::as_ref);
        let mut value = Vec::new();
        match evolution.and_then(|evolution| evolution.rewrite(bytes, &mut value)) {
            Some(()) => decode_value(&value, place),
            None => Err(Error::Codec {
                place: place(),
                detail: format!(
                    "a row of version {version} of the value type cannot be read as version {}",
                    self.config.schema_id
                ),
            }),
        }
    }

    /// Counts where the live row in a slot is not as the job demands. A row of an older version of the
    /// value's type is not looked at before it is written again.
    fn check_row(&mut self, slot: u32, hash: u64, moment: &Moment) {
        let row = self.cache.row(slot).unwrap_or_default();
        if row_schema(row) != self.config.schema_id {
            return;
        }
        let age = self.seen_now(moment).map_or(0, |now| now.saturating_sub(row_ts(row)).max(0));
        let age = Duration::from_millis(age.unsigned_abs());
        for (n, invariant) in self.config.options.invariants.iter().enumerate() {
            let held = invariant.holds(row_value(row), age);
            self.recorder.checked(n, held, hash, moment.wall);
        }
    }

    /// Counts a read that found nothing because the entry had expired, within the horizon H; apart, where
    /// it was dead when the state was restored and this is the first one.
    fn miss(&mut self, ts: i64, present: bool, hash: u64, moment: &Moment) -> bool {
        let Some((now, expiry)) = self.seen_now(moment).zip(self.rule.expires_at(ts)) else {
            return false;
        };
        let recent = now.saturating_sub(expiry) <= self.horizon;
        let restored = self.dead_on_arrival.is_first(hash, ts);
        self.recorder.flow(|flow| {
            if restored {
                flow.misses_restored += 1;
            } else if recent && present {
                flow.misses_present += 1;
            } else if recent {
                flow.misses_absent += 1;
            }
        });
        recent
    }

    fn gone<V>(&mut self, ts: Option<i64>, hash: u64, moment: &Moment) -> Lookup<V> {
        match ts {
            Some(ts) if self.miss(ts, false, hash, moment) => Lookup::Expired { ts },
            _ => Lookup::Absent,
        }
    }

    /// Stamps a live row on read where the update type says so.
    fn refresh(&mut self, slot: u32, ts: i64, bytes: u64, moment: &Moment) -> Access {
        if self.config.update() != UpdateType::OnReadAndWrite {
            return Access::Read;
        }
        self.recorder.flow(|flow| flow.refreshes += 1);
        let stamp = self.stamp(moment).max(ts);
        if stamp > ts {
            self.note(slot);
            self.ledger.remove(ts, bytes);
            self.ledger.add(stamp, bytes);
            self.ledger_changed = true;
            self.cache.stamp(slot, moment.epoch, stamp);
        }
        Access::Refresh
    }

    /// §1.5: a read of an expired entry removes it at once, unless a longer TTL may come back.
    fn remove_expired(&mut self, slot: u32, ts: i64, hash: u64, moment: &Moment) {
        self.drop_row(slot, moment.epoch);
        self.recent.insert(hash, ts);
        self.recorder.flow(|flow| flow.removed_read += 1);
        self.recorder.age_at_drop(self.clock(moment).map_or(0, |now| now - ts), 1);
        self.count_overshoot(ts, self.clock(moment));
    }

    /// An expired row is removed, or replaced.
    fn count_overshoot(&mut self, ts: i64, now: Option<i64>) {
        if let Some((now, expiry)) = now.zip(self.rule.expires_at(ts)) {
            self.recorder.overshoot(now.saturating_sub(expiry));
        }
    }

    pub(super) fn drop_row(&mut self, slot: u32, epoch: u64) {
        self.note(slot);
        if let Some(row) = self.cache.row(slot)
            && row_ts(row) > self.cut_off
        {
            self.ledger.remove(row_ts(row), logical_bytes(self.cache.key(slot).0, row));
            self.ledger_changed = true;
        }
        self.cache.set_row(slot, epoch, None);
    }

    /// Counts an event that wants to write, once, and asks the breaker.
    pub(super) fn admit(&mut self, moment: &Moment) -> Result<(), Error> {
        if self.last_offered != moment.event {
            self.last_offered = moment.event;
            self.recorder.flow(|flow| flow.offered += 1);
        }
        if self.gate.admits() {
            return Ok(());
        }
        Err(Error::Diverted { state: self.config.place() })
    }

    pub(super) fn locate(&mut self, at: RowAddress<'_>, moment: &Moment) -> Result<Target, Error> {
        let slot = self.cache.locate(at.hash, at.key)?;
        let row = self.cache.row(slot);
        let bytes = row.map_or(0, |row| logical_bytes(at.key, row));
        Ok(Target { slot, found: self.judge(row, moment), bytes })
    }

    /// Writes a value.
    pub(crate) fn write<V: Serialize>(
        &mut self,
        at: RowAddress<'_>,
        value: &V,
        moment: &Moment,
        site: Site,
    ) -> Result<(), Error> {
        self.admit(moment)?;
        let target = self.locate(at, moment)?;
        self.put(at, target, value, moment, site)
    }

    /// Writes what `merge` makes of the unexpired current value, or of none (SEMANTICS §1.7): a read
    /// and a write, for which the row is looked up once.
    pub(crate) fn merge<V: Serialize + DeserializeOwned>(
        &mut self,
        at: RowAddress<'_>,
        moment: &Moment,
        site: Site,
        merge: impl FnOnce(Option<V>) -> V,
    ) -> Result<(), Error> {
        self.admit(moment)?;
        let target = self.locate(at, moment)?;
        self.recorder.flow(|flow| flow.reads += 1);
        let mut current = None;
        let read_bytes = match target.found {
            Found::Live(ts) => {
                let row = self.cache.row(target.slot).unwrap_or_default();
                current = Some(self.decode(row, at.hash)?);
                self.recorder.age_at_read(self.seen_now(moment).map_or(0, |now| now - ts));
                target.bytes
            }
            Found::Expired(ts) => {
                self.miss(ts, true, at.hash, moment);
                target.bytes
            }
            Found::WrittenOff(ts) => {
                self.miss(ts, false, at.hash, moment);
                0
            }
            Found::Absent => {
                if let Some(ts) = self.recent.get(at.hash) {
                    self.miss(ts, false, at.hash, moment);
                }
                0
            }
        };
        self.recorder.access(site, Access::Read, read_bytes);
        self.put(at, target, &merge(current), moment, site)
    }

    /// Writes a row where `target` is; the breaker has been asked.
    pub(super) fn put<V: Serialize>(
        &mut self,
        at: RowAddress<'_>,
        target: Target,
        value: &V,
        moment: &Moment,
        site: Site,
    ) -> Result<(), Error> {
        let stamp = match (target.found, self.config.update()) {
            (Found::Live(ts), UpdateType::OnCreate) => ts,
            (Found::Live(ts), _) => ts.max(self.stamp(moment)),
            _ => self.stamp(moment),
        };
        if stamp <= self.cut_off || self.rule.hides(stamp, self.clock(moment)) {
            self.recorder.flow(|flow| flow.late_writes += 1);
            self.late = true;
            return Ok(());
        }
        self.write_row(at, target, stamp, value, moment, site)
    }

    /// Writes a row with a given stamp where `target` is, and counts a write.
    pub(super) fn write_row<V: Serialize>(
        &mut self,
        at: RowAddress<'_>,
        target: Target,
        stamp: i64,
        value: &V,
        moment: &Moment,
        site: Site,
    ) -> Result<(), Error> {
        let bytes = self.replace_row(at, target, stamp, value, moment)?;
        if !self.config.options.invariants.is_empty() {
            self.check_row(target.slot, at.hash, moment);
        }
        self.count_write(at.hash, target.found, bytes, moment);
        self.recorder.access(site, Access::Write, bytes);
        if self.cache.is_full() { self.relieve() } else { Ok(()) }
    }

    /// Puts a row where `target` is, in cache and ledger; returns its logical bytes.
    pub(super) fn replace_row<V: Serialize>(
        &mut self,
        at: RowAddress<'_>,
        target: Target,
        stamp: i64,
        value: &V,
        moment: &Moment,
    ) -> Result<u64, Error> {
        let mut new = std::mem::take(&mut self.scratch);
        row_header(stamp, self.config.schema_id, &mut new);
        let new = encode_value(value, new, &self.config.options.name)?;
        let bytes = logical_bytes(at.key, &new);
        self.note(target.slot);
        self.cache.set_row(target.slot, moment.epoch, Some(&new));
        self.scratch = new;
        if let Found::Live(ts) | Found::Expired(ts) = target.found {
            self.ledger.remove(ts, target.bytes);
        }
        self.ledger.add(stamp, bytes);
        self.ledger_changed = true;
        Ok(bytes)
    }

    fn count_write(&mut self, hash: u64, found: Found, bytes: u64, moment: &Moment) {
        self.recorder.flow(|flow| {
            flow.writes += 1;
            flow.written_bytes += bytes;
            flow.created += u64::from(!matches!(found, Found::Live(_)));
            flow.removed_overwrite += u64::from(matches!(found, Found::Expired(_)));
        });
        if let Found::Expired(ts) = found {
            self.recorder.age_at_drop(self.seen_now(moment).map_or(0, |now| now - ts), 1);
            self.count_overshoot(ts, self.seen_now(moment));
        }
        if !matches!(found, Found::Live(_)) {
            self.recent.clear(hash);
        }
    }

    /// Deletes an entry. Deletes shrink a state, so a breaker lets them pass.
    pub(crate) fn delete(
        &mut self,
        at: RowAddress<'_>,
        moment: &Moment,
        site: Site,
    ) -> Result<bool, Error> {
        let slot = self.cache.locate(at.hash, at.key)?;
        let row = self.cache.row(slot);
        let found = self.judge(row, moment);
        // a written-off row is gone for every count, whether or not a compaction has taken it
        let bytes = match (found, row) {
            (Found::Live(_) | Found::Expired(_), Some(row)) => logical_bytes(at.key, row),
            _ => 0,
        };
        self.recorder.flow(|flow| flow.deletes += 1);
        self.recorder.access(site, Access::Write, bytes);
        self.recent.clear(at.hash);
        if let Found::Live(ts) | Found::Expired(ts) = found {
            self.drop_row(slot, moment.epoch);
            let age = self.seen_now(moment).map_or(0, |now| now - ts);
            self.recorder.age_at_drop(age, 1);
            if matches!(found, Found::Expired(_)) {
                self.count_overshoot(ts, self.seen_now(moment));
            }
            self.recorder.flow(|flow| match found {
                Found::Expired(_) => flow.removed_read += 1,
                _ => flow.removed_delete += 1,
            });
        }
        Ok(matches!(found, Found::Live(_)))
    }
}
