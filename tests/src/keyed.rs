//! The bench `keyed`, the one to compare engines by: a whole job, one read-modify-write an event.
//!
//! Event *i* has the key `splitmix64(i) mod 1,000,000`. Every case runs in a process of its own, so
//! that processor time and peak memory are that case's alone.

#![expect(clippy::print_stderr, reason = "a bench tells how it goes")]

use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use stateward_engine::{
    Context, Error, Job, JobBuilder, Open, Poll, RunOptions, Source, SourceContext, SourceReader,
    Timed, Ttl, ValueStateDescriptor, Watermarks,
};

use crate::figure::Figure;

const KEYS: u64 = 1_000_000;
/// Events of one millisecond of event time.
const EVENTS_A_MILLI: u64 = 1_000;

/// What a case varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    /// As in `docs/performance.md`.
    name: &'static str,
    on_heap: bool,
    /// Values of two longs and 80 bytes instead of one long.
    is_wide: bool,
    has_ttl: bool,
    shards: usize,
    /// Memory for write caches, block cache and memtables together.
    memory_bytes: usize,
}

/// About what Flink's RocksDB case was given, and a tenth of it.
const ROOMY: usize = 1 << 30;
const TENTH: usize = 160 << 20;

const fn case(name: &'static str, on_heap: bool, is_wide: bool, has_ttl: bool) -> Case {
    Case { name, on_heap, is_wide, has_ttl, shards: 1, memory_bytes: ROOMY }
}

const fn on_two(case: Case, name: &'static str) -> Case {
    Case { name, shards: 2, ..case }
}

const fn in_a_tenth(case: Case, name: &'static str) -> Case {
    Case { name, memory_bytes: TENTH, ..case }
}

const ROCKS_8: Case = case("rocksdb_8", false, false, false);
const ROCKS_8_TTL: Case = case("rocksdb_8_ttl", false, false, true);
const ROCKS_100: Case = case("rocksdb_100", false, true, false);
const ROCKS_100_TTL: Case = case("rocksdb_100_ttl", false, true, true);
const HEAP_8: Case = case("heap_8", true, false, false);
const HEAP_8_TTL: Case = case("heap_8_ttl", true, false, true);
const HEAP_100: Case = case("heap_100", true, true, false);
const HEAP_100_TTL: Case = case("heap_100_ttl", true, true, true);

const CASES: [Case; 19] = [
    ROCKS_8,
    ROCKS_8_TTL,
    ROCKS_100,
    ROCKS_100_TTL,
    in_a_tenth(ROCKS_8, "rocksdb_8_tenth"),
    in_a_tenth(ROCKS_8_TTL, "rocksdb_8_ttl_tenth"),
    in_a_tenth(ROCKS_100_TTL, "rocksdb_100_ttl_tenth"),
    HEAP_8,
    HEAP_8_TTL,
    HEAP_100,
    HEAP_100_TTL,
    on_two(ROCKS_8, "rocksdb_8_p2"),
    on_two(ROCKS_8_TTL, "rocksdb_8_ttl_p2"),
    on_two(ROCKS_100, "rocksdb_100_p2"),
    on_two(ROCKS_100_TTL, "rocksdb_100_ttl_p2"),
    on_two(HEAP_8, "heap_8_p2"),
    on_two(HEAP_8_TTL, "heap_8_ttl_p2"),
    on_two(HEAP_100, "heap_100_p2"),
    on_two(HEAP_100_TTL, "heap_100_ttl_p2"),
];

/// Events of a run.
#[derive(Clone, Copy, Debug)]
pub struct Events {
    /// Before the measuring begins.
    pub warm_up: u64,
    /// Measured.
    pub measured: u64,
}

/// What a case came to; the line that its process prints.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Outcome {
    events_per_second: f64,
    events_per_cpu_second: f64,
    peak_rss_bytes: u64,
    /// Slowest checkpoint, barrier to publication.
    checkpoint_millis: f64,
    checkpoint_bytes: u64,
    checkpoints: u64,
}

/// Names of all cases.
pub fn cases() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|case| case.name)
}

/// Runs a case in a process of its own; `program` is the bench program.
///
/// # Errors
/// Where it fails, with what it said on standard error.
pub fn measure(program: &Path, name: &str, events: Events, as_json: bool) -> Result<Figure> {
    let case = CASES.iter().find(|case| case.name == name).context("no such case")?;
    let mut command = Command::new(program);
    let Events { warm_up, measured } = events;
    command.args(["--one", case.name, &warm_up.to_string(), &measured.to_string()]);
    let output = command.output().with_context(|| program.display().to_string())?;
    ensure!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let outcome: Outcome = serde_json::from_slice(&output.stdout).context("its line")?;
    if !as_json {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        eprintln!(
            "  {name}: {:.0} events/s, peak RSS {:.0} MiB, {} checkpoints, of the last {:.0} MiB, \
             slowest {:.0} ms",
            outcome.events_per_second,
            mib(outcome.peak_rss_bytes),
            outcome.checkpoints,
            mib(outcome.checkpoint_bytes),
            outcome.checkpoint_millis,
        );
    }
    let runs = vec![outcome.events_per_cpu_second];
    Ok(Figure { bench: "keyed", case: case.name, runs, against: None })
}

/// Runs a case here and returns its line.
///
/// # Errors
/// Where the job fails.
pub fn run_here(name: &str, events: Events) -> Result<String> {
    let case = CASES.iter().find(|case| case.name == name).context("no such case")?;
    let outcome = if case.is_wide {
        run::<(u64, u64, Filler)>(case, events)?
    } else {
        run::<u64>(case, events)?
    };
    Ok(serde_json::to_string(&outcome)?)
}

/// 80 pseudo-random bytes, written as the bytes that they are.
#[derive(Clone, Copy, Debug)]
struct Filler([u8; 80]);

impl Filler {
    fn of(event: u64) -> Self {
        let mut bytes = [0; 80];
        for (word, n) in bytes.chunks_exact_mut(8).zip(1..) {
            word.copy_from_slice(&splitmix64(event ^ n).to_le_bytes());
        }
        Self(bytes)
    }
}

impl Serialize for Filler {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Filler {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;

        impl Visitor<'_> for Bytes {
            type Value = Filler;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("80 bytes")
            }

            // the state's shape is found by offering none
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Filler, E> {
                let mut filler = [0; 80];
                filler.iter_mut().zip(bytes).for_each(|(into, byte)| *into = *byte);
                Ok(Filler(filler))
            }
        }

        deserializer.deserialize_bytes(Bytes)
    }
}

/// A value that is changed a little by every event.
trait Value: Serialize + serde::de::DeserializeOwned + Send + 'static {
    fn first(event: u64) -> Self;
    fn next(self, event: u64) -> Self;
}

impl Value for u64 {
    fn first(_event: u64) -> Self {
        // as wide as the eight bytes that it stands for
        1 << 62
    }

    fn next(self, _event: u64) -> Self {
        self + 1
    }
}

impl Value for (u64, u64, Filler) {
    fn first(event: u64) -> Self {
        (1 << 62, event, Filler::of(event))
    }

    fn next(self, event: u64) -> Self {
        (self.0 + 1, self.1 ^ event, self.2)
    }
}

pub(crate) fn splitmix64(n: u64) -> u64 {
    let mut z = n.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Where time and processor stood.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: Instant,
    cpu_seconds: f64,
}

impl Mark {
    #[expect(clippy::disallowed_methods, reason = "a bench reads a clock")]
    fn now() -> Result<Self> {
        Ok(Self { at: Instant::now(), cpu_seconds: cpu_seconds()? })
    }
}

/// Numbers, divided among as many partitions as there are shards.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    partitions: u64,
    events: Events,
    given: Arc<AtomicU64>,
    warm: Arc<OnceLock<Mark>>,
}

impl Numbers {
    pub(crate) fn new(partitions: u64, events: Events) -> Self {
        Self { partitions, events, given: Arc::default(), warm: Arc::default() }
    }
}

struct NumbersReader {
    source: Numbers,
    partition: u64,
    next: u64,
}

impl Source<u64> for Numbers {
    fn partitions(&self) -> u32 {
        self.partitions as u32
    }

    fn open(
        &self,
        context: SourceContext,
        position: Option<&[u8]>,
    ) -> Result<Box<dyn SourceReader<u64>>, Error> {
        let partition = u64::from(context.partition);
        let next = match position.map(TryInto::try_into) {
            Some(Ok(bytes)) => u64::from_be_bytes(bytes),
            _ => partition,
        };
        Ok(Box::new(NumbersReader { source: self.clone(), partition, next }))
    }

    fn detail(&self) -> String {
        "numbers".into()
    }
}

impl SourceReader<u64> for NumbersReader {
    fn poll(&mut self, out: &mut Vec<Timed<u64>>, max: usize) -> Result<Poll, Error> {
        let Events { warm_up, measured } = self.source.events;
        let before = out.len();
        while out.len() - before < max && self.next < warm_up + measured {
            out.push(Timed { value: self.next, ts: (self.next / EVENTS_A_MILLI) as i64 });
            self.next += self.source.partitions;
        }
        let read = (out.len() - before) as u64;
        let given = self.source.given.fetch_add(read, Ordering::Relaxed) + read;
        if given >= warm_up && self.source.warm.get().is_none() {
            let mark = Mark::now().map_err(|e| Error::Declaration(e.to_string()))?;
            let _whoever_came_first = self.source.warm.set(mark);
        }
        Ok(if read == 0 { Poll::Finished } else { Poll::Ready })
    }

    fn position(&mut self) -> Result<Vec<u8>, Error> {
        Ok(self.next.to_be_bytes().to_vec())
    }

    fn position_text(&self) -> String {
        format!("number {} of partition {}", self.next, self.partition)
    }
}

fn job<V: Value>(case: &Case, source: Numbers) -> Result<Job, Error> {
    let mut job = JobBuilder::new("keyed").parallelism(case.shards);
    let Case { on_heap, has_ttl, .. } = *case;
    job.source("numbers", source, Watermarks::monotonous())
        .key_by_owned(|n: &u64| splitmix64(*n) % KEYS)
        .process("update", move |open: &mut Open<'_, u64>| {
            let mut state = ValueStateDescriptor::<V>::new("state");
            if has_ttl {
                state = state.ttl(Ttl::new(Duration::from_hours(1)));
            }
            let state = open.value_state(if on_heap { state.heap() } else { state });
            Ok(move |event: &u64, ctx: &mut Context<'_, u64, u64>| {
                let value = match state.get(ctx)? {
                    Some(value) => value.next(*event),
                    None => V::first(*event),
                };
                state.put(ctx, &value)
            })
        });
    job.build()
}

fn run<V: Value>(case: &Case, events: Events) -> Result<Outcome> {
    let dir = tempfile::tempdir()?;
    let shards = NonZero::new(case.shards).context("a case has a shard")?;
    let share = case.memory_bytes / shards;
    // most of it where it saves most: in front of RocksDB
    let options = RunOptions::new(dir.path())
        .checkpoint_interval(Duration::from_secs(10))
        .cache_bytes(share / 2)
        .store_bytes(case.memory_bytes / 8, share / 16);
    let source = Numbers::new(case.shards as u64, events);
    let warm = Arc::clone(&source.warm);
    let handle = job::<V>(case, source)?.start(options)?;
    while !handle.has_ended() {
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let end = Mark::now()?;
    let report = handle.figures();
    handle.wait()?;
    let arrived: u64 = report.operators.iter().map(|operator| operator.applied).sum();
    ensure!(arrived == events.warm_up + events.measured, "only {arrived} events were applied");
    let begin = *warm.get().context("the warm-up never ended")?;
    let measured = events.measured as f64;
    let checkpoints = &report.job.checkpoint_micros;
    Ok(Outcome {
        events_per_second: measured / (end.at - begin.at).as_secs_f64(),
        events_per_cpu_second: measured / (end.cpu_seconds - begin.cpu_seconds),
        peak_rss_bytes: status_kib("VmHWM:")? << 10,
        checkpoint_millis: checkpoints.quantile(1.0).unwrap_or_default() as f64 / 1_000.0,
        checkpoint_bytes: report.job.checkpoint_bytes,
        checkpoints: checkpoints.count(),
    })
}

/// Processor time of the whole process.
pub(crate) fn cpu_seconds() -> Result<f64> {
    /// `USER_HZ`, which is 100 on every Linux that has a stable interface.
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").context("read /proc/self/stat")?;
    // the name in brackets may have spaces
    let (_, fields) = stat.rsplit_once(") ").context("/proc/self/stat has no name")?;
    let ticks = |field: usize| -> Result<f64> {
        let text = fields.split(' ').nth(field).context("/proc/self/stat is short")?;
        Ok(text.parse()?)
    };
    Ok((ticks(11)? + ticks(12)?) / TICKS_A_SECOND)
}

pub(crate) fn status_kib(field: &str) -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("read /proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let text = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(text.with_context(|| format!("/proc/self/status has no {field}"))?.parse()?)
}
