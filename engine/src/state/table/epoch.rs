//! What an epoch does to a state: relieve the cache, sweep, log, commit, restore.

use stateward_model::{ClockKind, Grace};

use super::{Moment, Release, Table, horizon_of};
use crate::changelog::{FRAME_BYTES, RowsBuilder, StateMeta};
use crate::checkpoint::Saving;
use crate::codec::{is_canary, row_value};
use crate::error::Error;
use crate::store::{Changed, RecentlyGone};
use crate::telemetry::{Recorder, RowChange};

/// Entries that a changed TTL lets go in a tenth of a second, per state and shard: a mistake can be
/// stopped before it is done.
const RELEASED_MAX: u64 = 100_000;

impl<R: Recorder> Table<R> {
    /// Brings the cache back under its bound; uncommitted rows go to log and overflow.
    pub(super) fn relieve(&mut self) -> Result<(), Error> {
        if self.cache.make_room(self.committed)? {
            return Ok(());
        }
        self.encode_changes();
        self.cache.spill_over(self.committed)
    }

    fn encode_changes(&mut self) {
        let (early, recorder, kind) = (&mut self.early, &mut self.recorder, self.config.kind);
        if !kind.is_sorted() {
            recorder.begin_round();
        }
        self.cache.drain_changes(|changed| {
            let Changed { hash, key, row, changes } = changed;
            let (hash, stream_key) = kind.stream_key(hash, key);
            let change = RowChange {
                hash,
                key: stream_key,
                changes,
                bytes: (key.len() + row.map_or(0, <[u8]>::len)) as u64,
                value_bytes: row.map(|row| row_value(row).len() as u64),
            };
            if !is_canary(key) {
                recorder.changed(&change);
            }
            if early.last().is_none_or(|last| last.len() >= FRAME_BYTES) {
                early.push(RowsBuilder::default());
            }
            if let Some(last) = early.last_mut() {
                last.push(key, row);
            }
        });
    }

    /// Tells whether the epoch should end early, to free the cache.
    pub(crate) fn wants_commit(&self) -> bool {
        self.cache.wants_commit()
    }

    /// After reads too the cache may be over its bound; called once a batch.
    pub(crate) fn after_batch(
        &mut self,
        mut log: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        if self.cache.is_full() {
            self.relieve()?;
        }
        for rows in self.early.drain(..) {
            log(rows.bytes())?;
        }
        Ok(())
    }

    /// Writes off what the clock has passed (SEMANTICS §1.11); `micros` reads a clock, and only
    /// where there is something to do.
    pub(crate) fn sweep(&mut self, moment: &Moment, mut micros: impl FnMut() -> u64) {
        self.take_up_ttl(moment);
        let Some(now) = self.clock(moment) else { return };
        self.shared_cut_off.set_due(self.rule.gone_limit(Some(now)), self.rule.adopted_at_millis);
        // rows that are gone for good: from now on only their hashes tell expired from absent
        for (hash, ts) in self.shared_cut_off.take_gone() {
            let expiry = self.rule.expires_at(ts);
            if expiry.is_some_and(|expiry| now.saturating_sub(expiry) <= self.horizon) {
                self.recent.insert(hash, ts);
            }
        }
        let Some(limit) = self.rule.gone_limit(Some(now)) else { return };
        let entries_max = self.release.map_or(u64::MAX, |release| release.entries_left);
        let (mut taken_entries, mut taken_bytes, mut started) = (0, 0, None);
        let recorder = &mut self.recorder;
        let cut_off = self.ledger.write_off(limit, entries_max, |newest, cell| {
            started.get_or_insert_with(&mut micros);
            taken_entries += cell.entries;
            taken_bytes += cell.bytes;
            recorder.age_at_drop(now - newest, cell.entries);
        });
        let Some(cut_off) = cut_off else {
            self.write_off_canary(limit);
            return;
        };
        if let Some(release) = &mut self.release {
            release.entries_left = release.entries_left.saturating_sub(taken_entries);
        }
        self.cut_off = self.cut_off.max(cut_off);
        self.ledger_changed = true;
        self.written_off_bytes += taken_bytes;
        self.recorder.flow(|flow| flow.removed_sweep += taken_entries);
        if let Some(started) = started {
            self.recorder.sweep(micros().saturating_sub(started));
        }
    }

    /// Goes by the TTL that was decided last; between two events (SEMANTICS §1.14).
    fn take_up_ttl(&mut self, moment: &Moment) {
        let now = self.clock(moment);
        if self.shared_ttl.version() != self.ttl_version {
            let (version, ttl_millis, kept_millis) = self.shared_ttl.get();
            let before = self.rule.gone_limit(now);
            if self.rule.ttl_millis.is_none() && ttl_millis.is_some() {
                self.rule.adopted_at_millis = i64::MAX;
            }
            (self.rule.ttl_millis, self.rule.kept_millis) = (ttl_millis, kept_millis);
            (self.ttl_version, self.horizon) = (version, horizon_of(ttl_millis));
            self.ledger.suit(ttl_millis);
            let after = self.rule.gone_limit(now);
            self.release = after
                .filter(|_| after > before)
                .map(|up_to| Release { up_to, entries_left: RELEASED_MAX });
            self.ledger_changed = true;
        }
        if let Some(now) = now.filter(|_| self.rule.adopted_at_millis == i64::MAX) {
            self.rule.adopted_at_millis = now;
            self.ledger_changed = true;
        }
        if self.release.is_some_and(|release| release.up_to <= self.cut_off) {
            self.release = None;
        }
    }

    /// A fraction of a second has passed: so many more entries may be let go by a changed TTL.
    pub(crate) fn tick(&mut self) {
        if let Some(release) = &mut self.release {
            release.entries_left = RELEASED_MAX;
        }
        if let Some(share) = &self.share {
            self.cache.set_bytes_max(share.turn(self.cache.resident_bytes()));
        }
    }

    /// What was written while a jump of the clock waited counts as from its acceptance
    /// (SEMANTICS §1.10).
    pub(crate) fn set_grace(&mut self, grace: Option<Grace>) {
        if self.config.options.clock == ClockKind::ProcessingTime {
            let shift = self.config.clock_shift_millis;
            self.rule.grace = grace.map(|grace| grace.shifted(shift));
        }
    }

    /// Version of the TTL that the shard goes by.
    pub(crate) fn ttl_version(&self) -> u64 {
        self.ttl_version
    }

    /// Ends an epoch: hands every change to `log`, and what else recovery needs of the state.
    pub(crate) fn barrier(
        &mut self,
        mut log: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<Option<StateMeta>, Error> {
        self.encode_changes();
        for rows in self.early.drain(..) {
            log(rows.bytes())?;
        }
        self.cut_off_at_barrier = self.cut_off;
        let changed = std::mem::take(&mut self.ledger_changed);
        Ok(changed.then(|| self.meta(false)))
    }

    /// What recovery needs; with the recently gone keys only for a checkpoint.
    pub(crate) fn meta(&self, whole: bool) -> StateMeta {
        StateMeta {
            ledger: self.ledger.clone(),
            cut_off: self.cut_off,
            ttl_millis: self.rule.ttl_millis,
            adopted_at_millis: self.rule.adopted_at_millis,
            unreclaimed_bytes: self.unreclaimed_bytes(),
            sequence: self.sequence,
            recent: whole.then(|| self.recent.snapshot()),
            next_timer: None,
        }
    }

    /// Everything up to this epoch was committed before the shard started.
    pub(crate) fn set_committed(&mut self, epoch: u64) {
        self.committed = epoch;
    }

    /// Takes up where a former run committed.
    pub(crate) fn restore(&mut self, meta: &StateMeta) {
        self.ledger = meta.ledger.clone();
        self.cut_off = meta.cut_off;
        self.cut_off_at_barrier = meta.cut_off;
        self.shared_cut_off.commit(meta.cut_off);
        // a TTL that was switched on in between counts from the first value of the clock
        let switched_on = meta.ttl_millis.is_none() && self.rule.ttl_millis.is_some();
        self.rule.adopted_at_millis = if switched_on { i64::MAX } else { meta.adopted_at_millis };
        self.written_off_bytes = meta.unreclaimed_bytes;
        (self.sequence, self.scanned_sequence) = (meta.sequence, meta.sequence);
        if let Some(recent) = &meta.recent {
            self.recent = RecentlyGone::restore(recent);
        }
    }

    /// The last barrier's epoch is committed.
    pub(crate) fn committed(&mut self, epoch: u64) -> Result<(), Error> {
        self.committed = epoch;
        self.shared_cut_off.commit(self.cut_off_at_barrier);
        self.cache.settle(epoch)
    }

    /// Gets memory back that written-off rows hold.
    pub(crate) fn reclaim(&mut self) {
        self.cache.reclaim(&self.shared_cut_off, self.committed);
    }

    /// At a checkpoint, when all is committed: brings the store up to it, and saves into `dir` what
    /// is in no store.
    pub(crate) fn snapshot(&mut self, to: &mut Saving<'_>) -> Result<(), Error> {
        self.write_back()?;
        let cut_off = self.shared_cut_off.committed();
        let began = to.clock.monotonic_micros();
        let (entries, bytes) = self.cache.dead(cut_off);
        to.part.cleanup_micros += to.clock.monotonic_micros().saturating_sub(began);
        to.part.excluded_entries += entries;
        to.part.excluded_bytes += bytes;
        self.cache.save(to.dir, &self.config.file_name(), cut_off)
    }

    /// Brings the store up to the last committed epoch.
    pub(crate) fn write_back(&mut self) -> Result<(), Error> {
        self.cache.write_back(self.committed)
    }
}
