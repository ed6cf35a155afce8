//! Ranking against a naive model, ranges, figures.

use proptest::prelude::*;
use stateward_model::ProblemKind;
use stateward_model::view::{STATE_SORTS, SeriesQuery, StateRow, StatesQuery};
use stateward_model::{Evidence, VerdictKind, judge};

use super::range::{Function, LOOKBACK_MILLIS, Range};
use super::states::page;
use crate::fixture::{Fixture, START_MILLIS, hello_of, report_of};
use crate::series::Sample;

fn row(state: usize) -> StateRow {
    StateRow {
        namespace: "n".into(),
        job_name: format!("j{}", state % 3),
        operator: format!("o{}", state % 5),
        state: format!("s{state}"),
        verdict: judge(Evidence::default()),
        entries: 0,
        logical_bytes: 0,
        disk_bytes: 0,
        bytes_per_entry: None,
        growth_per_day: None,
        miss_ratio: None,
        oldest_age_millis: None,
        writes_per_second: None,
        reads_per_second: None,
        ttl_millis: None,
        breaker: stateward_model::breaker::Breaker::default(),
        sparkline: Vec::new(),
        replay_factor: 1.0,
        wall_millis: 0,
        silent_since_millis: None,
        firing: 0,
    }
}

fn rows() -> impl Strategy<Value = Vec<StateRow>> {
    let figures = (0_u64..4, prop::option::of(-2..3_i32), prop::option::of(0_u32..4));
    prop::collection::vec(figures, 0..40).prop_map(|all| {
        let filled =
            |(at, (bytes, growth, ratio)): (usize, (u64, Option<i32>, Option<u32>))| StateRow {
                logical_bytes: bytes,
                growth_per_day: growth.map(|growth| f64::from(growth) / 3.0),
                miss_ratio: ratio.map(|ratio| f64::from(ratio) / 7.0),
                firing: ratio.unwrap_or(0),
                ..row(at)
            };
        all.into_iter().enumerate().map(filled).collect()
    })
}

fn names(rows: &[StateRow]) -> Vec<String> {
    rows.iter().map(super::identity).collect()
}

/// The order a person expects of a few columns, made without the code under test.
fn naive(mut rows: Vec<StateRow>, sort: &str, descending: bool) -> Vec<String> {
    let key = |row: &StateRow| match sort {
        "logical_bytes" => Some(row.logical_bytes as f64),
        "growth_per_day" => row.growth_per_day,
        _ => row.miss_ratio,
    };
    rows.sort_by_key(super::identity);
    let (mut known, unknown): (Vec<_>, Vec<_>) =
        rows.into_iter().partition(|row| key(row).is_some());
    known.sort_by(|a, b| {
        let order = key(a).partial_cmp(&key(b)).unwrap();
        if descending { order.reverse() } else { order }
    });
    known.extend(unknown);
    names(&known)
}

proptest! {
    /// §9: unknown is never 0, and comes last whichever way.
    #[test]
    fn sorting_equals_the_naive_order(rows in rows(), column in 0_usize..3, descending: bool) {
        let sort = ["logical_bytes", "growth_per_day", "miss_ratio"][column];
        let query = StatesQuery {
            sort: Some(sort.into()),
            order: Some(if descending { "desc" } else { "asc" }.into()),
            limit: Some(1_000),
            ..StatesQuery::default()
        };
        let all = page(rows.clone(), &query, 0).unwrap();
        prop_assert_eq!(names(&all.states), naive(rows, sort, descending));
        prop_assert_eq!(all.next, None);
    }

    /// Pages put together are the whole, whatever the column, the order and the size of a page.
    #[test]
    fn pages_are_the_whole(
        rows in rows(), sort in 0..STATE_SORTS.len(), descending: bool, limit in 1_u32..9
    ) {
        let mut query = StatesQuery {
            sort: Some(STATE_SORTS[sort].into()),
            order: Some(if descending { "desc" } else { "asc" }.into()),
            limit: Some(1_000),
            ..StatesQuery::default()
        };
        let whole = names(&page(rows.clone(), &query, 0).unwrap().states);
        query.limit = Some(limit);
        let mut put_together = Vec::new();
        loop {
            let one = page(rows.clone(), &query, 0).unwrap();
            prop_assert_eq!(one.total, rows.len() as u64);
            prop_assert!(one.states.len() <= limit as usize);
            put_together.extend(names(&one.states));
            query.cursor = one.next;
            if query.cursor.is_none() {
                break;
            }
        }
        prop_assert_eq!(put_together, whole);
    }

    /// A rate with resets equals the sum of what was really counted.
    #[test]
    fn increase_survives_resets(
        grown in prop::collection::vec((0_u32..50, prop::bool::weighted(0.1)), 2..60)
    ) {
        let (mut counter, mut truth, mut samples) = (0.0, 0.0, Vec::new());
        for (at, (by, reset)) in grown.iter().enumerate() {
            // a reset shows only where the new count is below the old one
            let reset = *reset && f64::from(*by) < counter;
            let by = f64::from(*by) + if reset { 0.0 } else { 1_000.0 };
            counter = if reset { by } else { counter + by };
            truth += if at == 0 { 0.0 } else { by };
            samples.push(Sample { millis: at as i64 * 1_000, value: counter });
        }
        let to = samples.last().unwrap().millis;
        let range = Range { from: to, to, step: 1_000 };
        let points = Function::Increase { window_millis: to }.apply(&samples, range);
        prop_assert_eq!(points, [(to, truth)]);
    }
}

#[test]
fn filters_match_words_and_fields() {
    let growing = StateRow {
        verdict: judge(Evidence { ttl_millis: Some(1), ..Evidence::default() }),
        ..row(4)
    };
    let rows = vec![row(1), row(2), row(3), growing];
    assert_eq!(rows[3].verdict.kind, VerdictKind::CannotTell);
    let cases = [
        ("", 4),
        ("S1", 1),
        ("n/j1/", 2),
        ("job:J1", 2),
        ("job:n/j1 operator:o4", 1),
        ("state:s", 0),
        ("verdict:no_ttl", 3),
        ("verdict:cannot_tell j1", 1),
        ("breaker:closed", 4),
        ("breaker:open", 0),
    ];
    for (filter, expected) in cases {
        let query = StatesQuery { filter: Some(filter.into()), ..StatesQuery::default() };
        assert_eq!(page(rows.clone(), &query, 0).unwrap().total, expected, "{filter}");
    }
    let mistakes: [(StatesQuery, &str); 6] = [
        (StatesQuery { filter: Some("owner:x".into()), ..StatesQuery::default() }, "fields are"),
        (StatesQuery { filter: Some("verdict:x".into()), ..StatesQuery::default() }, "is one of"),
        (StatesQuery { sort: Some("x".into()), ..StatesQuery::default() }, "sort by one of"),
        (StatesQuery { order: Some("up".into()), ..StatesQuery::default() }, "use asc or desc"),
        (StatesQuery { limit: Some(0), ..StatesQuery::default() }, "use 1 to 1000"),
        (StatesQuery { cursor: Some("x".into()), ..StatesQuery::default() }, "first page"),
    ];
    for (query, expected) in mistakes {
        let error = page(rows.clone(), &query, 0).unwrap_err();
        assert_eq!(error.kind(), ProblemKind::BadRequest);
        assert!(error.to_string().contains(expected), "{error}");
    }
}

/// A gap in the data is a gap in the line, once a sample is too old to count.
#[test]
fn gaps_stay_gaps() {
    let sample = |second: i64, value| Sample { millis: second * 1_000, value };
    let samples = [sample(0, 1.0), sample(1, 3.0), sample(100, 5.0)];
    let range = Range { from: 0, to: 100_000, step: 2_000 };
    let points = Function::Mean.apply(&samples, range);
    assert_eq!(points[..2], [(0, 1.0), (2_000, 3.0)]);
    assert_eq!(points.last(), Some(&(100_000, 5.0)));
    let before_gap = points.iter().rev().nth(1).unwrap();
    assert_eq!(*before_gap, (1_000 + LOOKBACK_MILLIS, 3.0));
}

fn chart(figure: &str) -> SeriesQuery {
    SeriesQuery {
        of: "default/flights/airports/due".into(),
        figure: figure.into(),
        to: Some(START_MILLIS + 120_000),
        from: Some(START_MILLIS),
        points: Some(13),
    }
}

#[tokio::test]
async fn figures_are_what_was_reported() {
    let fixture = Fixture::start().await;
    fixture.hello(&hello_of("r1")).await;
    for seq in 1..=120 {
        fixture.report(&report_of("r1", seq)).await.unwrap();
    }
    fixture.clock.advance(120_000);
    let app = fixture.app();
    let cases = [
        ("writes_per_second", 10.0, "1/s"),
        ("reads_per_second", 20.0, "1/s"),
        ("miss_ratio", 0.25, "ratio"),
        ("stateward_state_writes_total", 10.0, "1/s"),
    ];
    for (figure, expected, unit) in cases {
        let answer = app.series(chart(figure)).await.unwrap();
        assert_eq!((answer.lines.len(), &*answer.unit, answer.step_millis), (1, unit, 10_000));
        let points = &answer.lines[0].points;
        assert!(points.len() >= 11, "{figure} {points:?}");
        assert!(points.iter().all(|(_, value)| (value - expected).abs() < 1e-9), "{points:?}");
    }
    let entries = app.series(chart("entries")).await.unwrap();
    assert_eq!(entries.lines[0].points.last(), Some(&(START_MILLIS + 120_000, 115.5)));
    assert_eq!(app.series(chart("debt_bytes")).await.unwrap().lines.len(), 2);
    let of_job = SeriesQuery { of: "default/flights".into(), ..chart("logical_bytes") };
    let labels: Vec<String> =
        app.series(of_job).await.unwrap().lines.into_iter().map(|line| line.label).collect();
    assert_eq!(labels, ["airports/due", "airports/seen"]);
    let ages = app.series(chart("stateward_state_age_seconds")).await.unwrap();
    assert_eq!(ages.lines[0].label, "observed=\"read\"");
    assert_eq!(
        ages.lines[0].points,
        [(START_MILLIS + 60_000, 0.01), (START_MILLIS + 120_000, 0.01)]
    );
    for query in [
        chart("nothing"),
        chart("stateward_server_alerts"),
        SeriesQuery { of: "x".into(), ..chart("entries") },
        SeriesQuery { points: Some(1), ..chart("entries") },
        SeriesQuery { from: Some(i64::MAX), to: Some(i64::MIN), ..chart("entries") },
        SeriesQuery { from: Some(i64::MIN), to: Some(i64::MAX), ..chart("entries") },
    ] {
        assert_eq!(app.series(query).await.unwrap_err().kind(), ProblemKind::BadRequest);
    }
    fixture.server.stop().await;
}

/// §9: windows of the row, and a silent engine says since when.
#[tokio::test]
async fn rows_have_rates_verdicts_and_silence() {
    let fixture = Fixture::start().await;
    fixture.hello(&hello_of("r1")).await;
    for seq in 1..=90 {
        fixture.report(&report_of("r1", seq)).await.unwrap();
    }
    fixture.clock.advance(15_000);
    let app = fixture.app();
    let query = StatesQuery { sort: Some("state".into()), ..StatesQuery::default() };
    let page = app.states(query.clone()).await.unwrap();
    let due = &page.states[1];
    assert_eq!((page.total, &*due.state), (2, "due"));
    assert_eq!((due.writes_per_second, due.miss_ratio), (Some(10.0), Some(0.25)));
    assert_eq!(due.silent_since_millis, None);
    assert_eq!(due.verdict.evidence.watched_millis, 89_000);
    assert_eq!(due.verdict.evidence.reads, 89 * 20);
    fixture.clock.advance(1);
    let page = app.states(query).await.unwrap();
    assert_eq!(page.states[1].silent_since_millis, Some(START_MILLIS));
    assert_eq!(app.jobs().await.unwrap()[0].silent_since_millis, Some(START_MILLIS));
    let graph = app.lineage("default", "flights").await.unwrap();
    assert_eq!(graph.edge_rates, [Some(3.0), Some(1.0)]);
    let overview = app.overview().await.unwrap();
    assert_eq!((overview.states, overview.logical_bytes), (2, 2 * 1_090));
    fixture.server.stop().await;
}

#[test]
fn what_fires_then_breakers_then_bad_and_large_states_need_attention() {
    let with = |kind, logical_bytes, firing| {
        let mut row = StateRow { logical_bytes, firing, growth_per_day: Some(0.1), ..row(0) };
        row.verdict.kind = kind;
        row
    };
    let mut tripped = with(VerdictKind::Working, 1 << 10, 0);
    tripped.breaker.phase = stateward_model::breaker::Phase::ForcedOpen;
    let worst_first = [
        with(VerdictKind::Working, 1 << 10, 1),
        tripped,
        with(VerdictKind::NoTtl, 30 << 20, 0),
        with(VerdictKind::CleanupBehind, 12 << 10, 0),
        with(VerdictKind::NoTtl, 12 << 10, 0),
        with(VerdictKind::Working, 1 << 50, 0),
        with(VerdictKind::Working, 1 << 10, 0),
    ];
    let scores = worst_first.each_ref().map(super::row::attention);
    assert!(scores.is_sorted_by(|a, b| a > b), "{scores:?}");
}
