//! Rules, evaluations and restarts.

use stateward_model::ProblemKind;
use stateward_model::alert::{Phase, RESOLVED_KEPT_MILLIS, Rule, Subject};

use super::{evaluate, presets};
use crate::fixture::{Fixture, hello_of, report_of};

fn rule(name: &str) -> Rule {
    Rule {
        id: 0,
        name: name.into(),
        job: "default/flights".into(),
        operator: String::new(),
        state: "due".into(),
        subject: Subject::LogicalBytes,
        above: 1_004.0,
        traffic_per_second_min: 0.0,
        for_millis: 10_000,
        keep_firing_millis: 0,
        severity: "warning".into(),
        enabled: true,
    }
}

/// Reports and evaluates; `logical_bytes` is 1,000 + seq.
async fn tick(fixture: &Fixture, seq: u64, by_millis: i64) -> Vec<Phase> {
    fixture.clock.advance(by_millis);
    fixture.report(&report_of("r1", seq)).await.unwrap();
    evaluate(&fixture.core()).await.unwrap();
    phases(fixture).await
}

async fn phases(fixture: &Fixture) -> Vec<Phase> {
    let page = fixture.app().alerts().await.unwrap();
    page.active.iter().map(|row| row.instance.phase).collect()
}

/// §8.1: fires when the condition has held for `for`, and that progress survives a restart.
#[tokio::test]
async fn for_goes_on_after_a_restart() {
    let fixture = Fixture::start().await;
    fixture.hello(&hello_of("r1")).await;
    fixture.app().create_rule(rule("big"), "ada").await.unwrap();
    assert_eq!(tick(&fixture, 4, 0).await, []);
    assert_eq!(tick(&fixture, 5, 5_000).await, [Phase::Pending]);
    let fixture = fixture.restart().await;
    assert_eq!(phases(&fixture).await, [Phase::Pending]);
    assert_eq!(tick(&fixture, 6, 9_000).await, [Phase::Pending]);
    assert_eq!(tick(&fixture, 7, 1_000).await, [Phase::Firing]);
    let app = fixture.app();
    assert_eq!(app.state("default", "flights", "airports", "due").await.unwrap().row.firing, 1);
    assert_eq!(app.overview().await.unwrap().firing.len(), 1);
    let history = app.alerts().await.unwrap().history;
    assert_eq!(
        history.iter().map(|t| t.phase).collect::<Vec<_>>(),
        [Phase::Firing, Phase::Pending]
    );
    let fixture = fixture.restart().await;
    assert_eq!(phases(&fixture).await, [Phase::Firing]);
    fixture.server.stop().await;
}

/// §8.2: an instance whose engine is silent is held as no data, and never resolves.
#[tokio::test]
async fn a_silent_engine_holds_its_alerts() {
    let fixture = Fixture::start().await;
    fixture.hello(&hello_of("r1")).await;
    let now = Rule { for_millis: 0, ..rule("big") };
    fixture.app().create_rule(now, "ada").await.unwrap();
    assert_eq!(tick(&fixture, 5, 0).await, [Phase::Firing]);
    fixture.clock.advance(3_600_000);
    evaluate(&fixture.core()).await.unwrap();
    let page = fixture.app().alerts().await.unwrap();
    let instance = page.active[0].instance;
    assert_eq!((instance.phase, instance.no_data), (Phase::Firing, true));
    fixture.server.stop().await;
}

/// §8.3: a resolved instance is kept for 15 minutes.
#[tokio::test]
async fn resolved_is_kept_for_a_while() {
    let fixture = Fixture::start().await;
    fixture.hello(&hello_of("r1")).await;
    let app = fixture.app();
    let stored = app.create_rule(Rule { for_millis: 0, ..rule("big") }, "ada").await.unwrap();
    assert_eq!(tick(&fixture, 5, 0).await, [Phase::Firing]);
    let mut small = report_of("r1", 6);
    small.states[0].stock.logical_bytes = 1;
    fixture.report(&small).await.unwrap();
    evaluate(&fixture.core()).await.unwrap();
    assert_eq!(phases(&fixture).await, [Phase::Resolved]);
    let mut small = report_of("r1", 7);
    small.states[0].stock.logical_bytes = 1;
    fixture.clock.advance(RESOLVED_KEPT_MILLIS);
    fixture.report(&small).await.unwrap();
    evaluate(&fixture.core()).await.unwrap();
    assert_eq!(phases(&fixture).await, []);
    assert_eq!(app.alerts().await.unwrap().rules, [stored]);
    fixture.server.stop().await;
}

/// §8.5: a rule is ignored below its minimum traffic.
#[tokio::test]
async fn minimum_traffic_holds_a_rule_back() {
    let fixture = Fixture::start().await;
    fixture.hello(&hello_of("r1")).await;
    let ratio = |name: &str, traffic_per_second_min| Rule {
        subject: Subject::MissRatio,
        above: 0.2,
        traffic_per_second_min,
        for_millis: 0,
        ..rule(name)
    };
    fixture.app().create_rule(ratio("busy", 21.0), "ada").await.unwrap();
    tick(&fixture, 1, 0).await;
    assert_eq!(tick(&fixture, 2, 1_000).await, []);
    fixture.app().create_rule(ratio("quiet", 20.0), "ada").await.unwrap();
    assert_eq!(tick(&fixture, 3, 1_000).await, [Phase::Firing]);
    fixture.server.stop().await;
}

#[tokio::test]
async fn rules_are_checked_stored_and_audited() {
    let fixture = Fixture::start().await;
    let app = fixture.app();
    let stored = app.create_rule(rule("a"), "ada").await.unwrap();
    let twice = app.create_rule(rule(" a "), "ada").await.unwrap_err();
    assert_eq!(twice.kind(), ProblemKind::Conflict);
    let bad = [
        Rule { name: "a\nb".into(), ..rule("x") },
        Rule { severity: "loud".into(), ..rule("x") },
        Rule { above: f64::NAN, ..rule("x") },
        Rule { subject: Subject::MissRatio, above: 2.0, ..rule("x") },
        Rule { for_millis: -1, ..rule("x") },
        Rule { job: "flights".into(), ..rule("x") },
        Rule { state: "<script>".into(), ..rule("x") },
    ];
    for rule in bad {
        let error = app.create_rule(rule, "ada").await.unwrap_err();
        assert_eq!(error.kind(), ProblemKind::BadRequest, "{error}");
    }
    let changed = app.update_rule(stored.id, rule("b"), "ada").await.unwrap();
    assert_eq!((changed.id, &*changed.name), (stored.id, "b"));
    let fixture = fixture.restart().await;
    let app = fixture.app();
    assert_eq!(app.alerts().await.unwrap().rules, [changed]);
    app.delete_rule(stored.id, "ada").await.unwrap();
    assert_eq!(app.delete_rule(stored.id, "ada").await.unwrap_err().kind(), ProblemKind::NotFound);
    let actions: Vec<String> =
        app.audit(None, 100).await.unwrap().rows.into_iter().map(|row| row.action).collect();
    let twice = |action: &str| [action.to_owned(), action.to_owned()];
    let expected = ["rule.delete", "rule.update", "rule.create"].map(twice).concat();
    assert_eq!(actions, expected);
    fixture.server.stop().await;
}

/// A changed condition starts anew; a changed name does not.
#[tokio::test]
async fn a_changed_condition_starts_anew() {
    let fixture = Fixture::start().await;
    fixture.hello(&hello_of("r1")).await;
    let app = fixture.app();
    let stored = app.create_rule(rule("a"), "ada").await.unwrap();
    assert_eq!(tick(&fixture, 5, 0).await, [Phase::Pending]);
    app.update_rule(stored.id, rule("b"), "ada").await.unwrap();
    assert_eq!(phases(&fixture).await, [Phase::Pending]);
    app.update_rule(stored.id, Rule { above: 1.0, ..rule("b") }, "ada").await.unwrap();
    assert_eq!(phases(&fixture).await, []);
    fixture.server.stop().await;
}

#[tokio::test]
async fn presets_can_be_created_as_they_are() {
    let fixture = Fixture::start().await;
    for preset in presets() {
        fixture.app().create_rule(preset, "ada").await.unwrap();
    }
    fixture.server.stop().await;
}
