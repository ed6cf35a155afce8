//! From a file back to a snapshot.

use std::path::Path;

use serde::de::DeserializeOwned;

use super::block::{Block, BlockFile, Kind};
use super::header::{Header, StateTotals, Totals};
use super::snapshot::{Queue, Snapshot, VisitEvent, VisitRow};
use super::write::kind_of;
use crate::breaker::Spilled;
use crate::changelog::for_each_row;
use crate::codec::logical_bytes;
use crate::error::Error;
use crate::store::RecentSnapshot;

/// A savepoint's file. Every block is verified whenever it is read.
#[derive(Debug)]
pub(crate) struct SavepointFile {
    blocks: BlockFile,
    header: Header,
    totals: Totals,
}

impl SavepointFile {
    /// Reads what it says of itself.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let blocks = BlockFile::open(path)?;
        let header = blocks.read_json(Kind::Header)?;
        let totals = blocks.read_json(Kind::Totals)?;
        Ok(Self { blocks, header, totals })
    }

    pub(crate) fn path(&self) -> &Path {
        self.blocks.path()
    }

    /// Length of the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.blocks.bytes()
    }

    pub(crate) fn totals(&self) -> &Totals {
        &self.totals
    }

    fn decode<T: DeserializeOwned>(&self, block: &Block) -> Result<T, Error> {
        postcard::from_bytes(&self.blocks.read(block)?)
            .map_err(|e| self.blocks.nonsense(block, &format!("its content cannot be read: {e}")))
    }

    /// Verifies all of it but what only the rows themselves tell, which whoever reads them finds out.
    pub(crate) fn verify(&self) -> Result<(), Error> {
        self.blocks.verify()?;
        let (mut spilled, mut held) = (0, 0);
        for operator in &self.header.operators {
            let uid = &operator.meta.sample.operator;
            self.waiting(uid, Queue::Spilled, &mut |_| {
                spilled += 1;
                Ok(())
            })?;
            self.waiting(uid, Queue::Held, &mut |_| {
                held += 1;
                Ok(())
            })?;
        }
        if (spilled, held) == (self.totals.spilled, self.totals.held) {
            return Ok(());
        }
        let what = format!("{spilled} diverted and {held} held events are not what its totals say");
        Err(self.blocks.damaged(self.blocks.bytes(), &what))
    }
}

impl Snapshot for SavepointFile {
    fn header(&self) -> &Header {
        &self.header
    }

    fn rows(&self, state: u16, visit: VisitRow<'_>) -> Result<(), Error> {
        let mut found = StateTotals { state, ..StateTotals::default() };
        let mut last: Vec<u8> = Vec::new();
        for block in self.blocks.of(Kind::Rows, state) {
            let payload = self.blocks.read(block)?;
            let (mut failed, mut in_order) = (None, true);
            let whole = for_each_row(&payload, |key, row| {
                let Some(row) = row.filter(|_| failed.is_none()) else { return };
                in_order &= last.as_slice() < key || found.entries == 0;
                last.clear();
                last.extend_from_slice(key);
                found.entries += 1;
                found.bytes += logical_bytes(key, row);
                failed = visit(key, row).err();
            });
            if let Some(failed) = failed {
                return Err(failed);
            }
            if !whole || !in_order {
                let what = format!("the rows of state {state} are cut off or out of order");
                return Err(self.blocks.nonsense(block, &what));
            }
        }
        let told = self.totals.states.iter().find(|told| told.state == state);
        let told = told.map_or((0, 0), |told| (told.entries, told.bytes));
        if (found.entries, found.bytes) == told {
            return Ok(());
        }
        let what = format!(
            "state {state} has {} rows of {} bytes, its totals say {} and {}",
            found.entries, found.bytes, told.0, told.1
        );
        Err(self.blocks.damaged(self.blocks.bytes(), &what))
    }

    fn recent(&self, state: u16) -> Result<Option<RecentSnapshot>, Error> {
        self.blocks.of(Kind::Recent, state).next().map(|block| self.decode(block)).transpose()
    }

    fn waiting(&self, operator: &str, queue: Queue, visit: VisitEvent<'_>) -> Result<(), Error> {
        let is_it = |op: &super::header::SavedOperator| op.meta.sample.operator == operator;
        let owner = self.header.operators.iter().position(is_it);
        let Some(owner) = owner.and_then(|owner| u16::try_from(owner).ok()) else { return Ok(()) };
        for block in self.blocks.of(kind_of(queue), owner) {
            self.decode::<Vec<Spilled>>(block)?.into_iter().try_for_each(&mut *visit)?;
        }
        Ok(())
    }
}
