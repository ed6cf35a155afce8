//! `cargo xtask bench`: hands over to the bench program of `stateward-tests`, built for speed.

use crate::environment;
use crate::failure::Outcome;
use crate::prerequisite;
use crate::step::{self, Steps};

/// Runs the named benches, or all.
pub(crate) fn bench(args: &[String]) -> Outcome {
    let mut steps = Steps::new(3);
    steps.next("checking what this machine has");
    prerequisite::ensure(prerequisite::BUILD)?;
    let program = ["--release", "--package", "stateward-tests", "--bin", "stateward-bench"];
    steps.next("building the benches");
    let mut build = environment::cargo()?;
    step::run(build.arg("build").args(program), "building the benches")?;
    steps.next("measuring");
    let mut run = environment::cargo()?;
    run.args(["run", "--quiet"]).args(program).arg("--").args(args);
    step::pass_through(&mut run, "the bench")
}
