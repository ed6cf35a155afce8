//! What an epoch does to a state: relieve the cache, sweep, log, commit, restore.

use std::path::Path;

use stateward_model::write_off_limit;

use super::{Moment, Table};
use crate::changelog::{FRAME_BYTES, RowsBuilder, StateMeta};
use crate::error::Error;
use crate::store::RecentlyGone;
use crate::telemetry::Recorder;

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
        let early = &mut self.early;
        self.cache.drain_changes(|key, row| {
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
        let Some(limit) = write_off_limit(self.ttl, self.clock(moment)) else { return };
        // rows that are gone for good: from now on only their hashes tell expired from absent
        for (hash, ts) in self.shared_cut_off.take_gone() {
            if limit.saturating_sub(ts) <= self.horizon {
                self.recent.insert(hash, ts);
            }
        }
        let now = limit.saturating_add(self.ttl.unwrap_or(0));
        let (mut taken_entries, mut taken_bytes, mut started) = (0, 0, None);
        let recorder = &mut self.recorder;
        let cut_off = self.ledger.write_off(limit, |newest, cell| {
            started.get_or_insert_with(&mut micros);
            taken_entries += cell.entries;
            taken_bytes += cell.bytes;
            recorder.age_at_drop(now - newest, cell.entries);
        });
        let Some(cut_off) = cut_off else { return };
        self.cut_off = self.cut_off.max(cut_off);
        self.ledger_changed = true;
        self.written_off_bytes += taken_bytes;
        self.recorder.flow(|flow| flow.removed_sweep += taken_entries);
        if let Some(started) = started {
            self.recorder.sweep(micros().saturating_sub(started));
        }
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
    pub(crate) fn snapshot(&mut self, dir: &Path) -> Result<(), Error> {
        self.write_back()?;
        self.cache.save(dir, &self.config.file_name(), self.shared_cut_off.committed())
    }

    /// Brings the store up to the last committed epoch.
    pub(crate) fn write_back(&mut self) -> Result<(), Error> {
        self.cache.write_back(self.committed)
    }
}
