//! A rescale that is killed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use stateward_engine::RESCALE_POINTS;
use stateward_tests::crash::{Ended, FLOW, Program, Random, Remains, SHARDS_VARIABLE, write_input};

const SEED: u64 = 41;
const RECORDS: u64 = 40_000;

/// One life with so many shards; to its end, or to the instant that it is killed at.
fn live(program: &Program, dir: &Path, shards: u16, kill_at: Option<&str>) -> Ended {
    let environment = [(SHARDS_VARIABLE, OsString::from(shards.to_string()))];
    program.start_with(dir, FLOW, kill_at, &environment).unwrap().wait().unwrap()
}

/// §4.1, §4.8: a kill at any instant of a rescale leaves the old shards or the new ones, each whole:
/// with the number that was asked for, with another, or with the old one, the job then ends like one
/// that was never cut off, in outputs, states and counts.
#[test]
fn soak_a_killed_rescale_leaves_one_layout_whole() {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("events.ndjson");
    write_input(&input, SEED, RECORDS).unwrap();
    let path = PathBuf::from(env!("CARGO_BIN_EXE_crash-job"));
    let program = Program { path, plan: "flow", input };
    let undisturbed = dir.path().join("undisturbed");
    assert_eq!(live(&program, &undisturbed, 2, None), Ended::Finished);
    let expected = Remains::read(&undisturbed, FLOW).unwrap();
    let mut random = Random::new(SEED);
    let soaks = std::env::var_os("STATEWARD_SOAK").is_some();
    for (at, point) in RESCALE_POINTS.into_iter().enumerate() {
        let layouts = [2, 3, 1];
        let then = layouts.into_iter().enumerate().filter(|(n, _)| soaks || *n == at);
        for (_, then) in then {
            kill_a_rescale(&program, dir.path(), point, then, &mut random, &expected);
        }
    }
}

/// A life of two shards is killed somewhere, one of three in its rescale; the last has `then`.
fn kill_a_rescale(
    program: &Program,
    dir: &Path,
    point: &str,
    then: u16,
    random: &mut Random,
    expected: &Remains,
) {
    let job_dir = dir.join(format!("{point}-{then}"));
    let somewhere = format!("after-sync:{}", 5 + random.below(20));
    assert_eq!(live(program, &job_dir, 2, Some(&somewhere)), Ended::Killed);
    let kill_at = format!("{point}:1");
    assert_eq!(live(program, &job_dir, 3, Some(&kill_at)), Ended::Killed, "{point}");
    assert_eq!(live(program, &job_dir, then, None), Ended::Finished, "{point}");
    let differences = expected.differences(&Remains::read(&job_dir, FLOW).unwrap());
    assert!(differences.is_empty(), "{point}, then {then} shards:\n{differences}");
}
