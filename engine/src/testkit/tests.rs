//! The kit on itself: what its steps promise, and the rules that only whole jobs show.

use std::time::Duration;

use super::{FeedSource, TestJob};
use crate::error::Error;
use crate::job::{Job, JobBuilder, Watermarks};
use crate::operator::{Context, Open, Timer};
use crate::sink::CollectSink;
use crate::state::{Lookup, Ttl, ValueStateDescriptor};

const MINUTE: Duration = Duration::from_mins(1);
const TTL: Duration = Duration::from_mins(30);
const DAY: Duration = Duration::from_hours(24);

fn millis(duration: Duration) -> i64 {
    duration.as_millis() as i64
}

/// What a visit found, or that a timer fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
enum Seen {
    First,
    Again,
    Expired,
    Alarm,
}

/// Remembers visitors by processing time for half an hour; a timer fires ten minutes after each visit.
fn visits_job(feed: &FeedSource<u64>, sink: &CollectSink<Seen>) -> Result<Job, Error> {
    let mut job = JobBuilder::new("visits").parallelism(2);
    job.source("visits", feed.clone(), Watermarks::monotonous())
        .key_by_owned(|visitor: &u64| *visitor)
        .process("remember", |open: &mut Open<'_, u64>| {
            open.processing_time_timers();
            let last = ValueStateDescriptor::<u64>::new("last");
            let last = open.value_state(last.ttl(Ttl::new(TTL)).processing_time());
            let on_record = move |visitor: &u64, ctx: &mut Context<'_, u64, Seen>| {
                let seen = match last.lookup(ctx)? {
                    Lookup::Live(_) => Seen::Again,
                    Lookup::Expired { .. } => Seen::Expired,
                    Lookup::Absent => Seen::First,
                };
                last.put(ctx, visitor)?;
                ctx.timers().register_processing_time(ctx.processing_time() + 600_000)?;
                ctx.emit(seen);
                Ok(())
            };
            let on_timer = |_: Timer, ctx: &mut Context<'_, u64, Seen>| {
                ctx.emit(Seen::Alarm);
                Ok(())
            };
            Ok((on_record, on_timer))
        })
        .sink("results", sink.clone());
    job.build()
}

struct Visits {
    feed: FeedSource<u64>,
    sink: CollectSink<Seen>,
    job: TestJob,
}

impl Visits {
    fn start() -> Self {
        let (feed, sink) = (FeedSource::new(), CollectSink::new());
        let inner = (feed.clone(), sink.clone());
        let mut job = TestJob::new(move || visits_job(&inner.0, &inner.1)).fed_by(&feed);
        job.manual_clock().set(1_800_000_000_000);
        job.start().unwrap();
        Self { feed, sink, job }
    }

    /// What was seen since the last call.
    fn visit(&mut self, visitor: u64) -> Vec<Seen> {
        let before = self.sink.records().len();
        self.feed.push(visitor, 0);
        self.job.settle().unwrap();
        let seen = self.sink.records().into_iter().skip(before);
        seen.map(|(seen, _)| seen).collect()
    }

    fn crash(&mut self) {
        self.job.crash();
        self.job.start().unwrap();
    }
}

/// §1.10: five minutes or a day in a debugger expire nothing and fire no timer, over a crash too;
/// compensated, they have not been.
#[test]
fn a_day_in_the_debugger_expires_nothing() {
    let mut visits = Visits::start();
    assert_eq!(visits.visit(0), [Seen::First]);
    visits.job.advance(MINUTE).unwrap();
    assert_eq!(visits.visit(1), [Seen::First]);
    visits.job.suspend(DAY).unwrap();
    visits.crash();
    visits.job.advance(5 * MINUTE).unwrap();
    assert_eq!(visits.visit(0), [Seen::Again], "it stands");
    assert_eq!(visits.job.operator("remember").timers[0].pending, 3);
    let figures = visits.job.figures().job.clock;
    assert_eq!((figures.jump_millis, figures.shift_millis), (Some(millis(DAY)), 0));
    let told = visits.job.events();
    assert!(told.iter().any(|event| event.kind == "clock_jump"), "{told:?}");
    visits.job.handle().compensate_clock_jump("ann", "a debugger").unwrap();
    visits.job.advance(24 * MINUTE).unwrap();
    assert_eq!(visits.job.operator("remember").timers[0].fired, 3);
    assert_eq!(visits.job.state("remember", "last").stock.expired_entries, 0);
    visits.crash();
    visits.job.advance(MINUTE).unwrap();
    assert_eq!(visits.visit(1), [Seen::Expired], "31 minutes have passed for it");
    assert_eq!(visits.visit(0), [Seen::Again], "and 25 for the other");
    assert_eq!(visits.job.figures().job.clock.shift_millis, millis(DAY));
}

/// §1.10: an accepted jump has passed for what was there, and not for what was written meanwhile.
#[test]
fn an_accepted_jump_has_passed() {
    let mut visits = Visits::start();
    visits.visit(0);
    visits.job.advance(MINUTE).unwrap();
    visits.job.suspend(45 * MINUTE).unwrap();
    assert_eq!(visits.visit(1), [Seen::First]);
    assert_eq!(visits.job.operator("remember").timers[0].fired, 0);
    visits.job.handle().accept_clock_jump("ann", "the laptop was closed").unwrap();
    visits.job.settle().unwrap();
    assert_eq!(visits.job.operator("remember").timers[0].fired, 2);
    visits.crash();
    assert_eq!(visits.visit(0), [Seen::Expired]);
    assert_eq!(visits.visit(1), [Seen::Again]);
    visits.job.handle().accept_clock_jump("ann", "nothing waits").unwrap_err();
}

/// §1.10: a clock that is set back a day, while the job runs or while it is down, revives and kills
/// nothing.
#[test]
fn a_clock_set_back_a_day_changes_nothing() {
    for down in [false, true] {
        let mut visits = Visits::start();
        visits.visit(0);
        visits.job.advance(20 * MINUTE).unwrap();
        visits.visit(1);
        visits.job.advance(10 * MINUTE).unwrap();
        if down {
            visits.job.crash();
        }
        visits.job.manual_clock().jump(-millis(DAY));
        if down {
            visits.job.start().unwrap();
        }
        assert_eq!(visits.visit(1), [Seen::Again]);
        assert_eq!(visits.visit(0), [Seen::Expired]);
        assert!(visits.job.events().iter().any(|event| event.text.contains("went back")));
    }
}

/// Counts by event time with a TTL of half an hour; a timer ten minutes after each record. A stateless
/// operator lies in between.
fn readings_job(
    feed: &FeedSource<u64>,
    watermarks: Watermarks,
    sink: &CollectSink<Seen>,
) -> Result<Job, Error> {
    let mut job = JobBuilder::new("readings").parallelism(2);
    job.source("sensors", feed.clone(), watermarks)
        .map("same", |sensor: u64| sensor)
        .key_by_owned(|sensor: &u64| *sensor)
        .process("remember", |open: &mut Open<'_, u64>| {
            open.event_time_timers();
            let last = ValueStateDescriptor::<u64>::new("last");
            let last = open.value_state(last.ttl(Ttl::new(TTL)));
            let on_record = move |sensor: &u64, ctx: &mut Context<'_, u64, Seen>| {
                last.put(ctx, sensor)?;
                ctx.timers().register_event_time(ctx.event_time() + 600_000)
            };
            let on_timer = |_: Timer, ctx: &mut Context<'_, u64, Seen>| {
                ctx.emit(Seen::Alarm);
                Ok(())
            };
            Ok((on_record, on_timer))
        })
        .sink("alarms", sink.clone());
    job.build()
}

struct Readings {
    feed: FeedSource<u64>,
    sink: CollectSink<Seen>,
    job: TestJob,
}

impl Readings {
    fn start(partitions: u32, watermarks: Watermarks) -> Self {
        let (feed, sink) = (FeedSource::partitioned(partitions), CollectSink::new());
        let inner = (feed.clone(), sink.clone());
        let mut job =
            TestJob::new(move || readings_job(&inner.0, watermarks, &inner.1)).fed_by(&feed);
        job.start().unwrap();
        Self { feed, sink, job }
    }

    /// Entries that are there, the states' clock and the operator's watermark.
    fn now(&mut self) -> (u64, Option<i64>, Option<i64>) {
        self.job.settle().unwrap();
        let stock = self.job.state("remember", "last").stock;
        let watermark = self.job.operator("remember").watermark_millis;
        (stock.entries - stock.expired_entries, stock.clock_millis, watermark)
    }
}

/// §1.8: partitions that are idle hold nobody back, and while all are idle nothing moves, however
/// long that is.
#[test]
fn when_all_inputs_are_idle_nothing_moves() {
    let watermarks = Watermarks::monotonous().idle_timeout(MINUTE);
    let mut readings = Readings::start(2, watermarks);
    readings.feed.push_to(0, 1, 0);
    readings.feed.push_to(1, 2, 600_000);
    assert_eq!(readings.now(), (2, Some(-1), Some(-1)), "the slower one holds the clock");
    readings.job.advance(MINUTE / 2).unwrap();
    readings.feed.push_to(1, 3, 1_200_001);
    readings.job.settle().unwrap();
    readings.job.advance(MINUTE / 2).unwrap();
    assert_eq!(readings.now(), (3, Some(1_200_000), Some(1_200_000)), "it is idle");
    readings.job.advance(DAY).unwrap();
    assert_eq!(readings.now(), (3, Some(1_200_000), Some(1_200_000)), "both are");
    readings.feed.push_to(0, 4, 1_200_011);
    assert_eq!(readings.now(), (4, Some(1_200_010), Some(1_200_010)), "one is not any more");
}

/// §1.8: with `advance_when_idle` entries expire by the time since the last watermark, timers and the
/// watermark stay; a restart does not revive what died so, nor does the next record.
#[test]
fn an_idle_clock_moves_ttl_alone() {
    let watermarks = Watermarks::monotonous().idle_timeout(MINUTE).advance_when_idle();
    let mut readings = Readings::start(1, watermarks);
    readings.feed.push(1, 0);
    readings.feed.push(2, 60_001);
    assert_eq!(readings.now(), (2, Some(60_000), Some(60_000)));
    readings.job.advance(MINUTE / 2).unwrap();
    assert_eq!(readings.now(), (2, Some(60_000), Some(60_000)), "not idle yet");
    readings.job.advance(Duration::from_secs(28 * 60 + 29)).unwrap();
    assert_eq!(readings.now(), (2, Some(1_799_000), Some(60_000)));
    readings.job.advance(Duration::from_secs(1)).unwrap();
    assert_eq!(readings.now(), (1, Some(1_800_000), Some(60_000)), "inclusive, as ever");
    assert_eq!(readings.sink.records(), [], "no timer is due by a watermark");
    readings.job.crash();
    readings.job.start().unwrap();
    assert_eq!(readings.now(), (1, Some(1_800_000), Some(60_000)));
    readings.feed.push(3, 70_001);
    assert_eq!(readings.now(), (2, Some(1_800_000), Some(70_000)), "it does not go back");
    readings.feed.watermark(600_000);
    readings.job.settle().unwrap();
    assert_eq!(readings.sink.records().len(), 1, "timers go by the watermark");
}

/// §1.8: only what proves that it is caught up may go on: one partition that has more to read, or
/// does not tell, holds all.
#[test]
fn who_is_not_caught_up_holds_the_clock() {
    use crate::source::{MemorySource, Source, SourceContext, SourceReader, Timed};
    let source = MemorySource::new([Timed { value: 1_u64, ts: 0 }]);
    let context = SourceContext {
        uid: "memory".into(),
        partition: 0,
        job_dir: "unused".into(),
        clock: std::sync::Arc::new(crate::clock::ManualClock::at(0)),
    };
    let reader: Box<dyn SourceReader<u64>> = source.open(context, None).unwrap();
    assert!(!reader.caught_up(), "a reader that does not say is not");
    let watermarks = Watermarks::monotonous().idle_timeout(MINUTE).advance_when_idle();
    let mut readings = Readings::start(2, watermarks);
    readings.feed.push_to(0, 1, 0);
    readings.feed.push_to(1, 2, 0);
    readings.feed.lag(1, true);
    readings.job.settle().unwrap();
    readings.job.advance(DAY).unwrap();
    assert_eq!(readings.now(), (2, Some(-1), Some(-1)));
    readings.feed.lag(1, false);
    readings.job.advance(MINUTE).unwrap();
    assert_eq!(readings.now().0, 0);
}
