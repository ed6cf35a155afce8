//! The head of keyed state: names, kinds and serializers of the states.
//!
//! A serializer's snapshot is written by the serializer's own code, so it has no length and cannot
//! be stepped over. What is needed stands out all the same: a state begins with its name, the
//! number of its kind, and the name of an option or serializer that is always the same.

use super::key::KeyForm;
use crate::inspect::bytes::{Cursor, Malformed};

/// What Flink calls a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KnownKind {
    Value,
    List,
    Map,
    Timer,
}

/// One state as a head describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownState {
    pub(crate) name: String,
    pub(crate) kind: KnownKind,
    /// Flink's word for the kind: `VALUE`, `REDUCING`.
    pub(crate) word: String,
    /// Its values carry the time of the last access.
    pub(crate) has_ttl: bool,
    pub(crate) key: Option<KeyForm>,
    /// Its namespace is a time window.
    pub(crate) has_window: bool,
}

const KEYED: &[u8] = b"\0\x10KEYED_STATE_TYPE";
const QUEUED: &[u8] = b"\0\0\0\0\0\0\0\x01\0\x10VALUE_SERIALIZER";

/// The states in the order of their ids.
///
/// # Errors
/// Where the bytes are no head.
pub(crate) fn head(bytes: &[u8]) -> Result<Vec<KnownState>, Malformed> {
    let mut cursor = Cursor::new(bytes);
    if !(1..=16).contains(&cursor.i32_be()?) {
        return Err(Malformed("it does not begin like keyed state of Flink's"));
    }
    if cursor.byte()? != 0 {
        return Err(Malformed("its key groups are compressed, which is not read here"));
    }
    cursor.i32_be()?;
    let serializer = cursor.utf()?;
    let key = key_form(&serializer);
    let starts = starts(bytes);
    let mut states = Vec::new();
    for (at, (start, name, kind)) in starts.iter().enumerate() {
        let end = starts.get(at + 1).map_or(bytes.len(), |(next, _, _)| *next);
        let text = bytes.get(*start..end).unwrap_or_default();
        let has = |word: &[u8]| memchr::memmem::find(text, word).is_some();
        states.push(KnownState {
            name: name.clone(),
            kind: match kind.as_str() {
                "LIST" => KnownKind::List,
                "MAP" => KnownKind::Map,
                "timer" => KnownKind::Timer,
                _ => KnownKind::Value,
            },
            word: kind.clone(),
            has_ttl: has(b"TtlStateFactory$TtlSerializer"),
            key,
            has_window: has(b"TimeWindow$Serializer"),
        });
    }
    Ok(states)
}

fn key_form(serializer: &str) -> Option<KeyForm> {
    let forms = [
        ("StringSerializer$", KeyForm::Text),
        ("LongSerializer$", KeyForm::Long),
        ("IntSerializer$", KeyForm::Int),
    ];
    forms.into_iter().find(|(name, _)| serializer.contains(name)).map(|(_, form)| form)
}

/// Where each state begins, its name and the word for its kind.
fn starts(bytes: &[u8]) -> Vec<(usize, String, String)> {
    let mut found = Vec::new();
    for at in memchr::memmem::find_iter(bytes, KEYED) {
        let Some(word) = bytes.get(at + KEYED.len()..).map(Cursor::new) else { continue };
        let Ok(word) = { word }.utf() else { continue };
        // in front: number of the kind, number of options
        if let Some((start, name)) = at.checked_sub(8).and_then(|end| name_before(bytes, end)) {
            found.push((start, name, word));
        }
    }
    for at in memchr::memmem::find_iter(bytes, QUEUED) {
        // the number of the kind lies in front of what is looked for
        let end = at
            .checked_sub(4)
            .filter(|end| bytes.get(*end..at).is_some_and(|number| number == [0, 0, 0, 3]));
        if let Some((start, name)) = end.and_then(|end| name_before(bytes, end)) {
            found.push((start, name, "timer".into()));
        }
    }
    found.sort_unstable();
    found
}

/// The text, with its length in front, that ends at `end`.
fn name_before(bytes: &[u8], end: usize) -> Option<(usize, String)> {
    const NAME_BYTES_MAX: usize = 512;
    (1..=NAME_BYTES_MAX).find_map(|length| {
        let start = end.checked_sub(length + 2)?;
        let mut cursor = Cursor::new(bytes.get(start..end)?);
        let stated = usize::from(cursor.u16_be().ok()?);
        let text = std::str::from_utf8(cursor.rest()).ok()?;
        let is_name = stated == length && !text.chars().any(char::is_control);
        is_name.then(|| (start, text.to_owned()))
    })
}
