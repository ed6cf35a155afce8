//! The events of a flight, and the job over the whole year.

use std::fs;
use std::path::{Path, PathBuf};

use stateward_engine::{Poll, RunOptions, Source, SourceContext, SourceReader, Timed};

use super::event::{FlightEvent, FlightRow, Kind, Leg};
use super::*;

fn results(folder: &Path, name: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder.join("jobs/flight-ops/results")).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap().to_str().unwrap().starts_with(&format!("{name}-")) {
            lines.extend(fs::read_to_string(&path).unwrap().lines().map(str::to_owned));
        }
    }
    lines
}

fn events(row: &str) -> Vec<(Kind, i64, String)> {
    let row = serde_json::from_str::<FlightRow>(row).unwrap();
    let told =
        |event: Timed<FlightEvent>| (event.value.kind, event.ts, event.value.leg_id(event.ts));
    row.events().map(told).collect()
}

#[test]
fn a_flight_is_planned_departs_and_arrives() {
    let row = r#"{"sched_dep_ms":1357035300000,"dep_delay_min":2,"sched_block_min":244,
        "arr_delay_min":11,"carrier":"UA","flight":1545,"tailnum":"N14228","origin":"EWR",
        "dest":"IAH","distance_mi":1400}"#;
    let id = || "UA1545/20130101T1015".to_owned();
    assert_eq!(
        events(row),
        [
            (Kind::Planned, 1_357_020_900_000, id()),
            (Kind::Departed, 1_357_035_420_000, id()),
            (Kind::Arrived, 1_357_050_600_000, id()),
        ]
    );
    let row = row.replace(r#""dep_delay_min":2"#, r#""dep_delay_min":null"#);
    let kinds = events(&row).into_iter().map(|(kind, ..)| kind).collect::<Vec<_>>();
    assert_eq!(kinds, [Kind::Planned, Kind::Cancelled]);
}

/// The first rows of the year, as a file of their own.
fn first_rows(folder: &Path, rows: usize) -> PathBuf {
    let path = data::unpack(folder).unwrap();
    let year = zstd::decode_all(fs::File::open(path).unwrap()).unwrap();
    let text = str::from_utf8(&year).unwrap();
    let some = text.lines().take(rows + 1).collect::<Vec<_>>().join("\n");
    let path = folder.join("some.csv");
    fs::write(&path, some).unwrap();
    path
}

fn run(source: impl Source<FlightEvent>, folder: &Path) {
    let job = assemble(source, 2).unwrap();
    job.start(RunOptions::new(folder)).unwrap().wait().unwrap();
}

fn legs(folder: &Path) -> Vec<Leg> {
    let lines = results(folder, "legs");
    let mut legs =
        lines.iter().map(|line| serde_json::from_str::<Leg>(line).unwrap()).collect::<Vec<_>>();
    legs.sort_by(|one, other| one.id.cmp(&other.id));
    legs
}

#[test]
fn a_month_gives_each_leg_once_and_each_report() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        FlightOptions { speed: None, is_looping: false, ..FlightOptions::new(folder.path()) };
    run(source(&first_rows(folder.path(), 27_000), &options), folder.path());
    let legs = legs(folder.path());
    let late = results(folder.path(), "late");
    assert!(late.iter().all(|line| line.contains("\"Planned\"")), "only announcements expire");
    assert!((100..600).contains(&late.len()), "{}", late.len());
    assert!(legs.windows(2).all(|pair| pair[0].id != pair[1].id), "no leg twice");
    // So many of the rows have an arrival; all of those have a tail number.
    assert_eq!(legs.len(), 26_394);
    assert!(legs.iter().any(|leg| leg.number_in_rotation > 3));
    assert!(legs.iter().any(|leg| leg.inherited_delay_min.is_some_and(|delay| delay > 60)));
    let routes = results(folder.path(), "routes");
    assert!(routes.iter().any(|line| line.contains("\"is_alert\":true")));
    let airports = results(folder.path(), "airports");
    assert!((3 * 29..=3 * 31).contains(&airports.len()), "{}", airports.len());
    assert!(airports.iter().any(|line| !line.contains("\"overdue\":0")));
}

/// Ends a source that would loop forever.
#[derive(Debug)]
struct Loops<S> {
    source: S,
    loops: u64,
}

struct LoopsReader {
    reader: Box<dyn SourceReader<FlightEvent>>,
    loops: u64,
}

impl<S: Source<FlightEvent>> Source<FlightEvent> for Loops<S> {
    fn open(
        &self,
        context: SourceContext,
        position: Option<&[u8]>,
    ) -> Result<Box<dyn SourceReader<FlightEvent>>, Error> {
        let reader = self.source.open(context, position)?;
        Ok(Box::new(LoopsReader { reader, loops: self.loops }))
    }

    fn detail(&self) -> String {
        self.source.detail()
    }
}

impl SourceReader<FlightEvent> for LoopsReader {
    fn poll(&mut self, out: &mut Vec<Timed<FlightEvent>>, max: usize) -> Result<Poll, Error> {
        if self.reader.loops() >= self.loops {
            Ok(Poll::Finished)
        } else {
            self.reader.poll(out, max)
        }
    }

    fn position(&mut self) -> Result<Vec<u8>, Error> {
        self.reader.position()
    }

    fn position_text(&self) -> String {
        self.reader.position_text()
    }

    fn clock_millis(&self) -> Option<i64> {
        self.reader.clock_millis()
    }

    fn loops(&self) -> u64 {
        self.reader.loops()
    }
}

#[test]
fn twenty_loops_reach_the_year_2032_unclamped_and_each_leg_is_new() {
    let folder = tempfile::tempdir().unwrap();
    let options = FlightOptions { speed: None, ..FlightOptions::new(folder.path()) };
    let single = source(
        &first_rows(folder.path(), 800),
        &FlightOptions { is_looping: false, ..options.clone() },
    );
    run(single, folder.path());
    let one = legs(folder.path()).len();

    let again = tempfile::tempdir().unwrap();
    let source = source(&first_rows(again.path(), 800), &options);
    run(Loops { source, loops: 20 }, again.path());
    let all = legs(again.path());
    assert_eq!(all.len(), 20 * one);
    let of_loop = |years: i64| {
        let first = 1_357_035_300_000 + years * 365 * 86_400_000;
        all.iter().filter(|leg| leg.id.contains(&event::date(first).replace('-', ""))).count()
    };
    assert!(of_loop(0) > 0);
    assert_eq!(of_loop(19), of_loop(0), "the last loop is as the first");
}
