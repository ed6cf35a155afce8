//! Records of RocksDB's log format, which the MANIFEST and the write-ahead log share.

use super::checksum::masked_crc32c;
use crate::inspect::bytes::{Cursor, Malformed};

const LOG_BLOCK_BYTES: usize = 32_768;
const HEADER_BYTES: usize = 7;

/// The whole records of a log, and why the last one is missing where it is.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) records: Vec<Vec<u8>>,
    /// Byte at which the log cannot be read on, and why.
    pub(super) torn: Option<(usize, Malformed)>,
}

/// Splits a log into its records. What a running job had not finished to write is torn, not wrong.
pub(super) fn records(log: &[u8]) -> Records {
    let mut found = Records::default();
    let mut open: Option<Vec<u8>> = None;
    let mut at = 0;
    while at < log.len() {
        let left = LOG_BLOCK_BYTES - at % LOG_BLOCK_BYTES;
        if left < HEADER_BYTES {
            at += left;
            continue;
        }
        let rest = log.get(at..log.len().min(at + left)).unwrap_or_default();
        match fragment(rest) {
            // space that was set aside and not written yet
            Ok(Fragment { kind: 0, .. }) => break,
            Ok(Fragment { kind, payload, bytes }) => {
                at += bytes;
                match kind {
                    1 | 5 => found.records.push(payload.to_vec()),
                    2 | 6 => open = Some(payload.to_vec()),
                    3 | 7 => open.iter_mut().for_each(|open| open.extend_from_slice(payload)),
                    4 | 8 => {
                        if let Some(mut whole) = open.take() {
                            whole.extend_from_slice(payload);
                            found.records.push(whole);
                        }
                    }
                    9 => {
                        found.torn = Some((at, Malformed("its records are compressed")));
                        return found;
                    }
                    _ => {}
                }
            }
            Err(e) => {
                found.torn = Some((at, e));
                return found;
            }
        }
    }
    if open.is_some() {
        found.torn = Some((at, Malformed("the last record is not whole")));
    }
    found
}

struct Fragment<'a> {
    kind: u8,
    payload: &'a [u8],
    bytes: usize,
}

fn fragment(rest: &[u8]) -> Result<Fragment<'_>, Malformed> {
    let mut cursor = Cursor::new(rest);
    let stored = cursor.u32_le()?;
    let length = usize::from(u16::from_le_bytes([cursor.byte()?, cursor.byte()?]));
    let kind = cursor.byte()?;
    if kind == 0 && stored == 0 && length == 0 {
        return Ok(Fragment { kind, payload: &[], bytes: HEADER_BYTES });
    }
    let is_recycled = matches!(kind, 5..=8 | 11 | 131);
    let number = cursor.take(if is_recycled { 4 } else { 0 })?;
    let payload = cursor.take(length)?;
    if masked_crc32c(&[&[kind], number, payload]) != stored {
        return Err(Malformed("the checksum of a record is not that of its bytes"));
    }
    Ok(Fragment { kind, payload, bytes: HEADER_BYTES + number.len() + length })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(into: &mut Vec<u8>, kind: u8, payload: &[u8]) {
        into.extend(masked_crc32c(&[&[kind], payload]).to_le_bytes());
        into.extend((payload.len() as u16).to_le_bytes());
        into.push(kind);
        into.extend(payload);
    }

    #[test]
    fn records_span_blocks_and_a_torn_tail_is_said() {
        let payload = vec![7_u8; LOG_BLOCK_BYTES];
        let mut log = Vec::new();
        put(&mut log, 1, b"one");
        let first = LOG_BLOCK_BYTES - log.len() - HEADER_BYTES;
        put(&mut log, 2, &payload[..first]);
        put(&mut log, 4, &payload[first..]);
        let whole = records(&log);
        assert_eq!(whole.records, [b"one".to_vec(), payload]);
        assert_eq!(whole.torn, None);
        let torn = records(&log[..log.len() - 1]);
        assert_eq!(torn.records.len(), 1);
        assert_eq!(torn.torn.map(|(at, _)| at), Some(LOG_BLOCK_BYTES));
        log[HEADER_BYTES] ^= 1;
        let damaged = records(&log);
        assert!(damaged.records.is_empty() && damaged.torn.is_some());
    }

    #[test]
    fn space_that_was_set_aside_is_the_end() {
        let mut log = Vec::new();
        put(&mut log, 1, b"one");
        log.resize(200, 0);
        let found = records(&log);
        assert_eq!((found.records.len(), found.torn), (1, None));
    }
}
