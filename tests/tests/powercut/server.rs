//! The server under power cuts: control data is whole, samples up to the last sync.

use std::path::Path;

use stateward_engine::{Clock, SystemClock};
use stateward_tests::crash::{Random, wait_for};
use stateward_tests::powercut::{Recorder, last_synced};
use stateward_tests::serve::{MadeUpJob, Serve};

use super::{SEED, bytes_lost, names_of, soaks};

const HOUR_MILLIS: i64 = 3_600_000;

/// Reports until `more` were acknowledged.
fn report(job: &MadeUpJob, server: &Serve, more: u64) {
    for _ in 0..more {
        job.send(&server.door(), job.acked() + 1).unwrap().unwrap();
    }
}

fn make_rule(server: &Serve, name: &str) {
    let body = serde_json::json!({ "name": name, "subject": "disk_bytes", "above": 1e12, "severity": "warning" });
    let body = serde_json::to_vec(&body).unwrap();
    let answer = server.door().post("/api/v1/alerts/rules", &body).unwrap();
    assert_eq!(answer.status, 201, "{}", answer.text());
}

/// One life from an empty folder to a cut; returns the bytes lost, and the reports whose samples
/// were.
fn cut_off(dir: &Path, recorder: &Recorder, round: u64, random: &mut Random) -> (u64, u64) {
    let name = format!("server-{round}");
    let (root, left) = (dir.join(&name), dir.join(format!("{name}-left")));
    std::fs::create_dir_all(&root).unwrap();
    let record = recorder.record(&name);
    let environment = recorder.environment(&root, &name).unwrap();
    let server = Serve::start_with(&root, &environment).unwrap();
    let job = MadeUpJob::new("cut", SystemClock::new().now_millis() - HOUR_MILLIS);
    assert_eq!(job.hello(&server.door()).unwrap().stored_seq, None);
    report(&job, &server, 5 + random.below(20));
    // a sync that is seen after one that began later than the last report covers that report
    let promised = job.acked();
    let wal = root.join("series.db-wal");
    for _ in 0..2 {
        let now = last_synced(&record, &wal).unwrap();
        wait_for("a sync of the series", || {
            let then = last_synced(&record, &wal)?;
            Ok((then > now).then_some(()))
        })
        .unwrap();
    }
    report(&job, &server, 1 + random.below(20));
    make_rule(&server, "kept");
    server.kill().unwrap();
    names_of(round).leave(&record, &root, &left).unwrap();
    let lost = bytes_lost(&root, &left);

    let server = Serve::start(&left).unwrap();
    let acked = job.acked();
    let stored = job.hello(&server.door()).unwrap().stored_seq.unwrap_or(0);
    assert_eq!(stored, acked, "control data of an acknowledged report is lost");
    job.check_told(&server.door(), acked).unwrap();
    let alerts = server.door().get("/api/v1/alerts").unwrap().text();
    assert!(alerts.contains("\"kept\""), "a rule is lost: {alerts}");
    job.check_samples(&server.door(), promised).unwrap();
    let gone = (promised..=acked)
        .rev()
        .take_while(|seq| job.check_samples(&server.door(), *seq).is_err())
        .count();
    report(&job, &server, 1);
    server.kill().unwrap();
    (lost, gone as u64)
}

/// §4.8 and DESIGN, Server: with every unsynced byte of both databases gone, rules, events and what
/// was taken in are whole, samples are as of the last sync, and the server goes on.
#[test]
fn soak_a_power_cut_takes_a_second_of_samples_at_most() {
    let dir = tempfile::tempdir().unwrap();
    let (recorder, mut random) = (Recorder::build().unwrap(), Random::new(SEED));
    println!("seed {SEED}");
    let rounds = if soaks() { 40 } else { 3 };
    let cuts: Vec<(u64, u64)> =
        (0..rounds).map(|round| cut_off(dir.path(), &recorder, round, &mut random)).collect();
    println!("bytes lost and reports whose samples were: {cuts:?}");
    assert!(cuts.iter().any(|(bytes, _)| *bytes > 0), "nothing was ever lost");
}
