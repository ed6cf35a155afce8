//! Savepoints of a job that is made up, against what went into them.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stateward_model::ClockKind;

use super::header::{SavedMeta, SavedOperator, SavedState};
use super::snapshot::{VisitEvent, VisitRow};
use super::{Header, Queue, Savepoint, Snapshot, open, write};
use crate::breaker::Spilled;
use crate::changelog::OperatorMeta;
use crate::checkpoint::StateEntry;
use crate::codec::{logical_bytes, row_header, row_ts};
use crate::error::Error;
use crate::store::{RecentSnapshot, RecentlyGone};

/// Everything of a job in memory.
#[derive(Clone, Debug, Default)]
struct Memory {
    header: Header,
    rows: BTreeMap<u16, BTreeMap<Vec<u8>, Vec<u8>>>,
    spilled: Vec<Spilled>,
}

impl Snapshot for Memory {
    fn header(&self) -> &Header {
        &self.header
    }
    fn rows(&self, state: u16, visit: VisitRow<'_>) -> Result<(), Error> {
        let rows = self.rows.get(&state).into_iter().flatten();
        rows.into_iter().try_for_each(|(key, row)| visit(key, row))
    }
    fn recent(&self, _state: u16) -> Result<Option<RecentSnapshot>, Error> {
        Ok(None)
    }
    fn waiting(&self, _: &str, queue: Queue, visit: VisitEvent<'_>) -> Result<(), Error> {
        let spilled = self.spilled.iter().filter(|_| queue == Queue::Spilled);
        spilled.cloned().try_for_each(visit)
    }
}

const WATERMARK: i64 = 100;

fn state(id: u16, ttl_millis: Option<i64>, kept_millis: Option<i64>) -> SavedState {
    SavedState {
        entry: StateEntry {
            id,
            operator: "op".into(),
            state: format!("state {id}"),
            kind: "value".into(),
            backend: "heap".into(),
            clock: ClockKind::EventTime,
            schemas: vec!["u64".into()],
            families: Vec::new(),
            clock_shift_millis: 0,
            dead_on_arrival_millis: None,
        },
        meta: Some(SavedMeta {
            cut_off: i64::MIN,
            ttl_millis,
            kept_millis,
            adopted_at_millis: i64::MIN,
            sequence: 7,
        }),
    }
}

/// Keys with their stamps, and the length of their values.
type Rows = BTreeMap<Vec<u8>, (i64, usize)>;

fn memory(all: Vec<(SavedState, Rows)>, spilled: Vec<Spilled>) -> Memory {
    let mut memory = Memory { spilled, ..Memory::default() };
    let mut meta = OperatorMeta { watermark: Some(WATERMARK), ..OperatorMeta::default() };
    meta.sample.operator = "op".into();
    memory.header.operators =
        vec![SavedOperator { meta, spilled: !memory.spilled.is_empty(), held: false }];
    for (state, rows) in all {
        let id = state.entry.id;
        let row = |(ts, bytes): (i64, usize)| {
            let mut row = Vec::new();
            row_header(ts, 0, &mut row);
            row.resize(row.len() + bytes, 0xa5);
            row
        };
        let with_group = |key: Vec<u8>| [&[0, 0], &key[..]].concat();
        let rows = rows.into_iter().map(|(key, of)| (with_group(key), row(of))).collect();
        memory.rows.insert(id, rows);
        memory.header.states.push(state);
    }
    memory
}

fn event() -> impl Strategy<Value = Spilled> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    (bytes(), bytes(), any::<i64>(), any::<u64>(), any::<Option<i64>>()).prop_map(
        |(key, event, ts, hash, watermark)| Spilled {
            key,
            event,
            ts,
            hash,
            watermark,
            timer: None,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// §1.12, §1.14: what went in comes out, in order, but for what is gone for good at the state's
    /// clock, by the longest TTL of the undo window; that is counted, and its keys are remembered as
    /// expired.
    #[test]
    fn comes_back_without_the_expired(
        a in prop::collection::btree_map(prop::collection::vec(0_u8..4, 0..6), (0_i64..120, 0_usize..70_000), 0..60),
        b in prop::collection::btree_map(prop::collection::vec(any::<u8>(), 1..9), (0_i64..120, 0_usize..9), 0..60),
        ttl in prop::option::of(1_i64..120),
        longer in 0_i64..60,
        spilled in prop::collection::vec(event(), 0..30),
    ) {
        let kept = ttl.map(|ttl| ttl + longer);
        let from = memory(vec![(state(3, ttl, kept), a), (state(4, None, None), b)], spilled);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/down/a.savepoint");
        let told = write(&from, &path).unwrap();
        prop_assert_eq!(&Savepoint::read(&path).unwrap(), &told);
        prop_assert_eq!(std::fs::metadata(&path).unwrap().len(), told.file_bytes);
        let back = open(&path, dir.path()).unwrap();
        prop_assert_eq!(back.header(), from.header());
        let (mut left, mut left_bytes) = (0, 0);
        for (id, rows) in &from.rows {
            let mut found = Vec::new();
            back.rows(*id, &mut |key, row| { found.push((key.to_vec(), row.to_vec())); Ok(()) }).unwrap();
            let recent = RecentlyGone::restore(&back.recent(*id).unwrap().unwrap_or_default());
            let mut expected = Vec::new();
            for (key, row) in rows {
                let ts = row_ts(row);
                let gone = *id == 3 && kept.is_some_and(|kept| ts + kept <= WATERMARK);
                let hash = stateward_model::key_hash(&key[2..]);
                prop_assert_eq!(recent.get(hash), gone.then_some(ts));
                if gone {
                    left += 1;
                    left_bytes += logical_bytes(key, row);
                } else {
                    expected.push((key.clone(), row.clone()));
                }
            }
            prop_assert!(found == expected, "state {}", id);
        }
        prop_assert_eq!((told.excluded_entries, told.excluded_bytes), (left, left_bytes));
        let mut waiting = Vec::new();
        back.waiting("op", Queue::Spilled, &mut |event| { waiting.push(event); Ok(()) }).unwrap();
        prop_assert_eq!(waiting, from.spilled);
    }
}

/// DESIGN, Checkpoints: a savepoint that was cut off has no name that anybody would restore, and is in
/// nobody's way.
#[test]
fn what_was_cut_off_is_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let unfinished = dir.path().join(".a.unfinished");
    std::fs::write(&unfinished, vec![0xff; 100_000]).unwrap();
    let from = memory(vec![(state(0, None, None), Rows::new())], Vec::new());
    let told = write(&from, &dir.path().join("a")).unwrap();
    assert!(!unfinished.exists() && told.file_bytes < 100_000);
    let holder = std::fs::File::create(dir.path().join(".b.unfinished")).unwrap();
    holder.lock().unwrap();
    let text = write(&from, &dir.path().join("b")).unwrap_err().to_string();
    assert!(text.contains("somebody writes a savepoint of this name right now"), "{text}");
}
