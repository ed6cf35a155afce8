//! From a snapshot to a file.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use super::about::Savepoint;
use super::block::{BlockWriter, Kind};
use super::header::{SavedOperator, SavedState, StateTotals, Totals};
use super::snapshot::{Queue, Snapshot};
use crate::breaker::Spilled;
use crate::changelog::RowsBuilder;
use crate::codec::{logical_bytes, row_ts};
use crate::durable;
use crate::error::Error;
use crate::state::StateKind;
use crate::store::{CutOff, RecentSnapshot, STAMPS_MAX};

/// Bytes of rows or events from which on a block is full.
const BLOCK_BYTES: usize = 1 << 20;

/// Writes everything of a job at one epoch into a file that was not there before. It has its name
/// once it is whole and synced.
pub(crate) fn write(from: &dyn Snapshot, to: &Path) -> Result<Savepoint, Error> {
    refuse_existing(to)?;
    if let Some(folder) = to.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        durable::make_dir(folder)?;
    }
    let unfinished = unfinished_name(to)?;
    let file = claim(&unfinished)?;
    // held until the end, for whoever else would write here
    let lock = file.try_clone().map_err(Error::io("open", &unfinished))?;
    let written = Writing::start(from, &unfinished, file).and_then(|writing| {
        let (totals, file_bytes) = writing.run()?;
        keep(&unfinished, to)?;
        Ok(Savepoint::new(to, file_bytes, from.header(), &totals))
    });
    if written.is_err() {
        // what is left of it says by its name that it is nothing
        drop(fs::remove_file(&unfinished));
    }
    drop(lock);
    written
}

fn refuse_existing(to: &Path) -> Result<(), Error> {
    if fs::symlink_metadata(to).is_err() {
        return Ok(());
    }
    Err(Error::Refused(format!(
        "{} is there already and a savepoint never overwrites; give another name, or remove it",
        to.display()
    )))
}

fn unfinished_name(to: &Path) -> Result<PathBuf, Error> {
    let name = to.file_name().and_then(|name| name.to_str()).ok_or_else(|| {
        Error::Refused(format!("{} does not end in a name for the savepoint", to.display()))
    })?;
    Ok(to.with_file_name(format!(".{name}.unfinished")))
}

/// Makes the unfinished file, or takes over one that nobody writes any more.
fn claim(unfinished: &Path) -> Result<File, Error> {
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(unfinished)
        .map_err(Error::io("create", unfinished))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(Error::Refused(format!(
                "somebody writes a savepoint of this name right now, into {}; wait for it, or give another name",
                unfinished.display()
            )));
        }
        Err(TryLockError::Error(e)) => return Err(Error::io("lock", unfinished)(e)),
    }
    file.set_len(0).map_err(Error::io("empty", unfinished))?;
    Ok(file)
}

/// Gives the file its name; a link, for a rename would overwrite.
fn keep(unfinished: &Path, to: &Path) -> Result<(), Error> {
    fs::hard_link(unfinished, to).map_err(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => {
            refuse_existing(to).err().unwrap_or_else(|| Error::io("link", to)(e))
        }
        _ => Error::io("link", to)(e),
    })?;
    fs::remove_file(unfinished).map_err(Error::io("remove", unfinished))?;
    durable::sync_parent(to)
}

/// A savepoint while it is written.
struct Writing<'a> {
    from: &'a dyn Snapshot,
    out: BlockWriter,
    totals: Totals,
}

impl<'a> Writing<'a> {
    fn start(from: &'a dyn Snapshot, path: &Path, file: File) -> Result<Self, Error> {
        let out = BlockWriter::new(path, file)?;
        Ok(Self { from, out, totals: Totals::default() })
    }

    fn run(mut self) -> Result<(Totals, u64), Error> {
        let from = self.from;
        self.out.write_json(Kind::Header, from.header())?;
        for state in &from.header().states {
            self.state(state)?;
        }
        for (index, operator) in from.header().operators.iter().enumerate() {
            self.totals.spilled += self.waiting(index, operator, Queue::Spilled)?;
            self.totals.held += self.waiting(index, operator, Queue::Held)?;
        }
        let file_bytes = self.out.finish(&self.totals)?;
        Ok((self.totals, file_bytes))
    }

    /// §1.12: what is gone for good at the state's clock stays out; its key alone tells later that
    /// it expired.
    fn state(&mut self, state: &SavedState) -> Result<(), Error> {
        let id = state.entry.id;
        let now = self.from.header().clock(&state.entry);
        let gone = state.meta.as_ref().and_then(|meta| meta.rule().gone_limit(now));
        let hashes = CutOff::new(StateKind::hashed_from(&state.entry.kind));
        let mut totals = StateTotals { state: id, ..StateTotals::default() };
        let mut recent = self.from.recent(id)?;
        let (mut rows, mut excluded) = (RowsBuilder::default(), Vec::new());
        let out = &mut self.out;
        self.from.rows(id, &mut |key, row| {
            let (ts, bytes) = (row_ts(row), logical_bytes(key, row));
            if gone.is_some_and(|gone| ts <= gone) {
                totals.excluded_entries += 1;
                totals.excluded_bytes += bytes;
                excluded.push((hashes.hash_of(key), ts));
                if excluded.len() >= STAMPS_MAX {
                    remember(&mut recent, &mut excluded);
                }
                return Ok(());
            }
            totals.entries += 1;
            totals.bytes += bytes;
            rows.push(key, Some(row));
            if rows.len() >= BLOCK_BYTES {
                out.write(Kind::Rows, id, std::mem::take(&mut rows).bytes())?;
            }
            Ok(())
        })?;
        if rows.len() > 0 {
            self.out.write(Kind::Rows, id, rows.bytes())?;
        }
        remember(&mut recent, &mut excluded);
        if let Some(recent) = recent {
            self.out.write(Kind::Recent, id, &encode(&recent)?)?;
        }
        self.totals.states.push(totals);
        Ok(())
    }

    /// Writes what waits at an operator; returns how much that is.
    fn waiting(
        &mut self,
        index: usize,
        operator: &SavedOperator,
        queue: Queue,
    ) -> Result<u64, Error> {
        let owner = u16::try_from(index).map_err(|_too_many| {
            Error::Refused("a savepoint has room for 65,536 operators".into())
        })?;
        let kind = kind_of(queue);
        let uid = &operator.meta.sample.operator;
        let (mut events, mut bytes, mut count) = (Vec::new(), 0, 0);
        let out = &mut self.out;
        self.from.waiting(uid, queue, &mut |event| {
            count += 1;
            bytes += event.key.len() + event.event.len();
            events.push(event);
            if bytes >= BLOCK_BYTES {
                bytes = 0;
                out.write(kind, owner, &encode(&std::mem::take(&mut events))?)?;
            }
            Ok(())
        })?;
        if !events.is_empty() {
            self.out.write(kind, owner, &encode::<Vec<Spilled>>(&events)?)?;
        }
        Ok(count)
    }
}

/// The kind of block that keeps what waits.
pub(super) fn kind_of(queue: Queue) -> Kind {
    match queue {
        Queue::Spilled => Kind::Spilled,
        Queue::Held => Kind::Held,
    }
}

fn encode<T: serde::Serialize>(value: &T) -> Result<Vec<u8>, Error> {
    postcard::to_stdvec(value)
        .map_err(|e| Error::Codec { place: "savepoint".into(), detail: e.to_string() })
}

/// Takes keys into those that expired lately.
fn remember(recent: &mut Option<RecentSnapshot>, excluded: &mut Vec<(u64, i64)>) {
    if excluded.is_empty() {
        return;
    }
    let more = RecentSnapshot::of(std::mem::take(excluded));
    let parts: Vec<&RecentSnapshot> = recent.iter().chain([&more]).collect();
    *recent = Some(RecentSnapshot::union(&parts));
}
