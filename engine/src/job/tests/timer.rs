//! Timers in whole jobs: order, restarts, barriers, breakers, idle shards.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stateward_model::breaker::Action;
use stateward_model::wire::{OperatorSample, TimerSample};
use stateward_model::{ClockKind, key_hash};

use super::{options, until};
use crate::error::Error;
use crate::job::{Job, JobBuilder, JobHandle, RunOptions, Watermarks};
use crate::operator::{Context, Open, ProcessFunction, Timer};
use crate::sink::CollectSink;
use crate::source::{MemorySource, Poll, Source, SourceContext, SourceReader, Timed};
use crate::state::{ValueState, ValueStateDescriptor};

/// What happened, with the key and the time that the context showed.
type Happened = (String, u64, i64);

fn timers_of(operator: &OperatorSample) -> TimerSample {
    operator.timers.first().cloned().unwrap_or_default()
}

fn records(times: impl IntoIterator<Item = (u64, i64)>) -> Vec<Timed<u64>> {
    times.into_iter().map(|(value, ts)| Timed { value, ts }).collect()
}

/// Every record of a key registers a timer, twice, 100 ms after it.
fn reminding(records: Vec<Timed<u64>>, shards: usize, sink: &CollectSink<Happened>) -> Job {
    let mut job = JobBuilder::new("remind").parallelism(shards);
    job.source("numbers", MemorySource::new(records), Watermarks::monotonous())
        .key_by_owned(|n: &u64| n % 50)
        .process("reminder", |open: &mut Open<'_, u64>| {
            open.event_time_timers();
            let seen = open.value_state(ValueStateDescriptor::<u64>::new("seen"));
            let on_record = move |n: &u64, ctx: &mut Context<'_, u64, Happened>| {
                let count = seen.get(ctx)?.unwrap_or(0) + 1;
                seen.put(ctx, &count)?;
                ctx.timers().register_event_time(ctx.event_time() + 100)?;
                ctx.timers().register_event_time(ctx.event_time() + 100)?;
                ctx.timers().register_event_time(ctx.event_time() + 70)?;
                ctx.timers().delete_event_time(ctx.event_time() + 70)?;
                ctx.emit(("record".into(), *n % 50, ctx.event_time()));
                Ok(())
            };
            let on_timer = move |timer: Timer, ctx: &mut Context<'_, u64, Happened>| {
                assert_eq!(timer.clock, ClockKind::EventTime);
                assert_eq!(ctx.event_time(), timer.ts);
                assert!(ctx.watermark() >= Some(timer.ts), "it fires before its time");
                assert!(seen.get(ctx)?.is_some(), "the states are those of its key");
                let key = *ctx.key();
                ctx.emit(("timer".into(), key, timer.ts));
                Ok(())
            };
            Ok((on_record, on_timer))
        })
        .sink("results", sink.clone());
    job.build().unwrap()
}

/// §1.8, §4.1, §5.1: a timer fires once, when the watermark has reached it, after the records up to
/// its time; what is pending when the job ends fires in the next run.
#[test]
fn timers_fire_once_in_order_over_restarts() {
    let dir = tempfile::tempdir().unwrap();
    let sink = CollectSink::new();
    let times: Vec<(u64, i64)> = (0..3_000_u64).map(|n| (n, n as i64)).collect();
    for records_read in [1_000, 2_000, 3_000] {
        let job = reminding(records(times[..records_read].to_vec()), 2, &sink);
        job.start(options(dir.path())).unwrap().wait().unwrap();
        let fired = sink.records().iter().filter(|((what, ..), _)| what == "timer").count();
        // monotonous watermarks stay 1 ms behind the newest record
        assert_eq!(fired, records_read - 101);
    }
    let mut per_key: BTreeMap<u64, Vec<(i64, String)>> = BTreeMap::new();
    for ((what, key, time), ts) in sink.records() {
        assert_eq!(time, ts, "what is emitted has the time of its cause");
        per_key.entry(key).or_default().push((time, what));
    }
    for happened in per_key.values() {
        let fired: Vec<i64> =
            happened.iter().filter(|(_, what)| what == "timer").map(|(time, _)| *time).collect();
        assert!(fired.is_sorted_by(|a, b| a < b), "in order, each once");
        // a timer comes after the record of its time, and of the times before
        for (at, (time, _)) in happened.iter().enumerate().filter(|(_, (_, what))| what == "timer")
        {
            let mut later = happened.iter().skip(at).filter(|(_, what)| what == "record");
            assert!(later.all(|(record, _)| record > time), "a record behind its timer");
        }
    }
}

/// A function may be a type of its own; its timers are counted, and registering twice is once.
struct Closing {
    open: ValueState<u64, u64>,
}

impl ProcessFunction<u64, u64, u64> for Closing {
    fn process(&mut self, n: &u64, ctx: &mut Context<'_, u64, u64>) -> Result<(), Error> {
        self.open.put(ctx, n)?;
        ctx.timers().register_event_time(1_000)
    }

    fn on_timer(&mut self, _: Timer, ctx: &mut Context<'_, u64, u64>) -> Result<(), Error> {
        if let Some(n) = self.open.get(ctx)? {
            ctx.emit(n);
        }
        self.open.delete(ctx)
    }
}

/// §1.11, §9: figures of timers are exact, and their state shows as any other.
#[test]
fn figures_are_exact() {
    let dir = tempfile::tempdir().unwrap();
    let sink = CollectSink::new();
    let mut job = JobBuilder::new("close").parallelism(2);
    let input = MemorySource::new(records((0..500).map(|n| (n, (n % 7) as i64))));
    job.source("numbers", input, Watermarks::monotonous())
        .key_by_owned(|n: &u64| n % 100)
        .process("closer", |open: &mut Open<'_, u64>| {
            open.event_time_timers();
            Ok(Closing { open: open.value_state(ValueStateDescriptor::new("open")) })
        })
        .sink("results", sink.clone());
    let handle = job.build().unwrap().start(options(dir.path())).unwrap();
    until(&handle, "the end", |_| handle.has_ended());
    let report = handle.figures();
    handle.wait().unwrap();
    let timers = timers_of(&report.operators[0]);
    let counts = (timers.registered, timers.pending, timers.fired, timers.next_due_millis);
    assert_eq!(counts, (100, 100, 0, Some(1_000)));
    let state = report.states.iter().find(|state| state.state == "_timers.event").unwrap();
    assert_eq!((state.stock.entries, state.flow.writes, state.flow.created), (100, 500, 100));
    assert_eq!(state.stock.logical_bytes, 100 * 16);
    assert!(state.sites.iter().all(|site| site.site.contains("job/tests/timer.rs")));
    assert_eq!(sink.records(), []);
}

/// Timers must be opened; the error says how.
#[test]
fn a_timer_that_was_not_opened_is_an_error_with_a_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let mut job = JobBuilder::new("closed");
    job.source("numbers", MemorySource::new(records([(1, 1)])), Watermarks::monotonous())
        .key_by_owned(|n: &u64| *n)
        .process("op", |_: &mut Open<'_, u64>| {
            Ok(|_: &u64, ctx: &mut Context<'_, u64, u64>| ctx.timers().register_processing_time(1))
        });
    let handle = job.build().unwrap().start(options(dir.path())).unwrap();
    let error = handle.wait().unwrap_err().to_string();
    assert!(error.contains("call open.processing_time_timers()"), "{error}");
}

/// Keys 0 to 9 have a timer at 100 that fires again and again until `ends`; the records behind the
/// watermark that makes it due have other keys and the same ones.
fn restless(ends: &Arc<AtomicBool>, sink: &CollectSink<Happened>) -> Job {
    let early = (0..10).map(|n| (n, 50));
    let late = (0..6_000).map(|n| (n % 20, 300 + n as i64));
    let input = MemorySource::new(records(early.chain([(11, 200)]).chain(late)));
    let ends = Arc::clone(ends);
    let mut job = JobBuilder::new("restless");
    job.source("numbers", input, Watermarks::monotonous())
        .key_by_owned(|n: &u64| *n)
        .process("repeater", move |open: &mut Open<'_, u64>| {
            open.event_time_timers();
            let ends = Arc::clone(&ends);
            let on_record = move |n: &u64, ctx: &mut Context<'_, u64, Happened>| {
                if ctx.event_time() == 50 {
                    ctx.timers().register_event_time(100)?;
                }
                ctx.emit(("record".into(), *n, ctx.event_time()));
                Ok(())
            };
            let on_timer = move |timer: Timer, ctx: &mut Context<'_, u64, Happened>| {
                if !ends.load(Ordering::Acquire) {
                    return ctx.timers().register_event_time(timer.ts);
                }
                let key = *ctx.key();
                ctx.emit(("timer".into(), key, timer.ts));
                Ok(())
            };
            Ok((on_record, on_timer))
        })
        .sink("results", sink.clone());
    job.build().unwrap()
}

fn epochs_pass(handle: &JobHandle, epochs: u64) {
    let from = handle.epoch();
    until(handle, "epochs", |_| handle.epoch() >= from + epochs);
}

/// §4.2: barriers pass between the firings of one instant, in any number; the records that they
/// overtake come after the timers all the same, and a restart in between changes nothing.
#[test]
fn barriers_pass_while_timers_fire_and_records_keep_their_place() {
    let dir = tempfile::tempdir().unwrap();
    let (ends, sink) = (Arc::new(AtomicBool::new(false)), CollectSink::new());
    for _ in 0..2 {
        let handle = restless(&ends, &sink).start(options(dir.path())).unwrap();
        until(&handle, "timers fire", |op| timers_of(op).fired > 0);
        epochs_pass(&handle, 30);
        let operator = &handle.figures().operators[0];
        // what came with the due watermark's batch may have been in front of it
        assert!(operator.arrived < 6_000, "records did not wait: {operator:?}");
        assert_eq!(timers_of(operator).pending, 10);
        assert!(operator.watermark_held_millis > 0, "what the timers emit must not be late");
        handle.stop();
        handle.wait().unwrap();
    }
    let held = dir.path().join("jobs/restless/held/shard-0/repeater");
    assert!(held.read_dir().unwrap().count() > 0, "no barrier overtook a record");
    ends.store(true, Ordering::Release);
    restless(&ends, &sink).start(options(dir.path())).unwrap().wait().unwrap();
    let happened = sink.records();
    let timers: Vec<u64> = happened
        .iter()
        .filter(|((what, ..), _)| what == "timer")
        .map(|((_, key, _), _)| *key)
        .collect();
    let mut sorted = timers.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..10).collect::<Vec<_>>());
    let by_group =
        |key: &u64| (stateward_model::key_group(key_hash(&key.to_be_bytes()), 128), *key);
    assert!(timers.is_sorted_by_key(by_group), "of one time, by key group and key");
    let arrived: Vec<i64> =
        happened.iter().filter(|((what, ..), _)| what == "record").map(|(_, ts)| *ts).collect();
    assert_eq!(arrived.len(), 6_011);
    assert!(arrived.is_sorted(), "records keep their order");
    let last_timer = happened.iter().rposition(|((what, ..), _)| what == "timer").unwrap();
    let behind = happened.get(last_timer..).unwrap_or_default();
    let all_later = happened.iter().take(last_timer).all(|(_, ts)| *ts <= 200 + 300 + 256);
    assert!(all_later && behind.len() > 5_000, "records came before timers");
}

/// Counts in `a`, then writes `b`, which has the breaker; each event sets a timer that does both.
fn guarded(input: Vec<Timed<u64>>, sink: &CollectSink<Happened>) -> Job {
    let mut job = JobBuilder::new("guarded").parallelism(2);
    job.source("numbers", MemorySource::new(input), Watermarks::monotonous())
        .key_by_owned(|n: &u64| n % 10)
        .process("writer", |open: &mut Open<'_, u64>| {
            open.event_time_timers();
            let a = open.value_state(ValueStateDescriptor::<u64>::new("a"));
            let b = open.value_state(ValueStateDescriptor::<u64>::new("b"));
            let both = move |what: &str, ctx: &mut Context<'_, u64, Happened>| {
                let count = a.get(ctx)?.unwrap_or(0) + 1;
                a.put(ctx, &count)?;
                let key = *ctx.key();
                ctx.emit((format!("{what} {count}"), key, ctx.event_time()));
                b.put(ctx, &count)
            };
            let on_record = move |_: &u64, ctx: &mut Context<'_, u64, Happened>| {
                ctx.timers().register_event_time(ctx.event_time() + 95)?;
                both("record", ctx)
            };
            Ok((on_record, move |_: Timer, ctx: &mut Context<'_, u64, Happened>| {
                both("timer", ctx)
            }))
        })
        .sink("results", sink.clone());
    job.build().unwrap()
}

/// §7.3, §7.4: a refused event leaves no timer; a refused firing is diverted whole, later events of
/// the key follow it, and later timers follow them; after the reset nothing is lost or repeated, and
/// each key's order is as if there had been no breaker. All of it over restarts.
#[test]
fn a_breaker_diverts_timers_with_their_key() {
    let input = |to: u64| records((0..to).map(|n| (n, n as i64)));
    let plain_dir = tempfile::tempdir().unwrap();
    let plain = CollectSink::new();
    for to in [500, 2_000] {
        guarded(input(to), &plain).start(options(plain_dir.path())).unwrap().wait().unwrap();
    }
    let dir = tempfile::tempdir().unwrap();
    let sink = CollectSink::new();
    guarded(input(500), &sink).start(options(dir.path())).unwrap().wait().unwrap();
    let before = sink.records().len();
    // tripped while nothing arrives, so that it holds from the first event of the next run on
    let handle = guarded(input(500), &sink).start(options(dir.path())).unwrap();
    handle.trip("writer", "b", Action::Divert, "test", "it grows").unwrap();
    handle.wait().unwrap();
    let handle = guarded(input(2_000), &sink).start(options(dir.path())).unwrap();
    until(&handle, "all are spilled", |op| op.pending == 1_500 && timers_of(op).pending == 0);
    let report = handle.figures();
    let timers = timers_of(&report.operators[0]);
    // those of the first 500 records were pending; the refused records registered none
    assert_eq!((timers.registered, timers.fired, timers.diverted), (0, 0, 95 + 1));
    handle.stop();
    handle.wait().unwrap();
    assert_eq!(sink.records().len(), before, "a refused firing leaves no output");
    let handle = guarded(input(2_000), &sink).start(options(dir.path())).unwrap();
    until(&handle, "the spill is found again", |op| timers_of(op).diverted == 95 + 1);
    handle.reset("writer", "b", "test", "it is mended").unwrap();
    until(&handle, "all are replayed", |op| op.pending == 0 && timers_of(op).diverted == 0);
    handle.wait().unwrap();
    let of_key = |happened: Vec<(Happened, i64)>| {
        let mut per_key: BTreeMap<u64, Vec<(String, i64)>> = BTreeMap::new();
        for ((what, key, time), _) in happened {
            per_key.entry(key).or_default().push((what, time));
        }
        per_key
    };
    let counts = |happened: &BTreeMap<u64, Vec<(String, i64)>>| -> BTreeMap<u64, usize> {
        happened.iter().map(|(key, happened)| (*key, happened.len())).collect()
    };
    let (ours, theirs) = (of_key(sink.records()), of_key(plain.records()));
    assert_eq!(counts(&ours), counts(&theirs));
    for (key, happened) in &ours {
        let numbers = happened.iter().map(|(what, _)| what.rsplit(' ').next().unwrap());
        let expected: Vec<String> = (1..=happened.len()).map(|n| n.to_string()).collect();
        assert!(numbers.eq(expected.iter()), "key {key} lost or repeated a write: {happened:?}");
        let times_of = |kind: &str| -> Vec<i64> {
            let of_kind = happened.iter().filter(|(what, _)| what.starts_with(kind));
            of_kind.map(|(_, time)| *time).collect()
        };
        assert!(times_of("record").is_sorted() && times_of("timer").is_sorted());
    }
}

/// One record, then silence until it is told to end.
#[derive(Clone, Debug)]
struct Silent {
    ends: Arc<AtomicBool>,
}

struct SilentReader {
    ends: Arc<AtomicBool>,
    given: u64,
}

impl Source<u64> for Silent {
    fn open(
        &self,
        _context: SourceContext,
        position: Option<&[u8]>,
    ) -> Result<Box<dyn SourceReader<u64>>, Error> {
        let given = position.map_or(0, |bytes| u64::from_be_bytes(bytes.try_into().unwrap()));
        Ok(Box::new(SilentReader { ends: Arc::clone(&self.ends), given }))
    }

    fn detail(&self) -> String {
        "silence".into()
    }
}

impl SourceReader<u64> for SilentReader {
    fn poll(&mut self, out: &mut Vec<Timed<u64>>, _: usize) -> Result<Poll, Error> {
        if self.given == 0 {
            self.given = 1;
            out.push(Timed { value: 7, ts: 1_000 });
            return Ok(Poll::Ready);
        }
        let ends = self.ends.load(Ordering::Acquire);
        Ok(if ends { Poll::Finished } else { Poll::Wait(Duration::from_millis(5)) })
    }

    fn position(&mut self) -> Result<Vec<u8>, Error> {
        Ok(self.given.to_be_bytes().to_vec())
    }

    fn position_text(&self) -> String {
        format!("{} given", self.given)
    }
}

/// §1.8, §5.1, §5.2: a shard that idles wakes for a timer on the wall clock, which fires no earlier
/// than its time, whatever the watermark; one that is pending over a restart fires in the next run.
#[test]
fn an_idle_shard_wakes_for_a_processing_timer() {
    let dir = tempfile::tempdir().unwrap();
    let sink = CollectSink::<Happened>::new();
    let job = |ends: &Arc<AtomicBool>| {
        let mut job = JobBuilder::new("idle");
        job.source("silence", Silent { ends: Arc::clone(ends) }, Watermarks::monotonous())
            .key_by_owned(|n: &u64| *n)
            .process("alarm", |open: &mut Open<'_, u64>| {
                open.processing_time_timers();
                let on_record = |_: &u64, ctx: &mut Context<'_, u64, Happened>| {
                    let now = ctx.processing_time();
                    ctx.timers().register_processing_time(now + 30)?;
                    ctx.timers().register_processing_time(now + 400)
                };
                let on_timer = |timer: Timer, ctx: &mut Context<'_, u64, Happened>| {
                    assert!(ctx.processing_time() >= timer.ts, "it fires before its time");
                    assert_eq!(timer.clock, ClockKind::ProcessingTime);
                    ctx.emit(("alarm".into(), 7, ctx.event_time()));
                    Ok(())
                };
                Ok((on_record, on_timer))
            })
            .sink("results", sink.clone());
        job.build().unwrap()
    };
    let ends = Arc::new(AtomicBool::new(false));
    let run_options =
        || -> RunOptions { options(dir.path()).commit_interval(Duration::from_millis(3)) };
    let handle = job(&ends).start(run_options()).unwrap();
    until(&handle, "the first alarm", |op| timers_of(op).fired == 1);
    handle.stop();
    handle.wait().unwrap();
    let handle = job(&ends).start(run_options()).unwrap();
    until(&handle, "the second alarm", |op| timers_of(op).fired == 1);
    ends.store(true, Ordering::Release);
    handle.wait().unwrap();
    // the watermark is the record's time less 1 ms
    let alarm = (("alarm".to_owned(), 7, 999), 999);
    assert_eq!(sink.records(), [alarm.clone(), alarm]);
}
