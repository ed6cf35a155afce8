//! A job whose state is many times its memory budget, in a process of its own.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use stateward_engine::{
    Context, Error, Job, JobBuilder, Open, RunOptions, ValueStateDescriptor, Watermarks,
};

use crate::figure::Figure;
use crate::keyed::{Events, Numbers, splitmix64, status_kib};

/// What a small job takes whatever its budget: stacks, RocksDB's own structures, freed memory that the
/// allocator keeps.
pub const FIXED_BYTES: u64 = 24 << 20;

/// Bytes of a value.
const VALUE_BYTES: u64 = 4_096;
/// Bytes of the text that values are taken from.
const TEXT_BYTES: u64 = 1 << 20;
/// How many times the budget the state is.
const TIMES: u64 = 20;

/// Makes neighbours of numbers that are far apart: a prime above any number of keys.
const STRIDE: u64 = 2_147_483_647;

/// What a run came to; the line that its process prints.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the unit is part of a field's name")]
pub struct Outcome {
    /// `memory.total`.
    pub budget_bytes: u64,
    /// Keys and values of the state.
    pub logical_bytes: u64,
    /// Its files.
    pub disk_bytes: u64,
    /// By how much the process's own memory grew at most, mapped files left out.
    pub grown_bytes: u64,
    /// The most that write caches, memtables and block cache held together, by their own figures.
    pub budgeted_bytes: u64,
}

/// Runs it in a process of its own; `program` is the bench program.
///
/// # Errors
/// Where it fails, with what it said on standard error.
pub fn measure(program: &Path, budget_bytes: u64) -> Result<Outcome> {
    let output = Command::new(program).args(["--memory", &budget_bytes.to_string()]).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).context("its line")
}

/// What part of its budget it took.
///
/// # Errors
/// As [`measure`].
pub fn figure(program: &Path, budget_bytes: u64) -> Result<Figure> {
    let Outcome { grown_bytes, .. } = measure(program, budget_bytes)?;
    let runs = vec![grown_bytes as f64 / budget_bytes as f64];
    Ok(Figure { bench: "memory", case: "state_20x", runs, against: Some("memory.total") })
}

/// Text that no compression makes small: a stretch of one long text, with its number in front.
fn value(text: &str, of: u64) -> String {
    let from = (splitmix64(of) % (TEXT_BYTES - VALUE_BYTES)) as usize;
    let stretch = text.get(from..from + VALUE_BYTES as usize - 16).unwrap_or_default();
    format!("{of:016x}{stretch}")
}

fn long_text() -> String {
    let digits = |word: u64| word.to_be_bytes().map(|byte| char::from(b'!' + byte % 93));
    (0..TEXT_BYTES / 8).flat_map(|n| digits(splitmix64(n))).collect()
}

fn job(keys: u64, source: Numbers) -> Result<Job, Error> {
    let mut job = JobBuilder::new("memory");
    job.source("numbers", source, Watermarks::monotonous())
        .key_by_owned(move |n: &u64| n.wrapping_mul(STRIDE) % keys)
        .process("update", |open: &mut Open<'_, u64>| {
            let state = open.value_state(ValueStateDescriptor::<String>::new("state"));
            let text = long_text();
            Ok(move |event: &u64, ctx: &mut Context<'_, u64, u64>| {
                if state.get(ctx)?.is_none_or(|text| text.len() as u64 == VALUE_BYTES) {
                    state.put(ctx, &value(&text, *event))?;
                }
                Ok(())
            })
        });
    job.build()
}

/// Runs it here and returns its line.
///
/// # Errors
/// Where the job fails.
pub fn run_here(budget_bytes: u64) -> Result<String> {
    let dir = tempfile::tempdir()?;
    let keys = budget_bytes * TIMES / VALUE_BYTES + 1;
    // once to fill it, and once to change each
    let source = Numbers::new(1, Events { warm_up: 0, measured: keys * 2 });
    let options = RunOptions::new(dir.path())
        .memory_bytes(budget_bytes as usize)
        .checkpoint_interval(Duration::from_mins(1));
    let held = || Ok::<u64, anyhow::Error>(status_kib("RssAnon:")? << 10);
    let before = held()?;
    let handle = job(keys, source)?.start(options)?;
    let (mut most, mut budgeted) = (0, 0);
    while !handle.has_ended() {
        most = most.max(held()?);
        budgeted = budgeted.max(handle.figures().job.memory.budgeted_bytes());
        std::thread::park_timeout(Duration::from_millis(200));
    }
    let report = handle.figures();
    handle.wait()?;
    let state = report.states.first().context("the state is not reported")?;
    let outcome = Outcome {
        budget_bytes,
        logical_bytes: state.stock.logical_bytes,
        disk_bytes: state.stock.disk_bytes,
        grown_bytes: most.saturating_sub(before),
        budgeted_bytes: budgeted,
    };
    Ok(serde_json::to_string(&outcome)?)
}
