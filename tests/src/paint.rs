//! The bench `page`: how soon a person sees the ranking of a thousand states.
//!
//! A made-up job reports to the real server, built for speed and started beside the bench; a real
//! browser with an empty cache opens the ranking and says itself when it painted first.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use serde_json::json;
use stateward_model::breaker::Policy;
use stateward_model::wire::{
    Hello, HelloReply, JobSample, NodeDeclaration, NodeKind, PROTOCOL, Report, ReportReply,
    StateDeclaration, StateSample,
};
use stateward_model::{ClockKind, Name, UpdateType, Visibility};

use crate::browser::Browser;
use crate::serve::{Door, Serve, frame};

/// States in the ranking.
const STATES: u64 = 1_000;
/// Rows that the page of it has.
const ROWS: usize = 100;
/// Reports, a second apart: enough for rates and growth.
const REPORTS: u64 = 120;
const RUN: &str = "paint";
const OPERATOR: &str = "keep";

/// Measures and prints `ranking_paint`.
///
/// # Errors
/// Where the server or a browser is missing, or the page does not show the ranking.
pub fn ranking_paint(runs: usize, as_json: bool) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut millis = runtime.block_on(measure(runs))?;
    millis.sort_by(f64::total_cmp);
    let [min, .., max] = millis.as_slice() else { anyhow::bail!("two runs or more: {millis:?}") };
    let median = millis.get(millis.len() / 2).copied().unwrap_or_default();
    let must = must()?;
    if as_json {
        let line = json!({
            "bench": "page", "case": "ranking_paint", "value": median, "unit": "ms",
            "higher_is_better": false, "must": must, "aim": null, "runs": millis.len(),
            "min": min, "max": max, "against": null,
        });
        println!("{line}");
    } else {
        println!("page  ranking_paint    {median:.0} ms ({min:.0} to {max:.0}); must {must:.0}");
    }
    Ok(())
}

async fn measure(runs: usize) -> Result<Vec<f64>> {
    let folder = tempfile::tempdir()?;
    let server = Serve::start(folder.path())?;
    let door = server.door();
    fill(&door)?;
    let mut millis = Vec::new();
    for _ in 0..runs {
        // a new profile: nothing of the site is cached
        let browser = Browser::start().await?;
        browser.open(&door.entrance()).await?;
        browser.devtools("Network.clearBrowserCache", json!({})).await?;
        browser.open(&door.page("/states")).await?;
        let rows = browser.find_all(".ranking tbody tr").await?.len();
        ensure!(rows == ROWS, "the ranking has {rows} rows");
        let painted = browser.until("the ranking is painted", async || {
            let script =
                "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime";
            Ok(browser.client().execute(script, Vec::new()).await?.as_f64())
        });
        millis.push(painted.await?);
    }
    Ok(millis)
}

/// Reports a thousand states.
#[expect(clippy::disallowed_methods, reason = "a bench reads a clock")]
fn fill(door: &Door) -> Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as i64;
    let started_millis = now - REPORTS as i64 * 1_000;
    let HelloReply { .. } =
        door.post("/api/v1/agent/hello", &frame(&hello(started_millis)?)?)?.json()?;
    for seq in 1..=REPORTS {
        let wall_millis = started_millis + seq as i64 * 1_000;
        let ReportReply { .. } =
            door.post("/api/v1/agent/report", &frame(&report(seq, wall_millis))?)?.json()?;
    }
    Ok(())
}

fn state_name(n: u64) -> String {
    format!("state-{n:04}")
}

fn hello(started_millis: i64) -> Result<Hello> {
    let state = |n| -> Result<StateDeclaration> {
        Ok(StateDeclaration {
            operator: Name::new(OPERATOR)?,
            state: Name::new(state_name(n))?,
            kind: "value".to_owned(),
            backend: "rocksdb".to_owned(),
            ttl_millis: Some(60_000),
            update_type: UpdateType::default(),
            visibility: Visibility::default(),
            clock: ClockKind::EventTime,
            breaker: Policy::default(),
            site: format!("job.rs:{n}:1"),
        })
    };
    Ok(Hello {
        protocol: PROTOCOL,
        run: RUN.to_owned(),
        namespace: Name::new("bench")?,
        job_name: Name::new("thousand")?,
        build_id: "bench".to_owned(),
        commit: None,
        engine_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_millis,
        wall_millis: started_millis,
        parallelism: 2,
        key_groups: 128,
        replay_factor: 1.0,
        nodes: vec![NodeDeclaration {
            uid: Name::new(OPERATOR)?,
            kind: NodeKind::Operator,
            site: "job.rs:1:1".to_owned(),
            detail: String::new(),
        }],
        edges: Vec::new(),
        states: (1..=STATES).map(state).collect::<Result<_>>()?,
    })
}

/// The `seq`th report: states that grow at different paces, so that no two rows are alike.
fn report(seq: u64, wall_millis: i64) -> Report {
    let state = |n: u64| {
        let mut state = StateSample {
            operator: OPERATOR.to_owned(),
            state: state_name(n),
            ..StateSample::default()
        };
        state.flow.writes = seq * (10 + n % 97);
        state.flow.reads = seq * 20;
        state.flow.misses_present = seq * (n % 7);
        state.stock.entries = seq * n;
        state.stock.logical_bytes = 50_000 * n + seq * n * 40;
        state.stock.disk_bytes = state.stock.logical_bytes * 2;
        state.stock.clock_millis = Some(wall_millis);
        state
    };
    Report {
        protocol: PROTOCOL,
        run: RUN.to_owned(),
        seq,
        wall_millis,
        job: JobSample { replay_factor: 1.0, ..JobSample::default() },
        operators: Vec::new(),
        states: (1..=STATES).map(state).collect(),
        events: Vec::new(),
        commands: Vec::new(),
    }
}

/// The bound that the one table has.
fn must() -> Result<f64> {
    let table = include_str!("../../docs/performance.md");
    let cells = |line: &str| -> Vec<String> {
        line.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let row = table.lines().map(cells).find(|row| row.get(2).is_some_and(|c| c == "ranking_paint"));
    let row = row.context("docs/performance.md has no case ranking_paint")?;
    row.get(5).and_then(|must| must.parse().ok()).context("ranking_paint has no must")
}
