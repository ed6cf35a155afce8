//! Where in a row of Flink's the time of its last access is: known from serializers, or guessed
//! from many rows.
//!
//! ```text
//! value, reducing, aggregating   [access: 8] value
//! map                            null flag: 1 | [access: 8] value
//! list                           element 2c element…, element = [access: 8] value
//! timer                          the fire time is in the key: key group | time, sign flipped | …
//! ```
//! The time of the access is there where the state has a TTL; the TTL itself is nowhere.

use super::key::{KeyForm, KeyLayout, KeyParts};
use super::{KnownKind, KnownState};
use crate::inspect::report::Stamp;

/// Between the elements of a list.
const DELIMITER: u8 = b',';
/// Earliest and latest millisecond that is taken for a time of day: 2001 to 2100.
const PLAUSIBLE: std::ops::Range<i64> = 1_000_000_000_000..4_102_444_800_000;
/// Share of the rows that must look like a layout before it is taken for one.
const SHARE_MIN: f64 = 0.9;

/// Rows to guess from.
pub(crate) type Sample = [(Vec<u8>, Vec<u8>)];

/// Tells whether a number may be a time of day in ms.
pub(crate) fn is_plausible(millis: i64) -> bool {
    PLAUSIBLE.contains(&millis)
}

/// What a state's rows look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) kind: KnownKind,
    pub(crate) stamp: Stamp,
    /// How its keys are built, where that could be told.
    pub(crate) key: Option<KeyLayout>,
    group_bytes: usize,
}

impl Layout {
    /// Visits the times in a row with the bytes that go with each; `false` where the row does not
    /// look like this layout.
    pub(crate) fn stamps(&self, key: &[u8], value: &[u8], visit: &mut dyn FnMut(i64, u64)) -> bool {
        let whole = (key.len() + value.len()) as u64;
        let stamp = match self.stamp {
            Stamp::None => return true,
            Stamp::FireTime => flipped(key, self.group_bytes),
            Stamp::WindowEnd => {
                self.key.and_then(|key_layout| key_layout.split(key)?.window).map(|(_, end)| end)
            }
            Stamp::LastAccess if self.kind == KnownKind::List => {
                return elements(value, visit);
            }
            Stamp::LastAccess => access(self.kind, value),
        };
        let stamp = stamp.filter(|stamp| self.stamp != Stamp::LastAccess || is_plausible(*stamp));
        if let Some(stamp) = stamp {
            visit(stamp, whole);
        }
        stamp.is_some()
    }

    /// Takes a row key apart.
    pub(crate) fn split<'a>(&self, key: &'a [u8]) -> Option<(KeyForm, KeyParts<'a>)> {
        let layout = self.key?;
        Some((layout.form, layout.split(key)?))
    }
}

fn flipped(key: &[u8], group_bytes: usize) -> Option<i64> {
    let time = key.get(group_bytes..)?.first_chunk::<8>()?;
    Some((u64::from_be_bytes(*time) ^ (1 << 63)) as i64)
}

fn time_at(bytes: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_be_bytes(*bytes.get(at..)?.first_chunk::<8>()?))
}

/// The time in front of a value; something must follow it.
fn access(kind: KnownKind, value: &[u8]) -> Option<i64> {
    let at = usize::from(kind == KnownKind::Map);
    if at == 1 && value.first().is_none_or(|flag| *flag > 1) {
        return None;
    }
    let has_value = value.len() > at + 8 || value.first() == Some(&1);
    time_at(value, at).filter(|_| has_value)
}

/// Visits the elements of a list. Their length is unknown and a delimiter may be part of a value,
/// so an element begins behind a delimiter that a plausible time follows.
fn elements(list: &[u8], visit: &mut dyn FnMut(i64, u64)) -> bool {
    let Some(mut stamp) = time_at(list, 0).filter(|time| is_plausible(*time)) else {
        return false;
    };
    let mut start = 0;
    for at in memchr::memchr_iter(DELIMITER, list) {
        // a delimiter within the time of the element that is being read
        if at < start + 8 {
            continue;
        }
        if let Some(next) = time_at(list, at + 1).filter(|time| is_plausible(*time)) {
            visit(stamp, (at - start) as u64);
            (stamp, start) = (next, at + 1);
        }
    }
    visit(stamp, (list.len() - start) as u64);
    true
}

/// The layout of a state whose serializers are known.
pub(crate) fn layout_of(state: &KnownState, group_bytes: usize) -> Layout {
    let stamp = match state.kind {
        KnownKind::Timer => Stamp::FireTime,
        _ if state.has_ttl => Stamp::LastAccess,
        _ if state.has_window => Stamp::WindowEnd,
        _ => Stamp::None,
    };
    let has_user_key = state.kind == KnownKind::Map;
    let key = state.key.filter(|_| state.kind != KnownKind::Timer).map(|form| KeyLayout {
        group_bytes,
        form,
        has_window: state.has_window,
        has_user_key,
    });
    Layout { kind: state.kind, stamp, key, group_bytes }
}

/// Guesses the layout of a column family from some of its rows.
pub(crate) fn guess(family: &str, has_ttl_filter: Option<bool>, rows: &Sample) -> Layout {
    if family.starts_with("_timer_state/") {
        let fits =
            |bytes: usize| share(rows, |key, _| flipped(key, bytes).is_some_and(is_plausible));
        let group_bytes = if fits(2) > fits(1) { 2 } else { 1 };
        let stamp = Stamp::FireTime;
        return Layout { kind: KnownKind::Timer, stamp, key: None, group_bytes };
    }
    let key = guess_key(rows);
    let group_bytes = key.map_or(1, |key| key.group_bytes);
    let looks_accessed =
        |kind| share(rows, |_, value| access(kind, value).is_some_and(is_plausible));
    let mut kind = match key {
        Some(key) if key.has_user_key => KnownKind::Map,
        // keys of a form that is not known: the null flag of a map gives it away
        None if looks_accessed(KnownKind::Map) >= SHARE_MIN => KnownKind::Map,
        _ => KnownKind::Value,
    };
    // Flink sets its filter for every state with a TTL and for no other
    let has_access = has_ttl_filter.unwrap_or(looks_accessed(kind) >= SHARE_MIN);
    if has_access && kind == KnownKind::Value && rows.iter().any(|(_, value)| is_list(value)) {
        kind = KnownKind::List;
    }
    let has_window = key.is_some_and(|key| key.has_window);
    let stamp = match (has_access, has_window) {
        (true, _) => Stamp::LastAccess,
        (false, true) => Stamp::WindowEnd,
        (false, false) => Stamp::None,
    };
    Layout { kind, stamp, key, group_bytes }
}

fn is_list(value: &[u8]) -> bool {
    let mut count = 0;
    elements(value, &mut |_, _| count += 1) && count > 1
}

fn share(rows: &Sample, is_so: impl Fn(&[u8], &[u8]) -> bool) -> f64 {
    let count = rows.iter().filter(|(key, value)| is_so(key, value)).count();
    if rows.is_empty() { 0.0 } else { count as f64 / rows.len() as f64 }
}

/// The way to build keys that most rows look like; of two alike the simpler one.
fn guess_key(rows: &Sample) -> Option<KeyLayout> {
    let mut best: Option<(f64, KeyLayout)> = None;
    for has_user_key in [false, true] {
        for has_window in [false, true] {
            for form in [KeyForm::Text, KeyForm::Long, KeyForm::Int] {
                for group_bytes in [1, 2] {
                    let layout = KeyLayout { group_bytes, form, has_window, has_user_key };
                    let fits = share(rows, |key, _| fits(&layout, key));
                    if best.is_none_or(|(most, _)| fits > most) {
                        best = Some((fits, layout));
                    }
                }
            }
        }
    }
    best.filter(|(share, _)| *share >= SHARE_MIN).map(|(_, layout)| layout)
}

fn fits(layout: &KeyLayout, key: &[u8]) -> bool {
    let parts = layout.split(key);
    parts.is_some_and(|parts| {
        parts.window.is_none_or(|(start, end)| is_plausible(start) && is_plausible(end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_796_061_800_543;

    fn stamped(ts: i64, value: &[u8]) -> Vec<u8> {
        [&ts.to_be_bytes()[..], value].concat()
    }

    fn key(group: u8, text: &str, behind: &[u8]) -> Vec<u8> {
        [&[group, text.len() as u8 + 1][..], text.as_bytes(), behind].concat()
    }

    #[test]
    fn each_kind_is_told_from_its_rows() {
        let users = ["user-1", "user-22", "u", "someone-else"];
        let rows = |behind: &[u8], value: &dyn Fn(usize) -> Vec<u8>| -> Vec<(Vec<u8>, Vec<u8>)> {
            let keys = users.iter().enumerate();
            keys.map(|(at, user)| (key(at as u8, user, behind), value(at))).collect()
        };
        let check = |rows: &Sample, kind, stamp| {
            let found = guess("x", None, rows);
            assert_eq!((found.kind, found.stamp), (kind, stamp), "{found:?}");
        };
        let long = |at: usize| stamped(NOW - at as i64, &7_i64.to_be_bytes());
        check(&rows(&[0], &long), KnownKind::Value, Stamp::LastAccess);
        // eight bytes that look like a time, with nothing behind them, are the value itself
        check(&rows(&[0], &|_| stamped(NOW, &[])), KnownKind::Value, Stamp::None);
        let list = |at: usize| [long(at), vec![DELIMITER], long(0)].concat();
        check(&rows(&[0], &list), KnownKind::List, Stamp::LastAccess);
        let entry = |at: usize| [vec![0], long(at)].concat();
        check(&rows(b"\0\x02a", &entry), KnownKind::Map, Stamp::LastAccess);
        let window = stamped(NOW, &(NOW + 20_000).to_be_bytes());
        check(&rows(&window, &|_| vec![1]), KnownKind::Value, Stamp::WindowEnd);
        assert_eq!(guess("x", Some(false), &rows(&[0], &long)).stamp, Stamp::None);
        assert_eq!(guess("_timer_state/event_x", None, &[]).stamp, Stamp::FireTime);
    }

    #[test]
    fn a_delimiter_within_a_time_or_a_value_separates_nothing() {
        // 2c is a byte of this time, and of the values
        let ts = 0x0000_01a2_2c00_2c00;
        let one = stamped(ts, b",,");
        let list = [&one[..], &[DELIMITER], &stamped(ts + 1, b"x,y"), &[DELIMITER], &one].concat();
        let mut found = Vec::new();
        assert!(elements(&list, &mut |ts, bytes| found.push((ts, bytes))));
        assert_eq!(found, [(ts, 10), (ts + 1, 11), (ts, 10)]);
        // a delimiter within the time, behind which the value completes another plausible time
        let value = [0x01, 0xa2, 0x2d, 0xa0, 0, 0, 7];
        let one = stamped(0x0000_01a2_2d2c_0000, &value);
        found.clear();
        assert!(elements(&one, &mut |ts, bytes| found.push((ts, bytes))));
        assert_eq!(found, [(0x0000_01a2_2d2c_0000, 15)]);
    }
}
