//! Every kind of bad input has a defined answer that names the place and the way out.

use std::fs;

use super::*;
use crate::source::file::{Compression, LostPosition};

#[test]
fn a_bad_row_is_counted_and_kept_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    fs::write(&path, "ts,name\n1,a\nx,\"b\"\n3\n4,d\n").unwrap();
    let mut reader = open(&csv(&path), folder.path(), None);
    assert_eq!(values(drain(&mut reader).unwrap()), ["a", "d"]);
    assert_eq!(reader.rejected(), 2);
    let letters = fs::read_to_string(folder.path().join("job/dead-letters/rows.ndjson")).unwrap();
    assert_eq!(
        letters.lines().collect::<Vec<_>>(),
        [
            r#"{"place":"rows.csv row 2","row":"x,\"b\"","reason":"invalid digit found in string in column ts: \"x\""}"#,
            r#"{"place":"rows.csv row 3","row":"3","reason":"expected 2 fields as in the header, got 1"}"#,
        ]
    );
}

#[test]
fn a_parser_rejects_with_its_own_reason() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.txt");
    fs::write(&path, b"good\nbad\n\xff\n").unwrap();
    let source = FileSource::lines(&path, |line: &str| match line {
        "bad" => Err("it is bad".to_owned()),
        line => Ok([Timed { value: line.to_owned(), ts: 0 }]),
    });
    let mut reader = open(&source, folder.path(), None);
    assert_eq!(values(drain(&mut reader).unwrap()), ["good"]);
    let letters = fs::read_to_string(folder.path().join("job/dead-letters/rows.ndjson")).unwrap();
    assert!(letters.contains(r#""row":"bad","reason":"it is bad""#), "{letters}");
    assert!(letters.contains("invalid utf-8"), "{letters}");
}

#[test]
fn a_wrong_header_is_an_error_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    for (content, source, expected) in [
        ("ts,nom\n", csv(&path), "header: column name is missing, the header is ts,nom"),
        ("", csv(&path), "has no header line"),
        ("ts,name,more\n", csv(&path).deny_unknown_columns(), "header: unknown column more"),
    ] {
        fs::write(&path, content).unwrap();
        let text = refused(&source, folder.path(), None);
        assert!(text.contains(expected) && text.contains("rows.csv"), "{text}");
    }
    fs::write(&path, "ts,more,name\n1,x,a\n").unwrap();
    assert_eq!(values(drain(&mut open(&csv(&path), folder.path(), None)).unwrap()), ["a"]);
}

#[test]
fn a_missing_or_mislabelled_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = refused(&csv(folder.path().join("none.csv")), folder.path(), None);
    assert!(text.contains("cannot open") && text.contains("none.csv"), "{text}");
    let path = folder.path().join("rows.csv.zst");
    fs::write(&path, "ts,name\n1,a\n").unwrap();
    let text = refused(&csv(&path), folder.path(), None);
    assert!(text.contains("the name promises Zstd"), "{text}");
    let mut reader = open(&csv(&path).compression(Compression::None), folder.path(), None);
    assert_eq!(values(drain(&mut reader).unwrap()), ["a"]);
    let text = refused(&csv(folder.path()), folder.path(), None);
    assert!(text.contains("is a folder"), "{text}");
}

#[test]
fn a_cut_off_stream_delivers_what_is_whole_and_goes_on_with_a_complete_copy() {
    let rows = (0..20_000).map(|row| format!("{row},name {}", row * 7919 % 1_000));
    let table = format!("ts,name\n{}\n", rows.collect::<Vec<_>>().join("\n"));
    for (suffix, pack) in [("gz", gzip as fn(&[u8]) -> Vec<u8>), ("zst", zstd)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("rows.csv.{suffix}"));
        let whole = pack(table.as_bytes());
        fs::write(&path, &whole[..whole.len() * 3 / 4]).unwrap();
        let mut reader = open(&csv(&path), folder.path(), None);
        let mut out = Vec::new();
        let error = loop {
            match reader.poll(&mut out, 1_000) {
                Ok(poll) => assert_eq!(poll, Poll::Ready),
                Err(error) => break error.to_string(),
            }
        };
        assert!(error.contains("stream is cut off") && error.contains(&path.display().to_string()));
        assert!(out.len() > 5_000, "{} rows before the end of the file", out.len());
        let position = reader.position().unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, &whole).unwrap();
        out.extend(drain(&mut open(&csv(&path), folder.path(), Some(&position))).unwrap());
        let times = out.iter().map(|event| event.ts).collect::<Vec<_>>();
        assert_eq!(times, (0..20_000).collect::<Vec<_>>());
    }
}

#[test]
fn a_lost_position_is_an_error_that_names_both_and_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    let table = "ts,name\n1,a\n2,b\n3,c\n";
    fs::write(&path, table).unwrap();
    let mut reader = open(&csv(&path), folder.path(), None);
    let mut out = Vec::new();
    reader.poll(&mut out, 2).unwrap();
    let position = reader.position().unwrap();

    let shorter = &table[..12];
    for (content, what) in [(shorter, "and 12 bytes now"), ("ts,name\n7,x\n8,y\n9,z\n", "is gone")]
    {
        fs::write(&path, content).unwrap();
        let text = refused(&csv(&path), folder.path(), Some(&position));
        assert!(text.contains("byte 16") && text.contains(what), "{text}");
        assert!(text.contains("rows.csv") && text.contains("StartOver"), "{text}");
    }
    let source = csv(&path).on_lost_position(LostPosition::StartOver);
    let mut reader = open(&source, folder.path(), Some(&position));
    assert_eq!(values(drain(&mut reader).unwrap()), ["x", "y", "z"]);

    fs::remove_file(&path).unwrap();
    let text = refused(&csv(&path), folder.path(), Some(&position));
    assert!(text.contains("cannot be looked at") && text.contains("byte 16"), "{text}");
    let text = refused(&csv(&path), folder.path(), Some(b"nonsense"));
    assert!(text.contains("position of source rows"), "{text}");
}
