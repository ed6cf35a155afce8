//! The project's commands: `cargo xtask COMMAND`.
//!
//! What comes in is a command line; what goes out is the work of `cargo` and of the programs it
//! built, with the caches, compilers and packages that they need. Nothing here depends on another
//! crate, so the first `cargo xtask` answers within seconds. Headings and progress go to standard
//! error; standard output carries only what a command is asked for.
//!
//! Exit codes: 0 good, 1 the answer is no, 2 usage, 3 could not find out.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program prints")]
#![expect(
    clippy::disallowed_methods,
    reason = "a build's duration is wall time, and no test sees it"
)]

mod usage;
mod failure;
mod environment;
mod step;
mod digest;
mod prerequisite;
mod web;
mod demo;
mod totals;
mod test;
mod soak;
mod bench;
mod licence;

use std::process::ExitCode;

use failure::{Failure, Outcome};
use usage::Request;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if !failure.message.is_empty() {
                eprintln!("xtask: {}", failure.message);
            }
            ExitCode::from(failure.exit.code())
        }
    }
}

fn run(args: &[String]) -> Outcome {
    let (name, rest) = match usage::parse(args)? {
        Request::Help(text) => {
            print!("{text}");
            return Ok(());
        }
        Request::Run(name, rest) => (name, rest),
    };
    match name {
        "demo" => demo::demo(rest),
        "test" => test::test(rest),
        "soak" => soak::soak(rest),
        "bench" => bench::bench(rest),
        "web" => web::command(rest),
        "licences" => licence::command(rest),
        "env" => environment::command(rest),
        other => Err(Failure::unknown(format!("{other} is listed but has no code"))),
    }
}
