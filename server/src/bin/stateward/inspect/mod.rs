//! `stateward inspect DIR`: what a job left on disk, read without the job.
//!
//! Standard output gets the report and nothing else; standard error the progress, on a terminal
//! only, and why the exit code is not 0.

mod args;
mod text;

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::Args;
use stateward_engine::inspect::{InspectOptions, Inspection, StateInspection, analyse};

use crate::{Failure, Output};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A job's folder, a checkpoint, a savepoint (a file of Stateward's, a folder of Flink's), or a
    /// RocksDB folder; Stateward's or Flink's. It is only read.
    dir: PathBuf,
    /// Instant that ages and expiry go by, ms since the epoch [default: the newest time in the
    /// folder, or the checkpoint's clock].
    #[arg(long, value_name = "MS", allow_negative_numbers = true)]
    now: Option<i64>,
    /// TTL to judge by: `30m` for all states, `STATE=30m` for one (or OPERATOR/STATE); may be
    /// repeated. A number with ms, s, m, h or d.
    #[arg(long = "ttl", value_name = "[STATE=]TTL")]
    ttls: Vec<String>,
    /// How to print.
    #[arg(long, value_enum, default_value_t = Output::Table)]
    output: Output,
    /// Short for `--output json`.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let (text, outcome) = answer(arguments)?;
    std::io::stdout().write_all(text.as_bytes()).map_err(Failure::unable)?;
    outcome
}

/// The report, and whether it is a good one.
fn answer(arguments: &Arguments) -> Result<(String, Result<(), Failure>), Failure> {
    let options = args::options(arguments.now, &arguments.ttls).map_err(Failure::usage)?;
    let mut bar = Bar::new();
    let found = analyse(&arguments.dir, &options, &mut |done, total| bar.tell(done, total));
    bar.end();
    let found = found.map_err(Failure::unable)?;
    let text = if arguments.json || arguments.output == Output::Json {
        let mut text = serde_json::to_string_pretty(&found).map_err(Failure::unable)?;
        text.push('\n');
        text
    } else {
        text::report(&found)
    };
    Ok((text, outcome(&found, &options)))
}

/// Whether the answer is good: everything was read, every state that a TTL was named for has it
/// working as far as a folder tells.
fn outcome(found: &Inspection, options: &InspectOptions) -> Result<(), Failure> {
    if !found.is_whole() {
        return Err(Failure::unable(format!(
            "{} things could not be read, so the figures are not complete; they are listed above",
            found.unread.len()
        )));
    }
    let is_judged = |state: &StateInspection| {
        let is_meant = |(name, _): &(String, i64)| {
            let operator = state.operator.as_deref().unwrap_or_default();
            *name == state.state || *name == format!("{operator}/{}", state.state)
        };
        options.ttl_millis_of.iter().any(is_meant) || state.ttl_millis.is_some()
    };
    let bad = found.states.iter().filter(|state| {
        is_judged(state) && state.figures.live_keys > 0 && state.verdict.kind.needs_attention()
    });
    let bad: Vec<_> = bad.map(|state| state.state.as_str()).collect();
    if bad.is_empty() {
        return Ok(());
    }
    Err(Failure::no(format!("the TTL of {} does not work; see the verdicts above", bad.join(", "))))
}

/// A progress bar on standard error; silent where that is no terminal.
struct Bar {
    is_shown: bool,
    last: Option<u64>,
}

/// Characters of a full bar.
const BAR_WIDTH: u64 = 40;

impl Bar {
    fn new() -> Self {
        Self { is_shown: std::io::stderr().is_terminal(), last: None }
    }

    fn tell(&mut self, done: u64, total: u64) {
        let percent = (done.saturating_mul(100)).checked_div(total).unwrap_or(100);
        if !self.is_shown || self.last == Some(percent) {
            return;
        }
        self.last = Some(percent);
        let full = (percent * BAR_WIDTH / 100) as usize;
        let rest = BAR_WIDTH as usize - full;
        // a terminal that is gone needs no progress
        drop(write!(std::io::stderr(), "\r[{}{}] {percent} %", "#".repeat(full), ".".repeat(rest)));
    }

    fn end(&mut self) {
        if self.last.take().is_some() {
            let width = BAR_WIDTH as usize + 10;
            drop(write!(std::io::stderr(), "\r{}\r", " ".repeat(width)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(dir: &std::path::Path, ttls: &[&str]) -> u8 {
        let arguments = Arguments {
            dir: dir.to_path_buf(),
            now: None,
            ttls: ttls.iter().map(|ttl| (*ttl).to_owned()).collect(),
            output: Output::Table,
            json: false,
        };
        let outcome = answer(&arguments).and_then(|(_, outcome)| outcome);
        outcome.map_or_else(|failure| failure.code, |()| 0)
    }

    /// The shared recordings of a real Flink; a machine without them skips with a word, CI must
    /// have them.
    fn fixtures() -> Option<PathBuf> {
        let beside = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
        let shared = std::env::var_os("STATEWARD_SHARED").map_or(beside, PathBuf::from);
        let folder = shared.join("fixtures/flink");
        if folder.is_dir() {
            return Some(folder);
        }
        assert!(std::env::var_os("CI").is_none(), "CI needs {}", folder.display());
        drop(writeln!(std::io::stderr(), "SKIPPED: no {}", folder.display()));
        None
    }

    #[test]
    fn exit_codes_tell_good_no_usage_and_could_not_find_out() {
        let Some(dir) = fixtures() else { return };
        assert_eq!(code(&dir.join("rocksdb"), &["page-counts=30s"]), 0);
        assert_eq!(code(&dir.join("rocksdb"), &["30s"]), 0);
        assert_eq!(code(&dir.join("rocksdb"), &["seen-forever=30s"]), 1);
        assert_eq!(code(&dir.join("rocksdb"), &["seen-forever=soon"]), 2);
        assert_eq!(code(&dir.join("run1"), &[]), 3);
        // what a checkpoint refers to is not beside it
        let temp = tempfile::tempdir().unwrap();
        let metadata = dir.join("checkpoint/chk-21/_metadata");
        std::fs::copy(metadata, temp.path().join("_metadata")).unwrap();
        assert_eq!(code(temp.path(), &[]), 3);
    }
}
