//! Counts one state.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use stateward_model::{
    Evidence, HISTOGRAM_BUCKETS, Histogram, VerdictKind, bucket_of, expired, judge,
};

use super::flink::hex;
use super::form::Form;
use super::report::{
    Basis, Figures, FileInspection, FolderVerdict, LargeKey, Stamp, StateInspection,
};
use super::rocks::{Deed, Entry, Visit};

/// Largest rows that are named.
const LARGEST_MAX: usize = 10;
/// Bytes of a row key that are shown in hex.
const KEY_BYTES_MAX: usize = 64;

/// One state over all the parts that hold it.
#[derive(Debug)]
pub(super) struct Tally {
    kind: String,
    basis: Basis,
    stamp: Stamp,
    ttl_millis: Option<i64>,
    figures: Figures,
    plausible: u64,
    /// Entries of tables and log, live or not.
    physical: u64,
    /// Entries that live keys are made of.
    used: u64,
    expired: Expired,
    ages: Vec<u64>,
    age_sum: u64,
    largest: BinaryHeap<Reverse<LargeKey>>,
    files: Vec<FileInspection>,
}

#[derive(Debug, Default)]
struct Expired {
    keys: u64,
    first_keys: u64,
    entries: u64,
    bytes: u64,
}

impl Tally {
    pub(super) fn new(form: &Form, ttl_millis: Option<i64>) -> Self {
        Self {
            kind: form.kind().to_owned(),
            basis: form.basis(),
            stamp: form.stamp(),
            ttl_millis,
            figures: Figures::default(),
            plausible: 0,
            physical: 0,
            used: 0,
            expired: Expired::default(),
            ages: vec![0; HISTOGRAM_BUCKETS],
            age_sum: 0,
            largest: BinaryHeap::new(),
            files: Vec::new(),
        }
    }

    /// Takes in the tables of a part; what is visited next belongs to them.
    fn take_files(&mut self, files: Vec<FileInspection>) -> usize {
        let first = self.files.len();
        self.figures.table_bytes += files.iter().map(|file| file.bytes).sum::<u64>();
        self.files.extend(files);
        first
    }

    fn remember(&mut self, bytes: u64, text: impl FnOnce() -> String, row_key: &[u8]) {
        let is_full = self.largest.len() >= LARGEST_MAX;
        let smallest = self.largest.peek().map_or(0, |Reverse(key)| key.bytes);
        if is_full && smallest >= bytes {
            return;
        }
        let mut row_key_hex = hex(row_key.get(..KEY_BYTES_MAX).unwrap_or(row_key));
        if row_key.len() > KEY_BYTES_MAX {
            row_key_hex.push('…');
        }
        self.largest.push(Reverse(LargeKey { bytes, key: text(), row_key_hex }));
        if is_full {
            self.largest.pop();
        }
    }

    /// What is said of the state.
    pub(super) fn report(self, operator: Option<String>, state: String) -> StateInspection {
        let can_expire = self.stamp == Stamp::LastAccess;
        let judged = can_expire && self.ttl_millis.is_some();
        let mut figures = self.figures;
        let told = |figure: u64| judged.then_some(figure);
        figures.expired_keys = told(self.expired.keys);
        figures.expired_first_keys = told(self.expired.first_keys);
        figures.expired_entries = told(self.expired.entries);
        figures.expired_bytes = told(self.expired.bytes);
        figures.garbage_entries = self.physical.saturating_sub(self.used);
        figures.ages = can_expire.then(|| Histogram::from_dense(&self.ages, self.age_sum));
        let live = figures.live_keys;
        let mut largest: Vec<_> = self.largest.into_iter().map(|Reverse(key)| key).collect();
        largest.sort_unstable_by(|a, b| b.cmp(a));
        StateInspection {
            operator,
            state,
            kind: self.kind,
            basis: self.basis,
            stamp: self.stamp,
            plausible_ratio: (live > 0).then(|| self.plausible as f64 / live as f64),
            ttl_millis: self.ttl_millis.filter(|_| can_expire),
            verdict: verdict(self.stamp, self.ttl_millis, &figures),
            figures,
            largest,
            files: self.files,
        }
    }
}

/// What a folder alone can tell: whether expired entries lie about. Who reads when is not in it.
fn verdict(stamp: Stamp, ttl_millis: Option<i64>, figures: &Figures) -> FolderVerdict {
    let written_off = figures.written_off_bytes;
    let debt_bytes = figures.expired_bytes.map(|expired| expired + written_off);
    let total_bytes = figures.logical_bytes + written_off;
    let evidence = Evidence {
        ttl_millis: ttl_millis.filter(|_| stamp == Stamp::LastAccess),
        entries: figures.entries - figures.expired_entries.unwrap_or(0),
        debt_bytes: debt_bytes.unwrap_or(written_off),
        total_bytes,
        ..Evidence::default()
    };
    let kind = match stamp {
        Stamp::LastAccess if ttl_millis.is_none() => VerdictKind::CannotTell,
        Stamp::LastAccess | Stamp::None => judge(evidence).kind,
        // timers fire and windows close: no TTL is expected of them
        Stamp::FireTime | Stamp::WindowEnd => VerdictKind::CannotTell,
    };
    FolderVerdict { kind, debt_bytes, total_bytes }
}

/// Counts the rows of one part of a state.
#[derive(Debug)]
pub(super) struct Counting {
    pub(super) tally: Tally,
    form: Form,
    now: Option<i64>,
    first_file: usize,
}

impl Counting {
    pub(super) fn new(
        mut tally: Tally,
        form: Form,
        now: Option<i64>,
        mut files: Vec<FileInspection>,
    ) -> Self {
        let judged = form.stamp() == Stamp::LastAccess && tally.ttl_millis.is_some();
        for file in &mut files {
            file.expired = judged.then_some(0);
        }
        let first_file = tally.take_files(files);
        Self { tally, form, now, first_file }
    }

    fn is_expired(&self, ts: i64) -> bool {
        self.form.stamp() == Stamp::LastAccess && expired(ts, self.tally.ttl_millis, self.now)
    }

    /// One live row.
    pub(super) fn count(&mut self, key: &[u8], row: Option<&[u8]>) {
        let Some(row) = row else {
            // it lives, and nothing more can be said of it
            self.tally.figures.live_keys += 1;
            self.tally.figures.entries += 1;
            return;
        };
        let bytes = self.form.bytes(key, row);
        if self.form.is_written_off(row) {
            self.tally.figures.written_off_keys += 1;
            self.tally.figures.written_off_bytes += bytes;
            return;
        }
        let form = &self.form;
        let mut times = Vec::new();
        let is_plausible = form.stamps(key, row, &mut |ts, bytes| times.push((ts, bytes)));
        self.tally.remember(bytes, || form.key_text(key), key);
        let figures = &mut self.tally.figures;
        figures.live_keys += 1;
        figures.logical_bytes += bytes;
        figures.entries += times.len().max(1) as u64;
        self.tally.plausible += u64::from(is_plausible);
        let mut dead = 0;
        for (at, (ts, bytes)) in times.iter().enumerate() {
            let is_dead = self.is_expired(*ts);
            self.note_time(*ts);
            if is_dead {
                dead += 1;
                self.tally.expired.entries += 1;
                self.tally.expired.bytes += bytes;
                self.tally.expired.first_keys += u64::from(at == 0);
            }
        }
        self.tally.expired.keys += u64::from(dead > 0 && dead == times.len());
    }

    fn note_time(&mut self, ts: i64) {
        let figures = &mut self.tally.figures;
        widen(&mut figures.oldest_millis, &mut figures.newest_millis, ts);
        let Some(now) = self.now else { return };
        let age = u64::try_from(now.saturating_sub(ts)).unwrap_or(0);
        let is_future = self.form.stamp() == Stamp::LastAccess && ts > now;
        figures.future_entries += u64::from(is_future);
        if let Some(slot) = self.tally.ages.get_mut(bucket_of(age)) {
            *slot += 1;
        }
        self.tally.age_sum = self.tally.age_sum.saturating_add(age);
    }
}

fn widen(oldest: &mut Option<i64>, newest: &mut Option<i64>, ts: i64) {
    *oldest = Some(oldest.map_or(ts, |oldest| oldest.min(ts)));
    *newest = Some(newest.map_or(ts, |newest| newest.max(ts)));
}

impl Visit for Counting {
    fn entry(&mut self, entry: &Entry<'_>) {
        self.tally.physical += 1;
        self.tally.figures.logged_entries += u64::from(entry.file.is_none());
        let (Some(file), Deed::Put | Deed::Merge) = (entry.file, entry.deed) else { return };
        let mut times = Vec::new();
        self.form.stamps(entry.key, entry.value, &mut |ts, _| times.push(ts));
        let dead = times.iter().filter(|ts| self.is_expired(**ts)).count() as u64;
        let Some(file) = self.tally.files.get_mut(self.first_file + file) else { return };
        for ts in &times {
            widen(&mut file.oldest_millis, &mut file.newest_millis, *ts);
        }
        file.stamped += times.len() as u64;
        file.expired = file.expired.map(|expired| expired + dead);
    }

    fn row(&mut self, key: &[u8], value: Option<&[u8]>) -> ControlFlow<()> {
        self.tally.used += 1;
        self.count(key, value);
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// §9, verdict: each answer that a folder can give, and what it takes.
    #[test]
    fn a_folder_tells_no_ttl_and_cleanup_behind_and_no_more() {
        let figures = |expired_bytes: Option<u64>, written_off_bytes: u64| Figures {
            logical_bytes: 8 << 20,
            expired_bytes,
            written_off_bytes,
            ..Figures::default()
        };
        let (behind, little) = (Some(4 << 20), Some(1 << 19));
        let cases = [
            (Stamp::None, None, figures(None, 0), VerdictKind::NoTtl),
            (Stamp::LastAccess, None, figures(None, 0), VerdictKind::CannotTell),
            (Stamp::LastAccess, Some(1), figures(behind, 0), VerdictKind::CleanupBehind),
            (Stamp::LastAccess, Some(1), figures(little, 4 << 20), VerdictKind::CleanupBehind),
            (Stamp::LastAccess, Some(1), figures(little, 0), VerdictKind::CannotTell),
            (Stamp::WindowEnd, Some(1), figures(None, 0), VerdictKind::CannotTell),
            (Stamp::FireTime, Some(1), figures(None, 0), VerdictKind::CannotTell),
        ];
        for (stamp, ttl, figures, expected) in cases {
            assert_eq!(verdict(stamp, ttl, &figures).kind, expected, "{stamp:?} {ttl:?}");
        }
    }
}
