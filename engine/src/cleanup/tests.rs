//! The cleaner at work on real files.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use stateward_model::wire::{Command, CommandPhase, Order, StateStock};
use stateward_model::{Name, key_hash};

use super::{Cleaner, CleanupGovernor, CleanupOptions, DailyWindow, SharedRequests};
use crate::clock::ManualClock;
use crate::codec::row_header;
use crate::job::JobControl;
use crate::state::{StateConfig, StateDeclared, StateKind, ValueStateDescriptor};
use crate::store::{RocksOptions, RocksStore, ShardDb, SharedCutOff, SharedReclaims, StateStore};
use crate::telemetry::{Board, ShardBoard, StateSnapshot};

const FAMILY: &str = "state-000";
const ROWS: u64 = 40_000;
const VALUE_BYTES: usize = 100;

/// A shard whose rows are stamped by their number, with a cleaner that a test turns by hand.
struct World {
    dir: tempfile::TempDir,
    clock: ManualClock,
    board: Arc<Board>,
    db: Arc<ShardDb>,
    cut_off: SharedCutOff,
    requests: SharedRequests,
    _alive: Sender<Infallible>,
    shards: Receiver<Infallible>,
}

impl World {
    /// Rows 0 to [`ROWS`], stamped with their numbers, in a file of the last level.
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cut_off = SharedCutOff::default();
        let rocks = RocksOptions::new(1 << 20, 1 << 20);
        let families = [(FAMILY.to_owned(), Some(Arc::clone(&cut_off)))];
        let db = ShardDb::open(&dir.path().join("db"), &rocks, &families).unwrap();
        let rows: Vec<(Vec<u8>, Vec<u8>)> = (0..ROWS)
            .map(|n| {
                let mut row = Vec::new();
                row_header(n as i64, 0, &mut row);
                // bytes that do not compress
                let bytes =
                    (0..).flat_map(|at: u64| key_hash(&(n << 8 | at).to_be_bytes()).to_be_bytes());
                row.extend(bytes.take(VALUE_BYTES));
                ([&[0, 0], n.to_be_bytes().as_slice()].concat(), row)
            })
            .collect();
        let changes: Vec<_> = rows.iter().map(|(key, row)| (&**key, Some(&**row))).collect();
        RocksStore::new(Arc::clone(&db), FAMILY.into()).apply_sorted(&changes).unwrap();
        let (alive, shards) = bounded(0);
        Self {
            dir,
            clock: ManualClock::at(0),
            board: Arc::new(Board::new(1)),
            db,
            cut_off,
            requests: SharedRequests::default(),
            _alive: alive,
            shards,
        }
    }

    /// The first so many rows are written off, and the shard says so.
    fn write_off(&self, rows: u64) {
        self.cut_off.commit(rows as i64 - 1);
        let row_bytes = VALUE_BYTES as u64 + 10;
        let written_off = rows * row_bytes;
        let stock = StateStock {
            logical_bytes: (ROWS - rows) * row_bytes,
            unreclaimed_bytes: written_off.saturating_sub(self.cut_off.dropped_bytes()),
            ..StateStock::default()
        };
        let state = StateSnapshot { id: 0, stock, ..StateSnapshot::default() };
        self.board.publish(0, ShardBoard { states: vec![state], ..ShardBoard::default() });
    }

    fn cleaner(&self, options: CleanupOptions) -> Cleaner {
        Cleaner {
            board: Arc::clone(&self.board),
            dbs: vec![Arc::clone(&self.db)],
            reclaims: SharedReclaims::default(),
            clock: Arc::new(self.clock.clone()),
            options,
            requests: self.requests.clone(),
        }
    }

    fn rows_left(&self) -> u64 {
        let mut rows = 0;
        let store = RocksStore::new(Arc::clone(&self.db), FAMILY.into());
        store.prefix(&[], &mut |_, _| rows += 1).unwrap();
        rows
    }

    fn governor(&self) -> CleanupGovernor {
        let options = ValueStateDescriptor::<u64>::new("sessions").options;
        let declared = StateDeclared { kind: StateKind::Value, options, schema: String::new() };
        CleanupGovernor::new(
            self.dir.path(),
            Arc::new(self.clock.clone()),
            JobControl::new(1, 0, 1),
            Arc::clone(&self.board),
            vec![StateConfig::of(0, "op", &declared).unwrap()],
            self.requests.clone(),
        )
        .unwrap()
    }
}

fn command(version: u64, order: Order) -> Command {
    let name = |name: &str| Name::new(name).unwrap();
    let (actor, reason) = ("ann".to_owned(), "the disk fills".to_owned());
    Command { version, operator: name("op"), state: name("sessions"), order, actor, reason }
}

/// §1.11: what is due is compacted, exactly the rows at or below the cut-off go, and runs, rows and
/// bytes are counted; what is not due is not touched.
#[test]
fn exactly_what_is_written_off_goes_when_it_is_due() {
    let world = World::new();
    let mut memory = std::collections::HashMap::new();
    let cleaner = world.cleaner(CleanupOptions::new());
    world.write_off(ROWS / 10);
    assert!(cleaner.look(&mut memory).unwrap().is_none(), "a tenth is not worth it");
    assert_eq!(world.rows_left(), ROWS);
    world.write_off(ROWS / 2);
    let cost = cleaner.look(&mut memory).unwrap().expect("half is");
    assert!(cost.read_bytes > 1 << 20, "{cost:?}");
    assert_eq!(world.rows_left(), ROWS / 2);
    let runs = world.cut_off.runs();
    let reclaim = runs.iter().find(|runs| runs.strategy.as_str() == "reclaim").unwrap();
    assert_eq!((reclaim.rows, reclaim.runs > 0), (ROWS / 2, true), "{runs:?}");
    assert_eq!(reclaim.bytes, world.cut_off.dropped_bytes());
    assert!(reclaim.read_bytes > 1 << 20);
    world.write_off(ROWS / 2);
    assert!(cleaner.look(&mut memory).unwrap().is_none(), "nothing is left");
}

/// §1.11: outside its windows it waits, unless more than half is written off; while it is paused it
/// waits whatever there is.
#[test]
fn windows_and_pauses_hold_it_back() {
    let world = World::new();
    let mut memory = std::collections::HashMap::new();
    let nightly = CleanupOptions::new().window(DailyWindow::new("01:00", "02:00").unwrap());
    let cleaner = world.cleaner(nightly);
    world.write_off(ROWS / 3);
    assert!(cleaner.look(&mut memory).unwrap().is_none());
    let mut governor = world.governor();
    let until = Some(5_000_000);
    drop(governor.order(&command(1, Order::PauseCleanup { until_millis: until })).unwrap());
    world.clock.set(3_700_000);
    assert!(cleaner.look(&mut memory).unwrap().is_none(), "paused");
    assert_eq!(governor.paused(), [(0, until)]);
    drop(governor);
    world.requests.lock().paused.clear();
    assert_eq!(world.governor().paused(), [(0, until)], "a pause survives a restart");
    world.clock.set(5_000_000);
    assert!(cleaner.look(&mut memory).unwrap().is_some(), "it ended by itself");
    assert_eq!(world.rows_left(), ROWS - ROWS / 3);
}

/// §1.11: a dry run says what cleaning on demand then frees, to a tenth, and changes nothing; both
/// are commands with a life, and one that was not carried out is carried out by the next run.
#[test]
fn a_dry_run_says_what_a_demand_frees() {
    let world = World::new();
    world.write_off(ROWS / 4);
    let mut governor = world.governor();
    drop(governor.order(&command(1, Order::Clean { dry_run: true })).unwrap());
    let numbers = |text: &str| -> Vec<f64> {
        text.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    let cleaner = world.cleaner(CleanupOptions::new());
    let turn = |governor: &mut CleanupGovernor| {
        let demand = world.requests.lock().demands.pop_front().expect("a demand");
        let outcome = cleaner.carry_out(demand, &world.shards).unwrap();
        world.requests.lock().outcomes.push((demand.version, outcome));
        governor.tick().unwrap();
        let steps = governor.take_progress();
        assert_eq!(steps.last().unwrap().phase, CommandPhase::Done);
        numbers(&steps.last().unwrap().detail)
    };
    let said = turn(&mut governor);
    assert_eq!(world.rows_left(), ROWS);
    drop(governor.order(&command(2, Order::Clean { dry_run: false })).unwrap());
    drop(governor);
    world.requests.lock().demands.clear();
    let mut next_run = world.governor();
    let done = turn(&mut next_run);
    assert_eq!(world.rows_left(), ROWS - ROWS / 4);
    let (promised, freed) = (said[0], done[0]);
    assert!((promised / freed - 1.0).abs() < 0.2, "{said:?} {done:?}");
    assert!((said[1] - done[1]).abs() < 1.0, "it reads what it said");
    assert!(world.governor().take_progress().is_empty(), "nothing is left to do");
    assert!(world.requests.lock().demands.is_empty());
}

/// The thread ends with the job, also while it rests.
#[test]
fn it_ends_with_the_job() {
    let world = World::new();
    world.write_off(ROWS / 2);
    let slow = CleanupOptions::new().bytes_per_second(1);
    let cleaner = world.cleaner(slow);
    let World { _alive: alive, shards, .. } = world;
    let thread = std::thread::Builder::new().name("cleanup".into());
    let thread = thread.spawn(move || cleaner.run(&shards)).unwrap();
    std::thread::park_timeout(Duration::from_millis(1_500));
    drop(alive);
    thread.join().unwrap().unwrap();
}
