//! Processing time against a model that knows how long each entry has lived, with every branch
//! counted.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use stateward_model::TtlRule;

use super::{ClockOrder, ProcessingClock, ProcessingTime, ShardClock};
use crate::clock::{Clock, ManualClock};
use crate::job::JobControl;
use crate::policy::Taken;
use crate::state::SharedTtl;

const MINUTE: i64 = 60_000;
const DAY: i64 = 86_400_000;
const TTL: i64 = 30 * MINUTE;
const START: i64 = 20_000 * DAY;

/// Two shards and the governor of a job.
struct World {
    folder: tempfile::TempDir,
    wall: ManualClock,
    clock: Arc<ProcessingClock>,
    shards: [ShardClock; 2],
    control: Arc<JobControl>,
}

fn open(
    folder: &Path,
    wall: &ManualClock,
    committed: Option<i64>,
) -> (Arc<ProcessingClock>, Arc<JobControl>) {
    let control = JobControl::new(2, 0, 1);
    let ttls = vec![Arc::new(SharedTtl::new(Some(TTL)))];
    let clock = Arc::new(wall.clone());
    let guard = (MINUTE, ttls);
    let opened = ProcessingClock::open(folder, clock, Arc::clone(&control), guard, committed);
    (opened.unwrap(), control)
}

impl World {
    fn start() -> Self {
        let (folder, wall) = (tempfile::tempdir().unwrap(), ManualClock::at(START));
        let (clock, control) = open(folder.path(), &wall, None);
        let shards = [0, 1].map(|_| ShardClock::new(Arc::clone(&clock)));
        let mut world = Self { folder, wall, clock, shards, control };
        world.look();
        world
    }

    /// The process is killed, and started again after `down`.
    fn restart(&mut self, down: impl Fn(&ManualClock)) {
        let committed = self.clock.latest();
        down(&self.wall);
        (self.clock, self.control) = open(self.folder.path(), &self.wall, committed);
        self.shards = [0, 1].map(|_| ShardClock::new(Arc::clone(&self.clock)));
    }

    /// All look; every one sees the same.
    fn look(&mut self) -> ProcessingTime {
        self.clock.tick().unwrap();
        let wall = self.wall.now_millis();
        let [first, second] = &mut self.shards;
        let time = first.at(wall).unwrap();
        assert_eq!(second.at(wall).unwrap(), time);
        time
    }

    fn order(&self, order: ClockOrder) -> Taken {
        self.clock.order(order, "ann", "the laptop was closed").unwrap()
    }

    fn told(&self) -> Vec<String> {
        self.control.log.drain().into_iter().map(|event| event.text).collect()
    }
}

fn hides(time: ProcessingTime, ts: i64) -> bool {
    let rule = TtlRule { grace: time.grace, ..TtlRule::new(Some(TTL)) };
    rule.hides(ts, Some(time.stands_at.unwrap_or(time.now)))
}

/// §1.10: a machine that was suspended for a day kills nothing before somebody has accepted it.
#[test]
fn a_jump_waits_for_a_decision() {
    let mut world = World::start();
    world.wall.advance(2 * MINUTE);
    let before = world.look();
    assert_eq!((before.now, before.stands_at), (START + 2 * MINUTE, None), "time that passes");
    world.wall.jump(DAY);
    world.wall.advance(500);
    let waits = world.look();
    assert_eq!((waits.now, waits.stands_at), (before.now, Some(before.now)));
    assert_eq!(waits.awake, before.now + 500, "nothing was idle for a day");
    world.wall.advance(TTL * 2);
    let waits = world.look();
    assert_eq!((waits.now, waits.stands_at), (before.now + TTL * 2, Some(before.now)));
    assert!(!hides(waits, before.now), "expiry stands, whatever passes meanwhile");
    let sample = world.clock.sample();
    assert_eq!((sample.jump_millis, sample.shift_millis), (Some(DAY + 500), 0));
    let told = world.told();
    assert!(told.len() == 1 && told[0].contains("86400500 ms"), "{told:?}");
    assert_eq!(world.order(ClockOrder::Accept), Taken::Done);
    let written = waits.now;
    let accepted = world.look();
    assert_eq!((accepted.now, accepted.stands_at), (world.wall.now_millis(), None));
    assert!(hides(accepted, before.now - 1), "it has passed for what was there");
    assert!(!hides(accepted, written), "what was written meanwhile lives from now on");
    world.wall.advance(TTL);
    assert!(hides(world.look(), written));
    assert!(matches!(world.order(ClockOrder::Accept), Taken::Refused(_)));
    assert!(world.told()[0].contains("accepted"));
}

/// §1.10: a jump that is compensated has not been, for old and new entries alike, over restarts too.
#[test]
fn a_compensated_jump_has_not_been() {
    let mut world = World::start();
    world.wall.jump(DAY);
    world.look();
    world.wall.advance(MINUTE);
    let written = world.look().now;
    world.restart(|_| ());
    assert!(world.told()[0].contains("still waits"));
    assert_eq!(world.look().stands_at, Some(START), "a crash decides nothing");
    assert_eq!(world.order(ClockOrder::Compensate), Taken::Done);
    for _ in 0..2 {
        let time = world.look();
        assert_eq!((time.now, time.stands_at), (START + MINUTE, None));
        assert_eq!(world.clock.sample().shift_millis, DAY);
        world.restart(|_| ());
    }
    world.wall.advance(TTL - MINUTE);
    let time = world.look();
    assert!(hides(time, START) && !hides(time, written), "each lives its TTL");
}

/// §1.10: processing time never runs backwards, over a restart neither; it stands until the wall
/// clock has caught up, or goes on at once where the difference is compensated.
#[test]
fn a_clock_that_is_set_back_revives_nothing() {
    let mut world = World::start();
    world.wall.advance(TTL);
    let before = world.look();
    assert!(hides(before, START));
    for down in [false, true] {
        if down {
            world.restart(|wall| wall.jump(-DAY));
        } else {
            world.wall.jump(-DAY);
        }
        let time = world.look();
        assert_eq!((time.now, time.stands_at), (before.now, None));
        assert!(down || time.awake == before.awake, "nothing is less idle for it");
        assert!(hides(time, START));
        let told = world.told();
        assert!(told.len() == 1 && told[0].contains("went back"), "{told:?}");
        world.wall.advance(MINUTE / 2);
        assert_eq!(world.look().now, before.now);
        if !down {
            world.wall.jump(DAY - MINUTE / 2);
            world.look();
            // that it was set right again moves nothing, so there is nothing to decide
            assert_eq!(world.look(), ProcessingTime { awake: time.awake + MINUTE / 2, ..time });
            assert_eq!(world.told(), [""; 0]);
        }
    }
    assert_eq!(world.order(ClockOrder::Compensate), Taken::Done);
    world.wall.advance(MINUTE);
    assert_eq!(world.look().now, before.now + MINUTE);
}

/// §1.10: a clock that runs by itself and has not been looked at for long was not running: the
/// process stood in a debugger. One that only moves in small steps is believed.
#[test]
fn a_process_that_stood_still_is_seen() {
    #[derive(Clone, Debug)]
    struct Running(ManualClock);
    impl Clock for Running {
        fn now_millis(&self) -> i64 {
            self.0.now_millis()
        }
        fn monotonic_micros(&self) -> u64 {
            self.0.monotonic_micros()
        }
    }
    let (folder, wall) = (tempfile::tempdir().unwrap(), ManualClock::at(START));
    let control = JobControl::new(1, 0, 1);
    let open = |ttls| {
        let clock = Arc::new(Running(wall.clone()));
        ProcessingClock::open(folder.path(), clock, Arc::clone(&control), (MINUTE, ttls), None)
    };
    let clock = open(vec![Arc::new(SharedTtl::new(Some(TTL)))]).unwrap();
    let mut shard = ShardClock::new(Arc::clone(&clock));
    let mut at = |millis: i64| {
        wall.advance(millis);
        shard.at(wall.now_millis()).unwrap()
    };
    assert_eq!(at(5 * MINUTE).stands_at, None, "nobody had looked before");
    assert_eq!(at(MINUTE).stands_at, None, "as long as is allowed");
    let stood = at(5 * MINUTE);
    assert_eq!(stood.stands_at, Some(START + 6 * MINUTE));
    assert_eq!(stood.now, START + 6 * MINUTE);
    // a reading from before the jump, by a thread that stood between reading and looking
    assert_eq!(shard.at(START + 6 * MINUTE).unwrap().stands_at, Some(START + 6 * MINUTE));
    assert_eq!(clock.sample().jump_millis, Some(5 * MINUTE));
    // no state goes by this clock: there is nothing to decide
    std::fs::remove_file(folder.path().join("clock.json")).unwrap();
    let mut shard = ShardClock::new(open(Vec::new()).unwrap());
    let mut at = |millis: i64| {
        wall.advance(millis);
        shard.at(wall.now_millis()).unwrap()
    };
    at(0);
    assert_eq!(at(DAY).stands_at, None);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Write,
    Advance(i64),
    Jump(i64),
    /// Jumps to where the clock would be, and a little further.
    SetRight(i64),
    Order(ClockOrder),
    Restart(i64),
}

fn step() -> impl Strategy<Value = Step> {
    let order = prop_oneof![Just(ClockOrder::Accept), Just(ClockOrder::Compensate)];
    prop_oneof![
        6 => Just(Step::Write),
        6 => (1_i64..20 * MINUTE).prop_map(Step::Advance),
        2 => (2 * MINUTE..2 * DAY).prop_map(Step::Jump),
        1 => (2 * MINUTE..20 * MINUTE).prop_map(|back| Step::Jump(-back)),
        1 => (0..MINUTE).prop_map(Step::SetRight),
        3 => order.prop_map(Step::Order),
        2 => (0_i64..10 * MINUTE).prop_map(Step::Restart),
    ]
}

/// An entry, and how long it has lived by the state's clock.
#[derive(Clone, Copy, Debug)]
struct Entry {
    ts: i64,
    lived: i64,
    /// Written while the jump waited that waits now.
    meanwhile: bool,
}

struct Run<'a> {
    world: World,
    entries: Vec<Entry>,
    /// How far the wall clock is behind the processing time.
    behind: i64,
    /// Jumps that wait.
    waits: i64,
    /// What is older may live longer: it is between two accepted jumps within one TTL.
    spared_before: i64,
    time: ProcessingTime,
    taken: &'a mut BTreeMap<&'static str, u64>,
}

impl Run<'_> {
    fn count(&mut self, branch: &'static str, hit: bool) {
        *self.taken.entry(branch).or_default() += u64::from(hit);
    }

    /// Time passes for the states, but for what the clock has to catch up.
    fn pass(&mut self, millis: i64) {
        let caught_up = millis.min(self.behind);
        self.behind -= caught_up;
        for entry in &mut self.entries {
            entry.lived += millis - caught_up;
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Write => {
                let (ts, meanwhile) = (self.time.now, self.waits > 0);
                self.entries.push(Entry { ts, lived: 0, meanwhile });
            }
            Step::Advance(millis) => {
                self.world.wall.advance(millis);
                self.pass(millis);
            }
            Step::Jump(millis) => self.jump(millis),
            Step::SetRight(further) if self.behind > MINUTE => self.jump(self.behind + further),
            Step::SetRight(_) => {}
            Step::Order(order) => self.order(order),
            Step::Restart(down) => {
                self.count("a restart while a jump waits", self.waits > 0);
                self.count("a restart behind", self.behind > 0);
                self.world.restart(|wall| wall.advance(down));
                self.pass(down);
            }
        }
        self.look();
    }

    fn jump(&mut self, millis: i64) {
        self.world.wall.jump(millis);
        if millis < 0 {
            self.count("set back", true);
            self.count("set back while a jump waits", self.waits > 0);
            self.behind -= millis;
            return;
        }
        if millis - self.behind <= MINUTE {
            self.count("set right", self.behind > 0);
            self.pass(millis);
            return;
        }
        self.count("a jump while one waits", self.waits > 0);
        // what it catches up moves nothing
        if self.waits == 0 {
            self.entries.iter_mut().for_each(|entry| entry.meanwhile = entry.ts == self.time.now);
        }
        self.waits += millis - self.behind;
        self.count("a jump catches up", self.behind > 0 && self.waits >= 0);
        self.behind = 0;
    }

    fn order(&mut self, order: ClockOrder) {
        let taken = self.world.order(order);
        let mut accepted_at = None;
        let waits = self.world.clock.sample().jump_millis.is_some();
        assert!(!waits, "whatever was ordered, none waits any more");
        match order {
            ClockOrder::Accept if self.time.stands_at.is_some() => {
                // a part of it may have been set back since
                let passed = (self.waits - self.behind).max(0);
                self.behind = (self.behind - self.waits).max(0);
                for entry in &mut self.entries {
                    entry.lived = if entry.meanwhile { 0 } else { entry.lived + passed };
                    entry.meanwhile = false;
                }
                self.count("accepted", true);
                accepted_at = self.time.stands_at;
            }
            ClockOrder::Compensate if self.time.stands_at.is_some() => {
                self.count("compensated", true);
            }
            ClockOrder::Compensate if self.behind > MINUTE => {
                self.behind = 0;
                self.count("compensated behind", true);
            }
            _ => {
                assert!(matches!(taken, Taken::Refused(_)));
                self.count("refused", true);
                return;
            }
        }
        assert_eq!(taken, Taken::Done);
        self.waits = 0;
        if let Some((grace, at)) = self.world.look().grace.zip(accepted_at) {
            let merged = grace.after_millis < at - 1;
            self.spared_before = if merged { grace.until_millis } else { i64::MIN };
            self.count("accepted twice within a TTL", merged);
        }
    }

    fn look(&mut self) {
        let before = self.time;
        self.time = self.world.look();
        assert!(self.time.now >= before.now, "it ran backwards");
        let stands = self.time.stands_at.is_some();
        for entry in self.entries.clone() {
            let hidden = hides(self.time, entry.ts);
            if stands {
                // nothing dies, and what was dead stays so
                assert_eq!(
                    hidden,
                    hides(ProcessingTime { stands_at: self.time.stands_at, ..before }, entry.ts)
                );
            } else if entry.ts < self.spared_before {
                assert!(!hidden || entry.lived >= TTL, "{entry:?} died early");
            } else {
                assert_eq!(hidden, entry.lived >= TTL, "{entry:?} at {:?}", self.time);
            }
            self.count("dead", hidden);
            self.count("live after an accepted jump", !hidden && self.time.grace.is_some());
        }
    }
}

/// §1.10: whatever the wall clock does, at any two decisions and over restarts, processing time
/// never runs backwards and an entry is dead exactly when it has lived its TTL by the clock that
/// people decided on. The run fails if a branch was never taken.
#[test]
fn soak_agrees_with_lives() {
    let cases = if std::env::var_os("STATEWARD_SOAK").is_some() { 2_000 } else { 60 };
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let taken = RefCell::new(BTreeMap::new());
    let run = |steps: Vec<Step>| {
        let mut taken = taken.borrow_mut();
        let mut world = World::start();
        let time = world.look();
        let entries = Vec::new();
        let mut run = Run {
            world,
            entries,
            behind: 0,
            waits: 0,
            spared_before: i64::MIN,
            time,
            taken: &mut taken,
        };
        for step in steps {
            run.step(step);
        }
        Ok(())
    };
    runner.run(&prop::collection::vec(step(), 1..40), run).unwrap();
    let taken = taken.into_inner();
    assert!(taken.len() == 14 && taken.values().all(|n| *n > 0), "branches never taken: {taken:?}");
}
