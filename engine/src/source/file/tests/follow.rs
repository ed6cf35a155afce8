//! Files that grow and are rotated.

use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;

fn append(path: &Path, text: &str) {
    let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// Polls until nothing comes even after the grace of a rotation.
fn settle(reader: &mut Reader, clock: &ManualClock) -> Vec<String> {
    let mut found = Vec::new();
    for _ in 0..6 {
        found.extend(values(drain(reader).unwrap()));
        clock.advance(6_000);
    }
    found
}

struct Log {
    folder: tempfile::TempDir,
    clock: ManualClock,
}

impl Log {
    fn new(text: &str) -> Self {
        let log = Self { folder: tempfile::tempdir().unwrap(), clock: ManualClock::at(0) };
        append(&log.path(), text);
        log
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("auth.log")
    }

    fn open(&self, source: &FileSource<String>, position: Option<&[u8]>) -> Reader {
        source.open(context(self.folder.path(), &self.clock), position).unwrap()
    }

    fn sibling(&self, suffix: &str) -> PathBuf {
        self.folder.path().join(format!("auth.log{suffix}"))
    }
}

#[test]
fn a_half_written_line_waits_for_its_end() {
    let log = Log::new("a\nb");
    let mut reader = log.open(&lines(log.path()).follow(), None);
    assert_eq!(values(drain(&mut reader).unwrap()), ["a"]);
    append(&log.path(), "b\nc\n");
    assert_eq!(values(drain(&mut reader).unwrap()), ["bb", "c"]);
    let mut out = Vec::new();
    assert!(matches!(reader.poll(&mut out, 1).unwrap(), Poll::Wait(_)));
}

#[test]
fn a_header_may_come_late_in_a_followed_table() {
    let log = Log::new("");
    let mut reader = log.open(&csv(log.path()).follow(), None);
    assert!(drain(&mut reader).unwrap().is_empty());
    append(&log.path(), "ts,name\n1,a\n2,\"b");
    assert_eq!(values(drain(&mut reader).unwrap()), ["a"]);
    append(&log.path(), "\nb\"\n");
    assert_eq!(values(drain(&mut reader).unwrap()), ["b\nb"]);
}

#[test]
fn renaming_loses_neither_what_the_old_file_still_gets_nor_the_new_one() {
    let log = Log::new("a\n");
    let mut reader = log.open(&lines(log.path()).follow(), None);
    assert_eq!(values(drain(&mut reader).unwrap()), ["a"]);
    fs::rename(log.path(), log.sibling(".1")).unwrap();
    append(&log.sibling(".1"), "b\n");
    assert_eq!(values(drain(&mut reader).unwrap()), ["b"]);
    append(&log.path(), "");
    append(&log.sibling(".1"), "c\n");
    assert_eq!(values(drain(&mut reader).unwrap()), ["c"]);
    append(&log.path(), "d\n");
    assert_eq!(settle(&mut reader, &log.clock), ["d"]);
}

#[test]
fn an_empty_new_file_is_taken_after_the_grace() {
    let log = Log::new("a\n");
    let mut reader = log.open(&lines(log.path()).follow(), None);
    drain(&mut reader).unwrap();
    fs::rename(log.path(), log.sibling(".1")).unwrap();
    append(&log.path(), "");
    assert!(settle(&mut reader, &log.clock).is_empty());
    append(&log.path(), "b\n");
    assert_eq!(values(drain(&mut reader).unwrap()), ["b"]);
}

#[test]
fn copying_and_truncating_begins_anew() {
    for new in ["x\n", "much longer than before\n"] {
        let log = Log::new("a\nb\n");
        let mut reader = log.open(&lines(log.path()).follow(), None);
        assert_eq!(values(drain(&mut reader).unwrap()), ["a", "b"]);
        fs::copy(log.path(), log.sibling(".1")).unwrap();
        fs::write(log.path(), new).unwrap();
        assert_eq!(settle(&mut reader, &log.clock), [new.trim_end()]);
    }
}

#[test]
fn rotated_and_compressed_while_the_job_was_down() {
    let log = Log::new("a\nb\n");
    let source = lines(log.path()).follow();
    let mut reader = log.open(&source, None);
    reader.poll(&mut Vec::new(), 1).unwrap();
    let position = reader.position().unwrap();
    drop(reader);
    append(&log.path(), "c\n");
    fs::write(log.sibling(".2.gz"), gzip(&fs::read(log.path()).unwrap())).unwrap();
    fs::remove_file(log.path()).unwrap();
    append(&log.sibling(".1"), "d\n");
    append(&log.path(), "e\n");
    let mut reader = log.open(&source, Some(&position));
    assert_eq!(settle(&mut reader, &log.clock), ["b", "c", "d", "e"]);

    let position = reader.position().unwrap();
    for name in [".2.gz", ".1", ""] {
        fs::remove_file(log.sibling(name)).unwrap();
    }
    append(&log.path(), "f\n");
    let text = refused(&source, log.folder.path(), Some(&position));
    assert!(text.contains("auth.log") && text.contains("is gone"), "{text}");
}

#[test]
fn rotated_files_come_first_when_asked_for() {
    let log = Log::new("c\n");
    append(&log.sibling(".1"), "b\n");
    fs::write(log.sibling(".2.gz"), gzip(b"a\n")).unwrap();
    let source = lines(log.path()).rotated();
    assert_eq!(values(drain(&mut log.open(&source, None)).unwrap()), ["a", "b", "c"]);
    let mut reader = log.open(&source.follow(), None);
    assert_eq!(values(drain(&mut reader).unwrap()), ["a", "b", "c"]);
    let mut reader = log.open(&lines(log.path()).follow(), None);
    assert_eq!(values(drain(&mut reader).unwrap()), ["c"]);
}

#[derive(Clone, Debug)]
enum Step {
    Append(usize),
    Half,
    Rotate,
    Poll(usize),
    Commit,
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (1..4_usize).prop_map(Step::Append),
        1 => Just(Step::Half),
        1 => Just(Step::Rotate),
        3 => (1..5_usize).prop_map(Step::Poll),
        2 => Just(Step::Commit),
        1 => Just(Step::Crash),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, ..ProptestConfig::default() })]
    #[test]
    fn every_line_comes_once_across_rotations_and_crashes(
        steps in prop::collection::vec(step(), 0..60)
    ) {
        // Lines differ, as log lines with a stamp do, so that files are told apart by their heads.
        let log = Log::new("line 0\n");
        let source = lines(log.path()).follow();
        let mut written = 1;
        let mut is_half = false;
        let mut rotations = 0;
        let mut reader = log.open(&source, None);
        let mut out = Vec::new();
        let mut committed = (None::<Vec<u8>>, 0);
        let finish = |is_half: &mut bool, written: &mut usize| {
            if std::mem::take(is_half) {
                append(&log.path(), &format!("{written}\n"));
                *written += 1;
            }
        };
        for step in steps {
            match step {
                Step::Append(count) => {
                    finish(&mut is_half, &mut written);
                    for _ in 0..count {
                        append(&log.path(), &format!("line {written}\n"));
                        written += 1;
                    }
                }
                Step::Half if !is_half => {
                    append(&log.path(), "line ");
                    is_half = true;
                }
                Step::Rotate => {
                    finish(&mut is_half, &mut written);
                    for number in (1..=rotations).rev() {
                        let old = log.sibling(&format!(".{number}"));
                        fs::rename(old, log.sibling(&format!(".{}", number + 1))).unwrap();
                    }
                    rotations += 1;
                    fs::rename(log.path(), log.sibling(".1")).unwrap();
                    append(&log.path(), &format!("line {written}\n"));
                    written += 1;
                }
                Step::Poll(max) => {
                    reader.poll(&mut out, max).unwrap();
                }
                Step::Commit => committed = (Some(reader.position().unwrap()), out.len()),
                // Without a position a follower begins at the file that is there then.
                Step::Crash if committed.0.is_some() => {
                    out.truncate(committed.1);
                    reader = log.open(&source, committed.0.as_deref());
                }
                Step::Half | Step::Crash => {}
            }
        }
        finish(&mut is_half, &mut written);
        let mut found = values(out);
        for _ in 0..2 + rotations {
            found.extend(settle(&mut reader, &log.clock));
        }
        let expected = (0..written).map(|line| format!("line {line}")).collect::<Vec<_>>();
        prop_assert_eq!(found, expected);
    }
}
