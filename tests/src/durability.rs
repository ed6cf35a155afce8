//! The benches `checkpoint` and `changelog`: what durability costs a running job, and how fast a job is
//! back. A whole job each; every case in a process of its own.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use stateward_engine::bench::bulk_put;
use stateward_engine::{
    Context, Error, Job, JobBuilder, JobHandle, Open, RunOptions, Ttl, ValueStateDescriptor,
    Watermarks,
};

use crate::figure::Figure;
use crate::keyed::{Events, Numbers, splitmix64};

/// Memory of every job here, its state many times that.
const MEMORY_BYTES: usize = 256 << 20;
/// How long a job runs at least, with checkpoints in it.
const CHECKPOINTS: usize = 8;

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// Keys of the state.
    pub keys: u64,
    /// Bytes of a value.
    pub value_bytes: u64,
}

/// What a case came to: named figures.
type Figures = Vec<(String, f64)>;

/// Runs one part of a bench in a process of its own; `program` is the bench program.
fn apart(program: &Path, part: &str, scale: Scale) -> Result<Figures> {
    let Scale { keys, value_bytes } = scale;
    let arguments = ["--durability", part, &keys.to_string(), &value_bytes.to_string()];
    let output = Command::new(program).args(arguments).output()?;
    ensure!(output.status.success(), "{part}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).context("its line")
}

fn of(figures: &Figures, name: &str) -> Result<f64> {
    let found = figures.iter().find(|(known, _)| known == name);
    found.map(|(_, value)| *value).with_context(|| format!("no figure {name}"))
}

/// Measures the bench `checkpoint`.
///
/// # Errors
/// Where a job fails.
pub fn checkpoint(program: &Path, big: Scale, sessions: u64) -> Result<Vec<Figure>> {
    let figure =
        |case, value| Figure { bench: "checkpoint", case, runs: vec![value], against: None };
    let one = apart(program, "checkpoint", big)?;
    let mut all = vec![
        Figure {
            against: Some("the same job between them"),
            ..figure("throughput", of(&one, "throughput")?)
        },
        figure("pause_p99", of(&one, "pause_millis")?),
        figure("restore", of(&one, "restore_seconds")?),
    ];
    let sessions = Scale { keys: sessions, value_bytes: 100 };
    for (part, bytes, restore) in [
        ("sessions_rocksdb", "sessions_rocksdb_bytes", "sessions_rocksdb_restore"),
        ("sessions_heap", "sessions_heap_bytes", "sessions_heap_restore"),
    ] {
        let one = apart(program, part, sessions)?;
        all.push(figure(bytes, of(&one, "bytes")?));
        all.push(figure(restore, of(&one, "restore_seconds")?));
    }
    Ok(all)
}

/// Measures the bench `changelog`; `pairs` of jobs for the commit interval.
///
/// # Errors
/// Where a job fails.
pub fn changelog(program: &Path, scale: Scale, pairs: usize) -> Result<Vec<Figure>> {
    let (mut replays, mut commits) = (Vec::new(), Vec::new());
    for _ in 0..pairs {
        let replay = of(&apart(program, "replay", scale)?, "rows_per_second")?;
        replays.push(replay / of(&apart(program, "bulk", scale)?, "rows_per_second")?);
        let often = of(&apart(program, "commit_100ms", scale)?, "events_per_second")?;
        commits.push(often / of(&apart(program, "commit_10s", scale)?, "events_per_second")?);
    }
    let figure = |case, runs, against| Figure { bench: "changelog", case, runs, against };
    Ok(vec![
        figure("replay", replays, Some("bulk put of the same rows into bare RocksDB")),
        figure("commit_interval", commits, Some("the same job that commits every 10 s")),
    ])
}

/// Runs one part here and returns its line.
///
/// # Errors
/// Where its job fails.
pub fn run_here(part: &str, scale: Scale) -> Result<String> {
    let figures = match part {
        "checkpoint" => while_checkpoints(scale)?,
        "sessions_rocksdb" => sessions(scale, false)?,
        "sessions_heap" => sessions(scale, true)?,
        "replay" => replay(scale)?,
        "bulk" => bulk(scale)?,
        "commit_100ms" => paced(scale, Duration::from_millis(100))?,
        "commit_10s" => paced(scale, Duration::from_secs(10))?,
        other => bail!("no part {other:?}"),
    };
    Ok(serde_json::to_string(&figures)?)
}

/// A value whose bytes no compression makes small.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Wide(u64, String);

fn text(of: u64, bytes: u64) -> String {
    let letter = |n: u64| char::from(b'!' + (splitmix64(of ^ (n << 32)) % 93) as u8);
    (0..bytes).map(letter).collect()
}

/// A job that changes one value an event, the keys in a scattered order.
fn job(scale: Scale, on_heap: bool, source: Numbers) -> Result<Job, Error> {
    const STRIDE: u64 = 2_147_483_647;
    let Scale { keys, value_bytes } = scale;
    let mut job = JobBuilder::new("durable");
    job.source("numbers", source, Watermarks::monotonous())
        .key_by_owned(move |n: &u64| n.wrapping_mul(STRIDE) % keys)
        .process("update", move |open: &mut Open<'_, u64>| {
            let state =
                ValueStateDescriptor::<Wide>::new("state").ttl(Ttl::new(Duration::from_mins(30)));
            let state = open.value_state(if on_heap { state.heap() } else { state });
            let texts: Vec<String> = (0..64).map(|n| text(n, value_bytes)).collect();
            Ok(move |event: &u64, ctx: &mut Context<'_, u64, u64>| {
                let count = state.get(ctx)?.map_or(0, |Wide(count, _)| count);
                let text = texts.get((splitmix64(*event) % 64) as usize);
                state.put(ctx, &Wide(count + 1, text.cloned().unwrap_or_default()))
            })
        });
    job.build()
}

fn options(dir: &Path) -> RunOptions {
    RunOptions::new(dir).memory_bytes(MEMORY_BYTES).checkpoint_interval(Duration::from_hours(1))
}

fn source(events: u64) -> Numbers {
    Numbers::new(1, Events { warm_up: 0, measured: events })
}

#[expect(clippy::disallowed_methods, reason = "a bench reads a clock")]
fn now() -> Instant {
    Instant::now()
}

/// Waits until `holds`; the job must go on meanwhile.
fn wait_until(handle: &JobHandle, mut holds: impl FnMut(&JobHandle) -> bool) -> Result<()> {
    while !holds(handle) {
        ensure!(!handle.has_ended(), "the job ended by itself");
        std::thread::park_timeout(Duration::from_millis(20));
    }
    Ok(())
}

fn applied(handle: &JobHandle) -> u64 {
    handle.figures().operators.iter().map(|operator| operator.applied).sum()
}

/// Fills the state, then goes on while checkpoints come, each after a rest as long as itself.
fn while_checkpoints(scale: Scale) -> Result<Figures> {
    let dir = tempfile::tempdir()?;
    let options = options(dir.path()).checkpoint_interval(Duration::from_secs(10));
    let handle = job(scale, false, source(u64::MAX / 2))?.start(options.clone())?;
    wait_until(&handle, |handle| applied(handle) >= scale.keys)?;
    let before = handle.figures().job.checkpoints.runs.len();
    // (ms of the wall clock, events so far)
    let mut samples: Vec<(i64, u64)> = Vec::new();
    wait_until(&handle, |handle| {
        let figures = handle.figures();
        let events = figures.operators.iter().map(|operator| operator.applied).sum();
        samples.push((figures.wall_millis, events));
        figures.job.checkpoints.runs.len() >= before + CHECKPOINTS
    })?;
    let runs = handle.figures().job.checkpoints.runs;
    let within = |millis: i64| {
        runs.iter().any(|run| {
            let took = (run.micros / 1_000).cast_signed();
            (run.wall_millis..run.wall_millis + took).contains(&millis)
        })
    };
    let (mut inside, mut outside) = ((0, 0), (0, 0));
    for (a, b) in samples.iter().zip(samples.iter().skip(1)) {
        let side = if within(a.0) { &mut inside } else { &mut outside };
        *side = (side.0 + b.1 - a.1, side.1 + (b.0 - a.0));
    }
    ensure!(inside.1 > 0 && outside.1 > 0, "no time within or between checkpoints");
    let rate = |(events, millis): (u64, i64)| events as f64 / millis as f64;
    let mut pauses: Vec<u64> = runs.iter().skip(before).map(|run| run.pause_micros).collect();
    pauses.sort_unstable();
    let pause = *pauses.last().context("no checkpoint")?;
    // a crash: the next start clones the last checkpoint and replays what is behind it
    drop(handle);
    let began = now();
    let handle = job(scale, false, source(u64::MAX / 2))?.start(options)?;
    let restore = began.elapsed().as_secs_f64();
    drop(handle);
    Ok(vec![
        ("throughput".into(), rate(inside) / rate(outside)),
        ("pause_millis".into(), pause as f64 / 1_000.0),
        ("restore_seconds".into(), restore),
    ])
}

/// Fills the state once, ends with a checkpoint, and starts again.
fn sessions(scale: Scale, on_heap: bool) -> Result<Figures> {
    let dir = tempfile::tempdir()?;
    let handle = job(scale, on_heap, source(scale.keys))?.start(options(dir.path()))?;
    wait_until_ended(&handle);
    let bytes = handle.figures().job.checkpoint_bytes;
    handle.wait()?;
    let began = now();
    let handle = job(scale, on_heap, source(scale.keys))?.start(options(dir.path()))?;
    let restore = began.elapsed().as_secs_f64();
    handle.wait()?;
    Ok(vec![("bytes".into(), bytes as f64), ("restore_seconds".into(), restore)])
}

fn wait_until_ended(handle: &JobHandle) {
    while !handle.has_ended() {
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// A job that never made a checkpoint is started again: all of its rows come from the changelog.
fn replay(scale: Scale) -> Result<Figures> {
    let dir = tempfile::tempdir()?;
    let options = options(dir.path()).changelog_bytes(u64::MAX, u64::MAX);
    // it waits behind its last record, so that it never ends, which would be a checkpoint
    let handle = job(scale, false, source(u64::MAX / 2))?.start(options.clone())?;
    wait_until(&handle, |handle| applied(handle) >= scale.keys)?;
    let before = handle.epoch();
    wait_until(&handle, |handle| handle.epoch() > before + 1)?;
    let rows = handle.figures().states.iter().map(|state| state.value_bytes.count()).sum::<u64>();
    drop(handle);
    let began = now();
    let handle = job(scale, false, source(u64::MAX / 2))?.start(options)?;
    let seconds = began.elapsed().as_secs_f64();
    drop(handle);
    Ok(vec![("rows_per_second".into(), rows as f64 / seconds)])
}

/// As many rows put into bare RocksDB, a thousand at a time.
fn bulk(scale: Scale) -> Result<Figures> {
    let dir = tempfile::tempdir()?;
    let texts: Vec<String> = (0..64).map(|n| text(n, scale.value_bytes + 12)).collect();
    let began = now();
    bulk_put(dir.path(), MEMORY_BYTES, scale.keys, |n| {
        let text = texts.get((splitmix64(n) % 64) as usize);
        (splitmix64(n), text.map(String::as_bytes).unwrap_or_default())
    })?;
    let seconds = began.elapsed().as_secs_f64();
    Ok(vec![("rows_per_second".into(), scale.keys as f64 / seconds)])
}

/// A hot set, so that the commit interval decides how much goes to the log.
fn paced(scale: Scale, commit_interval: Duration) -> Result<Figures> {
    let dir = tempfile::tempdir()?;
    let events = scale.keys * 3;
    let hot = Scale { keys: 100_000, value_bytes: 100 };
    let options = options(dir.path()).commit_interval(commit_interval);
    let began = now();
    let handle = job(hot, false, source(events))?.start(options)?;
    handle.wait()?;
    let seconds = began.elapsed().as_secs_f64();
    Ok(vec![("events_per_second".into(), events as f64 / seconds)])
}
