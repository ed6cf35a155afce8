//! Stories in a real browser, against the real program and its demo job.

mod story;
mod ttl;
mod reading;

use anyhow::{Result, ensure};
use stateward_tests::browser::Browser;
use stateward_tests::serve::Serve;
use tempfile::TempDir;

/// The state of the demo that has no TTL.
const TTL_LESS: &str = "/states/demo/flight-ops/leg_log/seen";
/// The file of its writer, as pages name it.
const WRITER: &str = "jobs/src/flight_ops/leg_log.rs";
/// That file.
const WRITER_SOURCE: &str = include_str!("../../../engine/jobs/src/flight_ops/leg_log.rs");

/// The demo with an event-time day in a second.
fn demo() -> Result<(Serve, TempDir)> {
    let folder = tempfile::tempdir()?;
    let demo = Serve::demo(folder.path(), &["--speed", "86400"])?;
    Ok((demo, folder))
}

/// Where the TTL-less state is written: `file:line`.
fn writer() -> String {
    let at = WRITER_SOURCE.lines().position(|line| line.contains("seen.put("));
    format!("{WRITER}:{}", at.map_or(0, |index| index + 1))
}

/// Fails where the console said anything since the last look.
async fn quiet(browser: &Browser, page: &str) -> Result<()> {
    let complaints = browser.console_complaints().await?;
    ensure!(complaints.is_empty(), "the console of {page} says {complaints:#?}");
    Ok(())
}
