//! Row keys of timers, and the order they fire in.
//!
//! ```text
//! row key = key group: u16 big-endian | time: i64, sign flipped, big-endian | stream key
//! ```

use std::cmp::Ordering;
use std::rc::Rc;

use crate::codec::{GROUP_BYTES, Key};

/// Bytes in front of the stream key.
const HEADER_BYTES: usize = GROUP_BYTES + 8;

/// A row key; overlay and head share its bytes.
pub(crate) type RowKey = Rc<[u8]>;

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
    key.into()
}

/// Key group of a row key.
pub(super) fn group_of(key: &[u8]) -> u16 {
    key.first_chunk::<GROUP_BYTES>().map_or(0, |bytes| u16::from_be_bytes(*bytes))
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
pub(super) struct Due(pub(super) RowKey);

impl Due {
    fn parts(&self) -> (&[u8], &[u8], &[u8]) {
        let (group, rest) = self.0.split_at_checked(GROUP_BYTES).unwrap_or_default();
        let (time, key) = rest.split_at_checked(8).unwrap_or_default();
        (time, group, key)
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
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
    use proptest::prelude::*;

    proptest! {
        /// §5.1, §5.3: timers fire by time, then by group and key, and no two share a row.
        #[test]
        fn order_is_time_group_key(
            a in (any::<i64>(), 0_u16..3, prop::collection::vec(any::<u8>(), 0..4)),
            b in (any::<i64>(), 0_u16..3, prop::collection::vec(any::<u8>(), 0..4)),
        ) {
            let due = |(time, group, key): &(i64, u16, Vec<u8>)| {
                let (mut out, stream) = (Vec::new(), [&group.to_be_bytes(), &**key].concat());
                build(&stream, *time, &mut out);
                let mut back = Vec::new();
                stream_row_key(&out, &mut back);
                assert_eq!((time_of(&out), group_of(&out), back), (*time, *group, stream));
                Due(out.into())
            };
            prop_assert_eq!(due(&a).cmp(&due(&b)), a.cmp(&b));
        }
    }
}
