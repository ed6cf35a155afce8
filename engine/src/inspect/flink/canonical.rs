//! Rows of a canonical savepoint: one stream per subtask, cut into key groups.
//!
//! ```text
//! key group = state id: u16 | entry… | 0xffff
//! entry     = length | key (with its key group) | length | value
//! ```
//! The first bit of a key says that the number of the next state follows the entry.

use crate::inspect::bytes::{Cursor, Malformed};

const END_OF_GROUP: u16 = 0xffff;
const STATE_FOLLOWS: u8 = 0x80;

/// Takes in one row: index of its state, key, value.
pub(crate) type TakeRow<'a> = dyn FnMut(usize, &[u8], &[u8]) + 'a;

/// Visits the rows of one key group.
///
/// # Errors
/// Where the group is torn or damaged; its rows up to there are visited.
pub(crate) fn visit_group(group: &[u8], visit: &mut TakeRow<'_>) -> Result<(), Malformed> {
    let mut cursor = Cursor::new(group);
    let mut state = cursor.u16_be()?;
    let mut key = Vec::new();
    while state != END_OF_GROUP {
        let length = cursor.count_be(1)?;
        key.clear();
        key.extend_from_slice(cursor.take(length)?);
        let length = cursor.count_be(1)?;
        let value = cursor.take(length)?;
        let first = key.first_mut().ok_or(Malformed("a key is empty"))?;
        let is_last = *first & STATE_FOLLOWS != 0;
        *first &= !STATE_FOLLOWS;
        visit(usize::from(state), &key, value);
        if is_last {
            state = cursor.u16_be()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_changes_with_the_flag_and_a_torn_group_costs_only_its_rest() {
        let entry = |key: &[u8], value: &[u8]| {
            let lengths = [key, value].map(|part| (part.len() as u32).to_be_bytes());
            [&lengths[0][..], key, &lengths[1], value].concat()
        };
        let mut group = vec![0, 0];
        group.extend(entry(&[1, 7], b"a"));
        group.extend(entry(&[0x81, 8], b"b"));
        group.extend([0, 1]);
        group.extend(entry(&[0x81, 9], b""));
        group.extend([0xff, 0xff]);
        let rows = |group: &[u8]| {
            let mut rows = Vec::new();
            let outcome = visit_group(group, &mut |state, key, value| {
                rows.push((state, key.to_vec(), value.to_vec()));
            });
            (rows, outcome.is_ok())
        };
        let (whole, is_whole) = rows(&group);
        let all = [(0, vec![1, 7], b"a".to_vec()), (0, vec![1, 8], b"b".to_vec())];
        assert_eq!(whole[..2], all);
        assert_eq!((whole.len(), &whole[2]), (3, &(1, vec![1, 9], Vec::new())));
        assert!(is_whole);
        for length in 0..group.len() {
            let (part, is_whole) = rows(&group[..length]);
            assert!(!is_whole && whole.starts_with(&part), "{length}");
        }
    }
}
