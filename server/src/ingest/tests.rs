//! Taking reports in: once each, bounded, and there after a restart.

use stateward_model::ProblemKind;
use stateward_model::view::SeriesQuery;
use stateward_model::wire::{HelloReply, JobEvent, ReportReply};

use super::decode::unpack;
use crate::db::control::run;
use crate::fixture::{Fixture, START_MILLIS, frame, hello_of, report_of};
use crate::ingest;

/// DESIGN, Wire: the batch key is (run, seq); a batch sent twice is stored once.
#[tokio::test]
async fn a_report_sent_twice_is_stored_once() {
    let fixture = Fixture::start().await;
    fixture.hello(&hello_of("r1")).await;
    let mut report = report_of("r1", 1);
    report.events = vec![JobEvent {
        wall_millis: START_MILLIS,
        kind: "started".into(),
        operator: None,
        state: None,
        text: "a\n<script>".into(),
    }];
    let first = fixture.report(&report).await.unwrap();
    assert_eq!(first, ReportReply { seq: 1, duplicate: false });
    let second = fixture.report(&report).await.unwrap();
    assert_eq!(second, ReportReply { seq: 1, duplicate: true });
    let page = fixture.app().state("default", "flights", "airports", "due").await.unwrap();
    let texts: Vec<&str> = page.events.iter().map(|event| event.text.as_str()).collect();
    assert_eq!(texts, ["a\n<script>"]);
    fixture.server.stop().await;
}

/// DESIGN, Wire: gaps are recorded, and what was recorded as missing is not taken for stored.
#[tokio::test]
async fn gaps_are_recorded() {
    let fixture = Fixture::start().await;
    fixture.hello(&hello_of("r1")).await;
    fixture.report(&report_of("r1", 1)).await.unwrap();
    fixture.report(&report_of("r1", 5)).await.unwrap();
    let gaps = run::gaps(&fixture.core().control.readers, "r1").await.unwrap();
    assert_eq!(gaps, [(2, 4)]);
    let late = fixture.report(&report_of("r1", 3)).await.unwrap_err();
    assert_eq!(late.kind(), ProblemKind::Conflict);
    assert!(fixture.report(&report_of("r1", 5)).await.unwrap().duplicate);
    let reply = ingest::hello(&fixture.core(), &frame(&hello_of("r1"))).await.unwrap();
    assert_eq!(reply, HelloReply { protocol: 1, stored_seq: Some(5) });
    fixture.server.stop().await;
}

/// A crash after control.db committed and before series.db did: the resend completes it.
#[tokio::test]
async fn a_resend_completes_what_a_crash_cut_short() {
    let fixture = Fixture::start().await;
    fixture.hello(&hello_of("r1")).await;
    let core = fixture.core();
    let progress = run::Progress {
        run_id: core.catalog.run("r1").unwrap().id,
        seq: 1,
        received_millis: START_MILLIS,
        report: frame(&report_of("r1", 1)),
        baseline: None,
    };
    core.control
        .writer
        .run(move |connection| Box::pin(async move { run::advance(connection, progress).await }))
        .await
        .unwrap();
    assert!(!fixture.report(&report_of("r1", 1)).await.unwrap().duplicate);
    assert!(fixture.report(&report_of("r1", 1)).await.unwrap().duplicate);
    let line = entries(&fixture, START_MILLIS + 1_000).await;
    assert_eq!(line, [(START_MILLIS + 1_000, 1.0)]);
    fixture.server.stop().await;
}

async fn entries(fixture: &Fixture, to: i64) -> Vec<(i64, f64)> {
    let query = SeriesQuery {
        of: "default/flights/airports/due".into(),
        figure: "entries".into(),
        from: Some(START_MILLIS),
        to: Some(to),
        points: Some(600),
    };
    let answer = fixture.app().series(query).await.unwrap();
    answer.lines.into_iter().next().map(|line| line.points).unwrap_or_default()
}

/// Charts after a restart show what was before it, and the ranking too.
#[tokio::test]
async fn a_restart_keeps_history() {
    let fixture = Fixture::start().await;
    fixture.hello(&hello_of("r1")).await;
    for seq in 1..=70 {
        fixture.report(&report_of("r1", seq)).await.unwrap();
    }
    fixture.clock.advance(70_000);
    let to = START_MILLIS + 70_000;
    let (line, row) = (entries(&fixture, to).await, first_row(&fixture).await);
    assert_eq!(line.len(), 70);
    assert_eq!(row.sparkline.len(), 2);
    let fixture = fixture.restart().await;
    assert_eq!(entries(&fixture, to).await, line);
    assert_eq!(first_row(&fixture).await, row);
    assert!(fixture.report(&report_of("r1", 70)).await.unwrap().duplicate);
    fixture.server.stop().await;
}

async fn first_row(fixture: &Fixture) -> stateward_model::view::StateRow {
    fixture.app().state("default", "flights", "airports", "due").await.unwrap().row
}

#[tokio::test]
async fn strangers_are_told_what_to_do() {
    let fixture = Fixture::start().await;
    let unknown = fixture.report(&report_of("r1", 1)).await.unwrap_err();
    assert_eq!(unknown.kind(), ProblemKind::NotFound);
    assert!(unknown.to_string().contains("send hello first"), "{unknown}");
    fixture.hello(&hello_of("r1")).await;
    let mut undeclared = report_of("r1", 1);
    undeclared.states[0].state = "<script>".into();
    let error = fixture.report(&undeclared).await.unwrap_err();
    assert_eq!(error.kind(), ProblemKind::Conflict);
    let mut newer = report_of("r1", 1);
    newer.protocol = 2;
    let error = fixture.report(&newer).await.unwrap_err();
    assert_eq!(error.kind(), ProblemKind::ProtocolMismatch);
    let mut other_job = hello_of("r1");
    other_job.job_name = crate::fixture::name("other");
    let error = ingest::hello(&fixture.core(), &frame(&other_job)).await.unwrap_err();
    assert_eq!(error.kind(), ProblemKind::Conflict);
    fixture.server.stop().await;
}

/// Two processes of one job: the older one is told to stop, what it measured before is taken.
#[tokio::test]
async fn a_replaced_run_is_refused() {
    let fixture = Fixture::start().await;
    fixture.hello(&hello_of("r1")).await;
    fixture.report(&report_of("r1", 1)).await.unwrap();
    let newer =
        stateward_model::wire::Hello { started_millis: START_MILLIS + 2_500, ..hello_of("r2") };
    fixture.hello(&newer).await;
    fixture.report(&report_of("r1", 2)).await.unwrap();
    let error = fixture.report(&report_of("r1", 3)).await.unwrap_err();
    assert_eq!(error.kind(), ProblemKind::Conflict);
    assert!(error.to_string().contains("stop the older process"), "{error}");
    fixture.server.stop().await;
}

#[tokio::test]
async fn broken_bodies_are_refused() {
    let fixture = Fixture::start().await;
    fixture.hello(&hello_of("r1")).await;
    let whole = frame(&report_of("r1", 1));
    let script = serde_json::json!({ "protocol": 1, "run": "<script>\n", "seq": 1,
        "wall_millis": 1, "job": {}, "operators": [], "states": [], "events": [], "commands": [] });
    let mut wild = report_of("r1", 1);
    wild.states[0].age_at_read.buckets = vec![(60_000, 1)];
    let mut huge = report_of("r1", 1);
    huge.states[0].flow.misses_absent = u64::MAX;
    let ancient = stateward_model::wire::Report { wall_millis: i64::MIN, ..report_of("r1", 1) };
    let cases: [(&[u8], &str); 8] = [
        (b"plain text", "not a whole zstd frame"),
        (&whole[..whole.len() / 2], "not a whole zstd frame"),
        (&frame(&"text"), "not a report"),
        (&frame(&serde_json::json!({ "protocol": 1 })), "missing field"),
        (&frame(&script), "not the id of a run"),
        (&frame(&wild), "a histogram of airports/due"),
        (&frame(&huge), "stateward_state_ttl_misses_total of airports/due"),
        (&frame(&ancient), "give ms since 1970"),
    ];
    for (body, expected) in cases {
        let error = ingest::report(&fixture.core(), body).await.unwrap_err();
        assert_eq!(error.kind(), ProblemKind::BadRequest);
        assert!(error.to_string().contains(expected), "{error}");
    }
    fixture.server.stop().await;
}

#[test]
fn a_bomb_costs_no_more_than_the_limit() {
    let bomb = zstd::bulk::compress(&vec![0; 1 << 20], 1).unwrap();
    let error = unpack(&bomb, 1 << 16).unwrap_err();
    assert_eq!(error.kind(), ProblemKind::TooLarge);
    assert_eq!(unpack(&bomb, 1 << 20).unwrap().len(), 1 << 20);
}

/// A full disk: a defined answer, nothing acknowledged, and the resend works once there is space.
#[tokio::test]
async fn a_full_disk_acknowledges_nothing() {
    let fixture = Fixture::start().await;
    fixture.hello(&hello_of("r1")).await;
    fixture.report(&report_of("r1", 1)).await.unwrap();
    let core = fixture.core();
    core.series.database().limit_pages(1).await;
    let mut refused = 0;
    for seq in 2..200 {
        match fixture.report(&report_of("r1", seq)).await {
            Ok(_) => assert_eq!(refused, 0),
            Err(error) => {
                assert_eq!(error.kind(), ProblemKind::Storage, "{error}");
                refused = seq;
                break;
            }
        }
    }
    assert_ne!(refused, 0);
    core.series.database().limit_pages(1_000_000).await;
    assert!(!fixture.report(&report_of("r1", refused)).await.unwrap().duplicate);
    fixture.server.stop().await;
}

/// The in-process transport carries the same bytes through the same ingest.
#[tokio::test]
async fn the_in_process_way_is_the_same() {
    let fixture = Fixture::start().await;
    let ingest = fixture.app().ingest();
    let thread = std::thread::Builder::new().name("engine".into()).spawn(move || {
        ingest.hello(&frame(&hello_of("r1"))).unwrap();
        let reply = ingest.report(&frame(&report_of("r1", 1))).unwrap();
        let commands = ingest.commands("r1", 0, std::time::Duration::ZERO).unwrap();
        (reply, commands)
    });
    let (reply, commands) =
        tokio::task::spawn_blocking(move || thread.unwrap().join().unwrap()).await.unwrap();
    assert_eq!(reply, br#"{"seq":1,"duplicate":false}"#);
    assert_eq!(commands, br#"{"version":0,"commands":[]}"#);
    fixture.server.stop().await;
}
