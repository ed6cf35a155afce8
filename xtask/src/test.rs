//! `cargo xtask test`: the suite that a developer and CI run.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use crate::environment;
use crate::failure::{Exit, Failure, Outcome};
use crate::prerequisite;
use crate::step::{self, Steps};
use crate::totals::{Closing, Totals};
use crate::web;

/// What is asked for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Choice {
    filter: Option<String>,
    no_browser: bool,
    harness: Vec<String>,
}

/// Builds everything once, runs every test, and closes with the totals.
pub(crate) fn test(args: &[String]) -> Outcome {
    let choice = Choice::parse(args)?;
    let mut steps = Steps::new(4);
    steps.next("checking what this machine has");
    prerequisite::ensure(prerequisite::BUILD)?;
    if choice.no_browser {
        steps.next("leaving out the web bundle (--no-browser)");
    } else {
        prerequisite::ensure(prerequisite::BROWSER)?;
        steps.next("building the web bundle");
        web::build_for_test()?;
    }
    steps.next("building programs and tests (the first time, RocksDB takes 10 to 20 min)");
    // With `--tests` in the same call the dependencies get the features that the tests need, so
    // that nothing is compiled twice; `--bins` makes the programs that tests start.
    let mut build = environment::cargo()?;
    build.args(["build", "--workspace", "--bins", "--tests"]);
    step::run(&mut build, "the build")?;
    steps.next("running the tests");
    let mut command = environment::cargo()?;
    command.args(["test", "--workspace", "--no-fail-fast"]).args(choice.cargo_arguments());
    let (totals, ended_well) = run_and_count(&mut command)?;
    close(&choice, totals, ended_well)
}

fn close(choice: &Choice, totals: Totals, ended_well: bool) -> Outcome {
    let mut failed = totals.failed;
    if !ended_well && failed == 0 {
        eprintln!(
            "xtask: cargo test failed without naming a test: a binary or doc test did not build, or died; counted as one failure"
        );
        failed = 1;
    }
    // With a filter, the rest was not asked for.
    let left_out = if choice.filter.is_none() { totals.filtered } else { 0 };
    let skipped = totals.ignored + left_out;
    let nothing_ran = totals.passed + failed == 0;
    if nothing_ran {
        eprintln!("xtask: no test ran");
    }
    println!("{}", Closing { passed: totals.passed, failed, skipped });
    match (failed, nothing_ran) {
        (0, false) => Ok(()),
        (0, true) => Err(Failure { exit: Exit::Unknown, message: String::new() }),
        _ => Err(Failure { exit: Exit::No, message: String::new() }),
    }
}

/// Runs `cargo test`, passes its output on line by line, and adds up its result lines.
pub(crate) fn run_and_count(command: &mut Command) -> Outcome<(Totals, bool)> {
    let mut child = step::spawn(command.stdout(Stdio::piped()), "cargo test")?;
    let broken = |error: std::io::Error| Failure::unknown(format!("cargo test: {error}"));
    let mut totals = Totals::default();
    if let Some(stdout) = child.stdout.take() {
        let mut reader = BufReader::new(stdout);
        let mut line = Vec::new();
        let mut out = std::io::stdout().lock();
        while reader.read_until(b'\n', &mut line).map_err(broken)? > 0 {
            out.write_all(&line).and_then(|()| out.flush()).map_err(broken)?;
            totals.add_line(&String::from_utf8_lossy(&line));
            line.clear();
        }
    }
    let status = child.wait().map_err(broken)?;
    Ok((totals, status.success()))
}

impl Choice {
    fn parse(args: &[String]) -> Outcome<Self> {
        let mut choice = Self::default();
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--no-browser" => choice.no_browser = true,
                "--" => choice.harness = args.by_ref().cloned().collect(),
                flag if flag.starts_with('-') => {
                    return Err(Failure::usage(format!(
                        "test does not know {flag}; what follows `--` goes to the test binaries"
                    )));
                }
                filter if choice.filter.is_none() => choice.filter = Some(filter.to_owned()),
                extra => {
                    return Err(Failure::usage(format!(
                        "test takes one filter, got also {extra:?}"
                    )));
                }
            }
        }
        Ok(choice)
    }

    fn cargo_arguments(&self) -> Vec<String> {
        let mut arguments: Vec<String> = self.filter.iter().cloned().collect();
        arguments.push("--".to_owned());
        if self.no_browser {
            arguments.extend(["--skip", "browser::"].map(str::to_owned));
        }
        arguments.extend(self.harness.iter().cloned());
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Outcome<Choice> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Choice::parse(&args)
    }

    #[test]
    fn arguments_reach_cargo_in_its_order() {
        for (line, expected) in [
            ("", "--"),
            ("breaker", "breaker --"),
            ("--no-browser", "-- --skip browser::"),
            ("ttl --no-browser -- --nocapture", "ttl -- --skip browser:: --nocapture"),
        ] {
            assert_eq!(parse(line).unwrap().cargo_arguments().join(" "), expected, "{line}");
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        assert_eq!(parse("--nocapture").unwrap_err().exit, Exit::Usage);
        assert_eq!(parse("a b").unwrap_err().exit, Exit::Usage);
    }

    #[test]
    fn the_verdict_follows_the_counts() {
        let exit = |passed, failed, ended_well| {
            let totals = Totals { passed, failed, ..Totals::default() };
            close(&Choice::default(), totals, ended_well).map_err(|failure| failure.exit)
        };
        assert_eq!(exit(3, 0, true), Ok(()));
        assert_eq!(exit(3, 1, false), Err(Exit::No));
        assert_eq!(exit(3, 0, false), Err(Exit::No));
        assert_eq!(exit(0, 0, true), Err(Exit::Unknown));
    }
}
