//! TTLs of people and of code, across restarts.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stateward_model::Name;
use stateward_model::wire::{Command, CommandPhase, Order};

use super::TtlGovernor;
use crate::clock::ManualClock;
use crate::job::JobControl;
use crate::state::{SharedTtl, StateConfig, StateDeclared, StateKind, Ttl, ValueStateDescriptor};
use crate::telemetry::{Board, ShardBoard, StateSnapshot};

const HOUR: i64 = 3_600_000;

/// What a test looks at.
struct World {
    governor: TtlGovernor,
    shared: Arc<SharedTtl>,
    control: Arc<JobControl>,
}

fn start(dir: &Path, clock: &ManualClock, declared_millis: u64) -> World {
    let descriptor = ValueStateDescriptor::<u64>::new("sessions")
        .ttl(Ttl::new(Duration::from_millis(declared_millis)))
        .min_ttl(Duration::from_millis(50), "a window of 50 ms is joined with it");
    let declared = StateDeclared {
        kind: StateKind::Value,
        options: descriptor.options,
        schema: String::new(),
    };
    let config = StateConfig::of(0, "op", &declared).unwrap();
    let shared = Arc::new(SharedTtl::new(config.ttl_millis()));
    let control = JobControl::new(1, 0, 1);
    let governor = TtlGovernor::new(
        dir,
        Arc::new(clock.clone()),
        Arc::clone(&control),
        Arc::new(Board::new(1)),
        &[(config, Arc::clone(&shared))],
    )
    .unwrap();
    World { governor, shared, control }
}

impl World {
    fn order(&mut self, version: u64, order: Order) {
        let name = |name: &str| Name::new(name).unwrap();
        let command = Command {
            version,
            operator: name("op"),
            state: name("sessions"),
            order,
            actor: "ann".into(),
            reason: "the disk fills".into(),
        };
        drop(self.governor.order(&command).unwrap());
    }

    fn in_force(&self) -> (Option<i64>, Option<i64>) {
        let (_, ttl, kept) = self.shared.get();
        (ttl, kept)
    }

    /// What the log has got since the last call.
    fn told(&self) -> String {
        let texts = self.control.log.drain().into_iter().map(|event| event.text);
        texts.collect::<Vec<_>>().join("\n")
    }

    fn phases(&mut self) -> Vec<CommandPhase> {
        self.governor.take_progress().into_iter().map(|step| step.phase).collect()
    }
}

fn set(ttl_millis: i64, until_millis: Option<i64>) -> Order {
    Order::Ttl { ttl_millis: Some(ttl_millis), until_millis }
}

/// §1.14: what a person decided wins over what code declares, also after a redeploy that declares
/// another TTL, which is said; it is in force again before the first event of the next run.
#[test]
fn an_override_outlives_a_redeploy() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), ManualClock::at(1_000));
    let mut first = start(dir.path(), &clock, 1_000);
    assert_eq!(first.in_force(), (Some(1_000), Some(1_000)));
    first.order(7, set(200, None));
    assert_eq!(first.in_force(), (Some(200), Some(1_000)));
    assert!(first.told().contains("from 1000 ms to 200 ms"));
    drop(first);

    clock.advance(HOUR / 2);
    let mut second = start(dir.path(), &clock, 3_000);
    assert_eq!(second.in_force(), (Some(200), Some(1_000)), "the hour is not over");
    let told = second.told();
    assert!(told.contains("now declares 3000 ms instead of 1000 ms; 200 ms set by ann"), "{told}");
    assert_eq!(second.governor.version(), 7, "the server need not say it again");
    clock.advance(HOUR);
    second.governor.tick(&[]).unwrap();
    assert_eq!(second.in_force(), (Some(200), Some(200)));
    second.order(8, Order::TtlRevert);
    assert_eq!(second.in_force(), (Some(3_000), Some(3_000)));
}

/// §1.14: a temporary TTL ends by itself, whether or not the job runs then.
#[test]
fn a_temporary_ttl_ends_while_nobody_looks() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), ManualClock::at(1_000));
    let mut first = start(dir.path(), &clock, 1_000);
    first.order(1, set(9_000, Some(2_000)));
    clock.set(2_000);
    first.governor.tick(&[]).unwrap();
    assert_eq!(first.in_force(), (Some(1_000), Some(9_000)));
    assert!(first.told().contains("9000 ms has ended: 1000 ms again"));
    first.order(2, set(500, Some(3_000)));
    drop(first);
    clock.set(2_000 + HOUR);
    let second = start(dir.path(), &clock, 1_000);
    assert_eq!(second.in_force(), (Some(1_000), Some(1_000)));
}

/// §1.14: less than a state's minimum is refused with its reason, in code and from a person; so is an
/// end that has passed. What is refused changes nothing, and is not asked for again.
#[test]
fn less_than_the_minimum_is_refused() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), ManualClock::at(1_000));
    let mut world = start(dir.path(), &clock, 1_000);
    world.order(1, set(49, None));
    world.order(2, set(500, Some(1_000)));
    assert_eq!(world.in_force(), (Some(1_000), Some(1_000)));
    let steps = world.governor.take_progress();
    assert_eq!(steps.len(), 2);
    assert!(steps.iter().all(|step| step.phase == CommandPhase::Refused));
    assert!(steps[0].detail.contains("a window of 50 ms is joined with it"), "{steps:?}");
    drop(world);
    assert_eq!(start(dir.path(), &clock, 1_000).governor.version(), 2);

    let short = ValueStateDescriptor::<u64>::new("s")
        .ttl(Ttl::new(Duration::from_millis(49)))
        .min_ttl(Duration::from_millis(50), "why");
    let declared =
        StateDeclared { kind: StateKind::Value, options: short.options, schema: String::new() };
    let refused = StateConfig::of(0, "op", &declared).unwrap_err().to_string();
    assert!(refused.contains("op/s may not be below 50 ms, it is 49 ms: why"), "{refused}");
}

/// DESIGN, commands: delivered once it is in the journal, applied and done as the shards take it up;
/// "reclaim now" ends the hour.
#[test]
fn a_command_is_followed_until_every_shard_goes_by_it() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), ManualClock::at(1_000));
    let mut world = start(dir.path(), &clock, 1_000);
    world.order(1, set(200, None));
    let board = |ttl_version| {
        let state = StateSnapshot { id: 0, ttl_version, ..StateSnapshot::default() };
        ShardBoard { states: vec![state], ..ShardBoard::default() }
    };
    let now = world.shared.version();
    world.governor.tick(&[board(now), board(now - 1)]).unwrap();
    assert_eq!(world.phases(), [CommandPhase::Delivered, CommandPhase::Applied]);
    world.governor.tick(&[board(now), board(now)]).unwrap();
    assert_eq!(world.phases(), [CommandPhase::Done]);
    world.order(2, Order::ReclaimNow);
    assert_eq!(world.in_force(), (Some(200), Some(200)));
    world.order(2, set(900, None));
    assert_eq!(world.in_force().0, Some(200), "a command that comes twice is taken once");
}

/// DESIGN, errors: a damaged journal names the file and the way out, and is left as it was.
#[test]
fn a_damaged_journal_is_no_empty_one() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), ManualClock::at(1_000));
    start(dir.path(), &clock, 1_000).order(1, set(200, None));
    let path = dir.path().join("ttl.json");
    let text = std::fs::read(&path).unwrap();
    std::fs::write(&path, &text[..text.len() / 2]).unwrap();
    let file = super::Journal::new(path.clone());
    let error = file.read::<serde_json::Map<String, serde_json::Value>>("delete it").unwrap_err();
    let error = error.to_string();
    assert!(error.contains("ttl.json") && error.contains("delete it"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap().len(), text.len() / 2);
}
