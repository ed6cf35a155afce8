//! The write-ahead log: changes that are in no table yet.

use super::log::records;
use super::table::{Deed, RemovedRange};
use crate::inspect::bytes::{Cursor, Malformed};

/// One change.
#[derive(Clone, Debug)]
pub(crate) struct LoggedChange {
    pub(crate) family: u32,
    pub(crate) key: Vec<u8>,
    pub(crate) sequence: u64,
    pub(crate) deed: Deed,
    pub(crate) value: Vec<u8>,
}

/// What a log holds, as far as it could be read.
#[derive(Debug, Default)]
pub(super) struct Logged {
    pub(super) changes: Vec<LoggedChange>,
    /// Ranges that were removed, with their family.
    pub(super) ranges: Vec<(u32, RemovedRange)>,
    pub(super) torn: Option<(usize, Malformed)>,
}

/// Reads a write-ahead log.
pub(super) fn logged(log: &[u8]) -> Logged {
    let found = records(log);
    let mut logged = Logged { torn: found.torn, ..Logged::default() };
    for record in &found.records {
        // the end of a batch that cannot be read is lost, the batches behind it are not
        if let Err(e) = batch(record, &mut logged) {
            logged.torn.get_or_insert((0, e));
        }
    }
    logged
}

fn batch(record: &[u8], into: &mut Logged) -> Result<(), Malformed> {
    let mut cursor = Cursor::new(record);
    let mut sequence = cursor.u64_le()?;
    cursor.u32_le()?;
    while !cursor.is_empty() {
        let tag = cursor.byte()?;
        let family = match tag {
            0x4..=0x6 | 0x8 | 0xe | 0x10 | 0x17 | 0x19 => cursor.varint_u32()?,
            _ => 0,
        };
        let deed = match tag {
            0x1 | 0x5 => Deed::Put,
            0x2 | 0x6 => Deed::Merge,
            0x0 | 0x4 | 0x7 | 0x8 => Deed::Delete,
            0xe | 0xf => {
                let (from, to) = (cursor.prefixed()?.to_vec(), cursor.prefixed()?.to_vec());
                into.ranges.push((family, RemovedRange { from, to, sequence }));
                sequence += 1;
                continue;
            }
            0x3 | 0xa | 0xb | 0xc => {
                cursor.prefixed()?;
                continue;
            }
            0x9 | 0xd | 0x12 | 0x13 => continue,
            0x10 | 0x11 | 0x16 | 0x17 => Deed::Other,
            _ => return Err(Malformed("a batch holds a change that is not read here")),
        };
        let key = cursor.prefixed()?.to_vec();
        let value = match deed {
            Deed::Delete => Vec::new(),
            _ => cursor.prefixed()?.to_vec(),
        };
        into.changes.push(LoggedChange { family, key, sequence, deed, value });
        sequence += 1;
    }
    Ok(())
}
