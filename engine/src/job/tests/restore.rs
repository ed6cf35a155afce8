//! What a restore says beforehand, what it refuses, and the clocks behind it.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use super::options;
use crate::clock::{Clock, SystemClock};
use crate::job::{Job, JobBuilder, RunOptions, Watermarks};
use crate::operator::{Context, Open};
use crate::savepoint::{Savepoint, StateFate, StatePreview};
use crate::sink::CollectSink;
use crate::source::{MemorySource, Timed};
use crate::state::{Ttl, ValueStateDescriptor};

/// A wall clock that is set, with a monotonic one that runs.
#[derive(Clone, Debug)]
struct SetWall {
    wall: Arc<AtomicI64>,
    system: SystemClock,
}

impl Clock for SetWall {
    fn now_millis(&self) -> i64 {
        self.wall.load(Ordering::SeqCst)
    }
    fn monotonic_micros(&self) -> u64 {
        self.system.monotonic_micros()
    }
}

fn at(dir: &Path, wall: i64) -> RunOptions {
    let wall = Arc::new(AtomicI64::new(wall));
    options(dir).clock(SetWall { wall, system: SystemClock::new() })
}

/// A visitor with the visit before, where that is remembered.
type Visit = (u64, Option<u64>);

/// How the state of a job of visits is declared.
#[derive(Clone, Copy, Debug)]
struct Declared {
    name: &'static str,
    ttl_millis: Option<u64>,
}

const SEEN: Declared = Declared { name: "seen", ttl_millis: Some(1_000) };

/// Visitors, each of whom is remembered by the wall clock.
fn visits(numbers: Range<u64>, declared: Declared, sink: &CollectSink<Visit>) -> Job {
    // what a run has read is in front of it: the source is a log that grows
    let records = (0..numbers.end).map(|n| Timed { value: n, ts: 0 });
    let mut job = JobBuilder::new("visits");
    job.source("visitors", MemorySource::new(records), Watermarks::monotonous())
        .key_by_owned(|n: &u64| n % 20)
        .process("greeter", move |open: &mut Open<'_, u64>| {
            let mut seen = ValueStateDescriptor::<u64>::new(declared.name).processing_time();
            if let Some(ttl) = declared.ttl_millis {
                seen = seen.ttl(Ttl::new(Duration::from_millis(ttl)));
            }
            let seen = open.value_state(seen);
            Ok(move |n: &u64, ctx: &mut Context<'_, u64, Visit>| {
                let before = seen.get(ctx)?;
                seen.put(ctx, n)?;
                ctx.emit((*n, before));
                Ok(())
            })
        })
        .sink("results", sink.clone());
    job.build().unwrap()
}

fn run(numbers: Range<u64>, declared: Declared, options: RunOptions) -> Vec<Visit> {
    run_on(&CollectSink::new(), numbers, declared, options)
}

/// The same, into a sink that earlier runs have written to.
fn run_on(
    sink: &CollectSink<Visit>,
    numbers: Range<u64>,
    declared: Declared,
    options: RunOptions,
) -> Vec<Visit> {
    visits(numbers.clone(), declared, sink).start(options).unwrap().wait().unwrap();
    let found = sink.records().into_iter().map(|(visit, _)| visit);
    found.filter(|(n, _)| numbers.contains(n)).collect()
}

/// Visitors 0 to 9 at 1,000 ms of the wall clock, 10 to 19 at 1,500 ms; then the job is stopped.
fn stopped(declared: Declared) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let sink = CollectSink::new();
    for (end, wall) in [(10, 1_000), (20, 1_500)] {
        visits(0..end, declared, &sink).start(at(dir.path(), wall)).unwrap().wait().unwrap();
    }
    let path = dir.path().join("a.savepoint");
    let savepoint = Savepoint::of_stopped_job(dir.path(), "visits", Some(&path)).unwrap();
    assert_eq!((savepoint.entries, savepoint.wall_millis), (20, 1_500));
    (dir, path)
}

fn preview(declared: Declared, options: &RunOptions) -> Vec<StatePreview> {
    let job = visits(0..20, declared, &CollectSink::new());
    job.preview_restore(options).unwrap().states
}

fn refusal(declared: Declared, options: RunOptions) -> String {
    let job = visits(0..20, declared, &CollectSink::new());
    job.start(options).unwrap_err().to_string()
}

/// §1.13: stamps are absolute: what is dead on arrival is counted exactly, and more than half of it is
/// refused unless it is meant.
#[test]
fn mostly_dead_is_refused() {
    let (_dir, path) = stopped(SEEN);
    let there = tempfile::tempdir().unwrap();
    let restoring = |wall| at(there.path(), wall).restore_from(&path);
    for (wall, dead) in [(1_999, 0), (2_000, 10), (2_499, 10), (2_500, 20)] {
        let found = preview(SEEN, &restoring(wall));
        assert_eq!((found.len(), found[0].entries, found[0].fate), (1, 20, StateFate::Restored));
        assert_eq!((found[0].dead_on_arrival, found[0].dies), (Some(dead), Some(dead)), "{wall}");
        assert_eq!(found[0].clock_millis, Some(wall));
        assert_eq!((found[0].oldest_millis, found[0].newest_millis), (Some(1_000), Some(1_500)));
    }
    let text = refusal(SEEN, restoring(2_500));
    assert!(
        text.contains("20 of 20 entries of greeter/seen would be expired on arrival"),
        "{text}"
    );
    // a refusal leaves nothing that would be in the way
    let visits = run(20..40, SEEN, restoring(2_000));
    let expected = |n: u64| (n, (n >= 30).then(|| n - 20));
    assert_eq!(visits, (20..40).map(expected).collect::<Vec<_>>());
    let meant = tempfile::tempdir().unwrap();
    let visits = run(20..40, SEEN, at(meant.path(), 2_500).restore_from(&path).confirm_expired());
    assert!(visits.iter().all(|(_, before)| before.is_none()), "{visits:?}");
}

/// §1.13: first reads that find nothing because the entry was dead on arrival are counted apart, and
/// are no TTL misses; what expires later is one.
#[test]
fn first_reads_after_a_restore_are_counted_apart() {
    let (_dir, path) = stopped(SEEN);
    let there = tempfile::tempdir().unwrap();
    let sink = CollectSink::new();
    // 0 to 9 are dead at 2,400; each of 20 visitors comes twice
    let restoring = at(there.path(), 2_400).restore_from(&path);
    let handle = visits(0..60, SEEN, &sink).start(restoring).unwrap();
    while !handle.has_ended() {
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let flow = handle.figures().states.first().unwrap().flow;
    assert_eq!((flow.reads, flow.misses_restored), (40, 10));
    assert_eq!((flow.misses_present, flow.misses_absent), (0, 0));
    handle.wait().unwrap();
    // from now on it is time that kills
    let handle = visits(0..80, SEEN, &sink).start(at(there.path(), 3_400)).unwrap();
    while !handle.has_ended() {
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let flow = handle.figures().states.first().unwrap().flow;
    assert_eq!((flow.misses_restored, flow.misses_present + flow.misses_absent), (0, 20));
}

/// §1.13: a compensated outage has not happened for processing-time states: old and new entries live
/// on as if there had been none, after later starts and restores too.
#[test]
fn downtime_is_compensated() {
    let (_dir, path) = stopped(SEEN);
    let there = tempfile::tempdir().unwrap();
    // stopped at 1,500, restored at 101,500: the state's clock goes 100 s after
    let restoring = at(there.path(), 101_500).restore_from(&path).compensate_downtime();
    let found = preview(SEEN, &restoring);
    assert_eq!((found[0].dead_on_arrival, found[0].clock_millis), (Some(0), Some(1_500)));
    let sink = CollectSink::new();
    let visits = run_on(&sink, 20..25, SEEN, restoring);
    assert!(visits.iter().all(|(n, before)| *before == Some(n - 20)), "{visits:?}");
    // 0 to 4 were seen again at 1,500 of the state's clock, 5 to 9 are from 1,000
    let visits = run_on(&sink, 25..45, SEEN, at(there.path(), 102_000));
    let seen = |n: u64| visits.iter().find(|(of, _)| *of == n).unwrap().1;
    assert_eq!((25..30).map(seen).collect::<Vec<_>>(), [None; 5], "old ones expire at 2,000");
    assert_eq!((30..45).map(seen).collect::<Vec<_>>(), (10..25).map(Some).collect::<Vec<_>>());
    // and a second outage adds to the first
    let again = Savepoint::of_stopped_job(there.path(), "visits", None).unwrap();
    let last = tempfile::tempdir().unwrap();
    let restoring = at(last.path(), 500_000).restore_from(&again.path).compensate_downtime();
    let found = preview(SEEN, &restoring);
    assert_eq!((found[0].dead_on_arrival, found[0].clock_millis), (Some(0), Some(2_000)));
}

/// §1.1, §1.14: a TTL that is switched on at a restore counts from then; a shorter or longer one
/// judges what is there at once, and the preview says what that does.
#[test]
fn a_changed_ttl_is_previewed() {
    let ttl = |ttl_millis| Declared { ttl_millis, ..SEEN };
    let (_dir, path) = stopped(ttl(None));
    let there = tempfile::tempdir().unwrap();
    let restoring = |wall| at(there.path(), wall).restore_from(&path);
    let found = preview(SEEN, &restoring(1_000_000));
    assert_eq!((found[0].stored_ttl_millis, found[0].ttl_millis), (None, Some(1_000)));
    assert_eq!((found[0].dead_on_arrival, found[0].dies), (Some(0), Some(0)));
    let sink = CollectSink::new();
    let visits = run_on(&sink, 20..30, SEEN, restoring(1_000_000));
    assert!(visits.iter().all(|(n, before)| *before == Some(n - 20)), "{visits:?}");
    let visits = run_on(&sink, 30..50, SEEN, at(there.path(), 1_001_000));
    assert!(visits.iter().all(|(_, before)| before.is_none()), "{visits:?}");

    let (_dir, path) = stopped(SEEN);
    let found = |ttl_millis| {
        let there = tempfile::tempdir().unwrap();
        preview(ttl(ttl_millis), &at(there.path(), 1_500).restore_from(&path)).remove(0)
    };
    let shorter = found(Some(400));
    assert_eq!(
        (shorter.dead_on_arrival, shorter.dies, shorter.returns),
        (Some(10), Some(10), Some(0))
    );
    let off = found(None);
    assert_eq!((off.dead_on_arrival, off.dies, off.returns), (Some(0), Some(0), Some(0)));
}

/// §1.13; Flink's `allowNonRestoredState`: what the job does not declare any more is named and refused
/// unless it is meant to stay behind; what is new begins empty.
#[test]
fn what_would_stay_behind_is_refused() {
    let (_dir, path) = stopped(SEEN);
    let renamed = Declared { name: "met", ..SEEN };
    let there = tempfile::tempdir().unwrap();
    let restoring = || at(there.path(), 1_500).restore_from(&path);
    let fates: Vec<_> = preview(renamed, &restoring())
        .into_iter()
        .map(|state| (state.state, state.fate, state.entries, state.dead_on_arrival))
        .collect();
    let expected = [
        ("met".to_owned(), StateFate::New, 0, None),
        ("seen".to_owned(), StateFate::Dropped, 20, None),
    ];
    assert_eq!(fates, expected);
    let text = refusal(renamed, restoring());
    assert!(text.contains("does not declare: state greeter/seen; give it the names"), "{text}");
    let visits = run(20..40, renamed, restoring().allow_non_restored_state());
    assert!(visits.iter().all(|(_, before)| before.is_none()), "{visits:?}");
    // it went on behind what the savepoint had read
    assert_eq!(visits.len(), 20);
}

/// §1.13: stamps that nobody can have meant are named.
#[test]
fn implausible_stamps_are_named() {
    let found = |wall: i64, restored: i64| {
        let dir = tempfile::tempdir().unwrap();
        let forever = Declared { ttl_millis: None, ..SEEN };
        run(0..20, forever, at(dir.path(), wall));
        let made = Savepoint::of_stopped_job(dir.path(), "visits", None).unwrap();
        let there = tempfile::tempdir().unwrap();
        preview(forever, &at(there.path(), restored).restore_from(made.path)).remove(0).implausible
    };
    assert_eq!(found(0, 0), ["20 at zero", "all 20 at 0"]);
    let future = 86_400_001;
    assert_eq!(found(future + 5, 5), ["20 more than a day in the future", "all 20 at 86400006"]);
    let (_dir, path) = stopped(SEEN);
    let there = tempfile::tempdir().unwrap();
    let found = preview(SEEN, &at(there.path(), 1_500).restore_from(&path));
    assert_eq!(found[0].implausible, [""; 0]);
}
