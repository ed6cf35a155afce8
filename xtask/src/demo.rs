//! `cargo xtask demo`: from a clone to a running server and job.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::environment;
use crate::failure::{Failure, Outcome};
use crate::prerequisite;
use crate::step::{self, Steps};
use crate::web;

/// Builds, then becomes `stateward demo`.
pub(crate) fn demo(args: &[String]) -> Outcome {
    let mut steps = Steps::new(4);
    steps.next("checking what this machine has");
    prerequisite::ensure(prerequisite::BUILD)?;
    steps.next("building the web bundle");
    web::build_for_demo()?;
    steps.next("building the engine and the server (the first time, RocksDB takes 10 to 20 min)");
    let mut build = environment::cargo()?;
    build.args(["build", "--release", "--package", "stateward"]);
    step::run(&mut build, "the build")?;
    let program = environment::target().join("release/stateward");
    steps.next("starting stateward demo");
    // The program takes this process's place, so that Ctrl-C and its exit code are its own.
    let error = Command::new(&program).arg("demo").args(args).exec();
    Err(Failure::file("start", &program, &error))
}
