//! The bench `page`: how soon a person sees the ranking of a thousand states.
//!
//! A made-up job reports to the real server, built for speed and started beside the bench; a real
//! browser with an empty cache opens the ranking and says itself when it painted first.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use serde_json::json;
use stateward_model::wire::{HelloReply, Report, ReportReply, StateSample};

use crate::browser::Browser;
use crate::figure::Figure;
use crate::serve::{Door, OPERATOR, Serve, frame, hello_with, report_of};

/// States in the ranking.
const STATES: u64 = 1_000;
/// Rows that the page of it has.
const ROWS: usize = 100;
/// Reports, a second apart: enough for rates and growth.
const REPORTS: u64 = 120;
const RUN: &str = "paint";

/// Measures `ranking_paint`.
///
/// # Errors
/// Where the server or a browser is missing, or the page does not show the ranking.
pub fn ranking_paint(runs: usize) -> Result<Figure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let runs = runtime.block_on(measure(runs))?;
    Ok(Figure { bench: "page", case: "ranking_paint", runs, against: None })
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
    let hello = hello_with("paint", RUN, started_millis, (1..=STATES).map(state_name))?;
    let HelloReply { .. } = door.post("/api/v1/agent/hello", &frame(&hello)?)?.json()?;
    for seq in 1..=REPORTS {
        let report = frame(&report(seq, started_millis))?;
        let ReportReply { .. } = door.post("/api/v1/agent/report", &report)?.json()?;
    }
    Ok(())
}

fn state_name(n: u64) -> String {
    format!("state-{n:04}")
}

/// The `seq`th report: states that grow at different paces, so that no two rows are alike.
fn report(seq: u64, started_millis: i64) -> Report {
    let base = report_of(RUN, seq, started_millis);
    let clock_millis = Some(base.wall_millis);
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
        state.stock.clock_millis = clock_millis;
        state
    };
    Report { states: (1..=STATES).map(state).collect(), events: Vec::new(), ..base }
}
