//! Row keys of timers, and the order they fire in.
//!
//! ```text
//! row key = key group: u16 big-endian | time: i64, sign flipped, big-endian | stream key
//! ```

use std::cmp::Ordering;
use std::ops::Deref;
use std::rc::Rc;

use crate::codec::{GROUP_BYTES, Key};

/// Bytes in front of the stream key.
const HEADER_BYTES: usize = GROUP_BYTES + 8;

/// A row key; overlay and head share its bytes. Its beginning is at hand as a number, so that the
/// search in a tree reads the others' bytes only where that is equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowKey {
    beginning: u128,
    bytes: Rc<[u8]>,
}

/// The first 16 bytes as a number, zeros behind a shorter text.
fn beginning(parts: [&[u8]; 3]) -> u128 {
    let mut first = [0; 16];
    let bytes = parts.into_iter().flatten();
    first.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    u128::from_be_bytes(first)
}

impl From<&[u8]> for RowKey {
    fn from(bytes: &[u8]) -> Self {
        Self { beginning: beginning([bytes, &[], &[]]), bytes: bytes.into() }
    }
}

impl Deref for RowKey {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Ord for RowKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.beginning.cmp(&other.beginning).then_with(|| self.bytes.cmp(&other.bytes))
    }
}

impl PartialOrd for RowKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Builds the row key of a timer out of the row key (`group | key`) of its stream key.
pub(super) fn build(stream_row_key: &[u8], time: i64, out: &mut Vec<u8>) {
    let (group, key) = stream_row_key.split_at_checked(GROUP_BYTES).unwrap_or_default();
    out.clear();
    out.extend_from_slice(group);
    time.encode(out);
    out.extend_from_slice(key);
}

/// The first possible row key of a group's timers at `time`.
pub(super) fn first_at(group: u16, time: i64) -> RowKey {
    let mut key = Vec::with_capacity(HEADER_BYTES);
    build(&group.to_be_bytes(), time, &mut key);
    key.as_slice().into()
}

/// When a timer is due.
pub(crate) fn time_of(key: &[u8]) -> i64 {
    key.get(GROUP_BYTES..HEADER_BYTES).and_then(i64::decode).unwrap_or(i64::MIN)
}

/// Puts the row key (`group | key`) of the timer's stream key into `out`.
pub(crate) fn stream_row_key(key: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(key.get(..GROUP_BYTES).unwrap_or_default());
    out.extend_from_slice(key.get(HEADER_BYTES..).unwrap_or_default());
}

/// A row key, ordered as timers fire: by time, then by key group and key, so that two runs fire
/// alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Due {
    beginning: u128,
    pub(super) key: RowKey,
}

impl Due {
    pub(super) fn of(key: &RowKey) -> Self {
        let (group, rest) = key.split_at_checked(GROUP_BYTES).unwrap_or_default();
        let (time, stream_key) = rest.split_at_checked(8).unwrap_or_default();
        Self { beginning: beginning([time, group, stream_key]), key: key.clone() }
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        // of one time and group, row keys are ordered as stream keys are
        self.beginning.cmp(&other.beginning).then_with(|| self.key.cmp(&other.key))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::group_of;
    use proptest::prelude::*;

    proptest! {
        /// §5.1, §5.3: timers fire by time, then by group and key, and no two share a row.
        #[test]
        fn order_is_time_group_key(
            a in (prop_oneof![any::<i64>(), 0_i64..2], 0_u16..3, prop::collection::vec(0_u8..3, 0..9)),
            b in (prop_oneof![any::<i64>(), 0_i64..2], 0_u16..3, prop::collection::vec(0_u8..3, 0..9)),
        ) {
            let due = |(time, group, key): &(i64, u16, Vec<u8>)| {
                let (mut out, stream) = (Vec::new(), [&group.to_be_bytes(), &**key].concat());
                build(&stream, *time, &mut out);
                let mut back = Vec::new();
                stream_row_key(&out, &mut back);
                assert_eq!((time_of(&out), group_of(&out), back), (*time, *group, stream));
                Due::of(&out.as_slice().into())
            };
            prop_assert_eq!(due(&a).cmp(&due(&b)), a.cmp(&b));
            let (x, y) = (due(&a).key, due(&b).key);
            prop_assert_eq!(x.cmp(&y), x.bytes.cmp(&y.bytes));
        }
    }
}
