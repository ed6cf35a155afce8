//! Second pass: the figures of every state, put together.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use super::InspectOptions;
use super::recognise::{Part, Recognised, Rows, recognise};
use super::report::{Inspection, NowFrom, TakenFor};
use super::rocks::{Entry, Visit};
use super::scout::{Scout, StateKey};
use super::tally::{Counting, Tally};
use super::walk::{Family, Pass, Progress, Remarks, bytes_of, walk};
use crate::error::Error;
use crate::savepoint::Snapshot;

/// Version of the report's shape.
const FORMAT: u32 = 1;

struct Count<'a> {
    scout: &'a Scout,
    options: &'a InspectOptions,
    now: Option<i64>,
    states: BTreeMap<StateKey, Tally>,
    is_recognised: bool,
}

/// Counts a part of the state that is named.
struct Counter {
    key: StateKey,
    counting: Counting,
}

impl Visit for Counter {
    fn entry(&mut self, entry: &Entry<'_>) {
        self.counting.entry(entry);
    }

    fn row(&mut self, key: &[u8], value: Option<&[u8]>) -> ControlFlow<()> {
        self.counting.row(key, value)
    }
}

impl Pass for Count<'_> {
    type Eye = Counter;

    fn begin(&mut self, family: Family) -> Counter {
        let form = self.scout.form_of(&family);
        self.is_recognised |= form.is_recognised();
        let ttl = self.options.ttl_of(family.operator.as_deref(), &family.name);
        let key = (family.operator, family.name);
        let tally = self.states.remove(&key).unwrap_or_else(|| Tally::new(&form, ttl));
        Counter { key, counting: Counting::new(tally, form, self.now, family.files) }
    }

    fn end(&mut self, counter: Counter) {
        self.states.insert(counter.key, counter.counting.tally);
    }
}

/// The newest watermark of a checkpoint or savepoint of ours.
fn checkpoint_clock(parts: &[Part]) -> Option<i64> {
    let newest = parts.iter().map(|part| match &part.rows {
        Rows::Shard(shard) => shard.meta.operators.iter().filter_map(|op| op.watermark).max(),
        Rows::Savepoint(file) => {
            file.header().operators.iter().filter_map(|op| op.meta.watermark).max()
        }
        Rows::Rocks(_) | Rows::Canonical(..) => None,
    });
    newest.max().flatten()
}

pub(super) fn inspection(
    dir: &Path,
    options: &InspectOptions,
    tell: &mut dyn FnMut(u64, u64),
) -> Result<Inspection, Error> {
    let Recognised { mut taken_for, parts, unread, mut notes } = recognise(dir)?;
    let known = options
        .now_millis
        .map(|now| (now, NowFrom::Given))
        .or_else(|| checkpoint_clock(&parts).map(|now| (now, NowFrom::CheckpointClock)));
    let mut scout =
        Scout { forms: BTreeMap::new(), newest_millis: None, wants_newest: known.is_none() };
    let total = bytes_of(&parts).saturating_mul(2);
    let mut progress = Progress { done: 0, total, tell };
    // what cannot be read is said once, by the second pass
    walk(dir, &parts, &mut scout, &mut Remarks::default(), &mut progress);
    let newest = scout.newest_millis.map(|now| (now, NowFrom::NewestAccess));
    let clock = known.or(newest);
    let mut count = Count {
        scout: &scout,
        options,
        now: clock.map(|(now, _)| now),
        states: BTreeMap::new(),
        is_recognised: false,
    };
    let mut remarks = Remarks { unread, notes: Vec::new() };
    progress.done = total / 2;
    walk(dir, &parts, &mut count, &mut remarks, &mut progress);
    if taken_for == TakenFor::FlinkRocksdb && !count.is_recognised {
        taken_for = TakenFor::Rocksdb;
    }
    notes.append(&mut remarks.notes);
    notes.dedup();
    let states = count.states.into_iter();
    Ok(Inspection {
        format: FORMAT,
        folder: dir.display().to_string(),
        taken_for,
        now_millis: clock.map(|(now, _)| now),
        now_from: clock.map_or(NowFrom::Nothing, |(_, from)| from),
        states: states.map(|((operator, state), tally)| tally.report(operator, state)).collect(),
        unread: remarks.unread,
        notes,
    })
}
