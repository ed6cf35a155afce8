//! The project's benches; `cargo xtask bench` builds and runs them.
//!
//! Figures of `state` are ratios to a baseline that runs in the same process, interleaved; the median
//! of the pairs is printed with their range. `page` is in `tests/src/paint.rs`.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use stateward_engine::bench::{Equipment, Memory, StateBench, open_bare, open_state};
use stateward_tests::durability::{self, Scale};
use stateward_tests::figure::Figure;
use stateward_tests::{keyed, memory, timer};

/// As a job has it.
const FULL: Equipment = Equipment { instrumented: true, ttl: true };
/// Keys of the hot set: they fit every cache.
const HOT_KEYS: u64 = 10_000;
/// Keys of the uniform set.
const UNIFORM_KEYS: u64 = 1_000_000 / REDUCED;
/// A build that is not optimized only shows that a bench runs: by how much less it does then.
const REDUCED: u64 = if cfg!(debug_assertions) { 100 } else { 1 };
/// Operations between two commits.
const COMMIT_EVERY: u64 = 20_000;

/// All of them.
const BENCHES: [&str; 9] =
    ["breaker", "changelog", "checkpoint", "keyed", "memory", "page", "state", "timer", "ttl"];

/// Measures one case.
type Case = fn(&Settings) -> Result<Figure>;

struct Settings {
    pairs: usize,
    operations: u64,
    json: bool,
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(line) = part(&arguments)? {
        println!("{line}");
        return Ok(());
    }
    let quick = arguments.iter().any(|a| a == "--quick");
    let settings = Settings {
        pairs: if quick { 3 } else { 10 },
        operations: if quick { 60_000 / REDUCED } else { 200_000 },
        json: arguments.iter().any(|a| a == "--json"),
    };
    let names: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|a| !a.starts_with("--")).collect();
    let cases: [(&str, Case); 4] = [
        ("state/hot_set", hot_set),
        ("state/uniform", uniform),
        ("state/instrumentation", instrumentation),
        ("ttl/on", ttl),
    ];
    let single: Vec<String> = cases
        .iter()
        .map(|(case, _)| (*case).to_owned())
        .chain(keyed::cases().map(|case| format!("keyed/{case}")))
        .collect();
    let known = |name: &&str| BENCHES.contains(name) || single.iter().any(|case| case == name);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let (benches, cases) = (BENCHES.join(", "), single.join(", "));
        bail!("no bench {unknown:?}; there are: {benches}, and of single cases {cases}");
    }
    let asked = |name| names.is_empty() || names.contains(&name);
    for (name, case) in cases {
        let bench = name.split('/').next().unwrap_or_default();
        if asked(bench) || asked(name) {
            case(&settings)?.print(settings.json)?;
        }
    }
    let events = if quick {
        keyed::Events { warm_up: 100_000 / REDUCED, measured: 1_000_000 / REDUCED }
    } else {
        keyed::Events { warm_up: 1_000_000, measured: 10_000_000 }
    };
    let program = std::env::current_exe()?;
    for (n, case) in keyed::cases().enumerate() {
        // a quick run only shows that it runs
        let in_turn = asked("keyed") && (!quick || n == 0);
        if in_turn || names.contains(&format!("keyed/{case}").as_str()) {
            keyed::measure(&program, case, events, settings.json)?.print(settings.json)?;
        }
    }
    if asked("timer") {
        let timers = if quick { 1_000_000 / REDUCED } else { 10_000_000 };
        for figure in timer::measure(&program, timers, settings.json)? {
            figure.print(settings.json)?;
        }
    }
    if asked("breaker") {
        closed_breaker(&settings).print(settings.json)?;
    }
    if asked("checkpoint") {
        let keys = if quick { 20_000 / REDUCED } else { 1_000_000 };
        let big = Scale { keys, value_bytes: 1_000 };
        for figure in durability::checkpoint(&program, big, keys)? {
            figure.print(settings.json)?;
        }
    }
    if asked("changelog") {
        let scale =
            Scale { keys: if quick { 50_000 / REDUCED } else { 2_000_000 }, value_bytes: 100 };
        for figure in durability::changelog(&program, scale, settings.pairs.div_ceil(3))? {
            figure.print(settings.json)?;
        }
    }
    if asked("memory") {
        let budget_bytes = if quick { 8 << 20 } else { 128 << 20 };
        memory::figure(&program, budget_bytes)?.print(settings.json)?;
    }
    if asked("page") {
        stateward_tests::paint::ranking_paint(settings.pairs)?.print(settings.json)?;
    }
    Ok(())
}

/// How the bench starts itself, so that a case has its process alone: the line of such a case.
fn part(arguments: &[String]) -> Result<Option<String>> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let line = match arguments.as_slice() {
        ["--one", case, warm_up, measured] => {
            let events = keyed::Events { warm_up: warm_up.parse()?, measured: measured.parse()? };
            keyed::run_here(case, events)?
        }
        ["--timers", count] => timer::run_here(count.parse()?)?,
        ["--memory", budget_bytes] => memory::run_here(budget_bytes.parse()?)?,
        ["--durability", part, keys, value_bytes] => {
            let scale = Scale { keys: keys.parse()?, value_bytes: value_bytes.parse()? };
            durability::run_here(part, scale)?
        }
        _ => return Ok(None),
    };
    Ok(Some(line))
}

/// What a closed breaker costs an event.
#[expect(clippy::disallowed_methods, reason = "a bench reads a clock")]
fn closed_breaker(settings: &Settings) -> Figure {
    const TIMES: u64 = 20_000_000 / REDUCED;
    let runs = (0..settings.pairs).map(|_| {
        let began = Instant::now();
        let admitted = stateward_engine::bench::ask_closed_breaker(TIMES);
        assert_eq!(admitted, TIMES, "a closed breaker admits");
        began.elapsed().as_secs_f64() * 1e9 / TIMES as f64
    });
    Figure { bench: "breaker", case: "closed_check", runs: runs.collect(), against: None }
}

/// Generates the same keys for both sides of a pair.
struct Keys(u64);

impl Keys {
    fn next(&mut self, keys: u64) -> u64 {
        // xorshift: cheap enough not to be measured
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % keys
    }
}

/// What a slice of work came to.
#[derive(Clone, Copy, Default)]
struct Slice {
    per_second: f64,
    /// Bytes handed to the system, by the compactions that the slice left due too.
    written_bytes: u64,
}

/// Runs a slice of work to its final flush.
#[expect(clippy::disallowed_methods, reason = "a bench reads a clock")]
fn run(state: &mut dyn StateBench, seed: u64, keys: u64, operations: u64) -> Result<Slice> {
    let mut random = Keys(seed | 1);
    let (began, written) = (Instant::now(), written_so_far()?);
    for n in 1..=operations {
        state.read_modify_write(random.next(keys))?;
        if n % COMMIT_EVERY == 0 || state.wants_commit() {
            state.commit()?;
        }
    }
    state.finish()?;
    let seconds = began.elapsed().as_secs_f64();
    state.settle()?;
    let written_bytes = written_so_far()? - written;
    Ok(Slice { per_second: operations as f64 / seconds, written_bytes })
}

/// Bytes that this process has handed to the system.
fn written_so_far() -> Result<u64> {
    let text = std::fs::read_to_string("/proc/self/io").context("read /proc/self/io")?;
    let bytes = text.lines().find_map(|line| line.strip_prefix("wchar: "));
    Ok(bytes.context("/proc/self/io has no wchar")?.parse()?)
}

fn pairs(
    settings: &Settings,
    keys: u64,
    ours: &mut dyn StateBench,
    theirs: &mut dyn StateBench,
) -> Result<Vec<f64>> {
    let mut ratios = Vec::new();
    let mut written = [0, 0];
    for pair in 0..settings.pairs as u64 {
        let seed = 0x9E37_79B9_7F4A_7C15 ^ (pair << 32);
        // who goes first alternates, so that neither always finds the machine warm
        let (a, b) = if pair % 2 == 0 {
            let a = run(ours, seed, keys, settings.operations)?;
            (a, run(theirs, seed, keys, settings.operations)?)
        } else {
            let b = run(theirs, seed, keys, settings.operations)?;
            (run(ours, seed, keys, settings.operations)?, b)
        };
        ratios.push(a.per_second / b.per_second);
        written = [written[0] + a.written_bytes, written[1] + b.written_bytes];
        if !settings.json {
            let (a, b) = (a.per_second, b.per_second);
            println!("  pair {pair}: {a:>9.0}/s against {b:>9.0}/s");
        }
    }
    if !settings.json {
        let operations = settings.operations * settings.pairs as u64;
        let [ours, theirs] = written.map(|bytes| bytes / operations);
        println!("  bytes written an operation: {ours} against {theirs}");
    }
    Ok(ratios)
}

fn ratio(case: &'static str, runs: Vec<f64>, against: &'static str) -> Figure {
    Figure { bench: "state", case, runs, against: Some(against) }
}

fn roomy() -> Memory {
    Memory { write_cache: 64 << 20, block_cache: 64 << 20, memtable: 64 << 20 }
}

fn hot_set(settings: &Settings) -> Result<Figure> {
    let dir = tempfile::tempdir()?;
    let mut ours = open_state(&dir.path().join("ours"), roomy(), FULL)?;
    let mut theirs = open_bare(&dir.path().join("theirs"), roomy())?;
    let ratios = pairs(settings, HOT_KEYS, ours.as_mut(), theirs.as_mut())?;
    Ok(ratio("hot_set", ratios, "bare RocksDB"))
}

fn fill(state: &mut dyn StateBench) -> Result<()> {
    for key in 0..UNIFORM_KEYS {
        state.read_modify_write(key)?;
        if key % COMMIT_EVERY == 0 || state.wants_commit() {
            state.commit()?;
        }
    }
    state.finish()?;
    Ok(state.settle()?)
}

/// 1 M keys of about 110 bytes are 105 MiB; both sides get 10 MiB in all.
fn uniform(settings: &Settings) -> Result<Figure> {
    let dir = tempfile::tempdir()?;
    let (ours_dir, theirs_dir) = (dir.path().join("ours"), dir.path().join("theirs"));
    // of a memtable two may be held; an overflow would have its own besides, so there must be none
    let memory = Memory { write_cache: 4 << 20, block_cache: 3 << 20, memtable: 3 << 19 };
    let mut ours = open_state(&ours_dir, memory, FULL)?;
    let memory = Memory { write_cache: 0, block_cache: 6 << 20, memtable: 2 << 20 };
    let mut theirs = open_bare(&theirs_dir, memory)?;
    fill(ours.as_mut())?;
    fill(theirs.as_mut())?;
    let ratios = pairs(settings, UNIFORM_KEYS, ours.as_mut(), theirs.as_mut())?;
    ensure!(
        !ours_dir.join("overflow").exists(),
        "the write cache overflowed: more memory than agreed"
    );
    if !settings.json {
        let mib = |dir: &Path| bytes_below(dir) as f64 / f64::from(1 << 20);
        println!(
            "  on disk at the end: ours {:.0} MiB (changelog {:.0} MiB), theirs {:.0} MiB",
            mib(&ours_dir),
            mib(&ours_dir.join("changelog")),
            mib(&theirs_dir)
        );
    }
    Ok(ratio("uniform", ratios, "bare RocksDB"))
}

fn bytes_below(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => bytes_below(&entry.path()),
            Ok(meta) => meta.len(),
            Err(_) => 0,
        })
        .sum()
}

fn instrumentation(settings: &Settings) -> Result<Figure> {
    let dir = tempfile::tempdir()?;
    let mut ours = open_state(&dir.path().join("on"), roomy(), FULL)?;
    let mut theirs =
        open_state(&dir.path().join("off"), roomy(), Equipment { instrumented: false, ..FULL })?;
    let ratios = pairs(&many(settings), HOT_KEYS, ours.as_mut(), theirs.as_mut())?;
    Ok(ratio("instrumentation", ratios, "telemetry compiled out"))
}

/// For small differences: many pairs, each short beside the machine's own changes of pace.
fn many(settings: &Settings) -> Settings {
    Settings { pairs: settings.pairs * 4, operations: settings.operations * 2, json: settings.json }
}

fn ttl(settings: &Settings) -> Result<Figure> {
    let dir = tempfile::tempdir()?;
    let mut ours = open_state(&dir.path().join("with"), roomy(), FULL)?;
    let without = Equipment { ttl: false, ..FULL };
    let mut theirs = open_state(&dir.path().join("without"), roomy(), without)?;
    let runs = pairs(&many(settings), HOT_KEYS, ours.as_mut(), theirs.as_mut())?;
    Ok(Figure { bench: "ttl", case: "on", runs, against: Some("no TTL") })
}
