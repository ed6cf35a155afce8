//! Folders of a job of ours.

use std::fs;
use std::time::Duration;

use super::*;
use crate::inspect::{Basis, NowFrom, Stamp, TakenFor, inspect};
use crate::job::{JobBuilder, RunOptions, Watermarks};
use crate::operator::{Context, Open};
use crate::sink::CollectSink;
use crate::source::{MemorySource, Timed};
use crate::state::{MapStateDescriptor, Ttl, ValueStateDescriptor};

const TTL: i64 = 1_000;
const LAST: i64 = 4_999;

/// One event a millisecond over a hundred keys; some keys stop half way.
fn run(dir: &Path) {
    let records = (0..=LAST).filter(|n| n % 100 < 50 || *n < LAST / 2);
    let records = records.map(|n| Timed { value: n as u64, ts: n });
    let mut job = JobBuilder::new("kept").parallelism(2);
    job.source("numbers", MemorySource::new(records), Watermarks::monotonous())
        .key_by_owned(|n: &u64| format!("key-{}", n % 100))
        .process("keeper", |open: &mut Open<'_, String>| {
            let ttl = Ttl::new(Duration::from_millis(TTL as u64));
            let last = open.value_state(ValueStateDescriptor::<u64>::new("last").ttl(ttl));
            let all = open.map_state(MapStateDescriptor::<u64, u64>::new("all").heap());
            Ok(move |n: &u64, ctx: &mut Context<'_, String, u64>| {
                last.put(ctx, n)?;
                all.put(ctx, n, n)
            })
        })
        .sink("results", CollectSink::new());
    let options = RunOptions::new(dir).commit_interval(Duration::from_millis(5));
    job.build().unwrap().start(options).unwrap().wait().unwrap();
}

/// Names, sizes and times of all files.
fn listing(dir: &Path) -> Vec<(PathBuf, u64, std::time::SystemTime)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::metadata(&path).unwrap();
        found.push((path.clone(), meta.len(), meta.modified().unwrap()));
        if meta.is_dir() {
            found.extend(listing(&path));
        }
    }
    found.sort();
    found
}

/// §1.1, §1.2, §9: the newest checkpoint, by the job's own names and clock, row by row as the
/// other reader finds it; the folder is left as it was.
#[test]
fn a_job_folder_is_read_and_left_alone() {
    let temp = tempfile::tempdir().unwrap();
    run(temp.path());
    let dir = temp.path().join("jobs/kept");
    let before = listing(&dir);
    let options = InspectOptions {
        ttl_millis_of: vec![("keeper/last".into(), TTL)],
        ..InspectOptions::default()
    };
    let found = inspected(&dir, &options);
    assert_eq!(listing(&dir), before);
    assert_eq!(
        (found.taken_for, found.now_from),
        (TakenFor::StatewardJob, NowFrom::CheckpointClock)
    );
    assert!(found.is_whole(), "{:?}", found.unread);
    let now = found.now_millis.unwrap();
    let truth = inspect(&dir).unwrap();
    for rows in &truth.states {
        let state = state(&found, &rows.state);
        let figures = &state.figures;
        assert_eq!(state.operator.as_deref(), Some("keeper"));
        assert_eq!((state.basis, state.stamp), (Basis::Known, Stamp::LastAccess));
        assert_eq!(figures.live_keys, rows.rows.len() as u64);
        assert_eq!(figures.live_keys, rows.ledger_entries);
        let times: Vec<_> = rows.rows.iter().map(|row| row.ts).collect();
        assert_eq!(figures.oldest_millis, times.iter().copied().min());
        assert_eq!(figures.newest_millis, times.iter().copied().max());
        assert_eq!(figures.ages.as_ref().unwrap().count(), times.len() as u64);
        let dead = times.iter().filter(|ts| **ts + TTL <= now).count() as u64;
        let judged = (rows.state == "last").then_some(dead);
        assert_eq!(figures.expired_keys, judged, "{}", rows.state);
    }
    let last = state(&found, "last");
    assert_eq!(last.kind, "value");
    assert_eq!(last.figures.live_keys + last.figures.written_off_keys, 100);
    assert_eq!(state(&found, "all").kind, "map");
    assert!(last.largest[0].key.starts_with("key-"), "{:?}", last.largest);
    // a later clock expires what is left, and a state without a TTL keeps all
    let later = InspectOptions { now_millis: Some(LAST + TTL), ..options };
    let figures = state(&inspected(&dir, &later), "last").figures.clone();
    assert_eq!(figures.expired_keys, Some(figures.live_keys));
    let checkpoint = fs::read_dir(dir.join("checkpoints")).unwrap().next().unwrap().unwrap().path();
    let one = inspected(&checkpoint, &later);
    assert_eq!(one.taken_for, TakenFor::StatewardCheckpoint);
    assert_eq!(state(&one, "last").figures, figures);
}

/// What a shard lost is named: its file of a state on the heap, its database, all of it.
#[test]
fn what_a_checkpoint_lost_is_named() {
    let temp = tempfile::tempdir().unwrap();
    run(temp.path());
    let dir = temp.path().join("jobs/kept");
    let checkpoint = fs::read_dir(dir.join("checkpoints")).unwrap().next().unwrap().unwrap().path();
    let lost = |path: &str| {
        let found = inspected(&dir, &InspectOptions::default());
        assert!(found.unread.iter().any(|lost| lost.place.ends_with(path)), "{:?}", found.unread);
    };
    fs::remove_file(checkpoint.join("shard-0/state-001.heap")).unwrap();
    lost("shard-0/state-001.heap");
    fs::remove_dir_all(checkpoint.join("shard-0/db")).unwrap();
    lost("shard-0/db");
    fs::remove_dir_all(checkpoint.join("shard-1")).unwrap();
    lost("shard-1");
}

/// A database alone is recognised by its compaction filter; the names are in another file.
#[test]
fn a_database_alone_is_known_by_its_filter() {
    let temp = tempfile::tempdir().unwrap();
    run(temp.path());
    let checkpoints = temp.path().join("jobs/kept/checkpoints");
    let checkpoint = fs::read_dir(checkpoints).unwrap().next().unwrap().unwrap().path();
    let found = inspected(&checkpoint.join("shard-0/db"), &InspectOptions::default());
    let state = state(&found, "state-000");
    assert_eq!((state.basis, state.stamp), (Basis::Known, Stamp::LastAccess));
    assert!(state.figures.live_keys > 0 && state.figures.oldest_millis.is_some());
}

/// What is no folder of any known kind is an error that says what would be.
#[test]
fn an_unknown_folder_is_an_error_with_the_way_out() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("notes.txt"), "nothing").unwrap();
    for dir in [temp.path().to_path_buf(), temp.path().join("none")] {
        let error = analyse(&dir, &InspectOptions::default(), &mut |_, _| {}).unwrap_err();
        assert!(error.to_string().contains(&dir.display().to_string()), "{error}");
    }
    let error = analyse(temp.path(), &InspectOptions::default(), &mut |_, _| {}).unwrap_err();
    assert!(error.to_string().contains("or the folder with _metadata)"), "{error}");
}

/// A TTL for one state goes before the one for all, whether or not its operator is named.
#[test]
fn a_ttl_is_meant_for_its_state() {
    let options = InspectOptions {
        now_millis: None,
        ttl_millis: Some(1),
        ttl_millis_of: vec![("a".into(), 2), ("op/b".into(), 3)],
    };
    let cases = [
        (None, "a", 2),
        (Some("op"), "a", 2),
        (Some("op"), "b", 3),
        (Some("other"), "b", 1),
        (None, "b", 1),
        (None, "c", 1),
    ];
    for (operator, state, ttl) in cases {
        assert_eq!(options.ttl_of(operator, state), Some(ttl), "{operator:?} {state}");
    }
}

fn names(value: &serde_json::Value, into: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Object(fields) => {
            for (name, value) in fields {
                into.insert(name.clone());
                names(value, into);
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| names(value, into)),
        _ => {}
    }
}

/// The JSON is a promise: each of its fields is in the reference.
#[test]
fn every_field_of_the_json_is_documented() {
    let temp = tempfile::tempdir().unwrap();
    run(temp.path());
    let found = inspected(&temp.path().join("jobs/kept"), &InspectOptions::default());
    let mut fields = std::collections::BTreeSet::new();
    names(&serde_json::to_value(&found).unwrap(), &mut fields);
    assert!(fields.len() > 40, "{fields:?}");
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/inspect.md");
    let page = fs::read_to_string(page).unwrap();
    let words: Vec<_> = page.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    for field in fields {
        assert!(words.contains(&field.as_str()), "{field} is not in docs/inspect.md");
    }
}

/// §1.12, §9: a savepoint is read as the job's own checkpoint is, less what was expired; damage is named.
#[test]
fn a_savepoint_is_read() {
    let temp = tempfile::tempdir().unwrap();
    run(temp.path());
    let path = temp.path().join("a.savepoint");
    crate::Savepoint::of_stopped_job(temp.path(), "kept", Some(&path)).unwrap();
    let options = InspectOptions {
        ttl_millis_of: vec![("keeper/last".into(), TTL)],
        ..InspectOptions::default()
    };
    let (found, job) =
        (inspected(&path, &options), inspected(&temp.path().join("jobs/kept"), &options));
    assert_eq!(
        (found.taken_for, found.now_millis, found.now_from),
        (TakenFor::StatewardSavepoint, job.now_millis, NowFrom::CheckpointClock)
    );
    let keys = |of: &Inspection, name: &str| {
        let figures = &state(of, name).figures;
        (figures.live_keys - figures.expired_keys.unwrap_or(0), figures.newest_millis)
    };
    for name in ["last", "all"] {
        assert_eq!(keys(&found, name), keys(&job, name), "{name}");
    }
    assert_eq!(keys(&found, "last").0, 50);
    assert!(found.is_whole());
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&path, bytes).unwrap();
    let found = inspected(&path, &options);
    assert!(!found.is_whole() && found.unread[0].why.contains("contradicts its checksum"));
}
