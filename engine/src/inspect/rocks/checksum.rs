//! RocksDB's checksums of blocks and log records.

use xxhash_rust::{xxh3::xxh3_64, xxh32::xxh32, xxh64::xxh64};

/// Reflected polynomial of CRC-32C (Castagnoli).
const POLYNOMIAL: u32 = 0x82f6_3b78;

const TABLE: [u32; 256] = table();

#[expect(clippy::indexing_slicing, reason = "evaluated while compiling, within the array")]
const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

/// CRC-32C of `parts` one after the other, in the masked form that is stored.
pub(super) fn masked_crc32c(parts: &[&[u8]]) -> u32 {
    let bytes = parts.iter().flat_map(|part| part.iter());
    let crc = !bytes.fold(!0_u32, |crc, byte| {
        let slot = (crc ^ u32::from(*byte)) as u8;
        (crc >> 8) ^ TABLE.get(usize::from(slot)).copied().unwrap_or_default()
    });
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// How a table's blocks are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChecksumKind {
    None,
    Crc32c,
    XxHash,
    XxHash64,
    Xxh3,
}

impl ChecksumKind {
    pub(super) fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::None,
            1 => Self::Crc32c,
            2 => Self::XxHash,
            3 => Self::XxHash64,
            4 => Self::Xxh3,
            _ => return None,
        })
    }

    /// Checksum of a block and the byte of its compression type, which follows it.
    pub(super) fn of_block(self, block: &[u8], compression: u8) -> u32 {
        match self {
            Self::None => 0,
            Self::Crc32c => masked_crc32c(&[block, &[compression]]),
            Self::XxHash => xxh32(&[block, &[compression]].concat(), 0),
            Self::XxHash64 => xxh64(&[block, &[compression]].concat(), 0) as u32,
            Self::Xxh3 => xxh3_64(block) as u32 ^ u32::from(compression).wrapping_mul(0x6b90_83d9),
        }
    }
}

/// What a block's place in its file adds to its checksum since table format 6.
pub(super) fn context_of(base: u32, offset: u64) -> u32 {
    if base == 0 { 0 } else { base ^ (offset as u32).wrapping_add((offset >> 32) as u32) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc32c_agrees_with_its_published_vector() {
        let crc: u32 = 0xe306_9283;
        let masked = crc.rotate_right(15).wrapping_add(0xa282_ead8);
        assert_eq!(masked_crc32c(&[b"12345", b"6789"]), masked);
    }
}
