//! Every file of a job's folder, damaged: the job goes on with the right figures, or says which file
//! is damaged; it never goes on with wrong ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::checkpoint::checkpoints;
use crate::error::Error;
use crate::job::{Job, JobBuilder, JobHandle, RunOptions, Watermarks};
use crate::operator::{Context, Open};
use crate::sink::FileSink;
use crate::source::{MemorySource, Timed};
use crate::state::ValueStateDescriptor;

const KEYS: u64 = 50;
pub(super) const NUMBERS: u64 = 20_000;
/// Epochs behind the second checkpoint after which the first run is ended as a crash would end it.
const EPOCHS: u64 = 3;

/// Counts numbers by key in a state on RocksDB and in one on the heap, and emits both.
pub(super) fn counting(numbers: u64) -> Job {
    let records = (0..numbers).map(|n| Timed { value: n, ts: n as i64 });
    let mut job = JobBuilder::new("count");
    job.source("numbers", MemorySource::new(records), Watermarks::monotonous())
        .key_by_owned(|n: &u64| n % KEYS)
        .process("counter", |open: &mut Open<'_, u64>| {
            let on_disk = open.value_state(ValueStateDescriptor::<u64>::new("on_disk"));
            let on_heap = open.value_state(ValueStateDescriptor::<u64>::new("on_heap").heap());
            Ok(move |_: &u64, ctx: &mut Context<'_, u64, (u64, u64, u64)>| {
                let counts = [on_disk, on_heap].map(|state| {
                    let next = state.get(ctx)?.unwrap_or(0) + 1;
                    state.put(ctx, &next)?;
                    Ok::<u64, Error>(next)
                });
                let [on_disk, on_heap] = counts;
                ctx.emit((*ctx.key(), on_disk?, on_heap?));
                Ok(())
            })
        })
        .sink("counts", FileSink::ndjson("results/counts").roll_bytes(1 << 30));
    job.build().unwrap()
}

pub(super) fn options(dir: &Path) -> RunOptions {
    RunOptions::new(dir)
        .commit_interval(Duration::from_millis(2))
        .checkpoint_interval(Duration::from_millis(20))
        .cache_bytes(8 << 10)
}

/// Every result, by key and count; each must be there once, with both states at the same count.
pub(super) fn results(dir: &Path) -> BTreeMap<(u64, u64), u64> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir.join("jobs/count/results")).unwrap() {
        for line in fs::read_to_string(entry.unwrap().path()).unwrap().lines() {
            let (key, on_disk, on_heap): (u64, u64, u64) = serde_json::from_str(line).unwrap();
            assert_eq!(on_disk, on_heap, "key {key}");
            *found.entry((key, on_disk)).or_default() += 1;
        }
    }
    found
}

fn files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

/// §4.1, §4.4: bits flipped, and bytes cut off, in every file that a job leaves behind.
#[test]
fn a_damaged_file_is_told_or_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let whole = dir.path().join("whole");
    let first = counting(NUMBERS).start(options(&whole)).unwrap();
    let saved = || fs::read_dir(whole.join("jobs/count/checkpoints")).into_iter().flatten().count();
    let mut last = None;
    while last.is_none_or(|last| first.epoch() < last) {
        assert!(!first.has_ended(), "too few numbers");
        last = last.or_else(|| (saved() > 2).then(|| first.epoch() + EPOCHS));
        std::thread::park_timeout(Duration::from_millis(1));
    }
    drop(first);
    let newest = checkpoints(&whole.join("jobs/count")).unwrap().remove(0).1;
    let mut all = Vec::new();
    files(&whole, &mut all);
    let (mut told, mut went_on) = (BTreeMap::new(), BTreeMap::new());
    for (n, path) in all.iter().enumerate() {
        let inside = path.strip_prefix(&whole).unwrap();
        // the live stores are made anew at every start, results are a person's
        let is_other = ["state", "results", "lock"]
            .iter()
            .any(|other| inside.starts_with(Path::new("jobs/count").join(other)));
        let is_older = path.starts_with(newest.parent().unwrap()) && !path.starts_with(&newest);
        let bytes = fs::read(path).unwrap();
        if is_other || is_older || bytes.is_empty() {
            continue;
        }
        let at = bytes.len() / 2;
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x10;
        let mut damages = vec![("flipped", flipped)];
        // RocksDB knows for itself how long its files are
        if !inside.components().any(|part| part.as_os_str() == "db") {
            damages.push(("cut", bytes[..at].to_vec()));
        }
        for (how, damaged) in damages {
            let copied = dir.path().join(format!("{n}-{how}"));
            copy(&whole, &copied);
            fs::write(copied.join(inside), damaged).unwrap();
            let name = inside.file_name().unwrap().to_string_lossy().into_owned();
            let kind = name.trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
            match counting(NUMBERS).start(options(&copied)).and_then(JobHandle::wait) {
                Ok(()) => {
                    let found = results(&copied);
                    assert_eq!(found.len() as u64, NUMBERS, "{} {how}", inside.display());
                    assert!(found.values().all(|times| *times == 1), "{}", inside.display());
                    *went_on.entry(kind).or_insert(0) += 1;
                }
                Err(e) => {
                    let text = e.to_string();
                    assert!(text.contains("jobs/count"), "{text} names no file");
                    *told.entry(kind).or_insert(0) += 1;
                }
            }
            fs::remove_dir_all(&copied).unwrap();
        }
    }
    // what a checkpoint is made of is passed over for the one before; the rest has no second copy
    assert!(
        ["shard.meta", "state-001.heap", "about.json", ".sst"]
            .iter()
            .all(|file| went_on.contains_key(*file) && !told.contains_key(*file)),
        "{went_on:?}, {told:?}"
    );
    assert!(told.contains_key("job.json"), "{told:?}");
    // whether a log's middle is still needed depends on when the last checkpoint was
    assert!(told.contains_key(".log") || went_on.contains_key(".log"), "no log was damaged");
}
