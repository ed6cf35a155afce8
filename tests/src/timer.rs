//! The bench `timer`: a whole job whose keys each register one timer at a random time within an
//! hour, until all are pending; then the watermark passes the hour, and all fire. In a process of its
//! own, for what it takes is measured.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use stateward_engine::{
    Context as Ctx, Error, Job, JobBuilder, JobHandle, Open, Poll, RunOptions, Source,
    SourceContext, SourceReader, Timed, Timer, Watermarks,
};
use stateward_model::wire::TimerSample;

use crate::figure::Figure;
use crate::keyed::{cpu_seconds, splitmix64, status_kib};

/// Names of the cases.
pub const CASES: [&str; 3] = ["registrations", "fires", "pending_rss"];

/// Timers lie within an hour.
const SPAN_MILLIS: u64 = 3_600_000;

/// What a run came to; the line that its process prints.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Outcome {
    registrations_per_second: f64,
    fires_per_second: f64,
    registrations_per_cpu_second: f64,
    fires_per_cpu_second: f64,
    pending_rss_bytes: u64,
    peak_rss_bytes: u64,
}

/// Runs the bench in a process of its own; `program` is the bench program.
///
/// # Errors
/// Where it fails, with what it said on standard error.
pub fn measure(program: &Path, timers: u64, as_json: bool) -> Result<[Figure; 3]> {
    let mut command = Command::new(program);
    command.args(["--timers", &timers.to_string()]);
    let output = command.output().with_context(|| program.display().to_string())?;
    ensure!(output.status.success(), "timer: {}", String::from_utf8_lossy(&output.stderr));
    let outcome: Outcome = serde_json::from_slice(&output.stdout).context("its line")?;
    if !as_json {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        println!(
            "  {timers} timers: RSS {:.0} MiB with all pending, peak {:.0} MiB; {:.0} registrations \
             and {:.0} fires a CPU second of the whole process",
            mib(outcome.pending_rss_bytes),
            mib(outcome.peak_rss_bytes),
            outcome.registrations_per_cpu_second,
            outcome.fires_per_cpu_second
        );
    }
    let values = [
        outcome.registrations_per_second,
        outcome.fires_per_second,
        outcome.pending_rss_bytes as f64,
    ];
    let [registrations, fires, rss] = CASES;
    let [a, b, c] = values.map(|value| vec![value]);
    let figure = |case, runs| Figure { bench: "timer", case, runs, against: None };
    Ok([figure(registrations, a), figure(fires, b), figure(rss, c)])
}

/// Numbers up to a count; then silence until it is time for a last one, behind all timers.
#[derive(Clone, Debug)]
struct Numbers {
    count: u64,
    fires: Arc<AtomicBool>,
}

struct NumbersReader {
    source: Numbers,
    next: u64,
}

impl Source<u64> for Numbers {
    fn open(
        &self,
        _context: SourceContext,
        position: Option<&[u8]>,
    ) -> Result<Box<dyn SourceReader<u64>>, Error> {
        let next = position.and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_be_bytes);
        Ok(Box::new(NumbersReader { source: self.clone(), next }))
    }

    fn detail(&self) -> String {
        "numbers".into()
    }
}

impl SourceReader<u64> for NumbersReader {
    fn poll(&mut self, out: &mut Vec<Timed<u64>>, max: usize) -> Result<Poll, Error> {
        let count = self.source.count;
        if self.next > count {
            return Ok(Poll::Finished);
        }
        if self.next == count {
            if !self.source.fires.load(Ordering::Acquire) {
                return Ok(Poll::Wait(Duration::from_millis(1)));
            }
            out.push(Timed { value: self.next, ts: 2 * SPAN_MILLIS as i64 });
            self.next += 1;
            return Ok(Poll::Ready);
        }
        let numbers = self.next..count.min(self.next + max as u64);
        self.next = numbers.end;
        out.extend(numbers.map(|n| Timed { value: n, ts: 0 }));
        Ok(Poll::Ready)
    }

    fn position(&mut self) -> Result<Vec<u8>, Error> {
        Ok(self.next.to_be_bytes().to_vec())
    }

    fn position_text(&self) -> String {
        format!("number {}", self.next)
    }
}

fn job(source: Numbers, fired: &Arc<AtomicU64>) -> Result<Job, Error> {
    let (count, fired) = (source.count, Arc::clone(fired));
    let mut job = JobBuilder::new("timers");
    job.source("numbers", source, Watermarks::monotonous()).key_by_owned(|n: &u64| *n).process(
        "reminder",
        move |open: &mut Open<'_, u64>| {
            open.event_time_timers();
            let fired = Arc::clone(&fired);
            let on_record = move |n: &u64, ctx: &mut Ctx<'_, u64, u64>| {
                if *n == count {
                    return Ok(());
                }
                ctx.timers().register_event_time((1 + splitmix64(*n) % SPAN_MILLIS) as i64)
            };
            let on_timer = move |_: Timer, _: &mut Ctx<'_, u64, u64>| {
                fired.fetch_add(1, Ordering::Relaxed);
                Ok(())
            };
            Ok((on_record, on_timer))
        },
    );
    job.build()
}

fn timers_of(handle: &JobHandle) -> TimerSample {
    let operators = handle.figures().operators;
    operators.first().and_then(|op| op.timers.first()).cloned().unwrap_or_default()
}

/// Waits until `holds`, and tells how long that took, and how much processor time.
#[expect(clippy::disallowed_methods, reason = "a bench reads a clock")]
fn seconds_until(handle: &JobHandle, holds: impl Fn() -> bool) -> Result<(f64, f64)> {
    let (began, cpu) = (Instant::now(), cpu_seconds()?);
    while !holds() {
        ensure!(!handle.has_ended(), "the job ended by itself");
        std::thread::park_timeout(Duration::from_millis(10));
    }
    Ok((began.elapsed().as_secs_f64(), cpu_seconds()? - cpu))
}

/// Runs the bench here and returns its line.
///
/// # Errors
/// Where the job fails, or a timer is lost.
pub fn run_here(timers: u64) -> Result<String> {
    let dir = tempfile::tempdir()?;
    let (may_fire, fired) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let source = Numbers { count: timers, fires: Arc::clone(&may_fire) };
    let handle = job(source, &fired)?.start(RunOptions::new(dir.path()))?;
    let registering = seconds_until(&handle, || timers_of(&handle).pending == timers)?;
    let pending_rss_bytes = status_kib("VmRSS:")? << 10;
    may_fire.store(true, Ordering::Release);
    let firing = seconds_until(&handle, || fired.load(Ordering::Relaxed) == timers)?;
    while !handle.has_ended() {
        std::thread::park_timeout(Duration::from_millis(10));
    }
    let sample = timers_of(&handle);
    handle.wait()?;
    ensure!(
        (sample.registered, sample.fired, sample.pending) == (timers, timers, 0),
        "timers were lost or repeated: {sample:?}"
    );
    Ok(serde_json::to_string(&Outcome {
        registrations_per_second: timers as f64 / registering.0,
        fires_per_second: timers as f64 / firing.0,
        registrations_per_cpu_second: timers as f64 / registering.1,
        fires_per_cpu_second: timers as f64 / firing.1,
        pending_rss_bytes,
        peak_rss_bytes: status_kib("VmHWM:")? << 10,
    })?)
}
