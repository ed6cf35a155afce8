//! A small job whose result does not depend on how shards take turns: how often each key came.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use stateward_engine::inspect::inspect;
use stateward_engine::{
    Context, Error, FileSink, FileSource, Job, JobBuilder, Open, RunOptions, Timed,
    ValueStateDescriptor, Watermarks,
};

/// Name of the job.
pub const COUNT: &str = "count";
/// Keys; the number of records is a multiple of it.
const KEYS: u64 = 2_000;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Counted {
    key: u64,
    count: u64,
}

/// Writes the numbers from 0 on, at least `records` of them.
///
/// # Errors
/// Where the file cannot be written.
pub fn write_count_input(path: &Path, records: u64) -> Result<u64> {
    let records = records.next_multiple_of(KEYS);
    let numbers: Vec<String> = (0..records).map(|n| format!("{n}\n")).collect();
    fs::write(path, numbers.concat())?;
    Ok(records)
}

/// Short epochs and checkpoints, and a cache that holds less than the states.
pub fn count_options(data_dir: &Path) -> RunOptions {
    RunOptions::new(data_dir)
        .commit_interval(Duration::from_millis(5))
        .checkpoint_interval(Duration::from_millis(60))
        .cache_bytes(192 << 10)
        .store_bytes(4 << 20, 128 << 10)
}

/// Builds the job that reads `input`; everything it writes is below its own folder.
///
/// # Errors
/// Where the declaration is wrong.
pub fn count_job(input: &Path) -> Result<Job, Error> {
    let mut job = JobBuilder::new(COUNT).parallelism(2);
    let source = FileSource::ndjson(input, |n: u64| [Timed { value: n, ts: n as i64 }]);
    job.source("numbers", source, Watermarks::monotonous())
        .key_by_owned(|n: &u64| n % KEYS)
        .process("counter", |open: &mut Open<'_, u64>| {
            let count = open.value_state(ValueStateDescriptor::<u64>::new("count"));
            let last = open.value_state(ValueStateDescriptor::<u64>::new("last").heap());
            Ok(move |n: &u64, ctx: &mut Context<'_, u64, Counted>| {
                let counted = count.get(ctx)?.unwrap_or(0) + 1;
                count.put(ctx, &counted)?;
                last.put(ctx, n)?;
                ctx.emit(Counted { key: n % KEYS, count: counted });
                Ok(())
            })
        })
        .sink("counts", FileSink::ndjson("results/counts").roll_bytes(32 << 10));
    job.build()
}

/// Checks what the job in `data_dir` has left at its end: every count of every key once, and states
/// that agree.
///
/// # Errors
/// Where something is lost, repeated, or cannot be read.
pub fn check_counts(data_dir: &Path, records: u64) -> Result<()> {
    let job_dir = data_dir.join("jobs").join(COUNT);
    let mut found: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for entry in fs::read_dir(job_dir.join("results"))? {
        for line in fs::read_to_string(entry?.path())?.lines() {
            let counted: Counted = serde_json::from_str(line)?;
            found.entry(counted.key).or_default().push(counted.count);
        }
    }
    let each = records / KEYS;
    for key in 0..KEYS {
        let mut counts = found.remove(&key).unwrap_or_default();
        counts.sort_unstable();
        ensure!(counts.iter().copied().eq(1..=each), "counts of {key}, up to {each}: {counts:?}");
    }
    for state in inspect(&job_dir)?.states {
        let rows = state.rows.len() as u64;
        ensure!(rows == KEYS && state.ledger_entries == KEYS, "{}: {rows} rows", state.state);
        let agree = |value: &[u8]| state.state != COUNT || value == [each as u8];
        let odd = state.rows.iter().find(|row| !agree(&row.value));
        ensure!(odd.is_none() && each < 128, "{}: {odd:?}", state.state);
    }
    Ok(())
}
