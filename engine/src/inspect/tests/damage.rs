//! Torn, damaged and incomplete folders: nothing panics, and what is lost is said.

use std::fs;

use super::*;

/// Copies a folder, as deep as it is.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::write(&target, fs::read(&path).unwrap()).unwrap();
        }
    }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn window_operator(dir: &Path) -> PathBuf {
    let mut of_operators = fs::read_dir(dir.join("rocksdb")).unwrap().map(|e| e.unwrap().path());
    of_operators.find(|path| path.display().to_string().contains("_op_WindowOperator")).unwrap()
}

/// A copy that lost tables: the figures are of what is there, and every lost one is named.
#[test]
fn a_table_that_is_gone_is_named() {
    let Some(dir) = fixtures() else { return };
    let temp = tempfile::tempdir().unwrap();
    let copied = temp.path().join("db");
    copy(&window_operator(&dir), &copied);
    let gone = files(&copied).into_iter().find(|path| path.ends_with("000041.sst")).unwrap();
    fs::remove_file(gone).unwrap();
    let found = inspected(&copied, &InspectOptions::default());
    let [lost] = &found.unread[..] else { panic!("{:?}", found.unread) };
    assert_eq!(lost.place, "000041.sst");
    assert!(lost.why.contains("named by the MANIFEST") && lost.why.contains("1187"), "{lost:?}");
    // the newer table still holds what replaced the lost entries
    let timers = state(&found, "_timer_state/processing_window-timers");
    assert_eq!((timers.figures.live_keys, timers.files.len()), (7, 1));
}

/// Without a MANIFEST every table counts, and the levels are unknown, not 0.
#[test]
fn without_a_manifest_the_tables_speak_for_themselves() {
    let Some(dir) = fixtures() else { return };
    let temp = tempfile::tempdir().unwrap();
    let copied = temp.path().join("db");
    copy(&window_operator(&dir), &copied);
    for path in files(&copied).iter().filter(|path| path.extension().is_none_or(|e| e != "sst")) {
        fs::remove_file(path).unwrap();
    }
    let found = inspected(&copied.join("db"), &InspectOptions::default());
    let windows = state(&found, "window-contents");
    assert_eq!(windows.figures.live_keys, 7);
    assert!(windows.files.iter().all(|file| file.level.is_none()));
}

/// What a checkpoint refers to lies where it was written; a copy without `shared/` says what is
/// missing, and no path from within is followed.
#[test]
fn a_checkpoint_without_its_shared_files_says_which() {
    let Some(dir) = fixtures() else { return };
    let temp = tempfile::tempdir().unwrap();
    copy(&dir.join("checkpoint/chk-21"), &temp.path().join("chk-21"));
    let found = inspected(temp.path(), &InspectOptions::default());
    assert!(found.unread.len() > 50, "{:?}", found.unread);
    assert!(found.unread.iter().all(|lost| lost.why.contains("neither in this folder nor")));
    assert!(found.states.iter().all(|state| state.figures.live_keys == 0));
}

/// How many damaged copies ended in which way.
#[derive(Debug, Default)]
struct Outcomes {
    same: usize,
    said: usize,
    refused: usize,
}

/// Inspects copies of which one file is cut, or has a bit flipped, here and there. Where files
/// have checksums, figures differ only if something is said.
fn damage(name: &str, original: &Path, checked: bool, outcomes: &mut Outcomes) {
    let soak = std::env::var_os("STATEWARD_SOAK").is_some();
    let places: u64 = if soak { 400 } else { 8 };
    let temp = tempfile::tempdir().unwrap();
    let copied = temp.path().join("copy");
    copy(original, &copied);
    let options = InspectOptions { ttl_millis: Some(30_000), ..InspectOptions::default() };
    let whole = inspected(&copied, &options);
    for path in files(&copied) {
        let bytes = fs::read(&path).unwrap();
        // the options tell whose a family is, and have no checksum
        let is_checked = checked && !path.display().to_string().contains("OPTIONS-");
        for at in 0..places {
            let position = (bytes.len() as u64 * at / places) as usize;
            let mut flipped = bytes.clone();
            if let Some(byte) = flipped.get_mut(position) {
                *byte ^= 1 << (at % 8);
            }
            for damaged in [&bytes[..position], &flipped] {
                fs::write(&path, damaged).unwrap();
                let Ok(found) = analyse(&copied, &options, &mut |_, _| {}) else {
                    outcomes.refused += 1;
                    continue;
                };
                if found.states == whole.states {
                    outcomes.same += 1;
                } else {
                    let is_said = !found.is_whole() || found.notes != whole.notes;
                    assert!(is_said || !is_checked, "{name} {} at {position}", path.display());
                    outcomes.said += 1;
                }
            }
        }
        fs::write(&path, bytes).unwrap();
    }
}

/// `soak` goes through many more places.
#[test]
fn damage_soak_never_panics_and_never_passes_for_whole() {
    let Some(dir) = fixtures() else { return };
    let mut outcomes = Outcomes::default();
    damage("rocksdb", &window_operator(&dir), true, &mut outcomes);
    let temp = tempfile::tempdir().unwrap();
    // some of a checkpoint's files are enough
    copy(&dir.join("checkpoint/chk-21"), &temp.path().join("chk-21"));
    damage("checkpoint", temp.path(), false, &mut outcomes);
    damage("savepoint", &dir.join("savepoint-canonical"), false, &mut outcomes);
    assert!(outcomes.same > 0 && outcomes.said > 0 && outcomes.refused > 0, "{outcomes:?}");
}
