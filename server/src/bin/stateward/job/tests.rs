//! The subcommands against a job that runs, stops, and is restored.

use std::path::Path;

use clap::Parser as _;

use super::answer;
use crate::{Arguments, Command, run, start};

const LOG: &str = "\
Nov 30 10:00:00 host sshd[1]: Failed password for root from 192.0.2.7 port 1 ssh2
Nov 30 10:01:01 host sshd[3]: Failed password for alice from 192.0.2.9 port 3 ssh2
Nov 30 10:01:05 host sshd[3]: Accepted password for alice from 192.0.2.9 port 3 ssh2
";

/// What `stateward job …` prints, or its exit code with what it says.
fn job(words: &[&str]) -> Result<String, (u8, String)> {
    let parsed = Arguments::try_parse_from(["stateward", "job"].iter().chain(words));
    let parsed = parsed.map_err(|e| (2, e.to_string()))?;
    let Command::Job(arguments) = parsed.command else { panic!("{words:?}") };
    answer(&arguments.command).map_err(|failure| (failure.code, failure.message))
}

fn code(words: &[&str]) -> u8 {
    job(words).map_or_else(|(code, _)| code, |_| 0)
}

fn path(dir: &Path, name: &str) -> String {
    dir.join(name).to_str().unwrap().to_owned()
}

/// §7.8; DESIGN, Commands: exit codes and answers of every subcommand, while the job runs and when it
/// does not.
#[test]
fn a_job_is_asked_stopped_and_restored() {
    let dir = tempfile::tempdir().unwrap();
    let (data, log) = (path(dir.path(), "data"), path(dir.path(), "auth.log"));
    std::fs::write(&log, LOG).unwrap();
    assert_eq!(code(&["list", "--data-dir", &data]), 1);
    assert_eq!(job(&["list", "--data-dir", &data, "--output", "json"]).unwrap(), "[]\n");
    let settings = ["--input", &log, "--set", "year=2026", "--set", "zone=UTC"];
    let of_job = [&["stateward", "run", "login-risk", "--data-dir", &data], &settings[..]].concat();
    let Command::Run(arguments) = Arguments::try_parse_from(of_job).unwrap().command else {
        panic!("no run");
    };
    let built = run::build("login-risk", &arguments.of).unwrap();
    let handle = built.start(start::options(Path::new(&data), None)).unwrap();

    let of = ["login-risk", "--data-dir", &data];
    let ask = |command: &str, more: &[&str]| job(&[&[command], &of[..], more].concat());
    assert!(job(&["list", "--data-dir", &data]).unwrap().contains("login-risk  yes"));
    assert!(ask("checkpoint", &[]).unwrap().contains("is published"));
    let first = path(dir.path(), "first.savepoint");
    let text = ask("savepoint", &[&first]).unwrap();
    assert!(text.starts_with(&first) && text.contains("3 states"), "{text}");
    let (code_of, text) = ask("savepoint", &[&first]).unwrap_err();
    assert!(code_of == 1 && text.contains("never overwrites"), "{text}");
    let trip = ["guard/failures", "--actor", "ann", "--reason", "it grows"];
    assert!(ask("trip", &trip).unwrap().contains("open until it is reset"));
    assert!(ask("reset", &trip).unwrap().contains("replays what it diverted"));
    assert_eq!(ask("reset", &["guard", "--reason", "none"]).unwrap_err().0, 2);
    assert_eq!(ask("reset", &["guard/none", "--reason", "none"]).unwrap_err().0, 1);
    assert_eq!(ask("trip", &["guard/failures"]).unwrap_err().0, 2);
    let last = path(dir.path(), "last.savepoint");
    assert!(ask("stop", &["--savepoint", &last]).unwrap().contains("has ended with it"));
    handle.wait().unwrap();

    let (code_of, text) = ask("stop", &[]).unwrap_err();
    assert!(code_of == 1 && text.contains("no job runs in"), "{text}");
    assert!(job(&["list", "--data-dir", &data]).unwrap().contains("login-risk  no"));
    let json = ask("savepoint", &["--output", "json"]).unwrap();
    assert!(json.contains("\"job_name\": \"login-risk\""), "{json}");
    assert!(job(&["list", "--data-dir", &data]).unwrap().contains(".savepoint: epoch "));
    assert_eq!(code(&["savepoint", "nobody", "--data-dir", &data]), 1);

    let there = path(dir.path(), "there");
    let restore = |more: &[&str]| {
        let words = ["restore", "login-risk", "--data-dir", &there];
        job(&[&words[..], &settings[..], more].concat())
    };
    assert_eq!(restore(&[]).unwrap_err().0, 2);
    assert_eq!(restore(&["--preview"]).unwrap_err().0, 2);
    assert!(restore(&["--from", &last, "--preview"]).is_ok());
    assert!(!Path::new(&there).join("jobs").exists());
    std::fs::write(&first, "no savepoint, and long enough to be looked at").unwrap();
    assert_eq!(restore(&["--from", &first, "--preview"]).unwrap_err().0, 3);
    let text = restore(&["--from", &last]).unwrap();
    assert!(text.contains("restored from") && text.contains("stateward run login-risk"), "{text}");
    let (code_of, text) = restore(&["--from", &last]).unwrap_err();
    assert!(code_of == 3 && text.contains("start without restoring"), "{text}");
}
