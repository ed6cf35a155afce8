//! Flight operations: the year 2013 of New York's airports, replayed.
//!
//! ```text
//! flights ─┬─ by aircraft ─▶ aircraft ── by leg ─▶ leg_log ─┬─ by route ─▶ routes ─▶ results/routes
//!          │                                               └─▶ results/legs
//!          └─ by origin ───▶ airports ─▶ results/airports
//!                               └ late ─▶ results/late
//! ```
//!
//! Each state has something to show:
//!
//! | state | TTL | what to see |
//! |---|---|---|
//! | `aircraft/last_leg`, `aircraft/rotation` | 36 h | a TTL that works |
//! | `airports/departures_due` (map) | 6 h | misses: flights that leave more than 2 h late |
//! | `airports/day` | 48 h | few keys, many writes |
//! | `leg_log/seen` | none | grows with every leg flown |
//! | `routes/delays` | 30 d | a long TTL |
//! | `routes/alerted` | 24 h, refreshed by reads | a bug: a look keeps the entry alive |

mod event;
mod data;
mod disk_cap;
mod aircraft;
mod airport;
mod leg_log;
mod route;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::time::Duration;

use stateward_engine::{Error, FileSink, FileSource, Job, JobBuilder, Replay, Source, Watermarks};

use self::disk_cap::DiskCapped;
use self::event::{ANNOUNCED_BEFORE_MILLIS, FlightEvent, FlightRow, Kind};
use crate::JobSpec;
use crate::request::{JobRequest, Setting};

/// An event-time day in about four seconds.
const SPEED: f64 = 21_600.0;
/// The year of the data is 364.8 days long.
const LOOP_SHIFT: Duration = Duration::from_hours(365 * 24);
/// Behind the newest event. The real disorder goes up to 33 h (a departure 21.8 h late, and its
/// arrival): 1.8 % of the events come behind the watermark, and 754 announcements a year so late
/// that their entry on the board has expired.
const OUT_OF_ORDERNESS: Duration = Duration::from_hours(12);
/// Arrivals are reported up to 32.7 h before the replay reaches their time.
const FUTURE_SKEW_MAX: Duration = Duration::from_hours(48);
const DISK_CAP_BYTES: u64 = 2 << 30;
const RESULT_FILE_BYTES: u64 = 16 << 20;
const RESULT_FILES_MAX: usize = 4;

pub(crate) const SPEC: JobSpec = JobSpec {
    name: "flight-ops",
    about: "flight operations of New York's airports in 2013, replayed round and round",
    takes: &[
        Setting {
            name: "speed",
            default: "21600",
            about: "event seconds in a second, or max for as fast as possible",
        },
        Setting { name: "looping", default: "true", about: "begin anew at the end, a year later" },
        Setting { name: "parallelism", default: "2", about: "number of shards" },
        Setting {
            name: "disk_cap_mib",
            default: "2048",
            about: "stop reading when the job's folder holds so many MiB; 0 for no cap",
        },
    ],
    needs_input: false,
    build: from_request,
};

/// How the demo runs.
#[derive(Clone, Debug)]
pub struct FlightOptions {
    /// Where the flights are unpacked to (`input/flights.csv.zst`).
    pub data_dir: PathBuf,
    /// Event seconds in a second; `None`: as fast as possible. Default 21,600: a day in 4 s.
    pub speed: Option<f64>,
    /// Whether the year begins anew at its end, with all times a year later. Default yes.
    pub is_looping: bool,
    /// Number of shards. Default 2.
    pub parallelism: usize,
    /// The job stops reading when its folder holds so many bytes. Default 2 GiB.
    pub disk_cap_bytes: Option<u64>,
}

impl FlightOptions {
    /// The defaults, with the flights in a folder.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            speed: Some(SPEED),
            is_looping: true,
            parallelism: 2,
            disk_cap_bytes: Some(DISK_CAP_BYTES),
        }
    }
}

fn from_request(request: &JobRequest) -> Result<Job, Error> {
    let mut options = FlightOptions::new(&request.data_dir);
    if request.settings.get("speed").is_some_and(|speed| speed == "max") {
        options.speed = None;
    } else if let Some(speed) = request.get("speed", "a number above 0, or max")? {
        options.speed = Some(speed);
    }
    if let Some(is_looping) = request.get("looping", "true or false")? {
        options.is_looping = is_looping;
    }
    if let Some(parallelism) = request.get("parallelism", "a number of shards")? {
        options.parallelism = parallelism;
    }
    if let Some(mib) = request.get::<u64>("disk_cap_mib", "a number of MiB")? {
        options.disk_cap_bytes = (mib > 0).then(|| mib.saturating_mul(1 << 20));
    }
    flight_ops(&options)
}

/// Builds the demo job.
///
/// # Errors
/// Where the flights cannot be unpacked, or an option is out of range.
pub fn flight_ops(options: &FlightOptions) -> Result<Job, Error> {
    let path = data::unpack(&options.data_dir)?;
    let source = DiskCapped::new(source(&path, options), options.disk_cap_bytes);
    assemble(source, options.parallelism)
}

fn source(path: &Path, options: &FlightOptions) -> FileSource<FlightEvent> {
    let announced = Duration::from_millis(ANNOUNCED_BEFORE_MILLIS.unsigned_abs());
    let source = FileSource::csv(path, FlightRow::events)
        .deny_unknown_columns()
        .hold_back(announced, |event: &FlightEvent| event.kind != Kind::Planned)
        .replay(options.speed.map_or_else(Replay::as_fast_as_possible, Replay::speed));
    if options.is_looping { source.looping(LOOP_SHIFT) } else { source }
}

fn assemble(source: impl Source<FlightEvent>, parallelism: usize) -> Result<Job, Error> {
    let mut job = JobBuilder::new(SPEC.name).namespace("demo").parallelism(parallelism);
    let flights = job.source(
        "flights",
        source,
        Watermarks::bounded_out_of_orderness(OUT_OF_ORDERNESS).max_future_skew(FUTURE_SKEW_MAX),
    );
    let results = |name: &str| {
        FileSink::ndjson(format!("results/{name}"))
            .roll_bytes(RESULT_FILE_BYTES)
            .files_max(RESULT_FILES_MAX)
    };

    let legs = flights
        .filter("with_aircraft", |event| !event.tailnum.is_empty() && event.kind != Kind::Planned)
        .key_by(|event: &FlightEvent| event.tailnum.as_str())
        .process("aircraft", aircraft::open);
    let legs = legs.key_by(|leg: &event::Leg| leg.id.as_str()).process("leg_log", leg_log::open);
    legs.sink("legs", results("legs"));
    legs.key_by_owned(|leg| (leg.origin.clone(), leg.dest.clone()))
        .process("routes", route::open)
        .sink("route_reports", results("routes"));
    let (reports, late) = flights
        .key_by(|event: &FlightEvent| event.origin.as_str())
        .process_with_late("airports", airport::open);
    reports.sink("airport_reports", results("airports"));
    late.sink("late", results("late"));
    job.build()
}
