//! The life of commands.

use std::time::Duration;

use stateward_model::ProblemKind;
use stateward_model::breaker::{Action, Policy};
use stateward_model::view::{AuditRow, CommandView, OrderRequest};
use stateward_model::wire::{CommandPhase, CommandProgress, Order};

use super::{poll, time_out};
use crate::fixture::{Fixture, hello_of, report_of};

const TRIP: Order = Order::Trip { action: Action::Divert, until_millis: None };

async fn start() -> Fixture {
    let fixture = Fixture::start().await;
    fixture.hello(&hello_of("r1")).await;
    fixture.report(&report_of("r1", 1)).await.unwrap();
    fixture
}

async fn audit(fixture: &Fixture) -> Vec<AuditRow> {
    let mut rows = fixture.app().audit(None, 100).await.unwrap().rows;
    rows.reverse();
    rows
}

async fn newest(fixture: &Fixture) -> CommandView {
    let page = fixture.app().state("default", "flights", "airports", "due").await.unwrap();
    page.breaker.commands.into_iter().next().unwrap()
}

async fn versions(fixture: &Fixture, after: u64) -> Vec<u64> {
    let answer = poll(&fixture.core(), "r1", after, Duration::ZERO).await.unwrap();
    answer.commands.iter().map(|command| command.version).collect()
}

fn step(version: u64, phase: CommandPhase, detail: &str) -> CommandProgress {
    CommandProgress {
        version,
        phase,
        shards_applied: 2,
        shards: 2,
        detail: detail.into(),
        wall_millis: 0,
    }
}

/// §7.8: a person's action needs a reason; the intent is in the audit log before the engine can see
/// the command, the outcome after.
#[tokio::test]
async fn intent_comes_before_the_effect_and_outcome_after() {
    let fixture = start().await;
    let blank = OrderRequest { order: TRIP, reason: " \n".into() };
    let app = fixture.app();
    let refused = app.order("default", "flights", "airports", "due", blank, "ada").await;
    assert_eq!(refused.unwrap_err().kind(), ProblemKind::BadRequest);
    assert_eq!((audit(&fixture).await.len(), versions(&fixture, 0).await), (0, vec![]));

    let view = fixture.order(TRIP).await.unwrap();
    assert_eq!(view.progress.phase, CommandPhase::Requested);
    let intent = audit(&fixture).await;
    assert_eq!(
        (intent.len(), &*intent[0].stage, &*intent[0].action),
        (1, "intent", "breaker.trip")
    );
    assert_eq!((&*intent[0].actor, &*intent[0].detail), ("ada", "too many writes"));
    assert_eq!(versions(&fixture, 0).await, [view.version]);

    let mut report = report_of("r1", 2);
    report.commands = [CommandPhase::Delivered, CommandPhase::Applied, CommandPhase::Done]
        .map(|phase| step(view.version, phase, ""))
        .to_vec();
    fixture.report(&report).await.unwrap();
    assert_eq!(newest(&fixture).await.progress.phase, CommandPhase::Done);
    let rows = audit(&fixture).await;
    assert_eq!(
        (rows.len(), &*rows[1].stage, &*rows[1].detail),
        (2, "outcome", "done on 2 of 2 shards")
    );
    fixture.server.stop().await;
}

/// DESIGN, Commands: refused with a reason; a step back or of another job's command is ignored.
#[tokio::test]
async fn a_refusal_keeps_its_reason() {
    let fixture = start().await;
    let version = fixture.order(TRIP).await.unwrap().version;
    let mut report = report_of("r1", 2);
    report.commands = vec![
        step(version, CommandPhase::Refused, "no room to spill"),
        step(version, CommandPhase::Delivered, ""),
        step(version + 7, CommandPhase::Done, ""),
    ];
    fixture.report(&report).await.unwrap();
    let progress = newest(&fixture).await.progress;
    assert_eq!((progress.phase, &*progress.detail), (CommandPhase::Refused, "no room to spill"));
    assert_eq!(
        audit(&fixture).await.last().unwrap().detail,
        "refused on 2 of 2 shards: no room to spill"
    );
    fixture.server.stop().await;
}

/// Desired state: an engine that starts anew gets the latest trip or reset, and the latest policy.
#[tokio::test]
async fn the_latest_order_of_each_kind_holds() {
    let fixture = start().await;
    let policy = || Order::Policy { policy: Policy::default() };
    let mut versions_of = Vec::new();
    for order in [TRIP, policy(), Order::Reset, TRIP, policy()] {
        versions_of.push(fixture.order(order).await.unwrap().version);
    }
    assert!(versions_of.is_sorted());
    assert_eq!(versions(&fixture, 0).await, [versions_of[3], versions_of[4]]);
    assert_eq!(versions(&fixture, versions_of[3]).await, [versions_of[4]]);
    assert_eq!(versions(&fixture, versions_of[4]).await, Vec::<u64>::new());
    // an engine that is ahead knew another data folder
    assert_eq!(versions(&fixture, 1_000).await, [versions_of[3], versions_of[4]]);
    let replaced = audit(&fixture).await;
    let replaced = replaced.iter().filter(|row| row.detail.contains("replaced by command"));
    assert_eq!(replaced.count(), 3);

    let fixture = fixture.restart().await;
    assert_eq!(versions(&fixture, 0).await, [versions_of[3], versions_of[4]]);
    assert_eq!(fixture.order(TRIP).await.unwrap().version, versions_of[4] + 1);
    fixture.server.stop().await;
}

/// A trip that ended by itself is not handed to an engine that starts later.
#[tokio::test]
async fn an_ended_trip_is_not_delivered() {
    let fixture = start().await;
    let until_millis = Some(fixture.clock.now_millis() + 60_000);
    fixture.order(Order::Trip { action: Action::Limit, until_millis }).await.unwrap();
    assert_eq!(versions(&fixture, 0).await.len(), 1);
    fixture.clock.advance(60_000);
    assert_eq!(versions(&fixture, 0).await.len(), 0);
    let past = Some(fixture.clock.now_millis());
    let error = fixture.order(Order::Trip { action: Action::Limit, until_millis: past }).await;
    assert_eq!(error.unwrap_err().kind(), ProblemKind::BadRequest);
    fixture.server.stop().await;
}

/// DESIGN, Commands: timed out. A live engine has 30 s; for a silent one the command waits.
#[tokio::test]
async fn a_live_engine_that_does_not_answer_times_out() {
    let fixture = start().await;
    let version = fixture.order(TRIP).await.unwrap().version;
    fixture.clock.advance(60_000);
    time_out(&fixture.core()).await.unwrap();
    assert_eq!(newest(&fixture).await.progress.phase, CommandPhase::Requested);
    for seq in 2..=5 {
        fixture.report(&report_of("r1", seq)).await.unwrap();
        time_out(&fixture.core()).await.unwrap();
        fixture.clock.advance(10_000);
    }
    time_out(&fixture.core()).await.unwrap();
    assert_eq!(newest(&fixture).await.progress.phase, CommandPhase::TimedOut);
    assert_eq!(audit(&fixture).await.len(), 2);
    // it stays in force, and may still be carried out
    assert_eq!(versions(&fixture, 0).await, [version]);
    let mut report = report_of("r1", 6);
    report.commands = vec![step(version, CommandPhase::Done, "")];
    fixture.report(&report).await.unwrap();
    assert_eq!(newest(&fixture).await.progress.phase, CommandPhase::Done);
    assert_eq!(audit(&fixture).await.len(), 3);
    fixture.server.stop().await;
}

#[tokio::test]
async fn a_waiting_poll_wakes_up() {
    let fixture = start().await;
    let core = fixture.core();
    let waiting =
        tokio::spawn(async move { poll(&core, "r1", 0, Duration::from_secs(30)).await.unwrap() });
    tokio::task::yield_now().await;
    let version = fixture.order(TRIP).await.unwrap().version;
    let answer = waiting.await.unwrap();
    assert_eq!((answer.version, answer.commands.len()), (version, 1));
    fixture.server.stop().await;
}

/// §1.14, §7.8: a TTL is ordered like a breaker: with a reason, audited, the latest one delivered; a
/// temporary one that has ended is not.
#[tokio::test]
async fn a_ttl_is_ordered_like_a_breaker() {
    let fixture = start().await;
    let set = |ttl_millis, until_millis| Order::Ttl { ttl_millis, until_millis };
    let zero = fixture.order(set(Some(0), None)).await.unwrap_err();
    assert!(zero.to_string().contains("ttl_millis is 0; give 1 or more"), "{zero}");
    let passed = fixture.order(set(Some(5), Some(1))).await.unwrap_err();
    assert!(passed.to_string().contains("until_millis is 1, which has passed"), "{passed}");
    let first = fixture.order(set(Some(60_000), None)).await.unwrap();
    assert_eq!(first.order, "ttl");
    let trip = fixture.order(TRIP).await.unwrap().version;
    let revert = fixture.order(Order::TtlRevert).await.unwrap().version;
    assert_eq!(versions(&fixture, 0).await, [trip, revert], "one of each class");
    let actions: Vec<String> = audit(&fixture)
        .await
        .into_iter()
        .map(|row| format!("{} {}", row.stage, row.action))
        .collect();
    let expected =
        ["intent ttl.set", "intent breaker.trip", "intent ttl.revert", "outcome ttl.set"];
    assert_eq!(actions, expected, "what was replaced before anybody took it has its outcome");
    fixture.server.stop().await;
}

#[tokio::test]
async fn orders_to_nobody_are_refused() {
    let fixture = start().await;
    let app = fixture.app();
    for of in [["x", "flights", "airports", "due"], ["default", "flights", "airports", "<script>"]]
    {
        let request = OrderRequest { order: TRIP, reason: "r".into() };
        let error = app.order(of[0], of[1], of[2], of[3], request, "ada").await;
        assert_eq!(error.unwrap_err().kind(), ProblemKind::NotFound);
    }
    let policy = Policy { reset_ratio: 2.0, ..Policy::default() };
    let error = fixture.order(Order::Policy { policy }).await.unwrap_err();
    assert!(error.to_string().contains("reset_ratio must be from 0 to 1"), "{error}");
    fixture.server.stop().await;
}

/// What else stops: the operator's other states and what is downstream.
#[tokio::test]
async fn the_card_names_what_else_stops() {
    let fixture = start().await;
    assert_eq!(fixture.app().breakers().await.unwrap(), []);
    fixture.order(TRIP).await.unwrap();
    let cards = fixture.app().breakers().await.unwrap();
    assert_eq!(cards.len(), 1);
    assert_eq!(
        (&cards[0].stops_states, &cards[0].stops_outputs),
        (&vec!["seen".to_owned()], &vec!["out".to_owned()])
    );
    fixture.server.stop().await;
}
