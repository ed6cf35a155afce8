//! Jobs that go on with another number of shards, against ones that never changed it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use stateward_model::breaker::Action;
use stateward_model::wire::StateSample;

use super::{options, until};
use crate::job::{Job, JobBuilder, Watermarks};
use crate::operator::{Context, Open, Timer};
use crate::sink::{CollectSink, FileSink};
use crate::source::{MemorySource, Source, Timed};
use crate::state::{
    ListStateDescriptor, MapStateDescriptor, ReducingStateDescriptor, Ttl, ValueStateDescriptor,
};

const KEYS: u64 = 97;

pub(super) fn records(count: u64) -> impl Iterator<Item = Timed<u64>> {
    (0..count).map(|n| Timed { value: n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40, ts: n as i64 })
}

/// Every kind of state, timers, two nodes with an exchange between, and a file sink.
fn mixed(count: u64, shards: usize) -> Job {
    mixed_on(MemorySource::new(records(count)), shards, false)
}

/// The same over any input, with every state on the other backend than else where they are swapped.
pub(super) fn mixed_on(numbers: impl Source<u64>, shards: usize, swapped: bool) -> Job {
    let mut job = JobBuilder::new("mixed").parallelism(shards);
    let counted = job
        .source("numbers", numbers, Watermarks::monotonous())
        .key_by_owned(|n: &u64| n % KEYS)
        .process("first", move |open: &mut Open<'_, u64>| {
            open.event_time_timers();
            let ttl = |millis| Ttl::new(Duration::from_millis(millis));
            let mut seen = ValueStateDescriptor::<u64>::new("seen").ttl(ttl(150));
            let mut total = ReducingStateDescriptor::<u64>::new("total", |a, b| a + b);
            let mut recent = MapStateDescriptor::<u64, u64>::new("recent").ttl(ttl(300));
            let mut last = ListStateDescriptor::<u64>::new("last").ttl(ttl(400));
            if swapped {
                (seen, last) = (seen.heap(), last.heap());
            } else {
                (total, recent) = (total.heap(), recent.heap());
            }
            let (seen, total) = (open.value_state(seen), open.reducing_state(total));
            let (recent, last) = (open.map_state(recent), open.list_state(last));
            let on_record = move |n: &u64, ctx: &mut Context<'_, u64, (u64, u64)>| {
                let count = seen.get(ctx)?.unwrap_or(0) + 1;
                seen.put(ctx, &count)?;
                total.add(ctx, 1)?;
                recent.put(ctx, &(n % 5), n)?;
                last.add(ctx, n)?;
                let sum = recent.entries(ctx)?.len() + last.get(ctx)?.len();
                ctx.timers().register_event_time(ctx.event_time() + 500)?;
                ctx.emit((n % 7, count * 1_000 + sum as u64));
                Ok(())
            };
            let on_timer = move |timer: Timer, ctx: &mut Context<'_, u64, (u64, u64)>| {
                let key = *ctx.key();
                ctx.emit((key % 7, timer.ts as u64));
                Ok(())
            };
            Ok((on_record, on_timer))
        });
    counted
        .key_by_owned(|(key, _): &(u64, u64)| *key)
        .process("second", |open: &mut Open<'_, u64>| {
            let sums = open.value_state(ValueStateDescriptor::<u64>::new("sums"));
            Ok(move |(key, n): &(u64, u64), ctx: &mut Context<'_, u64, (u64, u64)>| {
                let sum = sums.get(ctx)?.unwrap_or(0).wrapping_add(*n);
                sums.put(ctx, &sum)?;
                ctx.emit((*key, *n));
                Ok(())
            })
        })
        .sink("results", FileSink::ndjson("results/out"));
    job.build().unwrap()
}

/// What was published, sorted.
pub(super) fn published(dir: &Path) -> Vec<String> {
    lines(dir, |path| path.extension().is_some_and(|e| e == "ndjson"))
}

/// What is in the files of a job's folder of results, sorted.
pub(super) fn lines(dir: &Path, of: impl Fn(&Path) -> bool) -> Vec<String> {
    let folder = dir.join("jobs/mixed/results");
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if of(&path) {
            let text = std::fs::read_to_string(path).unwrap();
            lines.extend(text.lines().map(str::to_owned));
        }
    }
    lines.sort_unstable();
    lines
}

pub(super) fn stocks(states: &[StateSample]) -> Vec<(String, u64, u64, Option<i64>)> {
    let stock = |state: &StateSample| {
        let at = (state.stock.entries, state.stock.logical_bytes, state.stock.clock_millis);
        (format!("{}/{}", state.operator, state.state), at.0, at.1, at.2)
    };
    states.iter().map(stock).collect()
}

/// §4.1: rows, ledgers, clocks, timers, source and sink positions go on over any number of shards:
/// 1, 2, 4, 8 and back, stopped or cut off, everything equals a run that was never interrupted.
#[test]
fn any_number_of_shards_goes_on() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let all = 6_000;
    let handle = mixed(all, 1).start(options(dirs[0].path())).unwrap();
    until(&handle, "all are applied", |op| op.applied == all);
    while !handle.has_ended() {
        std::thread::park_timeout(Duration::from_millis(10));
    }
    let expected = stocks(&handle.figures().states);
    handle.wait().unwrap();

    let mut told = Vec::new();
    let runs = [(1, 500), (2, 1_000), (4, 1_500), (8, 2_500), (3, 3_500), (1, 4_500), (4, all)];
    for (run, (shards, count)) in runs.into_iter().enumerate() {
        let handle = mixed(count, shards).start(options(dirs[1].path())).unwrap();
        if run % 2 == 1 {
            // cut off at some time, then to the end of this run's input
            until(&handle, "some are applied", |op| op.applied > 100);
            drop(handle);
            let handle = mixed(count, shards).start(options(dirs[1].path())).unwrap();
            handle.wait().unwrap();
            continue;
        }
        while !handle.has_ended() {
            std::thread::park_timeout(Duration::from_millis(10));
        }
        told = stocks(&handle.figures().states);
        handle.wait().unwrap();
    }
    assert_eq!(told, expected);
    let (is, expected) = (published(dirs[1].path()), published(dirs[0].path()));
    // timers of the last half second are still pending
    assert_eq!((is.len(), expected.len()), (all as usize * 2 - 501, all as usize * 2 - 501));
    assert!(is == expected, "the outputs differ");
}

/// §4.1, §7.4, §7.7: what waits in a spill is divided by key; the equations hold on every shard and
/// the order per key when it is replayed.
#[test]
fn a_spill_is_divided_by_key() {
    let dir = tempfile::tempdir().unwrap();
    let sink = CollectSink::new();
    let job = |count: u64, shards: usize| {
        let numbers = (0..count).map(|n| Timed { value: n, ts: n as i64 });
        let mut job = JobBuilder::new("spilled").parallelism(shards);
        job.source("numbers", MemorySource::new(numbers), Watermarks::monotonous())
            .key_by_owned(|n: &u64| n % KEYS)
            .process("writer", |open: &mut Open<'_, u64>| {
                let state = open.value_state(ValueStateDescriptor::<u64>::new("state"));
                Ok(move |n: &u64, ctx: &mut Context<'_, u64, u64>| {
                    let before = state.get(ctx)?;
                    assert!(before.is_none_or(|before| before < *n), "order per key");
                    state.put(ctx, n)?;
                    ctx.emit(*n);
                    Ok(())
                })
            })
            .sink("results", sink.clone());
        job.build().unwrap()
    };
    let handle = job(0, 2).start(options(dir.path())).unwrap();
    handle.trip("writer", "state", Action::Divert, "test", "it grows").unwrap();
    handle.wait().unwrap();
    for (count, shards) in [(1_000, 2), (1_500, 4), (2_000, 1), (2_500, 3)] {
        let handle = job(count, shards).start(options(dir.path())).unwrap();
        until(&handle, "all wait", |op| op.pending == count && op.arrived == count);
        handle.stop();
        handle.wait().unwrap();
    }
    let handle = job(2_500, 2).start(options(dir.path())).unwrap();
    handle.reset("writer", "state", "test", "it is mended").unwrap();
    handle.wait().unwrap();
    let mut per_key: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (n, _) in sink.records() {
        per_key.entry(n % KEYS).or_default().push(n);
    }
    assert_eq!(per_key.values().map(Vec::len).sum::<usize>(), 2_500);
}

/// DESIGN, Hash: the number of key groups is for ever, and a job that never committed has nothing to
/// divide.
#[test]
fn key_groups_stay() {
    let dir = tempfile::tempdir().unwrap();
    let build = |groups: u16, shards: usize| {
        let mut job = JobBuilder::new("mixed").parallelism(shards).key_groups(groups);
        job.source("numbers", MemorySource::new(records(0)), Watermarks::monotonous())
            .sink("results", FileSink::ndjson("results/out"));
        job.build().unwrap()
    };
    build(128, 1).start(options(dir.path())).unwrap().wait().unwrap();
    build(128, 3).start(options(dir.path())).unwrap().wait().unwrap();
    let error = build(64, 3).start(options(dir.path())).unwrap_err().to_string();
    assert!(error.contains("128 key groups, the job asks for 64"), "{error}");
}
