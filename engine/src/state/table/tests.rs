//! The table against a plain model of SEMANTICS §1, with every branch of the model counted.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stateward_model::breaker::Policy;
use stateward_model::wire::StateFlow;
use stateward_model::{ClockKind, UpdateType, Visibility, expired};

use super::{Moment, RowAddress, Table};
use crate::state::{Backend, Gate, GateMode, Lookup, StateConfig, StateKind, StateOptions, Ttl};
use crate::store::{
    HeapStore, Overflow, OwnedRow, RocksOptions, RocksStore, ShardDb, SharedCutOff, StateStore,
    WriteCache,
};
use crate::telemetry::{Counters, Site};

#[derive(Clone, Debug)]
enum Step {
    Read(u8),
    Write(u8, u64),
    Delete(u8),
    /// A write that a breaker refuses after another one of the same event was applied.
    Refused(u8, u64),
    Watermark(i64),
    Barrier,
    Commit,
    Evict,
    Restart,
}

fn step() -> impl Strategy<Value = (Step, i64)> {
    let key = 0_u8..6;
    let kind = prop_oneof![
        6 => key.clone().prop_map(Step::Read),
        6 => (key.clone(), any::<u64>()).prop_map(|(k, v)| Step::Write(k, v)),
        2 => key.clone().prop_map(Step::Delete),
        1 => (key, any::<u64>()).prop_map(|(k, v)| Step::Refused(k, v)),
        4 => (0_i64..60).prop_map(Step::Watermark),
        2 => Just(Step::Barrier),
        2 => Just(Step::Commit),
        1 => Just(Step::Evict),
        1 => Just(Step::Restart),
    ];
    (kind, -40_i64..40)
}

/// SEMANTICS §1 for one state, written as plainly as possible.
#[derive(Clone, Default)]
struct Model {
    rows: BTreeMap<u8, (i64, u64)>,
    watermark: Option<i64>,
    flow: StateFlow,
}

#[derive(Clone, Copy, Debug)]
struct Rule {
    ttl: Option<i64>,
    update: UpdateType,
    relaxed: bool,
}

impl Model {
    /// What is written off is gone; the model drops at the same instants as the ledger's buckets,
    /// so it is told the cut-off.
    fn sweep(&mut self, cut_off: i64) {
        let before = self.rows.len();
        self.rows.retain(|_, (ts, _)| *ts > cut_off);
        self.flow.removed_sweep += (before - self.rows.len()) as u64;
    }

    fn read(&mut self, key: u8, now: i64, rule: Rule) -> Option<u64> {
        self.flow.reads += 1;
        let (ts, value) = *self.rows.get(&key)?;
        if expired(ts, rule.ttl, self.watermark.max(Some(now))) {
            self.flow.misses_present += 1;
            if expired(ts, rule.ttl, self.watermark) {
                self.rows.remove(&key);
                self.flow.removed_read += 1;
            }
            self.flow.stale_returned += u64::from(rule.relaxed);
            return rule.relaxed.then_some(value);
        }
        if rule.update == UpdateType::OnReadAndWrite {
            self.flow.refreshes += 1;
            self.rows.insert(key, (ts.max(now), value));
        }
        Some(value)
    }

    fn write(&mut self, key: u8, value: u64, now: i64, rule: Rule, cut_off: i64) {
        let old = self.rows.get(&key).copied();
        let live = old.filter(|(ts, _)| !expired(*ts, rule.ttl, self.watermark.max(Some(now))));
        let ts = match live {
            Some((ts, _)) if rule.update == UpdateType::OnCreate => ts,
            Some((ts, _)) => ts.max(now),
            None => now,
        };
        if ts <= cut_off || expired(ts, rule.ttl, self.watermark) {
            self.flow.late_writes += 1;
            return;
        }
        self.flow.writes += 1;
        self.flow.created += u64::from(live.is_none());
        self.flow.removed_overwrite += u64::from(live.is_none() && old.is_some());
        self.rows.insert(key, (ts, value));
    }

    fn delete(&mut self, key: u8, now: i64, rule: Rule) {
        self.flow.deletes += 1;
        if let Some((ts, _)) = self.rows.remove(&key) {
            if expired(ts, rule.ttl, self.watermark.max(Some(now))) {
                self.flow.removed_read += 1;
            } else {
                self.flow.removed_delete += 1;
            }
        }
    }
}

struct Bench {
    dir: tempfile::TempDir,
    config: StateConfig,
    cache_bytes: usize,
    rocks: RocksOptions,
    table: Table<Counters>,
    starts: usize,
}

impl Bench {
    fn new(rule: Rule, backend: Backend, cache_bytes: usize) -> Self {
        let visibility = if rule.relaxed {
            Visibility::ReturnExpiredIfNotCleanedUp
        } else {
            Visibility::NeverReturnExpired
        };
        let ttl = rule.ttl.map(|ttl| {
            Ttl::new(std::time::Duration::from_millis(ttl as u64))
                .update(rule.update)
                .visibility(visibility)
        });
        let config = StateConfig {
            id: 0,
            operator: "op".into(),
            kind: StateKind::Value,
            options: StateOptions {
                name: "s".into(),
                ttl,
                backend,
                clock: ClockKind::EventTime,
                breaker: Policy::default(),
                site: std::panic::Location::caller(),
            },
            schema: String::new(),
            schema_id: 0,
            evolutions: Vec::new(),
        };
        let dir = tempfile::tempdir().unwrap();
        let rocks = RocksOptions::new(1 << 20, 1 << 20);
        let table = Self::open(&dir, &config, &rocks, cache_bytes, 0, &[]);
        Self { dir, config, cache_bytes, rocks, table, starts: 0 }
    }

    fn open(
        dir: &tempfile::TempDir,
        config: &StateConfig,
        rocks: &RocksOptions,
        cache_bytes: usize,
        starts: usize,
        rows: &[OwnedRow],
    ) -> Table<Counters> {
        let cut_off = SharedCutOff::default();
        let path = dir.path().join(format!("db-{starts}"));
        let changes: Vec<_> = rows.iter().map(|(k, r)| (&**k, Some(r.as_slice()))).collect();
        let cache = match config.options.backend {
            Backend::Heap => {
                let mut heap = HeapStore::default();
                heap.apply(&changes).unwrap();
                WriteCache::resident(heap, |key| cut_off.hash_of(key), false)
            }
            Backend::Rocks => {
                let families = [("s".to_owned(), Some(cut_off.clone()))];
                let db = ShardDb::open(&path, rocks, &families).unwrap();
                let mut store = RocksStore::new(db, "s".into());
                store.apply(&changes).unwrap();
                let overflow = Overflow::new(dir.path().join("overflow"), rocks.clone()).unwrap();
                WriteCache::new(Box::new(store), overflow, cache_bytes, false)
            }
        };
        Table::new(config.clone(), cache, cut_off, Gate::default())
    }
}

fn row_key(key: u8) -> Vec<u8> {
    vec![0, 0, key]
}

fn here() -> Site {
    Site { at: std::panic::Location::caller(), name: None }
}

/// Runs the steps on both and compares results, counts and stocks after each.
fn check(rule: Rule, backend: Backend, cache_bytes: usize, steps: Vec<(Step, i64)>) -> StateFlow {
    let mut bench = Bench::new(rule, backend, cache_bytes);
    let mut model = Model::default();
    let mut moment = Moment { epoch: 1, ..Moment::default() };
    let (mut at_barrier, mut committed) = (0, 0);
    for (step, offset) in steps {
        let now = model.watermark.unwrap_or(0) + offset;
        moment.event += 1;
        moment.event_ts = now;
        moment.watermark = model.watermark;
        let table = &mut bench.table;
        match step {
            Step::Read(key) => {
                let bytes = row_key(key);
                let found = table.read::<u64>(RowAddress::of(&bytes), &moment, here()).unwrap();
                assert_eq!(found.live(), model.read(key, now, rule));
            }
            Step::Write(key, value) => {
                let bytes = row_key(key);
                table.write(RowAddress::of(&bytes), &value, &moment, here()).unwrap();
                model.write(key, value, now, rule, table.cut_off);
            }
            Step::Delete(key) => {
                let bytes = row_key(key);
                table.delete(RowAddress::of(&bytes), &moment, here()).unwrap();
                model.delete(key, now, rule);
            }
            Step::Refused(key, value) => {
                let bytes = row_key(key);
                table.stage();
                table.read::<u64>(RowAddress::of(&bytes), &moment, here()).unwrap();
                table.write(RowAddress::of(&bytes), &value, &moment, here()).unwrap();
                table.gate().mode = GateMode::Refuse;
                assert!(table.write(RowAddress::of(&bytes), &value, &moment, here()).is_err());
                table.take_back(moment.epoch).unwrap();
                table.take_late();
                table.gate().mode = GateMode::Pass;
                table.gate().next_event();
            }
            Step::Watermark(ahead) => {
                model.watermark = model.watermark.max(Some(model.watermark.unwrap_or(0) + ahead));
                moment.watermark = model.watermark;
                table.sweep(&moment, || 0);
                model.sweep(table.cut_off);
            }
            Step::Barrier if at_barrier == committed => {
                table.barrier(|_| Ok(())).unwrap();
                at_barrier = moment.epoch;
                moment.epoch += 1;
            }
            Step::Commit => {
                committed = at_barrier;
                table.committed(committed).unwrap();
            }
            Step::Evict => {
                table.after_batch(|_| Ok(())).unwrap();
                table.reclaim();
            }
            Step::Restart => {
                let mut log = Vec::new();
                let meta = {
                    table
                        .barrier(|rows| {
                            log.push(rows.to_vec());
                            Ok(())
                        })
                        .unwrap();
                    (at_barrier, committed) = (moment.epoch, moment.epoch);
                    moment.epoch += 1;
                    table.committed(committed).unwrap();
                    table.write_back().unwrap();
                    table.meta(true)
                };
                restart(&mut bench, &meta);
                bench.table.set_committed(committed);
            }
            Step::Barrier => {}
        }
        compare(&mut bench.table, &mut model, &moment, rule);
    }
    model.flow
}

/// Opens a second table over a copy of the first one's rows.
fn restart(bench: &mut Bench, meta: &crate::changelog::StateMeta) {
    bench.starts += 1;
    let rows = bench.table.cache().stored_rows().unwrap();
    let fresh = Bench::open(
        &bench.dir,
        &bench.config,
        &bench.rocks,
        bench.cache_bytes,
        bench.starts,
        &rows,
    );
    let former = std::mem::replace(&mut bench.table, fresh);
    bench.table.restore(meta);
    *bench.table.recorder() = { former }.recorder().clone();
}

fn compare(table: &mut Table<Counters>, model: &mut Model, moment: &Moment, rule: Rule) {
    let flow = table.recorder().flow_so_far();
    let comparable = StateFlow {
        misses_absent: 0,
        written_bytes: 0,
        offered: 0,
        diverted: 0,
        negative_ages: 0,
        reclaimed_bytes: 0,
        ..flow
    };
    assert_eq!(comparable, model.flow);
    let stock = table.stock(moment);
    assert_eq!(stock.entries, model.rows.len() as u64);
    let dead = |ts: i64| expired(ts, rule.ttl, moment.watermark);
    let expired_rows = model.rows.values().filter(|(ts, _)| dead(*ts)).count() as u64;
    assert!(stock.expired_entries >= expired_rows);
    assert!(stock.expired_entries - expired_rows <= stock.error_entries);
}

/// §1.2 to §1.6, §1.8, §1.11, §7.3: random histories, both backends, small and large caches; the
/// run fails if a branch of the model was never taken.
#[test]
fn agrees_with_the_model() {
    let mut taken = StateFlow::default();
    let cases = if std::env::var_os("STATEWARD_SOAK").is_some() { 4_000 } else { 200 };
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let update = prop_oneof![
        Just(UpdateType::OnCreateAndWrite),
        Just(UpdateType::OnReadAndWrite),
        Just(UpdateType::OnCreate),
    ];
    let rule = (prop::option::weighted(0.9, 1_i64..80), update, any::<bool>());
    let backend = prop_oneof![9 => Just(Backend::Heap), 1 => Just(Backend::Rocks)];
    let cache = prop_oneof![1 => Just(64_usize), 1 => Just(400), 8 => Just(1 << 20)];
    let case = (rule, backend, cache, prop::collection::vec(step(), 1..120));
    let taken_in = std::cell::RefCell::new(&mut taken);
    runner
        .run(&case, |((ttl, update, relaxed), backend, cache, steps)| {
            let update = if ttl.is_some() { update } else { UpdateType::Disabled };
            let flow = check(
                Rule { ttl, update, relaxed: relaxed && ttl.is_some() },
                backend,
                cache,
                steps,
            );
            let mut taken = taken_in.borrow_mut();
            taken.misses_present += flow.misses_present;
            taken.refreshes += flow.refreshes;
            taken.removed_delete += flow.removed_delete;
            taken.removed_read += flow.removed_read;
            taken.removed_overwrite += flow.removed_overwrite;
            taken.removed_sweep += flow.removed_sweep;
            taken.late_writes += flow.late_writes;
            taken.stale_returned += flow.stale_returned;
            Ok(())
        })
        .unwrap();
    for (branch, count) in [
        ("misses", taken.misses_present),
        ("refreshes", taken.refreshes),
        ("deletes", taken.removed_delete),
        ("removed by read", taken.removed_read),
        ("overwritten expired", taken.removed_overwrite),
        ("swept", taken.removed_sweep),
        ("late", taken.late_writes),
        ("stale", taken.stale_returned),
    ] {
        assert!(count > 0, "no history ever took the branch: {branch}");
    }
}

/// §1.6: absent is not expired, while the row is there and for a while after it is gone.
#[test]
fn lookup_tells_expired_from_absent() {
    let rule = Rule { ttl: Some(100), update: UpdateType::OnCreateAndWrite, relaxed: false };
    let mut bench = Bench::new(rule, Backend::Heap, 1 << 20);
    let table = &mut bench.table;
    let key = row_key(1);
    let at =
        |event_ts| Moment { watermark: Some(event_ts), event_ts, epoch: 1, ..Moment::default() };
    let look = |table: &mut Table<Counters>, moment: &Moment| {
        table.read::<u64>(RowAddress::of(&key), moment, here()).unwrap()
    };
    assert_eq!(look(table, &at(0)), Lookup::Absent);
    table.write(RowAddress::of(&key), &7_u64, &at(10), here()).unwrap();
    assert_eq!(look(table, &at(109)), Lookup::Live(7));
    assert_eq!(look(table, &at(110)), Lookup::Expired { ts: 10 });
    assert_eq!(look(table, &at(111)), Lookup::Expired { ts: 10 });
    let flow = table.recorder().flow_so_far();
    assert_eq!((flow.misses_present, flow.misses_absent, flow.removed_read), (1, 1, 1));
    let beyond_the_horizon = 10 + 100 + 3_600_001;
    assert_eq!(look(table, &at(beyond_the_horizon)), Lookup::Absent);
}
