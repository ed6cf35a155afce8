//! A job with timers on both clocks, whose result does not depend on when it runs or is killed: each
//! timer fires once, or is pending at the end.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use stateward_engine::inspect::{Inspected, inspect};
use stateward_engine::{
    Context, Error, FileSink, FileSource, Job, JobBuilder, Open, RunOptions, Timed, Timer,
    ValueStateDescriptor, Watermarks,
};

/// Name of the job.
pub const TIMERS: &str = "timers";
/// Keys of the operator with timers on the watermark.
const KEYS: u64 = 500;
/// Longest that such a timer is ahead of its record, in ms.
const AHEAD_MILLIS: u64 = 3_000;
/// Timers that never come due are behind this time.
const FAR_MILLIS: i64 = 1 << 40;
/// Longest that a timer on the wall clock is ahead, in ms.
const ALARM_MILLIS: u64 = 60;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Fired {
    key: u64,
    ts: i64,
    /// How many timers of the key have fired.
    count: u64,
}

/// When the timer of a record is due.
fn due(n: u64) -> i64 {
    // many records have their timers in one millisecond
    ((n + 1 + (n.wrapping_mul(0x9E37_79B9)) % AHEAD_MILLIS) / 64 * 64) as i64
}

/// Short epochs and checkpoints, and room for a fraction of the timers.
pub fn timer_options(data_dir: &Path) -> RunOptions {
    RunOptions::new(data_dir)
        .commit_interval(Duration::from_millis(5))
        .checkpoint_interval(Duration::from_millis(60))
        .cache_bytes(64 << 10)
        .store_bytes(4 << 20, 128 << 10)
}

/// Builds the job that reads `input`, the numbers from 0 on.
///
/// # Errors
/// Where the declaration is wrong.
pub fn timer_job(input: &Path) -> Result<Job, Error> {
    let mut job = JobBuilder::new(TIMERS).parallelism(2);
    let source = FileSource::ndjson(input, |n: u64| [Timed { value: n, ts: n as i64 }]);
    let numbers = job.source("numbers", source, Watermarks::monotonous());
    numbers
        .key_by_owned(|n: &u64| n % KEYS)
        .process("reminder", |open: &mut Open<'_, u64>| {
            open.event_time_timers();
            let count = open.value_state(ValueStateDescriptor::<u64>::new("count"));
            let on_record = |n: &u64, ctx: &mut Context<'_, u64, Fired>| {
                ctx.timers().register_event_time(due(*n))?;
                ctx.timers().register_event_time(FAR_MILLIS + *n as i64)?;
                // its predecessor's; where there is none, nothing
                ctx.timers().delete_event_time(FAR_MILLIS + *n as i64 - KEYS as i64)
            };
            let on_timer = move |timer: Timer, ctx: &mut Context<'_, u64, Fired>| {
                let fired = count.get(ctx)?.unwrap_or(0) + 1;
                count.put(ctx, &fired)?;
                let key = *ctx.key();
                ctx.emit(Fired { key, ts: timer.ts, count: fired });
                Ok(())
            };
            Ok((on_record, on_timer))
        })
        .sink("reminders", FileSink::ndjson("results/reminders").roll_bytes(32 << 10));
    numbers
        .key_by_owned(|n: &u64| *n)
        .process("alarm", |open: &mut Open<'_, u64>| {
            open.processing_time_timers();
            let on_record = |n: &u64, ctx: &mut Context<'_, u64, u64>| {
                let at = ctx.processing_time() + (n % ALARM_MILLIS) as i64;
                ctx.timers().register_processing_time(at)
            };
            let on_timer = |_: Timer, ctx: &mut Context<'_, u64, u64>| {
                let n = *ctx.key();
                ctx.emit(n);
                Ok(())
            };
            Ok((on_record, on_timer))
        })
        .sink("alarms", FileSink::ndjson("results/alarms").roll_bytes(32 << 10));
    job.build()
}

fn read<T: serde::de::DeserializeOwned>(results: &Path, sink: &str) -> Result<Vec<T>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(results)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(sink) {
            for line in fs::read_to_string(&path)?.lines() {
                all.push(serde_json::from_str(line)?);
            }
        }
    }
    Ok(all)
}

/// Time and key of the timers that are pending.
fn pending(inspected: &Inspected, state: &str) -> Result<Vec<(i64, u64)>> {
    let state = inspected.states.iter().find(|s| s.state == state).context("no such state")?;
    ensure!(
        state.ledger_entries == state.rows.len() as u64,
        "{} timers are counted, {} are there",
        state.ledger_entries,
        state.rows.len()
    );
    let of = |key: &[u8]| -> Option<(i64, u64)> {
        let (_group, rest) = key.split_first_chunk::<2>()?;
        let (time, key) = rest.split_first_chunk::<8>()?;
        let time = (u64::from_be_bytes(*time) ^ (1 << 63)) as i64;
        Some((time, u64::from_be_bytes(key.try_into().ok()?)))
    };
    state.rows.iter().map(|row| of(&row.key).context("no row key of a timer")).collect()
}

/// Checks what the job in `data_dir` has left at its end: every timer fired once, or is pending,
/// and its counts agree. Returns how many fired.
///
/// # Errors
/// Where a timer is lost or repeated, or cannot be read.
pub fn check_timers(data_dir: &Path, records: u64) -> Result<[usize; 2]> {
    let job_dir = data_dir.join("jobs").join(TIMERS);
    let (results, inspected) = (job_dir.join("results"), inspect(&job_dir)?);
    // the watermark stays 1 ms behind the last record
    let watermark = records as i64 - 2;
    let mut expected: Vec<(i64, u64)> = (0..records).map(|n| (due(n), n % KEYS)).collect();
    expected.sort_unstable();
    expected.dedup();
    let waits = expected.split_off(expected.partition_point(|(ts, _)| *ts <= watermark));

    let fired: Vec<Fired> = read(&results, "reminders")?;
    let mut found: Vec<(i64, u64)> = fired.iter().map(|fired| (fired.ts, fired.key)).collect();
    found.sort_unstable();
    ensure!(found == expected, "fired {}, should have {}", found.len(), expected.len());
    let mut counts: BTreeMap<u64, Vec<(u64, i64)>> = BTreeMap::new();
    for fired in &fired {
        counts.entry(fired.key).or_default().push((fired.count, fired.ts));
    }
    for (key, of_key) in &mut counts {
        of_key.sort_unstable();
        let whole = of_key.iter().map(|(count, _)| *count).eq(1..=of_key.len() as u64);
        ensure!(whole, "counts of {key}: {of_key:?}");
        ensure!(of_key.is_sorted_by_key(|(_, ts)| *ts), "out of order for {key}: {of_key:?}");
    }
    let mut left = pending(&inspected, "_timers.event")?;
    left.sort_unstable();
    let far = (records.saturating_sub(KEYS)..records).map(|n| (FAR_MILLIS + n as i64, n % KEYS));
    let waits: Vec<(i64, u64)> = waits.into_iter().chain(far).collect();
    ensure!(left == waits, "{} pending, should be {}", left.len(), waits.len());

    let mut alarms: Vec<u64> = read(&results, "alarms")?;
    let rung = alarms.len();
    alarms.extend(pending(&inspected, "_timers.processing")?.into_iter().map(|(_, n)| n));
    alarms.sort_unstable();
    ensure!(alarms.iter().copied().eq(0..records), "alarms: {rung} of {records}");
    Ok([fired.len(), rung])
}
