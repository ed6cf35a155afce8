//! Savepoints, and jobs that are restored from them, against ones that were never interrupted.

use std::path::{Path, PathBuf};
use std::time::Duration;

use stateward_model::breaker::Action;

use super::rescale::{lines, mixed_on, published, records, stocks};
use super::{options, until};
use crate::error::Error;
use crate::job::{Job, JobBuilder, JobHandle, Watermarks};
use crate::operator::{Context, Open};
use crate::savepoint::Savepoint;
use crate::sink::CollectSink;
use crate::source::{MemorySource, Poll, Source, SourceContext, SourceReader, Timed};
use crate::state::ValueStateDescriptor;

const ALL: u64 = 4_000;

/// Records after which more may come: a job that reads them runs until it is stopped.
#[derive(Debug)]
struct Unending(MemorySource<u64>);

struct UnendingReader(Box<dyn SourceReader<u64>>);

impl Source<u64> for Unending {
    fn open(
        &self,
        context: SourceContext,
        position: Option<&[u8]>,
    ) -> Result<Box<dyn SourceReader<u64>>, Error> {
        Ok(Box::new(UnendingReader(self.0.open(context, position)?)))
    }

    fn detail(&self) -> String {
        self.0.detail()
    }
}

impl SourceReader<u64> for UnendingReader {
    fn poll(&mut self, out: &mut Vec<Timed<u64>>, max: usize) -> Result<Poll, Error> {
        let poll = self.0.poll(out, max)?;
        Ok(if poll == Poll::Finished { Poll::Wait(Duration::from_millis(5)) } else { poll })
    }

    fn position(&mut self) -> Result<Vec<u8>, Error> {
        self.0.position()
    }

    fn position_text(&self) -> String {
        self.0.position_text()
    }
}

fn mixed(shards: usize, swapped: bool) -> Job {
    mixed_on(MemorySource::new(records(ALL)), shards, swapped)
}

fn ended(handle: &JobHandle) {
    while !handle.has_ended() {
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// How a savepoint of a run comes about.
#[derive(Clone, Copy, Debug)]
enum Made {
    /// While the job runs; its last epoch.
    Stopping,
    /// Of the job that has ended.
    Offline,
    /// Nothing is made: its newest checkpoint is restored.
    Checkpoint,
}

/// Runs from `from`, or the beginning, up to somewhere; returns what to go on from.
fn leg(
    dir: &Path,
    from: Option<&Path>,
    (count, shards, swapped): (u64, usize, bool),
    made: Made,
) -> PathBuf {
    let mut options = options(dir);
    if let Some(from) = from {
        options = options.restore_from(from);
    }
    let input = Unending(MemorySource::new(records(count)));
    let handle = mixed_on(input, shards, swapped).start(options).unwrap();
    until(&handle, "some are applied", |op| op.applied > 300);
    let savepoint = dir.join("here").join("a.savepoint");
    match made {
        Made::Stopping => {
            let told = handle.stop_with_savepoint(&savepoint).unwrap();
            assert_eq!(told, Savepoint::read(&savepoint).unwrap());
            handle.wait().unwrap();
        }
        Made::Offline => {
            handle.stop();
            handle.wait().unwrap();
            Savepoint::of_stopped_job(dir, "mixed", Some(&savepoint)).unwrap();
        }
        Made::Checkpoint => {
            handle.stop();
            handle.wait().unwrap();
            let kept = crate::checkpoint::checkpoints(&dir.join("jobs/mixed")).unwrap();
            return kept.into_iter().next().unwrap().1;
        }
    }
    savepoint
}

/// §4.1, §1.12; DESIGN, Checkpoints: a job that goes on from savepoints, and from a checkpoint, in
/// other folders, with other numbers of shards and with every state on the other backend, comes to
/// what a run comes to that was never interrupted.
#[test]
fn goes_on_anywhere() {
    let whole = tempfile::tempdir().unwrap();
    let handle = mixed(1, false).start(options(whole.path())).unwrap();
    ended(&handle);
    let expected = stocks(&handle.figures().states);
    handle.wait().unwrap();

    let dirs: Vec<_> = (0..4).map(|_| tempfile::tempdir().unwrap()).collect();
    let legs = [
        ((1_200, 2, false), Made::Stopping),
        ((2_400, 3, true), Made::Offline),
        ((3_600, 1, false), Made::Checkpoint),
    ];
    let mut from: Option<PathBuf> = None;
    for (dir, (of, made)) in dirs.iter().zip(legs) {
        from = Some(leg(dir.path(), from.as_deref(), of, made));
    }
    let last = dirs.last().unwrap().path();
    let options = options(last).restore_from(from.unwrap());
    let handle = mixed(4, true).start(options).unwrap();
    ended(&handle);
    assert_eq!(stocks(&handle.figures().states), expected);
    handle.wait().unwrap();

    // a part that is not full is hidden until the job ends by itself; all of it is committed
    let all = |_: &Path| true;
    let mut is: Vec<String> =
        dirs.iter().take(3).flat_map(|dir| lines(dir.path(), all)).chain(published(last)).collect();
    is.sort_unstable();
    assert!(is == published(whole.path()), "{} lines of output differ", is.len());
}

/// Counts records per key, and checks their order.
fn spilling(count: u64, shards: usize, sink: &CollectSink<u64>) -> Job {
    let numbers = (0..count).map(|n| Timed { value: n, ts: n as i64 });
    let mut job = JobBuilder::new("spilled").parallelism(shards);
    job.source("numbers", MemorySource::new(numbers), Watermarks::monotonous())
        .key_by_owned(|n: &u64| n % 17)
        .process("writer", |open: &mut Open<'_, u64>| {
            let state = open.value_state(ValueStateDescriptor::<u64>::new("state"));
            Ok(move |n: &u64, ctx: &mut Context<'_, u64, u64>| {
                let before = state.get(ctx)?;
                assert!(before.is_none_or(|before| before < *n), "order per key");
                state.put(ctx, n)?;
                ctx.emit(*n);
                Ok(())
            })
        })
        .sink("results", sink.clone());
    job.build().unwrap()
}

/// §7.6, §7.7, §7.8: what waits in a spill is part of a savepoint, as are the breaker's decisions: a
/// restored job goes on diverting, its equations hold, and a reset replays everything in order.
#[test]
fn a_spill_goes_along() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let sinks = [CollectSink::new(), CollectSink::new()];
    let handle = spilling(0, 2, &sinks[0]).start(options(dirs[0].path())).unwrap();
    handle.trip("writer", "state", Action::Divert, "test", "it grows").unwrap();
    handle.wait().unwrap();
    let handle = spilling(1_000, 2, &sinks[0]).start(options(dirs[0].path())).unwrap();
    until(&handle, "all wait", |op| op.pending == 1_000 && op.arrived == 1_000);
    let path = dirs[0].path().join("running.savepoint");
    let savepoint = handle.savepoint(&path).unwrap();
    // the job goes on, and gives its spill up, while the savepoint keeps it
    handle.reset("writer", "state", "test", "it is mended").unwrap();
    until(&handle, "all are replayed", |op| op.replayed == 1_000);
    handle.wait().unwrap();
    assert_eq!((savepoint.entries, savepoint.job_name.as_str()), (0, "spilled"));

    let restoring = options(dirs[1].path()).restore_from(&path);
    let handle = spilling(1_500, 3, &sinks[1]).start(restoring).unwrap();
    until(&handle, "all wait again", |op| op.pending == 1_500 && op.arrived == 1_500);
    handle.reset("writer", "state", "test", "it is mended").unwrap();
    handle.wait().unwrap();
    let mut records: Vec<u64> = sinks[1].records().into_iter().map(|(n, _)| n).collect();
    records.sort_unstable();
    assert_eq!(records, (0..1_500).collect::<Vec<u64>>());
}

/// DESIGN, Checkpoints: a savepoint never takes another file's name, and a job is only restored into
/// a folder that has committed nothing; both say what to do instead.
#[test]
fn nothing_is_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let sink = CollectSink::new();
    let handle = spilling(100, 1, &sink).start(options(dir.path())).unwrap();
    handle.wait().unwrap();
    let path = dir.path().join("a.savepoint");
    std::fs::write(&path, "mine").unwrap();
    let refused = |path: &Path| {
        Savepoint::of_stopped_job(dir.path(), "spilled", Some(path)).unwrap_err().to_string()
    };
    let text = refused(&path);
    assert!(text.contains("never overwrites; give another name"), "{text}");
    assert_eq!(std::fs::read(&path).unwrap(), b"mine");
    let made = Savepoint::of_stopped_job(dir.path(), "spilled", None).unwrap();
    let name = format!("{}.savepoint", made.epoch);
    assert_eq!(made.path, dir.path().join("jobs/spilled/savepoints").join(name));
    let restoring = options(dir.path()).restore_from(&made.path);
    let text = spilling(100, 1, &sink).start(restoring).unwrap_err().to_string();
    assert!(text.contains("start without restoring to go on from there"), "{text}");
    let handle = spilling(100, 1, &sink).start(options(dir.path())).unwrap();
    let text = refused(&dir.path().join("b.savepoint"));
    assert!(text.contains("another process runs this job here; stop it"), "{text}");
    handle.wait().unwrap();
    let nobody = Savepoint::of_stopped_job(dir.path(), "nobody", None).unwrap_err().to_string();
    assert!(nobody.contains("holds no job that has committed anything"), "{nobody}");
}

/// §4.8: a restore that was cut off before its commit has restored nothing, and is begun again.
#[test]
fn a_restore_that_was_cut_off_is_begun_again() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let sink = CollectSink::new();
    spilling(100, 2, &sink).start(options(dirs[0].path())).unwrap().wait().unwrap();
    let made = Savepoint::of_stopped_job(dirs[0].path(), "spilled", None).unwrap();
    for count in [150, 200] {
        let (restoring, sink) =
            (options(dirs[1].path()).restore_from(&made.path), CollectSink::new());
        spilling(count, 3, &sink).start(restoring).unwrap().wait().unwrap();
        let numbers: std::collections::BTreeSet<u64> =
            sink.records().into_iter().map(|(n, _)| n).collect();
        assert_eq!(numbers, (100..count).collect());
        // all that a crash before the commit could have left, and more
        std::fs::remove_dir_all(dirs[1].path().join("jobs/spilled/changelog/commits")).unwrap();
    }
}

/// §4.2: whatever byte of a savepoint is damaged, and wherever it is cut off, is an error that names
/// the file and where in it, before anything is restored.
#[test]
fn no_damage_passes() {
    let dir = tempfile::tempdir().unwrap();
    let sink = CollectSink::new();
    let handle = spilling(0, 2, &sink).start(options(dir.path())).unwrap();
    handle.wait().unwrap();
    let handle = spilling(200, 2, &sink).start(options(dir.path())).unwrap();
    until(&handle, "half are applied", |op| op.applied == 200);
    handle.trip("writer", "state", Action::Divert, "test", "it grows").unwrap();
    handle.wait().unwrap();
    let handle = spilling(300, 2, &sink).start(options(dir.path())).unwrap();
    until(&handle, "the rest waits", |op| op.pending == 100);
    handle.stop();
    handle.wait().unwrap();
    let path = dir.path().join("a.savepoint");
    Savepoint::of_stopped_job(dir.path(), "spilled", Some(&path)).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let job = spilling(300, 2, &sink);
    let elsewhere = tempfile::tempdir().unwrap();
    let restoring = options(elsewhere.path()).restore_from(&path);
    let preview = job.preview_restore(&restoring).unwrap();
    assert_eq!(preview.states[0].entries, 17);
    let mut damages: Vec<Vec<u8>> =
        (0..whole.len()).step_by(13).map(|end| whole[..end].to_vec()).collect();
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        damages.push(flipped);
    }
    damages.push([&whole[..], b"more"].concat());
    for (n, damaged) in damages.into_iter().enumerate() {
        std::fs::write(&path, damaged).unwrap();
        let error = job.preview_restore(&restoring).map(|_| n).unwrap_err();
        assert!(matches!(&error, crate::Error::Damaged { path: of, .. } if *of == path), "{error}");
    }
    assert!(!elsewhere.path().join("jobs").exists());
}
