//! `cargo xtask soak`: the tests that have large figures, one by one, resumable.
//!
//! A test with large figures has `soak` in its path and reads `STATEWARD_SOAK`. Each runs in a
//! process of its own; its verdict is a line of the results file as soon as it falls, so that a
//! stopped soak goes on where it was. A verdict counts for the sources that it was found with.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::digest::digest;
use crate::environment;
use crate::failure::{Failure, Outcome};
use crate::prerequisite;
use crate::step::{self, Steps};
use crate::totals::{Closing, Totals};
use crate::usage::value_of;
use crate::web;

/// What a verdict depends on.
const SOURCES: &[&str] = &["engine", "server", "web", "tests", "migrations", "Cargo.lock"];
const BUDGET_MINUTES: u64 = 120;
/// Lines of a failed test's output that are shown.
const TAIL_LINES: usize = 40;

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
struct Choice {
    filters: Vec<String>,
    budget: Duration,
    results: PathBuf,
    fresh: bool,
}

/// One line of the results file.
#[derive(Debug, PartialEq, Eq)]
struct Verdict {
    sources: String,
    test: String,
    passed: bool,
    seconds: u64,
}

/// Runs what has not passed yet, within the budget.
pub(crate) fn soak(args: &[String]) -> Outcome {
    let choice = Choice::parse(args)?;
    let started = Instant::now();
    let mut steps = Steps::new(4);
    steps.next("checking what this machine has");
    prerequisite::ensure(prerequisite::BUILD)?;
    steps.next("packing the pages, which the server carries");
    web::build_for_test()?;
    steps.next("building the tests for release (the first time, RocksDB takes 10 to 20 min)");
    // some tests start the programs, which `cargo test` builds only for the tests' own package
    let mut build = environment::cargo()?;
    build.args(["build", "--release", "--workspace", "--exclude", "xtask", "--bins", "--tests"]);
    step::run(&mut build, "building the programs")?;
    step::run(cargo_test()?.arg("--no-run"), "building the tests")?;
    let tests = list(&choice.filters)?;
    steps.next(&format!("{} tests, for {} min at most", tests.len(), choice.budget.as_secs() / 60));
    let sources = digest(&environment::workspace(), SOURCES)?;
    let done = earlier(&choice, &sources)?;
    let mut closing = Closing { passed: 0, failed: 0, skipped: 0 };
    for test in &tests {
        if done.iter().any(|verdict| verdict.test == *test) {
            eprintln!("      {test}: passed before");
            closing.passed += 1;
        } else if started.elapsed() > choice.budget {
            eprintln!("      {test}: not started, the budget is used up");
            closing.skipped += 1;
        } else if run_one(test, &sources, &choice.results)? {
            closing.passed += 1;
        } else {
            closing.failed += 1;
        }
    }
    eprintln!("      verdicts: {}", choice.results.display());
    println!("{closing}");
    match closing {
        Closing { failed: 1.., .. } => Err(Failure::no("the soak found failures")),
        Closing { skipped: 1.., .. } => {
            Err(Failure::unknown("the budget is used up; the same command goes on"))
        }
        _ => Ok(()),
    }
}

fn cargo_test() -> Outcome<Command> {
    let mut command = environment::cargo()?;
    command.args(["test", "--release", "--workspace", "--exclude", "xtask"]);
    command.args(["--lib", "--bins", "--tests"]);
    Ok(command)
}

fn list(filters: &[String]) -> Outcome<Vec<String>> {
    let mut command = cargo_test()?;
    command.args(["--quiet", "--", "--list", "--format", "terse"]).args(filters);
    let output = command.output().map_err(|e| Failure::unknown(format!("cargo test: {e}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::unknown(format!("cannot list the tests: {}", said.trim_end())));
    }
    let tests = parse_list(&String::from_utf8_lossy(&output.stdout));
    if tests.is_empty() {
        return Err(Failure::unknown(format!("no test has {} in its path", filters.join(" or "))));
    }
    Ok(tests)
}

fn parse_list(text: &str) -> Vec<String> {
    let mut tests: Vec<_> =
        text.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect();
    tests.sort();
    tests.dedup();
    tests
}

fn run_one(test: &str, sources: &str, results: &Path) -> Outcome<bool> {
    let folder = results.parent().unwrap_or(Path::new(".")).to_owned();
    let path = folder.join(format!("{}.log", test.replace("::", ".")));
    let log = File::create(&path).map_err(|error| Failure::file("create", &path, &error))?;
    let errors = log.try_clone().map_err(|error| Failure::file("open", &path, &error))?;
    eprintln!("      {test}: running, output in {}", path.display());
    let started = Instant::now();
    let mut command = cargo_test()?;
    command
        .args(["--no-fail-fast", "--", "--exact", "--nocapture", test])
        .env("STATEWARD_SOAK", "1")
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors);
    let mut child = step::spawn(&mut command, test)?;
    let status = child.wait().map_err(|error| Failure::unknown(format!("{test}: {error}")))?;
    let said = fs::read(&path).map_err(|error| Failure::file("read", &path, &error))?;
    let said = String::from_utf8_lossy(&said);
    let mut totals = Totals::default();
    said.lines().for_each(|line| totals.add_line(line));
    let passed = status.success() && totals.passed > 0;
    let seconds = started.elapsed().as_secs();
    eprintln!("      {test}: {} in {seconds} s", if passed { "passed" } else { "FAILED" });
    if !passed {
        let lines: Vec<_> = said.lines().collect();
        for line in lines.iter().skip(lines.len().saturating_sub(TAIL_LINES)) {
            eprintln!("        {line}");
        }
    }
    let verdict = Verdict { sources: sources.to_owned(), test: test.to_owned(), passed, seconds };
    append(results, &verdict)?;
    Ok(passed)
}

/// The tests that passed before, for the same sources.
fn earlier(choice: &Choice, sources: &str) -> Outcome<Vec<Verdict>> {
    let path = &choice.results;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| Failure::file("create", folder, &error))?;
    }
    let text = match fs::read_to_string(path) {
        _ if choice.fresh => String::new(),
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::file("read", path, &error)),
    };
    let verdicts = text.lines().filter_map(Verdict::parse);
    Ok(verdicts.filter(|verdict| verdict.passed && verdict.sources == sources).collect())
}

fn append(path: &Path, verdict: &Verdict) -> Outcome {
    let opened = OpenOptions::new().create(true).append(true).open(path);
    let written = opened.and_then(|mut file| file.write_all(verdict.line().as_bytes()));
    written.map_err(|error| Failure::file("write", path, &error))
}

impl Verdict {
    fn line(&self) -> String {
        let Self { sources, test, passed, seconds } = self;
        let word = if *passed { "passed" } else { "failed" };
        format!("{sources}\t{test}\t{word}\t{seconds}\n")
    }

    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.split('\t');
        Some(Self {
            sources: parts.next()?.to_owned(),
            test: parts.next()?.to_owned(),
            passed: parts.next()? == "passed",
            seconds: parts.next()?.parse().ok()?,
        })
    }
}

impl Choice {
    fn parse(args: &[String]) -> Outcome<Self> {
        let mut choice = Self {
            filters: Vec::new(),
            budget: Duration::from_mins(BUDGET_MINUTES),
            results: environment::target().join("soak/results.tsv"),
            fresh: false,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--fresh" => choice.fresh = true,
                "--results" => choice.results = value_of(arg, &mut args)?.into(),
                "--budget-minutes" => {
                    let value = value_of(arg, &mut args)?;
                    let minutes: u64 = value.parse().map_err(|_error| {
                        Failure::usage(format!("{arg} wants whole minutes, got {value:?}"))
                    })?;
                    choice.budget = Duration::from_secs(minutes.saturating_mul(60));
                }
                flag if flag.starts_with('-') => {
                    return Err(Failure::usage(format!("soak does not know {flag}")));
                }
                filter => choice.filters.push(filter.to_owned()),
            }
        }
        if choice.filters.is_empty() {
            choice.filters.push("soak".to_owned());
        }
        Ok(choice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Exit;

    fn parse(line: &str) -> Outcome<Choice> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Choice::parse(&args)
    }

    #[test]
    fn arguments_are_read_or_refused() {
        let choice = parse("kill --budget-minutes 5 random --results out.tsv").unwrap();
        assert_eq!(choice.filters, ["kill", "random"]);
        assert_eq!(choice.budget, Duration::from_mins(5));
        assert_eq!(choice.results, Path::new("out.tsv"));
        assert_eq!(parse("").unwrap().filters, ["soak"]);
        for wrong in ["--budget-minutes", "--budget-minutes soon", "--quick"] {
            assert_eq!(parse(wrong).unwrap_err().exit, Exit::Usage, "{wrong}");
        }
    }

    #[test]
    fn verdicts_survive_the_file() {
        let verdict =
            Verdict { sources: "00ff".into(), test: "a::soak".into(), passed: true, seconds: 7 };
        assert_eq!(Verdict::parse(verdict.line().trim_end()), Some(verdict));
        assert_eq!(Verdict::parse("cut off\twhile writ"), None);
    }

    #[test]
    fn lists_of_several_binaries_are_one_list() {
        let text = "b::soak: test\na::soak: test\nb::soak: test\nc::fast: benchmark\n\n";
        assert_eq!(parse_list(text), ["a::soak", "b::soak"]);
    }
}
