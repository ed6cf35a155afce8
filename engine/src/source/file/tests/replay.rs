//! Pace, loops and held events.

use std::fs;
use std::time::Duration;

use super::*;
use crate::source::file::Replay;

#[test]
fn rows_come_at_the_pace_and_go_on_at_it_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    fs::write(&path, "ts,name\n1000000,a\n1060000,b\n1120000,c\n1180000,d\n").unwrap();
    let source = csv(&path).replay(Replay::speed(60.0));
    let clock = ManualClock::at(5_000);
    let mut reader = source.open(context(folder.path(), &clock), None).unwrap();
    assert_eq!(reader.clock_millis(), None);
    assert_eq!(values(drain(&mut reader).unwrap()), ["a"]);
    clock.advance(999);
    assert!(drain(&mut reader).unwrap().is_empty());
    assert_eq!(reader.clock_millis(), Some(1_059_940));
    clock.advance(1);
    assert_eq!(values(drain(&mut reader).unwrap()), ["b"]);
    let position = reader.position().unwrap();
    drop(reader);

    clock.advance(3_600_000);
    let mut reader = source.open(context(folder.path(), &clock), Some(&position)).unwrap();
    assert_eq!(values(drain(&mut reader).unwrap()), ["c"], "an hour of rest is no jump");
    clock.advance(1_000);
    assert_eq!(values(drain(&mut reader).unwrap()), ["d"]);
    assert_eq!(reader.clock_millis(), Some(1_180_000));
}

#[test]
fn twenty_loops_shift_the_times_and_the_clock_goes_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv.zst");
    fs::write(&path, zstd(b"ts,name\n0,a\n5,b\n")).unwrap();
    let source = csv(&path).looping(Duration::from_millis(10));
    let mut reader = open(&source, folder.path(), None);
    let mut times = Vec::new();
    for round in 0..20 {
        let mut out = Vec::new();
        while out.len() < 2 {
            assert_eq!(reader.poll(&mut out, 2).unwrap(), Poll::Ready);
        }
        assert_eq!(reader.clock_millis(), Some(round * 10 + 5));
        times.extend(out.into_iter().map(|event| event.ts));
        let position = reader.position().unwrap();
        reader = open(&source, folder.path(), Some(&position));
        assert_eq!(reader.loops(), round as u64);
        assert_eq!(reader.position().unwrap(), position);
    }
    let expected = (0..20).flat_map(|round| [round * 10, round * 10 + 5]).collect::<Vec<_>>();
    assert_eq!(times, expected);
    assert_eq!(reader.position_text(), "rows.csv.zst row 2, loop 20");
}

#[test]
fn held_events_come_when_later_rows_do_and_at_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    fs::write(&path, "ts,name\n0,a\n3,b\n10,c\n").unwrap();
    let source = FileSource::csv(&path, |row: Row| {
        let late = Timed { value: format!("{}!", row.name), ts: row.ts + 100 };
        [Timed { value: row.name, ts: row.ts }, late]
    })
    .hold_back(Duration::from_millis(5), |value| value.ends_with('!'));
    let mut reader = open(&source, folder.path(), None);
    assert_eq!(values(drain(&mut reader).unwrap()), ["a", "b", "a!", "b!", "c", "c!"]);
}
