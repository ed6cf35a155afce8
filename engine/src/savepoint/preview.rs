//! What a restore would do to each state, counted row by row before anything is restored
//! (SEMANTICS §1.13, §1.14).

use std::path::PathBuf;

use serde::Serialize;
use stateward_model::{ClockKind, TtlRule};

use super::header::SavedState;
use super::snapshot::Snapshot;
use crate::codec::{logical_bytes, row_ts};
use crate::error::Error;

/// How far behind the clock of the restore a stamp is not believed: a day in ms.
const FUTURE_MILLIS: i64 = 86_400_000;

/// What becomes of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StateFate {
    /// The job goes on with it.
    Restored,
    /// The job declares it, and what it is restored from does not have it: it begins empty.
    New,
    /// What the job is restored from has it, and the job does not declare it: it is left behind.
    Dropped,
}

/// One state in a [`RestorePreview`]. What does not apply is `None`, never 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StatePreview {
    /// Uid of its operator.
    pub operator: String,
    /// Its name.
    pub state: String,
    /// Its kind: `value`, `map`, ….
    pub kind: String,
    /// What becomes of it.
    pub fate: StateFate,
    /// Entries there.
    pub entries: u64,
    /// Their keys and values, bytes.
    pub logical_bytes: u64,
    /// Which clock judges them.
    pub clock: ClockKind,
    /// What that clock will show, ms; `None` before its first value.
    pub clock_millis: Option<i64>,
    /// TTL that was in force, ms; `None` for entries that never expire.
    pub stored_ttl_millis: Option<i64>,
    /// TTL that will be in force, ms.
    pub ttl_millis: Option<i64>,
    /// Entries that are expired from the first moment on; exact.
    pub dead_on_arrival: Option<u64>,
    /// Their keys and values, bytes.
    pub dead_bytes: Option<u64>,
    /// Those of them that were alive when it was written: what the outage and a changed TTL kill.
    pub dies: Option<u64>,
    /// Entries that were expired when it was written and come back by a changed TTL.
    pub returns: Option<u64>,
    /// Oldest stamp, ms.
    pub oldest_millis: Option<i64>,
    /// Newest stamp, ms.
    pub newest_millis: Option<i64>,
    /// Implausible stamps, in words: `3 at zero`.
    pub implausible: Vec<String>,
}

/// What a restore would do, before it does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RestorePreview {
    /// What it is restored from.
    pub path: PathBuf,
    /// Job that it is of.
    pub job_name: String,
    /// Newest epoch in it.
    pub epoch: u64,
    /// Wall clock of that epoch, ms.
    pub wall_millis: i64,
    /// From then until now, ms.
    pub outage_millis: i64,
    /// Whether clocks of processing-time states go after by the outage.
    pub compensated: bool,
    /// Shards that the job had, and will have.
    pub shards: (usize, usize),
    /// States, those that the job goes on with first.
    pub states: Vec<StatePreview>,
    /// Operators and sources that the job does not have any more, and whose clocks, positions and
    /// waiting events would be left behind.
    pub dropped: Vec<String>,
    /// Why a restore with these options is refused, and the ways out; empty where it is not.
    pub refusals: Vec<String>,
}

impl RestorePreview {
    /// States more than half of whose entries are dead on arrival: a restore has to be told that this
    /// is meant.
    pub fn mostly_dead(&self) -> impl Iterator<Item = &StatePreview> {
        let mostly = |state: &&StatePreview| {
            state.dead_on_arrival.is_some_and(|dead| dead > state.entries / 2 && dead > 0)
        };
        self.states.iter().filter(mostly)
    }

    /// Names of what would be left behind.
    pub fn left_behind(&self) -> Vec<String> {
        let dropped = self.states.iter().filter(|state| state.fate == StateFate::Dropped);
        let states = dropped.map(|state| format!("state {}/{}", state.operator, state.state));
        states.chain(self.dropped.iter().cloned()).collect()
    }
}

/// How a state will be judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judging {
    pub(crate) rule: TtlRule,
    pub(crate) clock_millis: Option<i64>,
}

/// What the rows of a state say about themselves.
#[derive(Debug, Default)]
struct Tally {
    entries: u64,
    bytes: u64,
    dead: u64,
    dead_bytes: u64,
    dies: u64,
    returns: u64,
    zero: u64,
    future: u64,
    range: Option<(i64, i64)>,
}

/// Reads all rows of a state, and says what a restore does to them; of a state that is left behind
/// where nobody will judge it. `now` is the wall clock.
pub(crate) fn preview_state(
    from: &dyn Snapshot,
    saved: &SavedState,
    judging: Option<Judging>,
    now: i64,
) -> Result<StatePreview, Error> {
    let entry = &saved.entry;
    let stored_clock = from.header().clock(entry);
    let stored_rule = saved.meta.as_ref().map(super::header::SavedMeta::rule);
    let stored_limit = stored_rule.and_then(|rule| rule.hidden_limit(stored_clock));
    let limit = judging.and_then(|judging| judging.rule.hidden_limit(judging.clock_millis));
    let mut tally = Tally::default();
    from.rows(entry.id, &mut |key, row| {
        let (ts, bytes) = (row_ts(row), logical_bytes(key, row));
        tally.entries += 1;
        tally.bytes += bytes;
        let dead = limit.is_some_and(|limit| ts <= limit);
        let was_dead = stored_limit.is_some_and(|limit| ts <= limit);
        tally.dead += u64::from(dead);
        tally.dead_bytes += if dead { bytes } else { 0 };
        tally.dies += u64::from(dead && !was_dead);
        tally.returns += u64::from(!dead && was_dead);
        tally.zero += u64::from(ts == 0);
        tally.future += u64::from(ts > now.saturating_add(FUTURE_MILLIS));
        let (oldest, newest) = tally.range.unwrap_or((ts, ts));
        tally.range = Some((oldest.min(ts), newest.max(ts)));
        Ok(())
    })?;
    // what the restore reads later must not be the first to find damage
    from.recent(entry.id)?;
    let judged = |count: u64| judging.map(|_| count);
    Ok(StatePreview {
        operator: entry.operator.clone(),
        state: entry.state.clone(),
        kind: entry.kind.clone(),
        fate: if judging.is_some() { StateFate::Restored } else { StateFate::Dropped },
        entries: tally.entries,
        logical_bytes: tally.bytes,
        clock: entry.clock,
        clock_millis: judging.and_then(|judging| judging.clock_millis),
        stored_ttl_millis: stored_rule.and_then(|rule| rule.ttl_millis),
        ttl_millis: judging.and_then(|judging| judging.rule.ttl_millis),
        dead_on_arrival: judged(tally.dead),
        dead_bytes: judged(tally.dead_bytes),
        dies: judged(tally.dies),
        returns: judged(tally.returns),
        oldest_millis: tally.range.map(|(oldest, _)| oldest),
        newest_millis: tally.range.map(|(_, newest)| newest),
        implausible: implausible(&tally),
    })
}

/// §1.13: stamps that nobody meant.
fn implausible(tally: &Tally) -> Vec<String> {
    let mut found = Vec::new();
    if tally.zero > 0 {
        found.push(format!("{} at zero", tally.zero));
    }
    if tally.future > 0 {
        found.push(format!("{} more than a day in the future", tally.future));
    }
    if tally.entries > 1
        && let Some((oldest, newest)) = tally.range
        && oldest == newest
    {
        found.push(format!("all {} at {oldest}", tally.entries));
    }
    found
}
