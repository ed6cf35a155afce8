//! Input that can be read once only.

use std::fs;
use std::io::Cursor;
use std::thread;

use proptest::prelude::*;

use super::*;

fn piped(text: &str) -> FileSource<String> {
    let text = text.to_owned();
    lines("unused").pipe(move || Box::new(Cursor::new(text.clone())))
}

/// Polls until the pipe is closed.
fn drain_pipe(reader: &mut Reader, out: &mut Vec<Timed<String>>, limit: usize) {
    while out.len() < limit {
        match reader.poll(out, (limit - out.len()).min(3)).unwrap() {
            Poll::Ready => {}
            Poll::Wait(_) => thread::yield_now(),
            Poll::Finished => return,
        }
    }
}

#[test]
fn a_restart_reads_the_journal_then_the_new_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let mut reader = open(&piped("a\nb\nc"), folder.path(), None);
    let mut out = Vec::new();
    drain_pipe(&mut reader, &mut out, 1);
    let position = reader.position().unwrap();
    drain_pipe(&mut reader, &mut out, usize::MAX);
    assert_eq!(values(out), ["a", "b", "c"]);
    drop(reader);
    let mut reader = open(&piped("d\n"), folder.path(), Some(&position));
    let mut out = Vec::new();
    drain_pipe(&mut reader, &mut out, usize::MAX);
    assert_eq!(values(out), ["b", "c", "d"]);
    assert_eq!(reader.position_text(), "the pipe row 4");
}

#[test]
fn a_repeated_header_is_no_row() {
    let folder = tempfile::tempdir().unwrap();
    let table = |text: &'static str| csv("unused").pipe(move || Box::new(Cursor::new(text)));
    let mut reader = open(&table("ts,name\n1,a\n2,b\n"), folder.path(), None);
    let mut out = Vec::new();
    drain_pipe(&mut reader, &mut out, 1);
    let position = reader.position().unwrap();
    drain_pipe(&mut reader, &mut out, usize::MAX);
    reader.committed();
    drop(reader);
    let mut reader = open(&table("ts,name\n3,c\n"), folder.path(), Some(&position));
    out.truncate(1);
    drain_pipe(&mut reader, &mut out, usize::MAX);
    assert_eq!(values(out), ["a", "b", "c"]);
}

#[test]
fn a_lost_journal_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut reader = open(&piped("a\nb\n"), folder.path(), None);
    drain_pipe(&mut reader, &mut Vec::new(), usize::MAX);
    let position = reader.position().unwrap();
    drop(reader);
    fs::remove_dir_all(folder.path().join("job/journal")).unwrap();
    let text = refused(&piped(""), folder.path(), Some(&position));
    assert!(text.contains("byte 4 of the journal") && text.contains("job/journal/rows"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]
    /// Each run pipes some lines in, reads them all into the journal, delivers some, commits some.
    #[test]
    fn what_reached_the_journal_comes_once(
        runs in prop::collection::vec((0..6_usize, 0..8_usize, any::<bool>()), 1..8)
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut written = 0;
        let mut out = Vec::new();
        let mut committed = (None::<Vec<u8>>, 0);
        for (lines, polled, commits) in runs {
            let text = (written..written + lines).map(|line| format!("{line}\n"));
            let text = text.collect::<Vec<_>>().concat();
            written += lines;
            out.truncate(committed.1);
            let mut reader = open(&piped(&text), folder.path(), committed.0.as_deref());
            let limit = out.len() + polled;
            drain_pipe(&mut reader, &mut out, limit);
            if commits {
                committed = (Some(reader.position().unwrap()), out.len());
                reader.committed();
            }
            // The pipe is emptied, so that all of it is in the journal.
            drain_pipe(&mut reader, &mut out, usize::MAX);
        }
        out.truncate(committed.1);
        let mut reader = open(&piped(""), folder.path(), committed.0.as_deref());
        drain_pipe(&mut reader, &mut out, usize::MAX);
        let expected = (0..written).map(|line| line.to_string()).collect::<Vec<_>>();
        prop_assert_eq!(values(out), expected);
    }
}
