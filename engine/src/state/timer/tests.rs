//! The timer table against a set of (time, group, key), with every branch counted.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use stateward_model::ClockKind;
use stateward_model::wire::TimerSample;

use super::{TimerParts, TimerTable, stream_row_key, time_of};
use crate::changelog::{StateMeta, for_each_row};
use crate::state::{Gate, StateConfig, StateKind, StateOptions};
use crate::store::{Manual, Overflow, RocksOptions, RocksStore, ShardDb, SharedCutOff, StateStore};
use crate::telemetry::Site;

const GROUPS: u16 = 3;
/// Keys of bulk steps: more than a chunk per group.
const BULK_KEYS: u16 = 700;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;
/// (time, group, key): the order of firing.
type Pending = BTreeSet<(i64, u16, u16)>;

#[derive(Clone, Debug)]
enum Step {
    Register(u16, i64),
    Delete(u16, i64),
    /// Deletes the pending timer at this place.
    DeletePending(usize),
    /// Registers all keys at one time.
    RegisterMany(i64),
    Advance(i64),
    Fire(u16),
    /// Fires, and each firing registers the same timer again.
    Refire(u16),
    Barrier,
    Commit,
    /// A checkpoint, after a compaction or not.
    Checkpoint(bool),
    /// Back to the last commit.
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0_u16..8;
    let far = prop_oneof![Just(i64::MAX), Just(i64::MIN), Just(i64::MAX - 1)];
    let ahead = prop_oneof![20 => -8_i64..25, 1 => far];
    prop_oneof![
        12 => (key.clone(), ahead.clone()).prop_map(|(k, t)| Step::Register(k, t)),
        4 => (key, ahead).prop_map(|(k, t)| Step::Delete(k, t)),
        3 => any::<usize>().prop_map(Step::DeletePending),
        1 => (-2_i64..12).prop_map(Step::RegisterMany),
        4 => (0_i64..8).prop_map(Step::Advance),
        5 => (1_u16..12).prop_map(Step::Fire),
        2 => (200_u16..3_000).prop_map(Step::Fire),
        3 => (1_u16..12).prop_map(Step::Refire),
        4 => Just(Step::Barrier),
        3 => Just(Step::Commit),
        1 => any::<bool>().prop_map(Step::Checkpoint),
        1 => Just(Step::Crash),
    ]
}

/// What an epoch leaves for recovery, and what the model was then.
#[derive(Clone)]
struct Saved {
    epoch: u64,
    now: i64,
    pending: Pending,
    meta: StateMeta,
}

struct Bench {
    dir: tempfile::TempDir,
    clock: ClockKind,
    rocks: RocksOptions,
    overlay_bytes: usize,
    head_max: usize,
    starts: usize,
    table: TimerTable,
    db: Arc<ShardDb>,
    /// Rows as recovery would find them: checkpoint and log of committed epochs.
    durable: Rows,
    /// Rows that the open epoch, and the one at its barrier, have logged.
    logged: Vec<(u64, Vec<u8>)>,
}

impl Bench {
    fn new(clock: ClockKind, overlay_bytes: usize, head_max: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let rocks = RocksOptions::new(1 << 20, 1 << 20);
        let (table, db) = Self::open(&dir, clock, &rocks, (overlay_bytes, head_max), 0);
        let (durable, logged) = (Rows::new(), Vec::new());
        Self { dir, clock, rocks, overlay_bytes, head_max, starts: 0, table, db, durable, logged }
    }

    fn open(
        dir: &tempfile::TempDir,
        clock: ClockKind,
        rocks: &RocksOptions,
        (overlay_bytes, head_max): (usize, usize),
        starts: usize,
    ) -> (TimerTable, Arc<ShardDb>) {
        let cut_off = SharedCutOff::default();
        let families = [("s".to_owned(), Some(cut_off.clone()))];
        let path = dir.path().join(format!("db-{starts}"));
        let db = ShardDb::open(&path, rocks, &families).unwrap();
        let config = StateConfig {
            id: 0,
            operator: "op".into(),
            kind: StateKind::Timer,
            options: StateOptions { clock, ..StateOptions::new("_timers") },
            schema: String::new(),
            schema_id: 0,
            clock_shift_millis: 0,
            dead_on_arrival_millis: None,
            evolutions: Vec::new(),
        };
        let mut table = TimerTable::new(TimerParts {
            config,
            store: RocksStore::new(Arc::clone(&db), "s".into()),
            overflow: Overflow::new(dir.path().join("overflow"), rocks.clone()).unwrap(),
            cut_off,
            gate: Gate::default(),
            groups: GROUPS,
            overlay_bytes,
            share: None,
        });
        table.head.set_timers_max(head_max);
        (table, db)
    }

    /// Opens a new table over what recovery would find.
    fn recover(&mut self, saved: &Saved) {
        self.starts += 1;
        let settings = (self.overlay_bytes, self.head_max);
        let (table, db) = Self::open(&self.dir, self.clock, &self.rocks, settings, self.starts);
        (self.table, self.db) = (table, db);
        let changes: Vec<_> = self.durable.iter().map(|(k, r)| (&**k, Some(&**r))).collect();
        self.table.store.apply(&changes).unwrap();
        self.table.restore(saved.epoch, Some(&saved.meta)).unwrap();
        self.logged.clear();
    }

    fn commit(&mut self, epoch: u64) {
        for (_, rows) in self.logged.extract_if(.., |(of, _)| *of <= epoch) {
            let whole = for_each_row(&rows, |key, row| {
                match row {
                    Some(row) => self.durable.insert(key.to_vec(), row.to_vec()),
                    None => self.durable.remove(key),
                };
            });
            assert!(whole);
        }
        self.table.committed(epoch).unwrap();
    }
}

fn row_key(key: u16) -> Vec<u8> {
    [(key % GROUPS).to_be_bytes(), key.to_be_bytes()].concat()
}

fn here() -> Site {
    Site { at: std::panic::Location::caller(), name: None }
}

/// How often each branch was taken.
#[derive(Debug, Default)]
struct Taken(BTreeMap<&'static str, u64>);

impl Taken {
    fn count(&mut self, branch: &'static str, taken: bool) {
        *self.0.entry(branch).or_default() += u64::from(taken);
    }
}

struct Run<'a> {
    bench: Bench,
    taken: &'a mut Taken,
    now: i64,
    epoch: u64,
    pending: Pending,
    deleted: Pending,
    expected: TimerSample,
    at_barrier: Option<Saved>,
    committed: Option<Saved>,
    last_fired: i64,
}

impl Run<'_> {
    fn register(&mut self, key: u16, time: i64) {
        let timer = (time, key % GROUPS, key);
        self.bench.table.register(&row_key(key), time, self.epoch, here()).unwrap();
        let new = self.pending.insert(timer);
        self.expected.registered += u64::from(new);
        self.taken.count("registered twice", !new);
        self.taken.count("registered overdue", new && time <= self.now);
        self.taken.count("registered after it was deleted", new && self.deleted.contains(&timer));
    }

    fn delete(&mut self, key: u16, time: i64) {
        let timer = (time, key % GROUPS, key);
        let table = &self.bench.table;
        let stored = table.store_rows().iter().any(|(k, _)| {
            let mut stream = Vec::new();
            stream_row_key(k, &mut stream);
            stream == row_key(key) && time_of(k) == time
        });
        self.bench.table.delete(&row_key(key), time, self.epoch, here()).unwrap();
        let was = self.pending.remove(&timer);
        self.expected.deleted += u64::from(was);
        self.deleted.insert(timer);
        self.taken.count("deleted", was);
        self.taken.count("deleted out of the store", was && stored);
        self.taken.count("deleted nothing", !was);
    }

    fn fire(&mut self, most: u16, again: bool) {
        for _ in 0..most {
            let found = self.bench.table.due(self.now, self.epoch).unwrap();
            let first = self.pending.first().copied().filter(|(time, _, _)| *time <= self.now);
            let Some(found) = found else {
                assert_eq!(first, None, "a due timer does not fire");
                return;
            };
            let (mut stream, time) = (Vec::new(), time_of(&found));
            stream_row_key(&found, &mut stream);
            let key = u16::from_be_bytes([stream[2], stream[3]]);
            assert_eq!(first, Some((time, key % GROUPS, key)), "not the first due timer fires");
            self.bench.table.take(self.epoch);
            self.bench.table.count_fired(self.now.saturating_sub(time));
            self.expected.fired += 1;
            self.pending.pop_first();
            self.last_fired = time;
            self.taken.count("fired", true);
            if again {
                self.register(key, time);
                self.taken.count("registered anew by its firing", true);
            }
        }
    }

    fn barrier(&mut self) {
        if self.at_barrier.is_some() {
            self.commit();
        }
        let epoch = self.epoch;
        let log = &mut self.bench.logged;
        let table = &mut self.bench.table;
        table
            .barrier(epoch, |rows| {
                log.push((epoch, rows.to_vec()));
                Ok(())
            })
            .unwrap();
        let first = self.pending.first().map(|(time, _, _)| *time);
        self.taken.count("barrier between firings of one time", first == Some(self.last_fired));
        // a state's meta may be missing where nothing changed; it is as it was
        let meta = table.meta();
        let (now, pending) = (self.now, self.pending.clone());
        self.at_barrier = Some(Saved { epoch, now, pending, meta });
        self.epoch += 1;
        let sample = self.bench.table.sample();
        let counts = |s: &TimerSample| (s.registered, s.deleted, s.fired);
        assert_eq!(counts(&sample), counts(&self.expected));
        assert_eq!(sample.pending, self.pending.len() as u64);
        assert_eq!(sample.lateness.count(), self.expected.fired);
        let next = sample.next_due_millis;
        assert!(next.is_none_or(|next| first.is_none_or(|first| next <= first)));
        assert!(next.is_some() || first.is_none(), "the next timer is not known");
    }

    fn commit(&mut self) {
        let Some(saved) = self.at_barrier.take() else { return };
        self.bench.commit(saved.epoch);
        self.committed = Some(saved);
    }

    fn checkpoint(&mut self, compacts: bool) {
        self.barrier();
        self.commit();
        self.bench.table.write_back().unwrap();
        if compacts {
            for range in self.bench.db.ranges("s", 100).unwrap() {
                self.bench.db.compact_range("s", &range, Manual::Demand).unwrap();
            }
            self.taken.count("rows reclaimed", self.bench.table.shared_cut_off.dropped_bytes() > 0);
        }
        self.bench.durable.clear();
        let durable = &mut self.bench.durable;
        let mut visit = |key: &[u8], row: &[u8]| {
            durable.insert(key.to_vec(), row.to_vec());
        };
        self.bench.table.store.prefix(&[], &mut visit).unwrap();
    }

    fn crash(&mut self) {
        let Some(saved) = self.committed.clone() else { return };
        self.bench.recover(&saved);
        self.taken.count("recovered with timers pending", !saved.pending.is_empty());
        let first = saved.pending.first().map(|(time, _, _)| *time);
        let overdue = first.is_some_and(|first| first <= saved.meta.cut_off);
        self.taken.count("recovered with an overdue timer", overdue);
        (self.now, self.pending) = (saved.now, saved.pending);
        (self.at_barrier, self.epoch) = (None, self.epoch + 2);
        self.expected = TimerSample::default();
    }

    fn step(&mut self, step: &Step) {
        let ahead = |now: i64, by: i64| match by {
            i64::MIN | i64::MAX => by,
            by => now.saturating_add(by),
        };
        match *step {
            Step::Register(key, by) => self.register(key, ahead(self.now, by)),
            Step::Delete(key, by) => self.delete(key, ahead(self.now, by)),
            Step::DeletePending(at) => {
                let at = at % self.pending.len().max(1);
                if let Some((time, _, key)) = self.pending.iter().nth(at).copied() {
                    self.delete(key, time);
                }
            }
            Step::RegisterMany(by) => {
                (0..BULK_KEYS).for_each(|key| self.register(key, self.now + by));
            }
            Step::Advance(by) => self.now += by,
            Step::Fire(most) => self.fire(most, false),
            Step::Refire(most) => self.fire(most, true),
            Step::Barrier => self.barrier(),
            Step::Commit => self.commit(),
            Step::Checkpoint(compacts) => self.checkpoint(compacts),
            Step::Crash => self.crash(),
        }
        let epoch = self.epoch;
        let log = &mut self.bench.logged;
        self.bench
            .table
            .after_batch(epoch, |rows| {
                log.push((epoch, rows.to_vec()));
                Ok(())
            })
            .unwrap();
        let table = &self.bench.table;
        self.taken.count("overflowed", !table.overflow.is_empty());
        let trimmed = (0..GROUPS).any(|group| table.head.boundary(group).is_some());
        self.taken.count("not all in the head", trimmed && self.bench.starts == 0);
    }
}

/// §4.1, §4.2, §5.1, §5.3: on both clocks, timers fire once each, in the order of time, group and
/// key, and never before their time, through registrations repeated and overdue, deletions,
/// overflows, barriers between the firings of one instant, checkpoints and crashes; the counts are
/// exact at every barrier. The run fails if a branch was never taken.
#[test]
fn soak_agrees_with_a_set() {
    let cases = if std::env::var_os("STATEWARD_SOAK").is_some() { 1_000 } else { 24 };
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let clock = prop_oneof![Just(ClockKind::EventTime), Just(ClockKind::ProcessingTime)];
    let overlay = prop_oneof![2 => Just(4_usize << 10), 1 => Just(40 << 10), 1 => Just(1 << 20)];
    let head = prop_oneof![Just(20_usize), Just(200), Just(16_384)];
    let case = (clock, overlay, head, prop::collection::vec(step(), 1..250));
    let taken = RefCell::new(Taken::default());
    let run = |(clock, overlay_bytes, head_max, steps): (_, _, _, Vec<Step>)| {
        let mut taken = taken.borrow_mut();
        let mut run = Run {
            bench: Bench::new(clock, overlay_bytes, head_max),
            taken: &mut taken,
            now: 1_000,
            epoch: 1,
            pending: Pending::new(),
            deleted: Pending::new(),
            expected: TimerSample::default(),
            at_barrier: None,
            committed: None,
            last_fired: i64::MIN,
        };
        for step in &steps {
            run.step(step);
        }
        run.now = i64::MAX;
        run.fire(u16::MAX, false);
        assert_eq!(run.pending, Pending::new(), "all fire in the end");
        run.barrier();
        Ok(())
    };
    runner.run(&case, run).unwrap();
    let taken = taken.into_inner();
    let never: Vec<_> = taken.0.iter().filter(|(_, count)| **count == 0).collect();
    assert!(never.is_empty() && taken.0.len() == 14, "branches never taken: {never:?}, {taken:?}");
}

/// §4.1: a timer that its own firing registers again, at the time that is firing, leaves no row
/// behind when it has fired for good.
#[test]
fn what_a_firing_registers_anew_goes_for_good() {
    let mut bench = Bench::new(ClockKind::EventTime, 1 << 20, 100);
    let table = &mut bench.table;
    let end = |table: &mut TimerTable, epoch: u64| {
        table.barrier(epoch, |_| Ok(())).unwrap();
        table.committed(epoch).unwrap();
        table.write_back().unwrap();
    };
    let fire = |table: &mut TimerTable, epoch: u64| {
        assert!(table.due(10, epoch).unwrap().is_some());
        table.take(epoch);
    };
    for key in [0, 3] {
        table.register(&row_key(key), 10, 1, here()).unwrap();
    }
    end(table, 1);
    fire(table, 2);
    table.register(&row_key(0), 10, 2, here()).unwrap();
    table.barrier(2, |_| Ok(())).unwrap();
    table.committed(2).unwrap();
    fire(table, 3);
    end(table, 3);
    let rows = table.store_rows();
    assert!(matches!(rows.as_slice(), [(key, 10)] if key.ends_with(&[0, 3])), "{rows:?}");
}

/// §5.1: when so many overdue timers come in that the head lets later ones go, what has fired at the
/// time that is firing is not read again.
#[test]
fn a_full_head_does_not_read_what_has_fired() {
    let mut bench = Bench::new(ClockKind::EventTime, 1 << 20, 20);
    let table = &mut bench.table;
    for key in [0, 3] {
        table.register(&row_key(key), 10, 1, here()).unwrap();
    }
    table.barrier(1, |_| Ok(())).unwrap();
    table.committed(1).unwrap();
    table.write_back().unwrap();
    let mut fired = Vec::new();
    let mut fire = |table: &mut TimerTable, most: usize| {
        for _ in 0..most {
            let Some(due) = table.due(10, 2).unwrap() else { break };
            table.take(2);
            fired.push((time_of(&due), due.last().copied().unwrap()));
        }
    };
    fire(table, 1);
    for key in 0..60 {
        table.register(&row_key(key * GROUPS), 5, 2, here()).unwrap();
    }
    fire(table, usize::MAX);
    let mut expected = vec![(10, 0)];
    expected.extend((0..60).map(|key| (5, key * 3)));
    expected.push((10, 3));
    assert_eq!(fired, expected);
}

/// §4.2: a checkpoint that fails is no end of the job, so what it could not write stays in hand and
/// comes with the next one.
#[test]
fn a_failed_write_back_keeps_what_it_had_in_hand() {
    let mut bench = Bench::new(ClockKind::EventTime, 1 << 20, 100);
    let table = &mut bench.table;
    for key in 0..5 {
        table.register(&row_key(key), 10 + i64::from(key), 1, here()).unwrap();
    }
    table.barrier(1, |_| Ok(())).unwrap();
    table.committed(1).unwrap();
    let nowhere = RocksStore::new(Arc::clone(&bench.db), "not there".into());
    let store = std::mem::replace(&mut table.store, nowhere);
    assert!(table.write_back().is_err());
    assert!(table.resident_bytes() > 0);
    table.store = store;
    assert_eq!(table.store_rows().len(), 0);
    table.write_back().unwrap();
    assert_eq!((table.store_rows().len(), table.resident_bytes()), (5, 0));
}
