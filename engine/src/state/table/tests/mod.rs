//! One table against models of SEMANTICS §1: random histories of accesses, and of what happens to
//! every state meanwhile.

mod value;
mod ttl;
mod merge;
mod list;
mod cells;
mod seen;

use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use stateward_model::breaker::Policy;
use stateward_model::{ClockKind, UpdateType, Visibility};

use super::{Moment, Table};
use crate::changelog::StateMeta;
use crate::state::{Backend, Gate, GateMode, SharedTtl, StateConfig, StateKind, StateOptions, Ttl};
use crate::store::{
    HeapStore, Overflow, OwnedRow, RocksOptions, RocksStore, ShardDb, SharedCutOff, StateStore,
    WriteCache,
};
use crate::telemetry::{Counters, Site};

/// How the state under test is declared.
#[derive(Clone, Copy, Debug)]
struct Rule {
    kind: StateKind,
    ttl: Option<i64>,
    update: UpdateType,
    relaxed: bool,
    clock: ClockKind,
    backend: Backend,
    cache_bytes: usize,
}

/// Declarations of every sort; RocksDB, which is slower to open, in one of ten.
fn rule(kind: StateKind) -> impl Strategy<Value = Rule> {
    let update = prop_oneof![
        Just(UpdateType::OnCreateAndWrite),
        Just(UpdateType::OnReadAndWrite),
        Just(UpdateType::OnCreate),
    ];
    let clock = prop_oneof![3 => Just(ClockKind::EventTime), 1 => Just(ClockKind::ProcessingTime)];
    let backend = prop_oneof![9 => Just(Backend::Heap), 1 => Just(Backend::Rocks)];
    let cache = prop_oneof![1 => Just(64_usize), 1 => Just(400), 8 => Just(1 << 20)];
    (prop::option::weighted(0.9, 1_i64..80), update, any::<bool>(), clock, backend, cache).prop_map(
        move |(ttl, update, relaxed, clock, backend, cache_bytes)| Rule {
            kind,
            ttl,
            update: if ttl.is_some() { update } else { UpdateType::Disabled },
            relaxed: relaxed && ttl.is_some(),
            clock,
            backend,
            cache_bytes,
        },
    )
}

/// What happens to a state whatever its kind.
#[derive(Clone, Copy, Debug)]
enum Turn {
    /// The clock goes on by so many ms, and the state is swept, or not yet.
    Clock(i64, bool),
    Barrier,
    Commit,
    Evict,
    /// Everything is committed, and another table goes on from what is in the store.
    Restart,
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        4 => (0_i64..60, prop::bool::weighted(0.7)).prop_map(|(ahead, sweeps)| Turn::Clock(ahead, sweeps)),
        2 => Just(Turn::Barrier),
        2 => Just(Turn::Commit),
        1 => Just(Turn::Evict),
        1 => Just(Turn::Restart),
    ]
}

/// The instants that the event at hand goes by.
#[derive(Clone, Copy, Debug)]
struct Now {
    /// What removes.
    clock: Option<i64>,
    /// What the event sees.
    seen: Option<i64>,
    stamp: i64,
}

/// A table, the moment, and how far it is committed.
struct World {
    dir: tempfile::TempDir,
    config: StateConfig,
    rocks: RocksOptions,
    cache_bytes: usize,
    /// The TTL in force, which may change.
    ttl: Arc<SharedTtl>,
    table: Table<Counters>,
    starts: usize,
    moment: Moment,
    at_barrier: u64,
    committed: u64,
}

impl World {
    fn new(rule: Rule) -> Self {
        Self::with_options(rule, |_| {})
    }

    fn with_options(rule: Rule, change: impl FnOnce(&mut StateOptions)) -> Self {
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
        let mut options = StateOptions {
            canary_life: None,
            invariants: Vec::new(),
            readable_keys: true,
            read_key: None,
            name: "s".into(),
            ttl,
            ttl_min: None,
            backend: rule.backend,
            clock: rule.clock,
            breaker: Policy::default(),
            families: Vec::new(),
            site: std::panic::Location::caller(),
        };
        change(&mut options);
        let config = StateConfig {
            id: 0,
            operator: "op".into(),
            kind: rule.kind,
            options,
            schema: String::new(),
            schema_id: 0,
            clock_shift_millis: 0,
            dead_on_arrival_millis: None,
            evolutions: Vec::new(),
        };
        let dir = tempfile::tempdir().unwrap();
        let rocks = RocksOptions::new(1 << 20, 1 << 20);
        let ttl = Arc::new(SharedTtl::new(config.ttl_millis()));
        let table = open(&dir, &config, &rocks, (rule.cache_bytes, &ttl), 0, &[]);
        let moment = Moment { epoch: 1, ..Moment::default() };
        Self {
            dir,
            config,
            rocks,
            cache_bytes: rule.cache_bytes,
            ttl,
            table,
            starts: 0,
            moment,
            at_barrier: 0,
            committed: 0,
        }
    }

    /// Begins an event whose time is that of the clock and so many ms.
    fn event(&mut self, offset: i64) -> Now {
        self.moment.event += 1;
        self.moment.event_ts = self.moment.watermark.unwrap_or(0) + offset;
        let Moment { watermark, event_ts, wall, .. } = self.moment;
        match self.config.options.clock {
            ClockKind::EventTime => {
                Now { clock: watermark, seen: watermark.max(Some(event_ts)), stamp: event_ts }
            }
            ClockKind::ProcessingTime => Now { clock: Some(wall), seen: Some(wall), stamp: wall },
        }
    }

    /// Runs a refused event: what `accesses` does to the state must leave no trace.
    fn refused(&mut self, accesses: impl FnOnce(&mut Table<Counters>, &Moment)) {
        let table = &mut self.table;
        table.stage();
        accesses(table, &self.moment);
        table.take_back(self.moment.epoch).unwrap();
        table.take_late();
        table.gate().mode = GateMode::Pass;
        table.gate().next_event();
    }

    fn turn(&mut self, turn: Turn) {
        let table = &mut self.table;
        match turn {
            Turn::Clock(ahead, sweeps) => {
                let now = self.moment.watermark.unwrap_or(0) + ahead;
                (self.moment.watermark, self.moment.wall) = (Some(now), now);
                if sweeps {
                    table.sweep(&self.moment, || 0);
                }
            }
            Turn::Barrier if self.at_barrier == self.committed => {
                table.barrier(|_| Ok(())).unwrap();
                self.at_barrier = self.moment.epoch;
                self.moment.epoch += 1;
            }
            Turn::Barrier => {}
            Turn::Commit => {
                self.committed = self.at_barrier;
                table.committed(self.committed).unwrap();
            }
            Turn::Evict => {
                table.after_batch(|_| Ok(())).unwrap();
                table.reclaim();
            }
            Turn::Restart => self.restart(),
        }
    }

    /// Commits everything and opens a second table over a copy of the first one's rows.
    fn restart(&mut self) {
        self.table.barrier(|_| Ok(())).unwrap();
        (self.at_barrier, self.committed) = (self.moment.epoch, self.moment.epoch);
        self.moment.epoch += 1;
        self.table.committed(self.committed).unwrap();
        self.table.write_back().unwrap();
        let meta: StateMeta = self.table.meta(true);
        self.starts += 1;
        let rows = self.table.cache().stored_rows().unwrap();
        let fresh = open(
            &self.dir,
            &self.config,
            &self.rocks,
            (self.cache_bytes, &self.ttl),
            self.starts,
            &rows,
        );
        let mut former = std::mem::replace(&mut self.table, fresh);
        self.table.restore(&meta);
        self.table.set_committed(self.committed);
        *self.table.recorder() = former.recorder().clone();
    }
}

fn open(
    dir: &tempfile::TempDir,
    config: &StateConfig,
    rocks: &RocksOptions,
    (cache_bytes, ttl): (usize, &Arc<SharedTtl>),
    starts: usize,
    rows: &[OwnedRow],
) -> Table<Counters> {
    let cut_off = SharedCutOff::default();
    let path = dir.path().join(format!("db-{starts}"));
    let changes: Vec<_> = rows.iter().map(|(k, r)| (&**k, Some(r.as_slice()))).collect();
    let sorted = config.kind.is_sorted();
    let cache = match config.options.backend {
        Backend::Heap => {
            let mut heap = HeapStore::default();
            heap.apply(&changes).unwrap();
            WriteCache::resident(heap, |key| cut_off.hash_of(key), sorted)
        }
        Backend::Rocks => {
            let families = [("s".to_owned(), Some(cut_off.clone()))];
            let db = ShardDb::open(&path, rocks, &families).unwrap();
            let mut store = RocksStore::new(db, "s".into());
            store.apply(&changes).unwrap();
            // a folder of its own: the former table still has the one before open
            let scratch = dir.path().join(format!("overflow-{starts}"));
            let overflow = Overflow::new(scratch, rocks.clone()).unwrap();
            WriteCache::new(Box::new(store), overflow, cache_bytes, sorted)
        }
    };
    Table::new(config.clone(), cache, cut_off, Gate::default(), Arc::clone(ttl))
}

/// The same, but that reads do not stamp.
fn write_update(update: UpdateType) -> UpdateType {
    if update == UpdateType::OnReadAndWrite { UpdateType::OnCreateAndWrite } else { update }
}

fn here() -> Site {
    Site { at: std::panic::Location::caller(), name: None }
}

/// Runs histories of up to `steps` steps, the same ones in every run; 10,000 of them in a soak.
fn histories<S: std::fmt::Debug + Clone>(
    rule: impl Strategy<Value = Rule>,
    step: impl Strategy<Value = S>,
    mut check: impl FnMut(Rule, &[S]),
) {
    const STEPS_MAX: usize = 150;
    let cases = if std::env::var_os("STATEWARD_SOAK").is_some() { 10_000 } else { 80 };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let check = std::cell::RefCell::new(&mut check);
    let case = (rule, prop::collection::vec(step, 100..STEPS_MAX));
    runner
        .run(&case, |(rule, steps)| {
            (check.borrow_mut())(rule, &steps);
            Ok(())
        })
        .unwrap();
}

/// Fails on the branches that no history took.
fn assert_all_taken(branches: &[(&str, u64)]) {
    for (branch, count) in branches {
        assert!(*count > 0, "no history ever took the branch: {branch}");
    }
}
