//! Jobs that are killed at every phase of an epoch end like one that was not; a full cache and a
//! full spill block nobody.
#![expect(clippy::indexing_slicing, reason = "helpers of tests fail the test")]
#![expect(clippy::print_stdout, reason = "a run tells its seed and what it met")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use stateward_engine::{
    Action, CollectSink, Context, Error, Job, JobBuilder, JobHandle, KILL_POINTS,
    MapStateDescriptor, MemorySource, Open, Poll, RunOptions, Source, SourceContext, SourceReader,
    Timed, ValueStateDescriptor, Watermarks,
};
use stateward_model::breaker::Phase;
use stateward_model::wire::StateFlow;
use stateward_tests::crash::{
    ENRICH, Ended, FLOW, MERGE, OUTCOME_FILE, Outcome, Program, Random, Remains, TIMERS, WRITER,
    check_conservation, check_timers, wait_for, write_count_input, write_input,
};

const SEED: u64 = 2013;
/// Of the job with two exchanges.
const RECORDS: u64 = 40_000;
/// Kills of one job before it may come to its end.
const KILLS_IN_A_ROW: u64 = 6;

/// 50 where a soak is asked for, else enough for every point twice.
fn kills() -> u64 {
    match std::env::var_os("STATEWARD_SOAK") {
        Some(_) => 50,
        None => 2 * KILL_POINTS.len() as u64,
    }
}

fn program(plan: &'static str, input: &Path) -> Program {
    let path = PathBuf::from(env!("CARGO_BIN_EXE_crash-job"));
    Program { path, plan, input: input.to_owned() }
}

/// Points inside a checkpoint come less often than the others.
fn in_checkpoint(point: &str) -> bool {
    point.contains("checkpoint") || point == "after-log-cut"
}

/// Kills lives of one program at every point in turn.
struct Killer {
    random: Random,
    /// Most times that a life meets its point before it is killed there.
    patience: u64,
    next: usize,
    hits: BTreeMap<&'static str, u64>,
    misses: u64,
    at_random: u64,
}

impl Killer {
    fn new(seed: u64, patience: u64) -> Self {
        let hits = KILL_POINTS.iter().map(|point| (*point, 0)).collect();
        let random = Random::new(seed);
        Self { random, patience, next: 0, hits, misses: 0, at_random: 0 }
    }

    /// The next kill of one program: every third at some time, the others at the points in turn.
    fn kill(&mut self, number: u64, program: &Program, dir: &Path, job: &str) -> Ended {
        match number % 3 {
            2 => self.at_some_time(program, dir, job),
            _ => self.at_point(program, dir, job),
        }
    }

    fn all_hits(&self) -> u64 {
        self.hits.values().sum()
    }

    /// One life that is to be killed at the next point.
    fn at_point(&mut self, program: &Program, dir: &Path, job: &str) -> Ended {
        let point = KILL_POINTS[self.next % KILL_POINTS.len()];
        let rarer = if in_checkpoint(point) { 4 } else { 1 };
        let n = 1 + self.random.below((self.patience / rarer).max(1));
        let life = program.start(dir, job, Some(&format!("{point}:{n}"))).unwrap();
        let ended = life.wait().unwrap();
        match ended {
            Ended::Killed => {
                *self.hits.get_mut(point).unwrap() += 1;
                self.next += 1;
            }
            Ended::Finished => self.misses += 1,
        }
        ended
    }

    /// One life that is killed at some time.
    fn at_some_time(&mut self, program: &Program, dir: &Path, job: &str) -> Ended {
        let life = program.start(dir, job, None).unwrap();
        let ended = life.kill_after(1 + self.random.below(2 * self.patience)).unwrap();
        self.at_random += u64::from(ended == Ended::Killed);
        ended
    }
}

fn finish(program: &Program, dir: &Path, job: &str) {
    let ended = program.start(dir, job, None).unwrap().wait().unwrap();
    assert_eq!(ended, Ended::Finished);
}

fn outcome(dir: &Path) -> Outcome {
    serde_json::from_slice(&std::fs::read(dir.join(OUTCOME_FILE)).unwrap()).unwrap()
}

/// The run that nobody kills, and what it must have had for the comparison to mean something.
fn undisturbed_flow(dir: &Path, input: &Path) -> Remains {
    finish(&program("flow", input), dir, FLOW);
    let (outcome, remains) = (outcome(dir), Remains::read(dir, FLOW).unwrap());
    let flows: Vec<StateFlow> = outcome.report.states.iter().map(|state| state.flow).collect();
    let sum = |count: fn(&StateFlow) -> u64| flows.iter().map(count).sum::<u64>();
    let removals = [
        ("delete", sum(|flow| flow.removed_delete)),
        ("read", sum(|flow| flow.removed_read)),
        ("overwrite", sum(|flow| flow.removed_overwrite)),
        ("sweep", sum(|flow| flow.removed_sweep)),
    ];
    println!("removals: {removals:?}, late writes: {}", sum(|flow| flow.late_writes));
    let rows: Vec<_> = remains.states.iter().map(|(state, rows)| (state, rows.len())).collect();
    println!("live rows: {rows:?}, epochs: {}", outcome.report.job.epoch);
    assert!(removals.iter().all(|(_, count)| *count > 0), "a cause of removal is missing");
    assert_eq!(outcome.exchanges, 2);
    assert!(outcome.overflowed, "no write cache overflowed");
    for operator in [ENRICH, MERGE] {
        let sample = &remains.operators[operator];
        assert!(sample.late > 0, "{sample:?}");
        assert_eq!(sample.arrived, RECORDS, "{sample:?}");
        assert_eq!(sample.emitted, RECORDS, "{sample:?}");
    }
    assert_eq!(remains.outputs["merged"].len() as u64, RECORDS);
    assert_eq!(remains.outputs["late-events"].len() as u64, remains.operators[ENRICH].late);
    assert!(remains.states.values().all(|rows| !rows.is_empty()), "a state ends empty: {rows:?}");
    remains
}

/// §4.1, §4.7, §4.8: killed at every point of an epoch and at any other time, a job loses nothing
/// and repeats nothing, in outputs and in states.
#[test]
fn soak_killed_jobs_end_like_one_that_was_not() {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("events.ndjson");
    println!("seed {SEED}");
    write_input(&input, SEED, RECORDS).unwrap();
    let expected = undisturbed_flow(&dir.path().join("undisturbed"), &input);
    let program = program("flow", &input);
    let mut killer = Killer::new(SEED, 20);
    let mut jobs = 0;
    while killer.all_hits() < kills() || killer.at_random < kills() / 4 {
        let job_dir = dir.path().join(format!("job-{jobs}"));
        let mut ended = Ended::Killed;
        for kill in 0..KILLS_IN_A_ROW {
            ended = killer.kill(kill, &program, &job_dir, FLOW);
            if ended == Ended::Finished {
                break;
            }
        }
        if ended == Ended::Killed {
            finish(&program, &job_dir, FLOW);
        }
        let differences = expected.differences(&Remains::read(&job_dir, FLOW).unwrap());
        assert!(differences.is_empty(), "job {jobs} differs:\n{differences}");
        std::fs::remove_dir_all(&job_dir).unwrap();
        jobs += 1;
        assert!(killer.misses < kills(), "the points are hardly ever met: {:?}", killer.hits);
    }
    println!(
        "{jobs} jobs; kills at points: {:?}; at other times: {}; points not met in time: {}",
        killer.hits, killer.at_random, killer.misses
    );
    assert!(killer.hits.values().all(|hits| *hits > 0), "a point was never hit");
}

/// A key's events that were applied, by what went out.
fn counted(remains: &Remains) -> BTreeMap<String, u64> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for line in remains.outputs.get("counted").into_iter().flatten() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        *counts.entry(record["a"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

/// A state's counts per key, by the encodings of row key (group, text) and value (varint).
fn counts_of(remains: &Remains, state: &str) -> BTreeMap<String, u64> {
    let rows = &remains.states[&(WRITER.to_owned(), state.to_owned())];
    let bytes = |hex: &str| -> Vec<u8> {
        (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect()
    };
    let count = |value: &str| {
        let bytes = bytes(value).into_iter().zip((0..).step_by(7));
        bytes.fold(0, |sum, (byte, shift)| sum | (u64::from(byte & 0x7f) << shift))
    };
    let key = |key: &str| String::from_utf8(bytes(key)[2..].to_vec()).unwrap();
    rows.iter().map(|(row_key, (_, value))| (key(row_key), count(value))).collect()
}

/// §7.3, §7.4, §7.6, §7.7: of an event that B's breaker refuses nothing remains, not the write of A,
/// not the output before it, across kills; after the reset and more kills everything is as if there
/// had been no breaker. The program checks the equation of conservation at every start and on.
#[test]
fn a_killed_breaker_leaves_nothing_and_loses_nothing() {
    const KILLS: u64 = 6;
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("events.ndjson");
    write_input(&input, SEED + 1, RECORDS).unwrap();
    let plain_dir = dir.path().join("plain");
    finish(&program("plain", &input), &plain_dir, "ab");
    let expected = Remains::read(&plain_dir, "ab").unwrap();

    let job_dir = dir.path().join("job");
    let mut killer = Killer::new(SEED + 1, 4);
    let mut killed_while = |plan: &'static str| {
        let program = program(plan, &input);
        let mut kills = 0;
        for kill in 0..KILLS {
            if killer.kill(kill, &program, &job_dir, "ab") == Ended::Finished {
                break;
            }
            kills += 1;
        }
        kills
    };
    let while_open = killed_while("trip");
    finish(&program("trip", &input), &job_dir, "ab");
    let open = Remains::read(&job_dir, "ab").unwrap();
    let sample = &open.operators[WRITER];
    println!("kills while open: {while_open}; {sample:?}");
    assert!(while_open > 1 && sample.applied > 0 && sample.pending > 0);
    assert_eq!(sample.arrived, RECORDS);
    assert_eq!(sample.arrived, sample.applied + sample.pending);
    let applied = counted(&open);
    assert_eq!(applied.values().sum::<u64>(), sample.applied);
    assert_eq!(counts_of(&open, "a"), applied);
    assert_eq!(counts_of(&open, "b"), applied);

    let while_replaying = killed_while("reset");
    finish(&program("reset", &input), &job_dir, "ab");
    let after = Remains::read(&job_dir, "ab").unwrap();
    println!("kills while replaying: {while_replaying}; {:?}", after.operators[WRITER]);
    assert!(while_replaying > 0);
    assert_eq!(after.operators[WRITER].replayed, sample.pending);
    let differences = expected.differences(&after);
    assert!(differences.is_empty(), "{differences}");
    let breaker = &outcome(&job_dir).report.states[1].breaker;
    assert_eq!(breaker.phase, Phase::Closed);
}

/// §4.1, §4.8, §5.1: killed at every point of an epoch and at other times, a job loses no firing and
/// repeats none, on either clock, and a timer that did not fire is pending.
#[test]
fn soak_killed_timers_fire_once_each() {
    const TIMER_RECORDS: u64 = 60_000;
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("numbers.ndjson");
    let records = write_count_input(&input, TIMER_RECORDS).unwrap();
    let program = program(TIMERS, &input);
    let mut killer = Killer::new(SEED + 2, 12);
    let mut jobs = 0;
    while killer.all_hits() < kills() / 2 || killer.at_random < kills() / 6 {
        let job_dir = dir.path().join(format!("job-{jobs}"));
        let mut kills_in_a_row = 0..KILLS_IN_A_ROW;
        let finished = kills_in_a_row
            .any(|kill| killer.kill(kill, &program, &job_dir, TIMERS) == Ended::Finished);
        if !finished {
            finish(&program, &job_dir, TIMERS);
        }
        let fired = check_timers(&job_dir, records).unwrap();
        println!("job {jobs}: fired on the watermark and on the wall clock: {fired:?}");
        std::fs::remove_dir_all(&job_dir).unwrap();
        jobs += 1;
        assert!(killer.misses < kills(), "the points are hardly ever met: {:?}", killer.hits);
    }
    println!("kills at points: {:?}; at other times: {}", killer.hits, killer.at_random);
    assert!(killer.hits.values().all(|hits| *hits > 0), "a point was never hit");
}

fn options(dir: &Path) -> RunOptions {
    RunOptions::new(dir)
        .commit_interval(Duration::from_millis(5))
        .checkpoint_interval(Duration::from_millis(40))
}

/// Waits until so many more epochs are committed: barriers pass.
fn epochs_pass(handle: &JobHandle, epochs: u64) {
    let from = handle.epoch();
    wait_for("epochs", || {
        assert!(!handle.has_ended(), "the job ended by itself");
        Ok((handle.epoch() >= from + epochs).then_some(()))
    })
    .unwrap();
}

/// §4.2: an event that writes far more than the write cache holds does not wait for a barrier that
/// would have to wait for it.
#[test]
fn a_full_cache_lets_a_big_event_and_its_barrier_pass() {
    const ENTRIES: u64 = 100_000;
    let dir = tempfile::tempdir().unwrap();
    let sink = CollectSink::<(u64, u64)>::new();
    let records = (0..4_u64).map(|n| Timed { value: n, ts: n as i64 });
    let mut job = JobBuilder::new("big");
    job.source("numbers", MemorySource::new(records), Watermarks::monotonous())
        .key_by_owned(|n: &u64| n % 2)
        .process("filler", |open: &mut Open<'_, u64>| {
            let entries = open.map_state(MapStateDescriptor::<u64, u64>::new("entries"));
            Ok(move |n: &u64, ctx: &mut Context<'_, u64, (u64, u64)>| {
                if *n < 2 {
                    for entry in 0..ENTRIES {
                        entries.put(ctx, &entry, &(entry ^ *n))?;
                    }
                }
                let found = entries.entries(ctx)?;
                let right = found.iter().filter(|(entry, value)| *value == entry ^ (*n % 2));
                ctx.emit((*n, right.count() as u64));
                Ok(())
            })
        })
        .sink("results", sink.clone());
    let options = options(dir.path()).cache_bytes(4 << 10);
    let handle = job.build().unwrap().start(options).unwrap();
    wait_for("the end", || Ok(handle.has_ended().then_some(()))).unwrap();
    let epochs = handle.epoch();
    handle.wait().unwrap();
    let mut found: Vec<_> = sink.records().into_iter().map(|(record, _)| record).collect();
    found.sort_unstable();
    let expected: Vec<_> = (0..4).map(|n| (n, ENTRIES)).collect();
    assert_eq!(found, expected);
    println!("{ENTRIES} entries twice through 4 KiB of cache; {epochs} epochs");
}

/// A source that gives numbers until it is told to end.
#[derive(Clone, Debug, Default)]
struct Endless {
    given: Arc<AtomicU64>,
    ends: Arc<AtomicBool>,
}

struct EndlessReader {
    source: Endless,
    next: u64,
}

impl Source<u64> for Endless {
    fn open(
        &self,
        _context: SourceContext,
        position: Option<&[u8]>,
    ) -> Result<Box<dyn SourceReader<u64>>, Error> {
        let next = position.map_or(0, |bytes| u64::from_be_bytes(bytes.try_into().unwrap()));
        Ok(Box::new(EndlessReader { source: self.clone(), next }))
    }

    fn detail(&self) -> String {
        "numbers".into()
    }
}

impl SourceReader<u64> for EndlessReader {
    fn poll(&mut self, out: &mut Vec<Timed<u64>>, max: usize) -> Result<Poll, Error> {
        if self.source.ends.load(Ordering::Acquire) {
            return Ok(Poll::Finished);
        }
        let numbers = self.next..self.next + max as u64;
        self.next = numbers.end;
        out.extend(numbers.map(|n| Timed { value: n, ts: n as i64 }));
        self.source.given.store(self.next, Ordering::Release);
        Ok(Poll::Ready)
    }

    fn position(&mut self) -> Result<Vec<u8>, Error> {
        Ok(self.next.to_be_bytes().to_vec())
    }

    fn position_text(&self) -> String {
        format!("number {}", self.next)
    }
}

fn guarded(source: Endless, sink: &CollectSink<u64>) -> Job {
    let mut job = JobBuilder::new("guarded").parallelism(2);
    job.source("numbers", source, Watermarks::monotonous())
        .key_by_owned(|n: &u64| n % 100)
        .process("writer", |open: &mut Open<'_, u64>| {
            let last = open.value_state(ValueStateDescriptor::<u64>::new("last"));
            Ok(move |n: &u64, ctx: &mut Context<'_, u64, u64>| {
                ctx.emit(*n);
                last.put(ctx, n)
            })
        })
        .sink("results", sink.clone());
    job.build().unwrap()
}

/// §7.6: a full spill stops the sources and nothing else: barriers pass, and after the reset
/// everything drains.
#[test]
fn a_full_spill_stops_sources_and_lets_barriers_pass() {
    const SPILL_BYTES_MAX: u64 = 64 << 10;
    let dir = tempfile::tempdir().unwrap();
    let (source, sink) = (Endless::default(), CollectSink::new());
    let options = options(dir.path()).spill_bytes_max(SPILL_BYTES_MAX);
    let handle = guarded(source.clone(), &sink).start(options).unwrap();
    handle.trip("writer", "last", Action::Divert, "test", "it grows").unwrap();
    let given = || source.given.load(Ordering::Acquire);
    // it has stopped when nothing was given for so many epochs
    let mut seen = 0;
    wait_for("the sources' stop", || {
        let before = std::mem::replace(&mut seen, given());
        epochs_pass(&handle, 20);
        Ok((before == seen && before == given()).then_some(()))
    })
    .unwrap();
    epochs_pass(&handle, 50);
    check_conservation(&handle).unwrap();
    let stopped_at = given();
    let operator = handle.figures().operators[0].clone();
    assert_eq!(stopped_at, seen, "the source went on");
    assert!(operator.pending_bytes >= SPILL_BYTES_MAX, "{operator:?}");
    assert_eq!(operator.arrived, stopped_at, "what is in flight arrives: {operator:?}");

    handle.reset("writer", "last", "test", "it is mended").unwrap();
    wait_for("the sources' restart", || {
        Ok((given() > stopped_at || handle.has_ended()).then_some(()))
    })
    .unwrap();
    source.ends.store(true, Ordering::Release);
    wait_for("the end", || Ok(handle.has_ended().then_some(()))).unwrap();
    handle.wait().unwrap();
    let mut numbers: Vec<u64> = sink.records().into_iter().map(|(n, _)| n).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..given()).collect::<Vec<_>>());
    println!("stopped at {stopped_at} with {} bytes spilled", operator.pending_bytes);
}
