//! A power cut takes every byte that was not synced, and loses nothing of a committed epoch.
#![expect(clippy::print_stdout, reason = "a run tells its seed and what it met")]

mod breaker;
mod server;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stateward_engine::KILL_POINTS;
use stateward_tests::crash::{
    COUNT, Ended, FLOW, Program, RECOVERED_FILE, Random, Remains, check_counts, write_count_input,
    write_input,
};
use stateward_tests::powercut::{Names, Recorder, committed_epoch};

const SEED: u64 = 77;

fn soaks() -> bool {
    std::env::var_os("STATEWARD_SOAK").is_some()
}

/// Enough that a life lasts until it is cut off; an optimized build, which soaks are, is quicker.
fn records() -> u64 {
    if cfg!(debug_assertions) { 40_000 } else { 320_000 }
}

fn program(plan: &'static str, input: &Path) -> Program {
    let path = PathBuf::from(env!("CARGO_BIN_EXE_crash-job"));
    Program { path, plan, input: input.to_owned() }
}

/// What is left of a life that was cut off.
struct Cut {
    left: PathBuf,
    /// The newest epoch that had been committed.
    promised: u64,
    bytes_lost: u64,
}

/// Where lives are cut off.
struct Knife {
    recorder: Recorder,
    dir: PathBuf,
}

impl Knife {
    fn new(dir: &Path) -> Self {
        Self { recorder: Recorder::build().unwrap(), dir: dir.to_owned() }
    }

    /// Cuts a life on `root` off at `point:n`; `None` if it came to its end before.
    fn cut(
        &self,
        program: &Program,
        root: &Path,
        job: &str,
        kill_at: &str,
        names: Names,
    ) -> Option<Cut> {
        std::fs::create_dir_all(root).unwrap();
        let name = root.file_name().unwrap().to_str().unwrap();
        let left = self.dir.join(format!("{name}-left"));
        let environment = self.recorder.environment(root, name).unwrap();
        let life = program.start_with(root, job, Some(kill_at), &environment).unwrap();
        if life.wait().unwrap() == Ended::Finished {
            return None;
        }
        let record = self.recorder.record(name);
        let promised = committed_epoch(&record, &root.join("jobs").join(job)).unwrap();
        names.leave(&record, root, &left).unwrap();
        let bytes_lost = bytes_lost(root, &left);
        std::fs::remove_dir_all(record).unwrap();
        Some(Cut { left, promised, bytes_lost })
    }
}

/// The epoch that the last life on a folder began at.
fn recovered_epoch(left: &Path) -> u64 {
    std::fs::read_to_string(left.join(RECOVERED_FILE)).unwrap().parse().unwrap()
}

/// A job that is cut off, and how one that was not is told from it.
struct Plan {
    program: Program,
    rounds: u64,
    check: Box<dyn Fn(&Path) -> String>,
}

/// Cuts a job off at every point in turn, and lets it go on from what is left.
fn cut_off(dir: &Path, plan: &Plan) {
    let (knife, job) = (Knife::new(dir), plan.program.plan);
    let mut random = Random::new(SEED);
    let mut cuts: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    let mut lost = 0;
    for (round, point) in (0..plan.rounds).flat_map(|round| KILL_POINTS.map(|at| (round, at))) {
        let root = dir.join(format!("{round}-{point}"));
        // both shards meet a point in every epoch, so at the fourth time one epoch is committed
        let (first, more) = if is_rare(point) { (1, 2) } else { (4, 4) };
        let kill_at = format!("{point}:{}", first + random.below(more));
        let Some(Cut { left, promised, bytes_lost }) =
            knife.cut(&plan.program, &root, job, &kill_at, names_of(round))
        else {
            panic!("{kill_at} was never met")
        };
        lost += bytes_lost;
        let ended = plan.program.start(&left, job, None).unwrap().wait().unwrap();
        assert_eq!(ended, Ended::Finished, "{kill_at}");
        let recovered = recovered_epoch(&left);
        assert!(recovered >= promised, "{kill_at}: of {promised} epochs {recovered} are left");
        let differences = (plan.check)(&left);
        assert!(differences.is_empty(), "{kill_at} differs:\n{differences}");
        cuts.entry(point).or_default().push(promised);
        std::fs::remove_dir_all(&root).unwrap();
        std::fs::remove_dir_all(&left).unwrap();
    }
    println!("committed epochs at the cuts: {cuts:?}; bytes lost: {lost}");
    assert!(lost > 0, "nothing was ever lost");
    assert!(cuts.values().flatten().all(|promised| *promised > 0), "nothing had been committed");
}

/// The least that is promised first; what journals do may leave other names.
fn names_of(round: u64) -> Names {
    if round.is_multiple_of(2) { Names::Strict } else { Names::Ordered }
}

/// Points that an epoch without a checkpoint does not meet.
fn is_rare(point: &str) -> bool {
    point.contains("checkpoint") || point == "after-log-cut"
}

/// §4.8: cut off at each step of an epoch, with every unsynced byte of changelog, commit log,
/// stores, checkpoints and results gone, a job goes on from the last committed epoch and ends like
/// one that was not cut off.
#[test]
fn soak_a_power_cut_loses_nothing_of_a_committed_epoch() {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("numbers.ndjson");
    let records = write_count_input(&input, records()).unwrap();
    println!("seed {SEED}");
    let check = move |left: &Path| {
        check_counts(left, records).err().map_or_else(String::new, |e| e.to_string())
    };
    let rounds = if soaks() { 20 } else { 1 };
    let plan = Plan { program: program(COUNT, &input), rounds, check: Box::new(check) };
    cut_off(dir.path(), &plan);
    if soaks() {
        cut_off_a_large_job();
    }
}

/// The same of the job that has two exchanges and every kind of state; it takes minutes.
fn cut_off_a_large_job() {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("events.ndjson");
    println!("seed {SEED}");
    write_input(&input, SEED, records()).unwrap();
    let program = program(FLOW, &input);
    let whole = dir.path().join("whole");
    assert_eq!(program.start(&whole, FLOW, None).unwrap().wait().unwrap(), Ended::Finished);
    let expected = Remains::read(&whole, FLOW).unwrap();
    let check = move |left: &Path| expected.differences(&Remains::read(left, FLOW).unwrap());
    let plan = Plan { program, rounds: 3, check: Box::new(check) };
    cut_off(dir.path(), &plan);
}

/// Bytes of the files below `root` that are not below `left` too, file by file: a removal that was
/// not synced either brings bytes back, which must not make up for lost ones.
fn bytes_lost(root: &Path, left: &Path) -> u64 {
    let entries = std::fs::read_dir(root).unwrap().map(Result::unwrap);
    let lost = |entry: std::fs::DirEntry| {
        let (found, left) = (entry.metadata().unwrap(), left.join(entry.file_name()));
        if found.is_dir() {
            return bytes_lost(&entry.path(), &left);
        }
        let kept = std::fs::metadata(left).map_or(0, |left| left.len());
        found.len().saturating_sub(kept)
    };
    entries.map(lost).sum()
}
