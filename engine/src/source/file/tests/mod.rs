//! The file source as a job sees it: polled, positioned, dropped, opened again.

mod bad_input;
mod crash;
mod follow;
mod pipe;
mod replay;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use super::FileSource;
use crate::clock::ManualClock;
use crate::error::Error;
use crate::source::{Poll, Source, SourceContext, SourceReader, Timed};

/// A row that becomes one event.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Row {
    ts: i64,
    name: String,
}

pub(super) type Reader = Box<dyn SourceReader<String>>;

pub(super) fn context(folder: &Path, clock: &ManualClock) -> SourceContext {
    SourceContext {
        uid: "rows".to_owned(),
        partition: 0,
        job_dir: folder.join("job"),
        clock: Arc::new(clock.clone()),
    }
}

pub(super) fn open(source: &FileSource<String>, folder: &Path, at: Option<&[u8]>) -> Reader {
    source.open(context(folder, &ManualClock::at(0)), at).unwrap()
}

pub(super) fn refused(source: &FileSource<String>, folder: &Path, at: Option<&[u8]>) -> String {
    source.open(context(folder, &ManualClock::at(0)), at).err().unwrap().to_string()
}

pub(super) fn csv(path: impl AsRef<Path>) -> FileSource<String> {
    FileSource::csv(path, |row: Row| [Timed { value: row.name, ts: row.ts }])
}

pub(super) fn lines(path: impl AsRef<Path>) -> FileSource<String> {
    FileSource::lines(path, |line: &str| Ok([Timed { value: line.to_owned(), ts: 0 }]))
}

/// Polls until there is nothing more for now.
pub(super) fn drain(reader: &mut Reader) -> Result<Vec<Timed<String>>, Error> {
    let mut out = Vec::new();
    while reader.poll(&mut out, 3)? == Poll::Ready {}
    Ok(out)
}

pub(super) fn values(events: Vec<Timed<String>>) -> Vec<String> {
    events.into_iter().map(|event| event.value).collect()
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(super) fn zstd(bytes: &[u8]) -> Vec<u8> {
    ::zstd::encode_all(bytes, 1).unwrap()
}

#[test]
fn each_format_and_compression_reads_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let table = "ts,name\n1,a\n2,b\n";
    let json = "{\"ts\":1,\"name\":\"a\"}\n{\"ts\":2,\"name\":\"b\"}\n";
    let expected = [Timed { value: "a".to_owned(), ts: 1 }, Timed { value: "b".to_owned(), ts: 2 }];
    for (suffix, pack) in [
        ("", (|bytes| bytes.to_vec()) as fn(&[u8]) -> Vec<u8>),
        (".gz", gzip),
        (".zst", zstd),
        // Several streams one after the other.
        (".gz", |bytes| [gzip(&bytes[..5]), gzip(&bytes[5..])].concat()),
        (".zst", |bytes| [zstd(&bytes[..5]), zstd(&bytes[5..])].concat()),
    ] {
        let path = folder.path().join(format!("rows.csv{suffix}"));
        fs::write(&path, pack(table.as_bytes())).unwrap();
        assert_eq!(drain(&mut open(&csv(&path), folder.path(), None)).unwrap(), expected);
        let path = folder.path().join(format!("rows.ndjson{suffix}"));
        fs::write(&path, pack(json.as_bytes())).unwrap();
        let source = FileSource::ndjson(&path, |row: Row| [Timed { value: row.name, ts: row.ts }]);
        assert_eq!(drain(&mut open(&source, folder.path(), None)).unwrap(), expected);
    }
}

#[test]
fn a_source_says_what_it_reads() {
    let source = csv("/data/rows.csv.zst")
        .replay(super::Replay::speed(20_000.0))
        .looping(std::time::Duration::from_secs(1));
    assert_eq!(source.detail(), "CSV rows.csv.zst, 20000× replay, looping");
    assert!((source.replay_factor() - 20_000.0).abs() < f64::EPSILON);
    assert_eq!(lines("-").detail(), "lines from a pipe, journalled");
}

#[test]
fn contradictions_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let second = std::time::Duration::from_secs(1);
    for (source, expected) in [
        (
            csv("a").follow().looping(second),
            "source rows: it cannot follow a growing file and loop",
        ),
        (csv("-").looping(second), "source rows: it cannot loop over a pipe"),
        (csv("a").replay(super::Replay::speed(0.0)), "speed must be a number above 0"),
        (csv("a").files(Vec::<&str>::new()), "source rows: it has no file"),
        (csv("a").follow().hold_back(second, |_| true), "it cannot hold events back in input"),
    ] {
        let text = refused(&source, folder.path(), None);
        assert!(text.contains(expected), "{text}");
    }
}
