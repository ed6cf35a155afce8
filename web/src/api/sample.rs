//! Made-up answers for tests: names and figures that no product has.
#![expect(
    unused_parens,
    clippy::needless_pass_by_value,
    clippy::single_match_else,
    clippy::trivially_copy_pass_by_ref,
    clippy::unused_self,
    reason = "answers for tests, in the shape of the server's own methods"
)]

use serde::Serialize;
use stateward_model::alert::{Instance, Phase as AlertPhase, Rule, Subject};
use stateward_model::breaker::{Action, Breaker, Phase, Policy};
use stateward_model::view::{
    AlertRow, AlertTransition, AlertsPage, Annotation, AuditPage, AuditRow, BreakerCard,
    CommandView, Conservation, JobRow, LineageGraph, Overview, SeriesAnswer, SeriesLine,
    SeriesQuery, StateDetail, StateRow, StatesPage, StatesQuery,
};
use stateward_model::wire::{
    AccessKind, CommandPhase, CommandProgress, EdgeDeclaration, NodeDeclaration, NodeKind,
    SiteSample, SourceSample, StateFlow, StateStock,
};
use stateward_model::{
    ClockKind, Evidence, Histogram, Name, Problem, ProblemKind, UpdateType, Verdict, VerdictKind,
    Visibility, bucket_of,
};

use super::{Act, Ask, Backend, Fetched};

/// The time of every answer: 2026-11-30 20:00:00 UTC.
pub(crate) const NOW: i64 = 1_796_068_800_000;

/// A server with two states, or none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Rows of the ranking.
    pub(crate) states: u32,
}

fn verdict(kind: VerdictKind) -> Verdict {
    Verdict {
        kind,
        evidence: Evidence {
            ttl_millis: Some(129_600_000),
            watched_millis: 777_600_000,
            entries: 41_210,
            reads: 90_000,
            misses: 21_000,
            write_stamps: 1_000,
            read_stamps: 32_000,
            created: 91_210,
            expired: 112,
            debt_bytes: 300_000_000,
            total_bytes: 1_000_000_000,
            read_age_p99_millis: Some(1_200_000),
            top_refresher: Some(("src/peek.rs:88:21".into(), 0.97)),
            top_writer: Some(("src/fold.rs:41:17".into(), 0.83)),
            ..Evidence::default()
        },
    }
}

/// One row that works.
pub(crate) fn row(state: &str) -> StateRow {
    StateRow {
        namespace: "default".into(),
        job_name: "made_up".into(),
        operator: "fold".into(),
        state: state.into(),
        verdict: verdict(VerdictKind::Working),
        entries: 1_214_412,
        logical_bytes: 4_712_345_678,
        disk_bytes: 2_912_345_678,
        bytes_per_entry: Some(3_880.3),
        growth_per_day: Some(0.153),
        miss_ratio: Some(0.071),
        oldest_age_millis: Some(446_400_000),
        writes_per_second: Some(12_412.0),
        reads_per_second: Some(31_002.0),
        ttl_millis: Some(129_600_000),
        breaker: Breaker::default(),
        sparkline: (0..60)
            .map(|n| 1e9 + f64::from(n) * 1e7 + f64::from(n * 37 % 11) * 6e6)
            .collect(),
        replay_factor: 288.0,
        wall_millis: NOW - 2_000,
        silent_since_millis: None,
        firing: 0,
    }
}

fn rows(count: u32) -> Vec<StateRow> {
    let kinds = [
        VerdictKind::NoTtl,
        VerdictKind::RefreshedByReads,
        VerdictKind::CleanupBehind,
        VerdictKind::TooShort,
        VerdictKind::TooLong,
        VerdictKind::CannotTell,
        VerdictKind::Working,
    ];
    let names = [
        "parcel_trail",
        "peeked_carts",
        "hot_lanes",
        "brief_seen",
        "slow_fares",
        "new_rings",
        "gate_turns",
    ];
    (0..count)
        .map(|n| {
            let at = n as usize % kinds.len();
            let scale = 1.0 / f64::from(n + 1);
            let mut row = row(names.get(at).copied().unwrap_or("x"));
            if n as usize >= kinds.len() {
                row.state = format!("{}_{n}", row.state);
            }
            row.operator =
                ["fold", "rotate", "match"].get(n as usize % 3).copied().unwrap_or("x").into();
            row.verdict = verdict(kinds.get(at).copied().unwrap_or(VerdictKind::Working));
            if row.verdict.kind == VerdictKind::NoTtl {
                row.ttl_millis = None;
                row.miss_ratio = None;
            }
            if n % 7 == 5 {
                row.growth_per_day = None;
                row.silent_since_millis = Some(NOW - 125_000);
            }
            if n == 1 {
                row.breaker = Breaker {
                    phase: Phase::ForcedOpen,
                    action: Action::Divert,
                    since_millis: NOW - 90_000,
                    until_millis: None,
                    would_trip: false,
                };
                row.firing = 1;
            }
            row.logical_bytes = (row.logical_bytes as f64 * scale) as u64;
            row.disk_bytes = (row.disk_bytes as f64 * scale) as u64;
            row.entries = (row.entries as f64 * scale) as u64;
            row
        })
        .collect()
}

fn histogram(center: u64, count: u64) -> Histogram {
    let middle = bucket_of(center) as i64;
    let buckets = (-14..=6_i64)
        .map(|d| {
            let weight = (-(d as f64) * (d as f64) / 40.0).exp();
            ((middle + d) as u16, (count as f64 * weight) as u64 + 1)
        })
        .collect();
    Histogram { buckets, sum: center * count }
}

fn card(row: &StateRow) -> BreakerCard {
    BreakerCard {
        namespace: row.namespace.clone(),
        job_name: row.job_name.clone(),
        operator: row.operator.clone(),
        state: row.state.clone(),
        breaker: row.breaker.clone(),
        policy: Policy { writes_per_second_max: Some(20_000.0), ..Policy::default() },
        offered_per_second: 12_412.0,
        conservation: Conservation {
            arrived: 1_300_412,
            applied: 1_214_000,
            spilled: 86_000,
            late: 402,
            dead_lettered: 10,
            replayed: 4_000,
            discarded: 0,
            pending: 82_000,
            pending_bytes: 91_000_000,
            oldest_pending_millis: Some(1_386_000_000_000),
            diverted_keys: 812,
        },
        stops_states: vec!["hot_lanes".into(), "brief_seen".into()],
        stops_outputs: vec!["report".into()],
        commands: vec![CommandView {
            version: 3,
            order: "trip".into(),
            actor: "start token".into(),
            reason: "writes must stop until the fix is out".into(),
            requested_millis: NOW - 91_000,
            progress: CommandProgress {
                version: 3,
                phase: CommandPhase::Done,
                shards_applied: 2,
                shards: 2,
                detail: String::new(),
                wall_millis: NOW - 90_000,
            },
        }],
        silent_since_millis: None,
    }
}

fn rule() -> Rule {
    Rule {
        id: 4,
        name: "parcel trail too large".into(),
        job: "default/made_up".into(),
        operator: String::new(),
        state: "parcel_trail".into(),
        subject: Subject::LogicalBytes,
        above: 4e9,
        traffic_per_second_min: 0.0,
        for_millis: 60_000,
        keep_firing_millis: 0,
        severity: "critical".into(),
        enabled: true,
    }
}

fn alert() -> AlertRow {
    AlertRow {
        rule: rule(),
        of: "default/made_up/fold/parcel_trail".into(),
        instance: Instance {
            phase: AlertPhase::Firing,
            active_millis: NOW - 400_000,
            fired_millis: Some(NOW - 340_000),
            value: 4.7e9,
            ..Instance::default()
        },
    }
}

fn events() -> Vec<Annotation> {
    let event = |ago: i64, kind: &str, text: &str| Annotation {
        wall_millis: NOW - ago,
        kind: kind.into(),
        text: text.into(),
    };
    vec![
        event(90_000, "command", "breaker tripped by hand: writes must stop until the fix is out"),
        event(700_000, "checkpoint", "checkpoint 41 done, 12 MB new"),
        event(2_400_000, "started", "run 0192 started, build 4f2a"),
    ]
}

fn job() -> JobRow {
    JobRow {
        namespace: "default".into(),
        job_name: "made_up".into(),
        run: "01920000-0000-7000-8000-000000000000".into(),
        started_millis: NOW - 2_400_000,
        parallelism: 2,
        states: 7,
        logical_bytes: 9_112_345_678,
        epoch: 24_112,
        commit_p99_micros: Some(12_400),
        checkpoint_millis: Some(NOW - 700_000),
        changelog_bytes: 123_456_789,
        folder_bytes: 8_123_456_789,
        replay_factor: 288.0,
        sources: vec![SourceSample {
            source: "parcels".into(),
            records: 1_300_412,
            rejected: 12,
            watermark_millis: Some(1_386_000_000_000),
            position: "parcels-07.csv:123456".into(),
            ..SourceSample::default()
        }],
        operators: Vec::new(),
        clock_offset_millis: 3,
        build_id: "4f2a90cc17be".into(),
        silent_since_millis: None,
        ended: None,
    }
}

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn graph(states: u32) -> LineageGraph {
    let node = |uid: &str, kind, detail: &str| NodeDeclaration {
        uid: name(uid),
        kind,
        site: "src/job.rs:12:9".into(),
        detail: detail.into(),
    };
    let edge = |from: &str, to: &str, exchange| EdgeDeclaration {
        from: name(from),
        to: name(to),
        exchange,
    };
    LineageGraph {
        namespace: "default".into(),
        job_name: "made_up".into(),
        nodes: vec![
            node("parcels", NodeKind::Source, "parcels.csv, replayed ×288"),
            node("fold", NodeKind::Operator, "per parcel"),
            node("rotate", NodeKind::Operator, "per lane"),
            node("match", NodeKind::Operator, "per gate"),
            node("report", NodeKind::Sink, "report.csv"),
        ],
        edges: vec![
            edge("parcels", "fold", true),
            edge("parcels", "rotate", true),
            edge("fold", "match", true),
            edge("rotate", "match", false),
            edge("match", "report", false),
        ],
        edge_rates: vec![Some(12_400.0), Some(12_400.0), Some(800.0), None, Some(2.5)],
        states: rows(states.min(7)),
    }
}

/// A value as the API writes it.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap()
}

impl Sample {
    fn overview(&self) -> Overview {
        if self.states == 0 {
            return (Overview { at_millis: NOW, ..Overview::default() });
        }
        let rows = rows(self.states);
        let attention: Vec<StateRow> = rows
            .iter()
            .filter(|row| row.verdict.kind.needs_attention())
            .take(10)
            .cloned()
            .collect();
        (Overview {
            logical_bytes: 44_212_345_678,
            disk_bytes: 29_212_345_678,
            debt_bytes: 1_312_345_678,
            growth_per_day: Some(0.031),
            states: u64::from(self.states),
            attention_total: attention.len() as u64,
            attention,
            firing: vec![alert()],
            breakers: rows.get(1).map(card).into_iter().collect(),
            jobs: vec![job()],
            changes: events(),
            at_millis: NOW,
        })
    }

    fn states(&self, query: StatesQuery) -> StatesPage {
        let limit = query.limit.unwrap_or(100);
        (StatesPage {
            states: rows(self.states.min(limit)),
            total: u64::from(self.states),
            next: (self.states > limit).then(|| "next".to_owned()),
            at_millis: NOW,
        })
    }

    /// Name of its first state.
    pub(crate) fn first_name(&self) -> String {
        rows(self.states).into_iter().next().unwrap().state
    }

    pub(crate) fn state(&self, of: [String; 4]) -> Option<StateDetail> {
        let [_, _, _, state] = of;
        let row = rows(self.states).into_iter().find(|row| row.state == state)?;
        let site = |site: &str, kind, count| SiteSample {
            site: site.into(),
            name: None,
            kind,
            count,
            bytes: count * 120,
        };
        Some(StateDetail {
            kind: "value".into(),
            backend: "rocksdb".into(),
            clock: ClockKind::EventTime,
            update_type: UpdateType::OnReadAndWrite,
            visibility: Visibility::NeverReturnExpired,
            ttl_set_by: None,
            site: "src/job.rs:31:14".into(),
            flow: StateFlow {
                created: 91_210,
                removed_read: 80,
                removed_sweep: 32,
                refreshes: 32_000,
                ..StateFlow::default()
            },
            stock: StateStock {
                entries: row.entries,
                logical_bytes: row.logical_bytes,
                disk_bytes: row.disk_bytes,
                resident_bytes: 4 << 20,
                expired_entries: 1_200,
                hidden_entries: 0,
                hidden_bytes: 0,
                expired_bytes: 4_700_000,
                error_entries: 12,
                unreclaimed_bytes: 90_000_000,
                oldest_age_millis: row.oldest_age_millis,
                clock_millis: Some(1_386_000_000_000),
                ttl_millis: row.ttl_millis,
                bucket_millis: 1_800_000,
            },
            age_at_read: histogram(3_600_000, 9_000),
            age_at_drop: histogram(131_000_000, 112),
            age_resident: histogram(60_000_000, 41_000),
            sweep_micros: histogram(900, 400),
            reclaim_micros: Histogram::default(),
            sites: vec![
                site("src/peek.rs:88:21", AccessKind::Refresh, 31_040),
                site("src/fold.rs:41:17", AccessKind::Write, 12_000),
                site("src/fold.rs:77:17", AccessKind::Write, 2_400),
                site("src/match.rs:19:30", AccessKind::Read, 960),
            ],
            build_id: "4f2a90cc17be".into(),
            commit: Some("1b2c3d4".into()),
            breaker: card(&row),
            alerts: vec![alert()],
            events: events(),
            row,
        })
    }

    fn series(&self, query: SeriesQuery) -> SeriesAnswer {
        let (to, from) = (query.to.unwrap_or(NOW), query.from.unwrap_or(NOW - 3_600_000));
        let step = ((to - from) / 240).max(1);
        let (unit, scale) = match query.figure.as_str() {
            "logical_bytes" => ("bytes", 4.7e9),
            "miss_ratio" => ("ratio", 0.21),
            "writes_per_second" => ("1/s", 12_400.0),
            _ => ("entries", 82_000.0),
        };
        let points = (0..=240)
            .filter(|n| !(100..118).contains(n))
            .map(|n| {
                let wave = f64::from(n * 7919 % 97) / 97.0;
                (
                    from + step * i64::from(n),
                    scale * (0.55 + 0.4 * f64::from(n) / 240.0 + 0.05 * wave),
                )
            })
            .collect();
        (SeriesAnswer {
            lines: vec![SeriesLine { label: String::new(), points }],
            unit: unit.into(),
            from,
            to,
            step_millis: step,
        })
    }

    fn jobs(&self) -> Vec<JobRow> {
        (if self.states == 0 { Vec::new() } else { vec![job()] })
    }

    fn alerts(&self) -> AlertsPage {
        if self.states == 0 {
            return (AlertsPage::default());
        }
        (AlertsPage {
            active: vec![alert()],
            rules: vec![
                rule(),
                Rule {
                    id: 5,
                    name: "misses".into(),
                    job: String::new(),
                    state: String::new(),
                    subject: Subject::MissRatio,
                    above: 0.2,
                    severity: "warning".into(),
                    traffic_per_second_min: 5.0,
                    enabled: false,
                    ..rule()
                },
            ],
            history: vec![AlertTransition {
                wall_millis: NOW - 340_000,
                rule: "parcel trail too large".into(),
                of: "default/made_up/fold/parcel_trail".into(),
                phase: AlertPhase::Firing,
                value: 4.1e9,
            }],
        })
    }

    fn breakers(&self) -> Vec<BreakerCard> {
        (rows(self.states).get(1).map(card).into_iter().collect())
    }

    fn audit(&self) -> AuditPage {
        let row = AuditRow {
            id: 9,
            wall_millis: NOW - 91_000,
            actor: "start token".into(),
            stage: "intent".into(),
            action: "breaker.trip".into(),
            of: "default/made_up/rotate/peeked_carts".into(),
            detail: "writes must stop until the fix is out".into(),
        };
        (AuditPage { rows: if self.states == 0 { Vec::new() } else { vec![row] }, next: None })
    }
}

impl Backend for Sample {
    fn now_millis(&self) -> i64 {
        NOW
    }

    fn read(&self, ask: Ask) -> Fetched<String> {
        let text = match ask {
            Ask::Overview => json(&self.overview()),
            Ask::States(query) => json(&self.states(query)),
            Ask::State(of) => match self.state(of.clone()) {
                Some(detail) => json(&detail),
                None => {
                    let detail = format!("there is no state {of:?}");
                    let problem = Problem::new(ProblemKind::NotFound, detail);
                    return Box::pin(std::future::ready(Err(problem)));
                }
            },
            Ask::Panel(of, query) => match self.state(of) {
                Some(detail) => crate::panel::sample(detail, &query),
                None => String::new(),
            },
            Ask::Series(query) | Ask::Over(query, _) => json(&self.series(query)),
            Ask::Lineage(..) => json(&graph(self.states)),
            Ask::Jobs => json(&self.jobs()),
            Ask::Alerts => json(&self.alerts()),
            Ask::Presets => json(&vec![rule()]),
            Ask::Breakers => json(&self.breakers()),
            Ask::Audit => json(&self.audit()),
        };
        Box::pin(std::future::ready(Ok(text)))
    }

    fn act(&self, _: Act) -> Fetched<String> {
        let problem = Problem::new(ProblemKind::NotAvailable, "a sample cannot act");
        Box::pin(std::future::ready(Err(problem)))
    }
}
