//! The whole job.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use stateward_engine::RunOptions;

use super::super::guard::{Risk, RiskReport};
use super::super::session::SessionReport;
use super::super::{LoginOptions, Stamps, login_risk};
use crate::{JobRequest, build};

fn run(options: &LoginOptions, folder: &Path) {
    let job = login_risk(options).unwrap();
    job.start(RunOptions::new(folder)).unwrap().wait().unwrap();
}

fn results<T: DeserializeOwned>(folder: &Path, name: &str) -> Vec<T> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder.join("jobs/login-risk/results")).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with(&format!("{name}-")) {
            let text = fs::read_to_string(&path).unwrap();
            found.extend(text.lines().map(|line| serde_json::from_str::<T>(line).unwrap()));
        }
    }
    found
}

/// The shared data sets; a machine without them skips with a word, CI must have them.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("STATEWARD_SHARED").map_or(beside, PathBuf::from);
    if shared.join("data/login-attempts").is_dir() {
        return Some(shared);
    }
    assert!(std::env::var_os("CI").is_none(), "CI needs {}", shared.display());
    eprintln!("SKIPPED: no {}/data/login-attempts; set STATEWARD_SHARED", shared.display());
    None
}

#[test]
fn the_real_sessions_block_exactly_209_addresses() {
    let Some(shared) = shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let input = shared.join("data/login-attempts/ssh_sessions.csv.zst");
    run(&LoginOptions::new(input), folder.path());
    let risks = results::<RiskReport>(folder.path(), "risks");
    let blocked = risks.iter().filter(|risk| risk.risk == Risk::Blocked);
    let addresses = blocked.map(|risk| risk.address.as_str()).collect::<BTreeSet<_>>();
    assert_eq!(addresses.len(), 209);
    assert_eq!(results::<SessionReport>(folder.path(), "sessions").len(), 19_990);
}

const LOG: &str = "\
Nov 30 10:00:00 host sshd[1]: Failed password for root from 192.0.2.7 port 1 ssh2
Nov 30 10:00:30 host sshd[1]: Failed password for root from 192.0.2.7 port 1 ssh2
Nov 30 10:00:31 host sshd[1]: Connection closed by authenticating user root 192.0.2.7 port 1 [preauth]
Nov 30 10:01:00 host sshd[2]: Failed password for root from 192.0.2.7 port 2 ssh2
Nov 30 10:01:01 host sshd[3]: Failed password for alice from 192.0.2.9 port 3 ssh2
Nov 30 10:01:05 host sshd[3]: Accepted password for alice from 192.0.2.9 port 3 ssh2
garbage
Nov 30 10:11:05 host sshd[3]: Disconnected from user alice 192.0.2.9 port 3
Nov 30 10:12:00 host sshd[4]: Failed password for root from 192.0.2.8 port 4 ssh2
Nov 30 10:12:31 host sshd[5]: Failed password for root from 192.0.2.8 port 5 ssh2
Nov 30 10:13:01 host sshd[6]: Failed password for root from 192.0.2.8 port 6 ssh2
";

#[test]
fn a_small_log_gives_a_block_a_warning_and_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("auth.log");
    fs::write(&path, LOG).unwrap();
    let mut options = LoginOptions::new(&path);
    options.stamps = Stamps::syslog("2026", "UTC").unwrap();
    run(&options, folder.path());

    let mut risks = results::<RiskReport>(folder.path(), "risks");
    risks.sort_by_key(|risk| risk.at_millis);
    let told = risks
        .iter()
        .map(|risk| (risk.risk, risk.address.as_str(), risk.failures))
        .collect::<Vec<_>>();
    assert_eq!(
        told,
        [(Risk::Blocked, "192.0.2.7", 3), (Risk::AcceptedAfterFailures, "192.0.2.9", 1)],
        "the window of 60 s includes its ends, 61 s are too long"
    );
    let sessions = results::<SessionReport>(folder.path(), "sessions");
    assert_eq!(sessions.len(), 1);
    assert!((sessions[0].duration_seconds - 600.0).abs() < f64::EPSILON);
    assert_eq!(sessions[0].user, "alice");
    let letters = folder.path().join("jobs/login-risk/dead-letters/logins.ndjson");
    assert_eq!(fs::read_to_string(letters).unwrap().lines().count(), 1);
}

#[test]
fn a_log_with_the_other_stamps_is_refused_at_its_first_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("auth.log");
    fs::write(&path, LOG).unwrap();
    let text = build("login-risk", &JobRequest::new(folder.path()).input(&path)).unwrap_err();
    let text = text.to_string();
    assert!(text.contains("auth.log row 1") && text.contains("set year"), "{text}");
    let request =
        JobRequest::new(folder.path()).input(&path).set("year", "2026").set("zone", "UTC");
    assert!(build("login-risk", &request).is_ok());
}
