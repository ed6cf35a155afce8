//! Login risk: who guesses passwords, who got in after guessing, and how long sessions last; from
//! OpenSSH's own log lines or a table of sessions.
//!
//! ```text
//! logins ─ by address ─┬─▶ guard ─▶ results/risks       (blocked addresses, accepted after failures)
//!                      └─▶ sessions ─▶ results/sessions
//! ```
//!
//! | state | TTL | what it holds |
//! |---|---|---|
//! | `guard/failures` | twice the window | the failures that a window could still need |
//! | `guard/blocked` | the block, 1 h | that the address is blocked |
//! | `sessions/open` (map) | 24 h | sessions that have begun, by the client's port |

mod stamp;
mod line;
mod table;
mod event;
mod guard;
mod session;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use stateward_engine::{Error, FileSink, FileSource, Job, JobBuilder, LostPosition, Watermarks};

pub use self::stamp::Stamps;

use self::event::Login;
use crate::JobSpec;
use crate::request::{JobRequest, Setting};

/// Log lines are in order but for a few processes that write at once.
const OUT_OF_ORDERNESS: Duration = Duration::from_secs(10);
const FUTURE_SKEW_MAX: Duration = Duration::from_hours(1);

pub(crate) const SPEC: JobSpec = JobSpec {
    name: "login-risk",
    about: "password guessing, sessions and blocked addresses from OpenSSH's log or a session table",
    takes: &[
        Setting {
            name: "stamps",
            default: "iso; syslog when year and zone are set",
            about: "iso (2026-11-30T19:55:01+01:00) or syslog (Nov 30 19:55:01, needs year and zone)",
        },
        Setting {
            name: "year",
            default: "none",
            about: "year of syslog stamps: 2026, or 2026-11 for the twelve months from November on",
        },
        Setting {
            name: "zone",
            default: "none",
            about: "zone of syslog stamps: a name such as Europe/Berlin, or an offset such as +01:00",
        },
        Setting { name: "follow", default: "true", about: "go on as the log grows and is rotated" },
        Setting { name: "rotated", default: "false", about: "begin with the rotated files" },
        Setting {
            name: "lost_position",
            default: "fail",
            about: "when the log was rotated away while the job was down: fail or start-over",
        },
        Setting { name: "failures", default: "3", about: "failures in a window that block" },
        Setting { name: "window_seconds", default: "60", about: "length of the window, inclusive" },
        Setting { name: "block_minutes", default: "60", about: "how long an address is blocked" },
        Setting { name: "parallelism", default: "2", about: "number of shards" },
    ],
    needs_input: true,
    build: from_request,
};

/// What the job reads and when it blocks.
#[derive(Clone, Debug)]
pub struct LoginOptions {
    /// A log, a session table (`.csv`, also `.csv.zst` or `.csv.gz`), or `-`.
    pub input: PathBuf,
    /// How the log writes its times. Default [`Stamps::Iso`].
    pub stamps: Stamps,
    /// Whether a log is followed as it grows. Default no.
    pub is_followed: bool,
    /// Whether the rotated siblings of a log are read first. Default no.
    pub with_rotated: bool,
    /// What happens when the log was rotated away while the job was down.
    pub lost_position: LostPosition,
    /// So many failures within the window block an address. Default 3.
    pub failures: u32,
    /// Length of the window, both ends inclusive. Default 60 s.
    pub window: Duration,
    /// How long an address is blocked. Default 1 h.
    pub block: Duration,
    /// Number of shards. Default 2.
    pub parallelism: usize,
}

impl LoginOptions {
    /// The defaults for an input.
    pub fn new(input: impl Into<PathBuf>) -> Self {
        Self {
            input: input.into(),
            stamps: Stamps::Iso,
            is_followed: false,
            with_rotated: false,
            lost_position: LostPosition::Fail,
            failures: 3,
            window: Duration::from_mins(1),
            block: Duration::from_hours(1),
            parallelism: 2,
        }
    }

    fn is_table(&self) -> bool {
        let name = self.input.to_string_lossy();
        [".csv", ".csv.zst", ".csv.gz"].iter().any(|suffix| name.ends_with(suffix))
    }

    fn is_pipe(&self) -> bool {
        self.input == Path::new("-")
    }
}

fn from_request(request: &JobRequest) -> Result<Job, Error> {
    let mut options = LoginOptions::new(request.input.clone().unwrap_or_default());
    options.is_followed = !options.is_table() && !options.is_pipe();
    if let Some(follow) = request.get("follow", "true or false")? {
        options.is_followed = follow;
    }
    if let Some(rotated) = request.get("rotated", "true or false")? {
        options.with_rotated = rotated;
    }
    options.lost_position = match request.settings.get("lost_position").map(String::as_str) {
        None | Some("fail") => LostPosition::Fail,
        Some("start-over") => LostPosition::StartOver,
        Some(other) => {
            return Err(Error::Declaration(format!(
                "setting lost_position={other}: expected fail or start-over"
            )));
        }
    };
    if let Some(failures) = request.get("failures", "a number above 0")? {
        options.failures = failures;
    }
    if let Some(seconds) = request.get("window_seconds", "a number of seconds")? {
        options.window = Duration::from_secs(seconds);
    }
    if let Some(minutes) = request.get::<u64>("block_minutes", "a number of minutes")? {
        options.block = Duration::from_secs(minutes.saturating_mul(60));
    }
    if let Some(parallelism) = request.get("parallelism", "a number of shards")? {
        options.parallelism = parallelism;
    }
    let setting = |name| request.settings.get(name).map(String::as_str);
    if !options.is_table() {
        let (stamps, year, zone) = (setting("stamps"), setting("year"), setting("zone"));
        options.stamps = Stamps::from_settings(stamps, year, zone, options.is_pipe())?;
    }
    login_risk(&options)
}

/// Builds the job.
///
/// # Errors
/// Where an option is out of range, or the log's first line has a stamp of the other kind.
pub fn login_risk(options: &LoginOptions) -> Result<Job, Error> {
    if options.failures == 0 || options.window.is_zero() || options.block.is_zero() {
        return Err(Error::Declaration(
            "login-risk: failures, window and block must be above 0".to_owned(),
        ));
    }
    let watermarks =
        Watermarks::bounded_out_of_orderness(OUT_OF_ORDERNESS).max_future_skew(FUTURE_SKEW_MAX);
    let mut job = JobBuilder::new(SPEC.name).parallelism(options.parallelism);
    let logins = job.source("logins", source(options)?, watermarks);

    let rules = guard::Rules::new(options);
    logins
        .key_by(|login: &Login| login.address.as_str())
        .process("guard", move |open| guard::open(open, rules))
        .sink("risks", FileSink::ndjson("results/risks"));
    logins
        .key_by(|login: &Login| login.address.as_str())
        .process("sessions", session::open)
        .sink("session_log", FileSink::ndjson("results/sessions"));
    job.build()
}

fn source(options: &LoginOptions) -> Result<FileSource<Login>, Error> {
    if options.is_table() {
        return Ok(FileSource::csv(&options.input, table::SessionRow::logins));
    }
    options.stamps.check_first_line(&options.input)?;
    let stamps = options.stamps.clone();
    let mut source = FileSource::lines(&options.input, move |text| line::parse(text, &stamps))
        .on_lost_position(options.lost_position);
    if options.with_rotated {
        source = source.rotated();
    }
    if options.is_followed {
        source = source.follow();
    }
    Ok(source)
}
