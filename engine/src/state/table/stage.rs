//! Taking back an event that a breaker refused (SEMANTICS §7.3).

use super::{Table, Undo};
use crate::codec::{logical_bytes, row_ts};
use crate::error::Error;
use crate::telemetry::Recorder;

impl<R: Recorder> Table<R> {
    /// Begins to note changes, for [`Table::take_back`].
    pub(crate) fn stage(&mut self) {
        self.recorder.mark();
        self.undo = Some(Vec::new());
    }

    /// Keeps what was staged.
    pub(crate) fn keep(&mut self) {
        self.undo = None;
    }

    /// Undoes every change since [`Table::stage`].
    pub(crate) fn take_back(&mut self, epoch: u64) -> Result<(), Error> {
        for undo in self.undo.take().unwrap_or_default().into_iter().rev() {
            let slot = self.cache.locate(undo.hash, &undo.key)?;
            self.drop_row(slot, epoch);
            if let Some(former) = undo.row {
                if row_ts(&former) > self.cut_off {
                    self.ledger.add(row_ts(&former), logical_bytes(&undo.key, &former));
                }
                self.cache.set_row(slot, epoch, Some(&former));
                self.cache.discount(slot, 1);
            }
            // what was taken back, and taking it back
            self.cache.discount(slot, 2);
        }
        self.recorder.rewind();
        Ok(())
    }

    pub(super) fn note(&mut self, slot: u32) {
        if let Some(undo) = &mut self.undo {
            let (key, hash) = self.cache.key(slot);
            let row = self.cache.row(slot).map(<[u8]>::to_vec);
            undo.push(Undo { key: key.into(), hash, row });
        }
    }

    /// Whether the event at hand lost a write because it came too late; resets.
    pub(crate) fn take_late(&mut self) -> bool {
        std::mem::take(&mut self.late)
    }

    /// An event was diverted because of this state's breaker.
    pub(crate) fn count_diverted(&mut self, event: u64, offered: bool) {
        let counted = self.last_offered == event;
        self.last_offered = event;
        self.recorder.flow(|flow| {
            flow.diverted += 1;
            flow.offered += u64::from(offered && !counted);
        });
    }
}
