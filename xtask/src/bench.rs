//! `cargo xtask bench`: hands over to the bench program of `stateward-tests`, built for speed.

use crate::environment;
use crate::failure::Outcome;
use crate::prerequisite;
use crate::step::{self, Steps};
use crate::web;

/// Runs the named benches, or all.
pub(crate) fn bench(args: &[String]) -> Outcome {
    let mut names = args.iter().filter(|arg| !arg.starts_with("--")).peekable();
    let measures_pages = names.peek().is_none() || names.any(|name| name == "page");
    let mut steps = Steps::new(if measures_pages { 4 } else { 3 });
    steps.next("checking what this machine has");
    prerequisite::ensure(prerequisite::BUILD)?;
    if measures_pages {
        prerequisite::ensure(prerequisite::BROWSER)?;
        steps.next("building the pages and their server");
        web::build_for_test()?;
        let mut build = environment::cargo()?;
        build.args(["build", "--release", "--package", "stateward", "--bin", "stateward"]);
        step::run(&mut build, "building the server")?;
    }
    let program = ["--release", "--package", "stateward-tests", "--bin", "stateward-bench"];
    steps.next("building the benches");
    let mut build = environment::cargo()?;
    step::run(build.arg("build").args(program), "building the benches")?;
    steps.next("measuring");
    let mut run = environment::cargo()?;
    run.args(["run", "--quiet"]).args(program).arg("--").args(args);
    step::pass_through(&mut run, "the bench")
}
