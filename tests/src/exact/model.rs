//! One state as SEMANTICS says that it must be, in a map.
//!
//! The only thing taken from the engine's way of doing it is the width of a bucket: whole buckets are
//! written off (§1.11), and until then an expired entry is there to be found (§1.5).

use std::collections::{BTreeMap, BTreeSet};

use stateward_model::UpdateType;
use stateward_model::wire::{AccessKind, StateFlow};

/// Key of the stream, key of the map where it is one.
type EntryKey = (u64, Option<u32>);
/// What accesses of one name and kind have: count and bytes.
type Sites = BTreeMap<(&'static str, &'static str), (u64, u64)>;

#[derive(Clone, Debug)]
struct Entry {
    ts: i64,
    value: String,
}

/// The event at hand: the watermark that the operator sees, and the event's own time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    pub(super) watermark: Option<i64>,
    pub(super) event_ts: i64,
}

/// A state.
#[derive(Clone, Debug)]
pub struct Model {
    ttl: i64,
    update: UpdateType,
    entries: BTreeMap<EntryKey, Entry>,
    /// Entries that expired and are gone.
    gone: BTreeSet<EntryKey>,
    flow: StateFlow,
    gone_reads: u64,
    sites: Sites,
    last_offered: Option<u64>,
}

/// What a state must report.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Flows; `misses_absent` is not among them.
    pub flow: StateFlow,
    /// Reads of a key whose entry had expired and was gone: the most that `misses_absent` can be.
    pub gone_reads: u64,
    /// Accesses by name and kind.
    pub sites: Sites,
    /// Entries that are neither removed nor written off: (ts, logical bytes).
    pub entries: Vec<(i64, u64)>,
}

/// Width of a ledger's buckets before anything widens them: a 128th of the TTL, up to a power of two.
pub fn bucket_millis(ttl_millis: i64) -> i64 {
    (ttl_millis / 128).max(1).unsigned_abs().next_power_of_two() as i64
}

/// §9: key and value, without group and header. Numbers are keys of eight and four bytes, a map key
/// has the length of the key before it, a short text one byte of length.
fn logical_bytes(key: EntryKey, value: &str) -> u64 {
    let key = if key.1.is_some() { 4 + 8 + 4 } else { 8 };
    key + 1 + value.len() as u64
}

impl Model {
    pub(super) fn new(ttl: i64, update: UpdateType) -> Self {
        Self {
            ttl,
            update,
            entries: BTreeMap::new(),
            gone: BTreeSet::new(),
            flow: StateFlow::default(),
            gone_reads: 0,
            sites: Sites::new(),
            last_offered: None,
        }
    }

    /// §1.2, inclusive.
    fn is_expired(&self, ts: i64, now: Option<i64>) -> bool {
        now.is_some_and(|now| ts + self.ttl <= now)
    }

    /// §1.11: its bucket is expired as a whole.
    fn is_written_off(&self, ts: i64, watermark: Option<i64>) -> bool {
        let width = bucket_millis(self.ttl);
        self.is_expired(ts.div_euclid(width) * width + width - 1, watermark)
    }

    /// Takes out what the sweep has taken, if it has.
    fn settle(&mut self, key: EntryKey, watermark: Option<i64>) {
        let ts = self.entries.get(&key).map(|entry| entry.ts);
        if ts.is_some_and(|ts| self.is_written_off(ts, watermark)) {
            self.entries.remove(&key);
            self.gone.insert(key);
            self.flow.removed_sweep += 1;
        }
    }

    fn access(&mut self, name: &'static str, kind: AccessKind, bytes: u64) {
        let site = self.sites.entry((name, kind.as_str())).or_default();
        *site = (site.0 + 1, site.1 + bytes);
    }

    /// Bytes of an entry, 0 where there is none.
    fn bytes(&self, key: EntryKey) -> u64 {
        self.entries.get(&key).map_or(0, |entry| logical_bytes(key, &entry.value))
    }

    pub(super) fn read(&mut self, key: EntryKey, now: Now, name: &'static str) -> Option<String> {
        self.settle(key, now.watermark);
        self.flow.reads += 1;
        let bytes = self.bytes(key);
        let Some(entry) = self.entries.get(&key).cloned() else {
            self.gone_reads += u64::from(self.gone.contains(&key));
            self.access(name, AccessKind::Read, 0);
            return None;
        };
        if self.is_expired(entry.ts, now.watermark.max(Some(now.event_ts))) {
            self.access(name, AccessKind::Read, bytes);
            self.flow.misses_present += 1;
            // §1.8: removal follows the watermark alone
            if self.is_expired(entry.ts, now.watermark) {
                self.entries.remove(&key);
                self.gone.insert(key);
                self.flow.removed_read += 1;
            }
            return None;
        }
        let refreshes = self.update == UpdateType::OnReadAndWrite;
        if refreshes {
            self.flow.refreshes += 1;
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.ts = entry.ts.max(now.event_ts);
            }
        }
        self.access(name, if refreshes { AccessKind::Refresh } else { AccessKind::Read }, bytes);
        Some(entry.value)
    }

    /// Returns whether the write came too late; `event` numbers the event.
    pub(super) fn write(
        &mut self,
        key: EntryKey,
        value: &str,
        now: Now,
        event: u64,
        name: &'static str,
    ) -> bool {
        self.settle(key, now.watermark);
        self.flow.offered += u64::from(self.last_offered.replace(event) != Some(event));
        let found = self.entries.get(&key).map(|entry| entry.ts);
        let seen = now.watermark.max(Some(now.event_ts));
        let live = found.filter(|ts| !self.is_expired(*ts, seen));
        let stamp = match (live, self.update) {
            (Some(ts), UpdateType::OnCreate) => ts,
            (Some(ts), _) => ts.max(now.event_ts),
            (None, _) => now.event_ts,
        };
        if self.is_expired(stamp, now.watermark) {
            self.flow.late_writes += 1;
            return true;
        }
        let bytes = logical_bytes(key, value);
        self.flow.writes += 1;
        self.flow.written_bytes += bytes;
        self.flow.created += u64::from(live.is_none());
        self.flow.removed_overwrite += u64::from(live.is_none() && found.is_some());
        self.gone.remove(&key);
        self.entries.insert(key, Entry { ts: stamp, value: value.to_owned() });
        self.access(name, AccessKind::Write, bytes);
        false
    }

    pub(super) fn delete(&mut self, key: EntryKey, now: Now, name: &'static str) {
        self.settle(key, now.watermark);
        self.flow.deletes += 1;
        self.access(name, AccessKind::Write, self.bytes(key));
        if let Some(entry) = self.entries.remove(&key) {
            // an expired entry is not removed by the delete, it was only found by it
            if self.is_expired(entry.ts, now.watermark.max(Some(now.event_ts))) {
                self.flow.removed_read += 1;
            } else {
                self.flow.removed_delete += 1;
            }
        }
    }

    /// All live entries of a key, each of which is read.
    pub(super) fn read_all(
        &mut self,
        key: u64,
        now: Now,
        name: &'static str,
    ) -> Vec<(u32, String)> {
        let range = (key, Some(0))..=(key, Some(u32::MAX));
        let keys: Vec<EntryKey> = self.entries.range(range).map(|(key, _)| *key).collect();
        let mut live = Vec::new();
        for key in keys {
            self.settle(key, now.watermark);
            if self.entries.contains_key(&key)
                && let Some(value) = self.read(key, now, name)
            {
                live.push((key.1.unwrap_or_default(), value));
            }
        }
        live
    }

    /// Ends a run at a watermark: what it must have reported. Flows begin anew.
    pub fn close(&mut self, watermark: Option<i64>) -> Expected {
        let keys: Vec<EntryKey> = self.entries.keys().copied().collect();
        for key in keys {
            self.settle(key, watermark);
        }
        self.last_offered = None;
        let entries = self.entries.iter();
        Expected {
            flow: std::mem::take(&mut self.flow),
            gone_reads: std::mem::take(&mut self.gone_reads),
            sites: std::mem::take(&mut self.sites),
            entries: entries
                .map(|(key, entry)| (entry.ts, logical_bytes(*key, &entry.value)))
                .collect(),
        }
    }
}
