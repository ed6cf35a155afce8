//! The file sink against a crash at every step.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

type Writer = Box<dyn SinkWriter<u64>>;

fn open(sink: &FileSink, folder: &Path, position: Option<&[u8]>) -> Result<Writer, Error> {
    let context =
        SinkContext { uid: "results".to_owned(), shard: 1, job_dir: folder.to_path_buf() };
    sink.open(context, position)
}

/// The published files by part.
fn published(folder: &Path) -> BTreeMap<u64, String> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder.join("out")).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if let Some(part) = name.strip_prefix("n-1-") {
            let part = part.strip_suffix(".ndjson").unwrap().parse().unwrap();
            files.insert(part, fs::read_to_string(&path).unwrap());
        }
    }
    files
}

fn numbers(folder: &Path) -> Vec<u64> {
    published(folder).values().flat_map(|text| text.lines()).map(|n| n.parse().unwrap()).collect()
}

#[test]
fn nothing_is_seen_before_it_is_committed_and_closed() {
    let folder = tempfile::tempdir().unwrap();
    let sink = FileSink::ndjson("out/n");
    let mut writer = open(&sink, folder.path(), None).unwrap();
    writer.write(&1, 0).unwrap();
    let prepared = writer.prepare().unwrap();
    assert_eq!(prepared.sync.len(), 1);
    assert!(prepared.sync[0].0.ends_with("out/.n-1-0.part"));
    writer.committed().unwrap();
    assert!(numbers(folder.path()).is_empty());
    writer.close().unwrap();
    assert_eq!(numbers(folder.path()), [1]);
    drop(writer);

    // A new run goes on in the next file.
    let mut writer = open(&sink, folder.path(), Some(&prepared.position)).unwrap();
    writer.write(&2, 0).unwrap();
    writer.prepare().unwrap();
    writer.committed().unwrap();
    writer.close().unwrap();
    assert_eq!(numbers(folder.path()), [1, 2]);
}

#[test]
fn tables_have_a_header_in_each_file() {
    #[derive(Serialize)]
    struct Row {
        a: u32,
        b: &'static str,
    }
    let folder = tempfile::tempdir().unwrap();
    let sink = FileSink::csv("t").roll_bytes(8);
    let context =
        SinkContext { uid: "t".to_owned(), shard: 0, job_dir: folder.path().to_path_buf() };
    let mut writer: Box<dyn SinkWriter<Row>> = sink.open(context, None).unwrap();
    for a in 0..4 {
        writer.write(&Row { a, b: "x,y" }, 0).unwrap();
        if a % 2 == 1 {
            writer.prepare().unwrap();
            writer.committed().unwrap();
        }
    }
    for (part, expected) in [(0, "a,b\n0,\"x,y\"\n1,\"x,y\"\n"), (1, "a,b\n2,\"x,y\"\n3,\"x,y\"\n")]
    {
        let path = folder.path().join(format!("t-0-{part}.csv"));
        assert_eq!(fs::read_to_string(path).unwrap(), expected);
    }
}

#[test]
fn what_is_in_the_way_or_missing_is_named_and_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let sink = FileSink::ndjson("out/n");
    let mut writer = open(&sink, folder.path(), None).unwrap();
    writer.write(&1, 0).unwrap();
    let position = writer.prepare().unwrap().position;
    writer.committed().unwrap();
    drop(writer);

    let hidden = folder.path().join("out/.n-1-0.part");
    fs::write(&hidden, "").unwrap();
    let text = open(&sink, folder.path(), Some(&position)).err().unwrap().to_string();
    assert!(text.contains(".n-1-0.part") && text.contains("2 bytes were committed"), "{text}");
    fs::remove_file(&hidden).unwrap();
    let text = open(&sink, folder.path(), Some(&position)).err().unwrap().to_string();
    assert!(text.contains("found nothing"), "{text}");

    fs::write(folder.path().join("out/n-1-0.ndjson"), "7\n").unwrap();
    let text = open(&sink, folder.path(), None).err().unwrap().to_string();
    assert!(text.contains("n-1-0.ndjson") && text.contains("move the old files away"), "{text}");
    let text = open(&FileSink::ndjson("/"), folder.path(), None).err().unwrap().to_string();
    assert!(text.contains("does not end in a name"), "{text}");
}

#[test]
fn only_the_newest_files_are_kept_when_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let sink = FileSink::ndjson("out/n").roll_bytes(1).files_max(2);
    let mut writer = open(&sink, folder.path(), None).unwrap();
    for number in 0..5 {
        writer.write(&number, 0).unwrap();
        writer.prepare().unwrap();
        writer.committed().unwrap();
    }
    assert_eq!(numbers(folder.path()), [3, 4]);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Write,
    /// A barrier whose commit record is written; `told`: the sink hears of it before the crash.
    Epoch {
        told: bool,
    },
    Crash,
    Close,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => Just(Step::Write),
        3 => Just(Step::Epoch { told: true }),
        1 => Just(Step::Epoch { told: false }),
        1 => Just(Step::Crash),
        1 => Just(Step::Close),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]
    #[test]
    fn each_committed_record_is_published_once_in_order(
        steps in prop::collection::vec(step(), 0..60),
        roll_bytes in 1..40_u64,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let sink = FileSink::ndjson("out/n").roll_bytes(roll_bytes);
        let mut writer = open(&sink, folder, None).unwrap();
        let mut position: Option<Vec<u8>> = None;
        let (mut next, mut committed) = (0, 0);
        let epoch = |writer: &mut Writer, position: &mut Option<Vec<u8>>| {
            *position = Some(writer.prepare().unwrap().position);
        };
        for step in steps {
            match step {
                Step::Write => {
                    writer.write(&next, 0).unwrap();
                    next += 1;
                }
                Step::Epoch { told } => {
                    epoch(&mut writer, &mut position);
                    // Goes on before the commit is known.
                    writer.write(&next, 0).unwrap();
                    committed = next;
                    next += 1;
                    if told {
                        writer.committed().unwrap();
                    } else {
                        writer = open(&sink, folder, position.as_deref()).unwrap();
                        next = committed;
                    }
                }
                Step::Crash => {
                    writer = open(&sink, folder, position.as_deref()).unwrap();
                    next = committed;
                }
                Step::Close => {
                    epoch(&mut writer, &mut position);
                    writer.committed().unwrap();
                    writer.close().unwrap();
                    committed = next;
                    writer = open(&sink, folder, position.as_deref()).unwrap();
                }
            }
            let seen = numbers(folder);
            prop_assert!(seen.len() as u64 <= committed, "published before it was committed");
            prop_assert_eq!(seen.clone(), (0..seen.len() as u64).collect::<Vec<_>>());
        }
        epoch(&mut writer, &mut position);
        writer.committed().unwrap();
        writer.close().unwrap();
        prop_assert_eq!(numbers(folder), (0..next).collect::<Vec<_>>());
    }
}
