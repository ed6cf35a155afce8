//! Checkpoints that fail, fill the changelog, are damaged, share files and have copies.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use stateward_model::breaker::Action;
use stateward_model::wire::{
    CheckpointFailure, CheckpointKind, CheckpointRun, CheckpointSample, JobEvent,
};

use super::damage::{NUMBERS, counting, options, results};
use super::until;
use crate::checkpoint::checkpoints;
use crate::job::{JobHandle, RunOptions};

/// Runs to the end of the input; returns the last figures and what happened.
fn run(numbers: u64, options: RunOptions) -> (CheckpointSample, Vec<JobEvent>) {
    let handle = counting(numbers).start(options).unwrap();
    while !handle.has_ended() {
        std::thread::park_timeout(Duration::from_millis(5));
    }
    let told = handle.control.log.drain();
    let figures = handle.figures().job.checkpoints;
    handle.wait().unwrap();
    (figures, told)
}

fn assert_once(dir: &Path, numbers: u64) {
    let found = results(dir);
    assert_eq!(found.len() as u64, numbers);
    assert!(found.values().all(|times| *times == 1));
}

fn has(events: &[JobEvent], kind: &str, text: &str) -> bool {
    events.iter().any(|event| event.kind == kind && event.text.contains(text))
}

/// The job's tables in a checkpoint: name and inode.
fn tables(checkpoint: &Path) -> BTreeMap<PathBuf, u64> {
    let all = fs::read_dir(checkpoint.join("shard-0/db")).unwrap().map(|e| e.unwrap().path());
    let tables = all.filter(|path| path.extension().is_some_and(|e| e == "sst"));
    tables
        .map(|path| (path.file_name().unwrap().into(), fs::metadata(&path).unwrap().ino()))
        .collect()
}

fn flip(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    // written anew, as a disk would rot: whoever shares the file sees it
    fs::write(path, bytes).unwrap();
}

/// §4.2: a checkpoint that fails is counted with its reason, and fails nothing else; the next one is
/// tried.
#[test]
fn a_failed_checkpoint_fails_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let hasty = options(dir.path()).checkpoint_timeout(Duration::ZERO);
    let (figures, told) = run(NUMBERS / 4, hasty);
    let failed = figures.failures[CheckpointFailure::Timeout as usize];
    assert!(failed > 1 && figures.retained.is_empty(), "{figures:?}");
    assert_eq!(figures.failures.iter().sum::<u64>(), failed);
    assert!(figures.runs.iter().all(|run| run.failure == Some(CheckpointFailure::Timeout)));
    assert!(has(&told, "checkpoint_failed", "longer than the timeout"));
    assert!(checkpoints(&dir.path().join("jobs/count")).unwrap().is_empty());
    let unfinished = fs::read_dir(dir.path().join("jobs/count/checkpoints")).unwrap().count();
    assert_eq!(unfinished, 0, "what failed leaves nothing behind");
    let (figures, _) = run(NUMBERS / 2, options(dir.path()));
    assert!(!figures.retained.is_empty() && figures.failures.iter().all(|count| *count == 0));
    let last = figures.runs.last().unwrap();
    assert_eq!((last.entries, figures.retained.first()), (100, Some(&last.epoch)));
    assert_once(dir.path(), NUMBERS / 2);
}

/// §4.2: when checkpoints keep failing the changelog tells, then the sources wait; a checkpoint that
/// comes about lets them go on.
#[test]
fn a_full_changelog_stops_the_sources() {
    let dir = tempfile::tempdir().unwrap();
    let limited = || options(dir.path()).changelog_bytes(1 << 30, 10 << 10);
    let handle = counting(NUMBERS).start(limited().checkpoint_timeout(Duration::ZERO)).unwrap();
    let waits = |handle: &JobHandle| handle.figures().job.checkpoints.sources_wait;
    until(&handle, "the sources wait", |_| waits(&handle));
    let epoch = handle.epoch();
    until(&handle, "epochs go on", |_| handle.epoch() > epoch + 3);
    let read: u64 = handle.figures().job.sources.iter().map(|source| source.records).sum();
    assert!(read < NUMBERS, "all was read");
    let told = handle.control.log.drain();
    assert!(has(&told, "changelog_grows", "bytes") && has(&told, "source_paused", "changelog"));
    drop(handle);
    let (figures, told) = run(NUMBERS, limited());
    assert!(!figures.sources_wait && has(&told, "source_resumed", "changelog"), "{told:?}");
    assert_once(dir.path(), NUMBERS);
}

/// §4.2: incremental checkpoints share files, a full one has its own; a damaged shared file is mended
/// from the last real copy, and says so.
#[test]
fn a_damaged_shared_file_is_mended_from_the_real_copy() {
    let dir = tempfile::tempdir().unwrap();
    let job_dir = dir.path().join("jobs/count");
    let often_full = || {
        let interval = Duration::from_secs(1);
        options(dir.path()).checkpoints_kept(2).full_checkpoint_interval(interval)
    };
    run(NUMBERS / 2, often_full());
    // what is diverted changes no state: the tables stay, and the job with them
    let handle = counting(NUMBERS).start(often_full()).unwrap();
    handle.trip("counter", "on_disk", Action::Divert, "test", "to see it idle").unwrap();
    until(&handle, "all arrive", |counter| counter.arrived == NUMBERS && counter.pending > 0);
    let is_full = |run: &CheckpointRun| run.kind == CheckpointKind::Full;
    until(&handle, "a full one, and others since", |_| {
        let runs = handle.figures().job.checkpoints.runs;
        runs.iter().rposition(is_full).is_some_and(|full| full > 0 && full + 3 < runs.len())
    });
    let runs = handle.figures().job.checkpoints.runs;
    assert!(runs.iter().all(|run| is_full(run) == (run.linked_bytes == 0)), "{runs:?}");
    drop(handle);
    let kept = checkpoints(&job_dir).unwrap();
    let [(_, newest), (_, older)] = kept.as_slice() else { panic!("{kept:?}") };
    let (shared, copies) = (tables(newest), tables(&job_dir.join("checkpoints/copies")));
    assert_eq!(shared, tables(older), "they share their files");
    assert!(shared.keys().eq(copies.keys()), "{shared:?}, {copies:?}");
    assert!(shared.iter().all(|(name, inode)| copies.get(name) != Some(inode)));
    let table = newest.join("shard-0/db").join(shared.keys().next().unwrap());
    flip(&table);
    let handle = counting(NUMBERS).start(options(dir.path())).unwrap();
    let told = handle.control.log.drain();
    assert!(has(&told, "checkpoint_fallback", "it is mended from"), "{told:?}");
    assert!(has(&told, "checkpoint_fallback", table.to_str().unwrap()));
    handle.reset("counter", "on_disk", "test", "it was seen").unwrap();
    handle.wait().unwrap();
    assert_once(dir.path(), NUMBERS);
}

/// §4.2: recovery tries the newest checkpoint first, on a clone, then the one before, and says so.
#[test]
fn a_damaged_checkpoint_falls_back_to_the_one_before() {
    let dir = tempfile::tempdir().unwrap();
    run(NUMBERS / 2, options(dir.path()));
    let kept = checkpoints(&dir.path().join("jobs/count")).unwrap();
    let [(first, newest), (second, _), ..] = kept.as_slice() else { panic!("{kept:?}") };
    flip(&newest.join("about.json"));
    let (_, told) = run(NUMBERS, options(dir.path()));
    let text = format!("checkpoint {first} cannot be used");
    assert!(has(&told, "checkpoint_fallback", &text), "{told:?}");
    assert!(!has(&told, "checkpoint_fallback", &format!("checkpoint {second} cannot")));
    assert_once(dir.path(), NUMBERS);
}
