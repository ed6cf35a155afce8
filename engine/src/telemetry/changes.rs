//! What the rows of a state that changed tell: the hottest keys, and how big values are. Fed once per
//! row and epoch, where the changelog takes them, so that the record path only counts to a slot.

use std::collections::BTreeMap;

use stateward_model::Histogram;
use stateward_model::wire::{HotKey, HotKeys, HotList};

use super::counters::Dense;
use super::heavy::Heavy;

/// Wall time after which the keys are counted anew; the counts before stay for as long again.
const TURN_MILLIS: i64 = 300_000;
/// Wall time between two listings: figures are copied out more often than they are reported.
const LISTING_MILLIS: i64 = 1_000;
/// Keys that are remembered in readable form.
const NAMES_MAX: usize = 64;

/// A changed row, as it goes to the changelog.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowChange<'a> {
    /// Hash of the stream's key.
    pub(crate) hash: u64,
    /// The stream's key.
    pub(crate) key: &'a [u8],
    /// How often the row changed.
    pub(crate) changes: u64,
    /// Bytes of key and row.
    pub(crate) bytes: u64,
    /// Bytes of the value; `None` for a removal.
    pub(crate) value_bytes: Option<u64>,
}

/// How an encoded key reads.
pub(crate) type ReadKey = fn(&[u8]) -> String;

/// Amounts over one turn.
#[derive(Clone, Debug, Default)]
struct Turn {
    since_millis: Option<i64>,
    changes: Heavy,
    bytes: Heavy,
}

/// The changes of one state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Changes {
    now: Turn,
    before: Turn,
    value_bytes: Dense,
    /// The last listing and when it was made.
    listed: Option<(i64, HotKeys)>,
    read_key: Option<ReadKey>,
    names: BTreeMap<u64, String>,
    /// Changes and bytes from which on a key is remembered: what the last one listed had.
    worth_a_name: (u64, u64),
}

impl Changes {
    /// Keys may be shown, and so.
    pub(crate) fn show_keys(&mut self, read_key: ReadKey) {
        self.read_key = Some(read_key);
    }

    /// Until the next call, no key has two rows.
    pub(crate) fn begin_round(&mut self) {
        self.now.changes.begin_round();
        self.now.bytes.begin_round();
    }

    /// Takes a changed row in.
    #[inline]
    pub(crate) fn add(&mut self, row: &RowChange<'_>) {
        self.now.changes.add(row.hash, row.changes);
        self.now.bytes.add(row.hash, row.bytes);
        if let Some(bytes) = row.value_bytes {
            self.value_bytes.add(bytes, 1);
        }
        if let Some(read_key) = self.read_key {
            self.remember(row, read_key);
        }
    }

    fn remember(&mut self, row: &RowChange<'_>, read_key: ReadKey) {
        let (changes, bytes) = self.worth_a_name;
        let is_hot =
            self.now.changes.amount(row.hash) > changes || self.now.bytes.amount(row.hash) > bytes;
        if is_hot && self.names.len() < NAMES_MAX {
            self.names.entry(row.hash).or_insert_with(|| read_key(row.key));
        }
    }

    /// Sizes of values that were written.
    pub(crate) fn value_bytes(&self) -> Histogram {
        self.value_bytes.pack()
    }

    /// The hottest keys of the last five to ten minutes, as of a second ago at most; `wall` in ms.
    pub(crate) fn hot_keys(&mut self, wall: i64) -> HotKeys {
        if let Some((at, hot)) = &self.listed
            && (*at..at.saturating_add(LISTING_MILLIS)).contains(&wall)
        {
            return hot.clone();
        }
        let hot = self.list_anew(wall);
        self.listed = Some((wall, hot.clone()));
        hot
    }

    fn list_anew(&mut self, wall: i64) -> HotKeys {
        let since = *self.now.since_millis.get_or_insert(wall);
        if wall.saturating_sub(since) >= TURN_MILLIS {
            std::mem::swap(&mut self.now, &mut self.before);
            self.now.changes.clear();
            self.now.bytes.clear();
            self.now.since_millis = Some(wall);
        }
        let list = |of: fn(&Turn) -> &Heavy| self.list(of(&self.now), of(&self.before));
        let hot = HotKeys {
            by_changes: list(|turn| &turn.changes),
            by_bytes: list(|turn| &turn.bytes),
            since_millis: self.before.since_millis.or(self.now.since_millis),
        };
        if self.read_key.is_some() {
            let bar = |list: &HotList| {
                let full = list.keys.len() == HotList::KEYS_MAX;
                list.keys.last().filter(|_| full).map_or(0, |key| key.amount / 2)
            };
            self.worth_a_name = (bar(&hot.by_changes), bar(&hot.by_bytes));
            let listed = |hash: &u64| {
                let keys = hot.by_changes.keys.iter().chain(&hot.by_bytes.keys);
                keys.map(|key| key.hash).any(|listed| listed == *hash)
            };
            self.names.retain(|hash, _| listed(hash));
        }
        hot
    }

    fn list(&self, now: &Heavy, before: &Heavy) -> HotList {
        let mut amounts = now.entries();
        for (hash, amount) in &mut amounts {
            *amount += before.amount(*hash);
        }
        let only_before = |(hash, _): &(u64, u64)| now.amount(*hash) == 0;
        amounts.extend(before.entries().into_iter().filter(only_before));
        amounts.sort_unstable_by_key(|(hash, amount)| (std::cmp::Reverse(*amount), *hash));
        amounts.truncate(HotList::KEYS_MAX);
        let key = |(hash, amount)| HotKey { hash, key: self.names.get(&hash).cloned(), amount };
        HotList {
            keys: amounts.into_iter().map(key).collect(),
            total: now.total() + before.total(),
            error: now.error() + before.error(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(key: u64, changes: u64, bytes: u64) -> RowChange<'static> {
        RowChange { hash: key, key: b"k", changes, bytes, value_bytes: Some(bytes) }
    }

    /// §9, hot keys: by changes and by bytes, of the last turns only, hashes unless keys may be shown.
    #[test]
    fn the_hottest_keys_of_the_last_turns() {
        let mut changes = Changes::default();
        changes.hot_keys(0);
        changes.add(&change(1, 10, 5));
        changes.add(&change(2, 1, 500));
        let hot = changes.hot_keys(1_000);
        let first = |list: &HotList| list.keys.first().map(|key| (key.hash, key.amount));
        assert_eq!(first(&hot.by_changes), Some((1, 10)));
        assert_eq!(first(&hot.by_bytes), Some((2, 500)));
        assert_eq!((hot.by_changes.total, hot.by_bytes.total), (11, 505));
        assert_eq!(hot.by_changes.keys.first().unwrap().key, None);
        // the former turn still counts, the one before it does not
        changes.hot_keys(TURN_MILLIS);
        changes.add(&change(2, 3, 1));
        let hot = changes.hot_keys(TURN_MILLIS + LISTING_MILLIS);
        assert_eq!((first(&hot.by_changes), hot.since_millis), (Some((1, 10)), Some(0)));
        let hot = changes.hot_keys(2 * TURN_MILLIS);
        assert_eq!((first(&hot.by_changes), hot.since_millis), (Some((2, 3)), Some(TURN_MILLIS)));
        assert_eq!(changes.value_bytes().count(), 3);
    }

    #[test]
    fn keys_are_shown_where_they_may_be() {
        let mut changes = Changes::default();
        changes.show_keys(|key| format!("key {}", String::from_utf8_lossy(key)));
        changes.hot_keys(0);
        for key in 0..100 {
            changes.add(&change(key, key, 1));
        }
        changes.hot_keys(LISTING_MILLIS);
        for key in 90..100 {
            changes.add(&change(key, 1_000, 1_000));
        }
        let hot = changes.hot_keys(2 * LISTING_MILLIS);
        assert!(hot.by_changes.keys.iter().all(|key| key.key.as_deref() == Some("key k")));
        assert!(changes.names.len() <= 2 * HotList::KEYS_MAX);
    }
}
