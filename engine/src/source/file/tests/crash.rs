//! A property: wherever the process dies, opening at the last committed position repeats nothing
//! and loses nothing, dead letters included. The oracle is computed from the rows themselves.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;

use super::*;

const HOLD_MILLIS: i64 = 7;

/// A row: its time (rows are in order) and how many events it has; `None`: cannot be read.
type Spec = Option<(i64, usize)>;

#[derive(Clone, Debug)]
enum Step {
    Poll(usize),
    Commit,
    Crash,
}

#[derive(Clone, Debug)]
struct Case {
    /// Files with their rows and the kind of compression.
    files: Vec<(Vec<Spec>, u8)>,
    holds: bool,
    loops: u64,
    steps: Vec<Step>,
}

fn case() -> impl Strategy<Value = Case> {
    let row = prop_oneof![4 => (0..5_i64, 0..4_usize).prop_map(Some), 1 => Just(None)];
    let file = (prop::collection::vec(row, 0..8), 0..3_u8);
    let step = prop_oneof![
        5 => (1..6_usize).prop_map(Step::Poll),
        2 => Just(Step::Commit),
        1 => Just(Step::Crash),
    ];
    let files = prop::collection::vec(file, 1..4);
    (files, any::<bool>(), 0..3_u64, prop::collection::vec(step, 0..60))
        .prop_map(|(files, holds, loops, steps)| Case { files, holds, loops, steps })
        .prop_map(in_order)
}

/// Makes the gaps of the rows to times.
fn in_order(mut case: Case) -> Case {
    let mut now = 0;
    for (ts, _) in case.files.iter_mut().flat_map(|(rows, _)| rows).flatten() {
        now += *ts;
        *ts = now;
    }
    case
}

const SHIFT_MILLIS: i64 = 1_000;

/// Event `index` of the row with the number: odd ones are held back.
fn event(number: usize, index: usize, ts: i64) -> Timed<String> {
    Timed { value: format!("{number}.{index}"), ts: ts + index as i64 }
}

fn is_held(value: &str) -> bool {
    value.ends_with(['1', '3'])
}

/// The first `count` events as they must come.
fn oracle(case: &Case) -> Vec<Timed<String>> {
    // (when, held first, order) sorts the parts as a reader meets them.
    let mut parts = Vec::new();
    for round in 0..=case.loops {
        let shift = round as i64 * SHIFT_MILLIS;
        let rows = case.files.iter().flat_map(|(rows, _)| rows);
        for (number, row) in rows.enumerate() {
            let Some((ts, count)) = *row else { continue };
            let events = (0..count).map(|index| event(number, index, ts + shift));
            let (held, first): (Vec<_>, Vec<_>) =
                events.partition(|event| case.holds && is_held(&event.value));
            let order = parts.len();
            parts.push(((ts + shift, 1, order), first));
            parts.push(((ts + shift + HOLD_MILLIS, 0, order), held));
        }
    }
    if case.holds {
        parts.sort_by_key(|(key, _)| *key);
    }
    parts.into_iter().flat_map(|(_, events)| events).collect()
}

fn write_files(case: &Case, folder: &Path) -> Vec<PathBuf> {
    let mut number = 0;
    let mut paths = Vec::new();
    for (index, (rows, compression)) in case.files.iter().enumerate() {
        let mut lines = Vec::new();
        for row in rows {
            lines.push(match row {
                Some((ts, count)) => format!("{number} {ts} {count}\n"),
                None => "unreadable\n".to_owned(),
            });
            number += 1;
        }
        let text = lines.concat();
        let (suffix, bytes) = match compression {
            0 => ("", text.into_bytes()),
            1 => (".gz", gzip(text.as_bytes())),
            _ => (".zst", zstd(text.as_bytes())),
        };
        let path = folder.join(format!("rows-{index}.txt{suffix}"));
        fs::write(&path, bytes).unwrap();
        paths.push(path);
    }
    paths
}

fn source(case: &Case, paths: Vec<PathBuf>) -> FileSource<String> {
    let parse = |line: &str| {
        let numbers = line.split(' ').map(str::parse::<i64>).collect::<Result<Vec<_>, _>>();
        let numbers = numbers.map_err(|error| error.to_string())?;
        let (number, ts, count) = (numbers[0] as usize, numbers[1], numbers[2] as usize);
        Ok((0..count).map(|index| event(number, index, ts)).collect::<Vec<_>>())
    };
    let mut source = FileSource::lines("unused", parse).files(paths);
    if case.holds {
        source = source
            .hold_back(Duration::from_millis(HOLD_MILLIS as u64), |value: &String| is_held(value));
    }
    if case.loops > 0 {
        source = source.looping(Duration::from_millis(SHIFT_MILLIS as u64));
    }
    source
}

fn letters(folder: &Path) -> String {
    fs::read_to_string(folder.join("job/dead-letters/rows.ndjson")).unwrap_or_default()
}

fn check(case: &Case) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let source = source(case, write_files(case, folder));
    let expected = oracle(case);
    // A loop without any event would never end.
    let loops_without_end = case.loops > 0 && expected.is_empty();
    if loops_without_end {
        return;
    }
    let mut reader = open(&source, folder, None);
    let mut out = Vec::new();
    let mut committed = (None::<Vec<u8>>, 0, String::new());
    for step in &case.steps {
        match step {
            Step::Poll(max) => {
                let before = out.len();
                reader.poll(&mut out, *max).unwrap();
                assert!(out.len() - before <= *max, "polled more than asked for");
            }
            Step::Commit => {
                committed = (Some(reader.position().unwrap()), out.len(), letters(folder));
                reader.committed();
            }
            Step::Crash => {
                out.truncate(committed.1);
                reader = open(&source, folder, committed.0.as_deref());
                assert_eq!(letters(folder), committed.2, "dead letters that were not committed");
                if let Some(position) = &committed.0 {
                    assert_eq!(&reader.position().unwrap(), position, "opening changes nothing");
                }
            }
        }
    }
    while out.len() < expected.len() && reader.poll(&mut out, 3).unwrap() == Poll::Ready {}
    let common = out.len().min(expected.len());
    if case.loops == 0 {
        assert_eq!(out, expected);
        assert_eq!(reader.poll(&mut out, 1).unwrap(), Poll::Finished);
        let rejected = case.files.iter().flat_map(|(rows, _)| rows).filter(|row| row.is_none());
        assert_eq!(reader.rejected(), rejected.clone().count() as u64);
        assert_eq!(letters(folder).lines().count(), rejected.count());
    } else if !case.holds {
        // With held events the oracle's last loop ends, the reader's does not.
        assert_eq!(out[..common], expected[..common]);
        assert!(out.len() >= expected.len());
    } else {
        let settled = (case.loops as i64) * SHIFT_MILLIS;
        let settled = expected.iter().take_while(|event| event.ts < settled).count().min(common);
        assert_eq!(out[..settled], expected[..settled]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]
    #[test]
    fn a_crash_anywhere_repeats_and_loses_nothing(case in case()) {
        check(&case);
    }
}
