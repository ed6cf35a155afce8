//! A real Flink 2.3: its RocksDB folders copied while it ran, an incremental checkpoint, and both
//! formats of savepoints.

use super::*;
use crate::inspect::{Basis, NowFrom, Stamp, TakenFor};

/// When the RocksDB folders were copied.
const COPIED_AT: i64 = 1_796_061_800_543;

/// What the job declares.
fn declared(now_millis: Option<i64>) -> InspectOptions {
    let ttls = [("page-counts", 30_000), ("last-seen", 30_000), ("recent-events", 30_000)];
    let mut ttl_millis_of: Vec<_> = ttls.map(|(name, ttl)| (name.to_owned(), ttl)).into();
    ttl_millis_of.push(("page-views".into(), 60_000));
    InspectOptions { now_millis, ttl_millis: None, ttl_millis_of }
}

fn check(
    inspection: &Inspection,
    name: &str,
    kind: &str,
    stamp: Stamp,
    keys: u64,
    expired: Option<u64>,
) {
    let state = state(inspection, name);
    let found = (state.kind.as_str(), state.stamp, state.figures.live_keys);
    assert_eq!(found, (kind, stamp, keys), "{name}");
    assert_eq!(state.figures.expired_first_keys, expired, "{name}");
    assert_eq!(state.plausible_ratio, Some(1.0), "{name}");
}

/// The counts that the recording's own description gives ("really there", "of those expired").
#[test]
fn rocksdb_folders_copied_from_a_running_flink() {
    let Some(dir) = fixtures() else { return };
    let found = inspected(&dir.join("rocksdb"), &declared(Some(COPIED_AT)));
    assert_eq!((found.taken_for, found.now_from), (TakenFor::FlinkRocksdb, NowFrom::Given));
    assert!(found.is_whole(), "{:?}", found.unread);
    check(&found, "page-views", "value", Stamp::LastAccess, 7, Some(0));
    check(&found, "last-seen", "value", Stamp::LastAccess, 1_457, Some(13));
    check(&found, "page-counts", "map", Stamp::LastAccess, 2_858, Some(31));
    check(&found, "recent-events", "list", Stamp::LastAccess, 1_457, Some(668));
    check(&found, "lifetime-total", "value", Stamp::None, 3_829, None);
    check(&found, "seen-forever", "value", Stamp::None, 27_430, None);
    check(&found, "window-contents", "value", Stamp::WindowEnd, 7, None);
    check(&found, "_timer_state/processing_window-timers", "timer", Stamp::FireTime, 7, None);
    assert!(found.states.iter().all(|state| state.basis == Basis::Guess));
    // "oldest 180 s"
    let lists = &state(&found, "recent-events").figures;
    assert_eq!(lists.oldest_millis.map(|oldest| (COPIED_AT - oldest) / 1_000), Some(180));
    assert!(
        found.notes.iter().any(|note| note.contains("no write-ahead log")),
        "{:?}",
        found.notes
    );
    // what the layout dump says of the tables
    let files = &state(&found, "page-counts").files;
    let table = (files[0].name.as_str(), files[0].level, files[0].bytes, files[0].entries);
    assert_eq!((files.len(), table), (1, ("000089.sst", Some(1), 44_475, 2_858)));
    assert_eq!((files[0].stamped, files[0].expired), (2_858, Some(31)));
    let timers = state(&found, "_timer_state/processing_window-timers");
    let of_tables: Vec<_> =
        timers.files.iter().map(|file| (file.level, file.entries, file.deletions)).collect();
    assert_eq!(of_tables, [(Some(1), 7, 0), (Some(0), 14, 7)]);
    let largest = &state(&found, "page-counts").largest[0];
    assert_eq!(largest.key, "user-23058430092140040 / /page/15");
}

/// §1.2: as of the newest access, which is the default, nothing that was accessed then is expired.
#[test]
fn without_a_given_time_the_newest_access_is_now() {
    let Some(dir) = fixtures() else { return };
    let found = inspected(&dir.join("rocksdb"), &declared(None));
    assert_eq!(found.now_from, NowFrom::NewestAccess);
    assert_eq!(found.now_millis, Some(1_796_061_799_800));
    check(&found, "last-seen", "value", Stamp::LastAccess, 1_457, Some(0));
    check(&found, "recent-events", "list", Stamp::LastAccess, 1_457, Some(653));
}

/// Subtask 0 of the checkpoint was flushed when the folders were copied, so its tables hold the
/// same keys; both subtasks together are what a restore would find.
#[test]
fn an_incremental_checkpoint_goes_by_its_metadata() {
    let Some(dir) = fixtures() else { return };
    let options = declared(Some(COPIED_AT));
    let found = inspected(&dir.join("checkpoint/chk-21"), &options);
    assert_eq!(found.taken_for, TakenFor::FlinkCheckpoint);
    assert!(found.is_whole(), "{:?}", found.unread);
    assert!(found.states.iter().all(|state| state.basis == Basis::Known));
    check(&found, "page-views", "reducing", Stamp::LastAccess, 16, Some(0));
    check(&found, "last-seen", "value", Stamp::LastAccess, 2_871, Some(43));
    check(&found, "recent-events", "list", Stamp::LastAccess, 2_871, Some(1_297));
    check(&found, "seen-forever", "value", Stamp::None, 54_341, None);
    check(&found, "window-contents", "aggregating", Stamp::WindowEnd, 16, None);
    let operators = found.states.iter().filter_map(|state| state.operator.as_deref());
    assert!(operators.into_iter().any(|operator| operator == "order-history"));
    let levels = state(&found, "page-counts").files.iter().map(|file| file.level);
    assert!(levels.into_iter().all(|level| level.is_some()));
    // the folder above is the same checkpoint; the tables alone say the same, by guess
    let above = inspected(&dir.join("checkpoint"), &options);
    assert_eq!(above.states.len(), found.states.len());
    let loose = inspected(&dir.join("checkpoint/shared"), &options);
    assert_eq!(loose.taken_for, TakenFor::LooseTables);
    for name in ["page-views", "last-seen", "page-counts", "recent-events", "lifetime-total"] {
        let (by_metadata, alone) = (state(&found, name), state(&loose, name));
        assert_eq!(by_metadata.figures, alone.figures, "{name}");
        assert_eq!(by_metadata.stamp, alone.stamp, "{name}");
    }
}

/// Two savepoints of one job, 1.2 s apart: both are read whole, and the later one has as many keys
/// of each state that never forgets, or more.
#[test]
fn savepoints_canonical_and_native() {
    let Some(dir) = fixtures() else { return };
    let canonical = inspected(&dir.join("savepoint-canonical"), &declared(None));
    let native = inspected(&dir.join("savepoint-native"), &declared(None));
    assert_eq!(canonical.taken_for, TakenFor::FlinkCanonicalSavepoint);
    assert_eq!(native.taken_for, TakenFor::FlinkCheckpoint);
    assert!(canonical.is_whole() && native.is_whole());
    check(&canonical, "last-seen", "value", Stamp::LastAccess, 1_646, Some(549));
    check(&canonical, "page-counts", "map", Stamp::LastAccess, 3_345, Some(1_304));
    check(&canonical, "recent-events", "list", Stamp::LastAccess, 1_645, Some(959));
    check(&native, "last-seen", "value", Stamp::LastAccess, 1_670, Some(578));
    check(&native, "recent-events", "list", Stamp::LastAccess, 1_669, Some(994));
    for name in ["seen-forever", "lifetime-total"] {
        let (early, late) = (state(&canonical, name), state(&native, name));
        let grown = late.figures.live_keys - early.figures.live_keys;
        assert!((1..300).contains(&grown), "{name}: {grown}");
        assert_eq!(early.stamp, Stamp::None);
    }
}
