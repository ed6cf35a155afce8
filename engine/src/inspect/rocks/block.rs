//! One block of a table: decompression, and the entries of data, index and property blocks.

use super::super::bytes::{Cursor, Malformed};

/// Largest block, compressed or not: a longer one is damage.
pub(super) const BLOCK_BYTES_MAX: usize = 1 << 28;

/// Where a block lies in its file, without the five bytes behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockHandle {
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

impl BlockHandle {
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Malformed> {
        Ok(Self { offset: cursor.varint()?, bytes: cursor.varint()? })
    }
}

/// Decompresses a block by the byte behind it.
pub(super) fn decompress(block: Vec<u8>, compression: u8) -> Result<Vec<u8>, Malformed> {
    match compression {
        0 => Ok(block),
        1 => {
            let bytes = snap::raw::decompress_len(&block)
                .map_err(|_e| Malformed("a snappy block has no length"))?;
            within(bytes)?;
            snap::raw::Decoder::new()
                .decompress_vec(&block)
                .map_err(|_e| Malformed("a snappy block cannot be decompressed"))
        }
        4 | 5 => {
            let mut cursor = Cursor::new(&block);
            let bytes = within(cursor.varint_len()?)?;
            lz4_flex::block::decompress(cursor.rest(), bytes)
                .map_err(|_e| Malformed("an LZ4 block cannot be decompressed"))
        }
        7 => {
            let mut cursor = Cursor::new(&block);
            let bytes = within(cursor.varint_len()?)?;
            zstd::bulk::decompress(cursor.rest(), bytes)
                .map_err(|_e| Malformed("a zstd block cannot be decompressed"))
        }
        _ => Err(Malformed(
            "a block is compressed in a way that is not read here (zlib, bzip2, XPRESS or with a dictionary)",
        )),
    }
}

fn within(bytes: usize) -> Result<usize, Malformed> {
    if bytes > BLOCK_BYTES_MAX {
        Err(Malformed("a block claims to be too large"))
    } else {
        Ok(bytes)
    }
}

/// The entries of a block, in order.
#[derive(Debug, Default)]
pub(super) struct BlockEntries {
    block: Vec<u8>,
    at: usize,
    end: usize,
    key: Vec<u8>,
    value: std::ops::Range<usize>,
}

impl BlockEntries {
    pub(super) fn new(block: Vec<u8>) -> Result<Self, Malformed> {
        let end = entries_end(&block)?;
        Ok(Self { block, at: 0, end, key: Vec::new(), value: 0..0 })
    }

    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    pub(super) fn value(&self) -> &[u8] {
        self.block.get(self.value.clone()).unwrap_or_default()
    }

    /// Goes to the next entry; `false` at the end.
    pub(super) fn advance(&mut self) -> Result<bool, Malformed> {
        let entries = self.block.get(self.at..self.end).unwrap_or_default();
        if entries.is_empty() {
            return Ok(false);
        }
        let mut cursor = Cursor::new(entries);
        let (shared, own) = (cursor.varint_len()?, cursor.varint_len()?);
        let value_bytes = cursor.varint_len()?;
        take_key(&mut self.key, shared, cursor.take(own)?)?;
        cursor.take(value_bytes)?;
        let next = self.end - cursor.rest().len();
        self.value = next - value_bytes..next;
        self.at = next;
        Ok(true)
    }
}

fn take_key(key: &mut Vec<u8>, shared: usize, own: &[u8]) -> Result<(), Malformed> {
    if shared > key.len() {
        return Err(Malformed("a key shares more bytes than the one before it has"));
    }
    key.truncate(shared);
    key.extend_from_slice(own);
    Ok(())
}

/// Where the entries end and what helps to search them begins.
fn entries_end(block: &[u8]) -> Result<usize, Malformed> {
    let (rest, packed) = block.split_last_chunk::<4>().ok_or(Malformed("a block is too short"))?;
    let packed = u32::from_le_bytes(*packed);
    if packed & 0x5000_0000 != 0 {
        return Err(Malformed("a block has a layout that is not read here"));
    }
    let mut end = rest.len();
    if packed & 0x8000_0000 != 0 {
        let buckets = rest.last_chunk::<2>().ok_or(Malformed("a block is too short"))?;
        let hash_bytes = usize::from(u16::from_le_bytes(*buckets)) + 2;
        end = end.checked_sub(hash_bytes).ok_or(Malformed("a block is too short"))?;
    }
    let restarts = (packed & 0x0fff_ffff) as usize * 4;
    end.checked_sub(restarts).ok_or(Malformed("a block is too short for its restart points"))
}

/// How a table's index is written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IndexForm {
    /// Handles of blocks that follow one another are written as differences.
    pub(super) is_delta: bool,
    /// The first key of the block follows its handle.
    pub(super) has_first_key: bool,
}

/// The handles of an index block.
pub(super) fn index_handles(block: &[u8], form: IndexForm) -> Result<Vec<BlockHandle>, Malformed> {
    let entries = block.get(..entries_end(block)?).unwrap_or_default();
    let mut cursor = Cursor::new(entries);
    let mut handles = Vec::new();
    let mut last: Option<BlockHandle> = None;
    while !cursor.is_empty() {
        let (shared, own) = (cursor.varint_len()?, cursor.varint_len()?);
        let value_bytes = if form.is_delta { None } else { Some(cursor.varint_len()?) };
        cursor.take(own)?;
        let handle = match (value_bytes, last.filter(|_| shared > 0)) {
            (Some(bytes), _) => BlockHandle::read(&mut Cursor::new(cursor.take(bytes)?))?,
            (None, None) => BlockHandle::read(&mut cursor)?,
            (None, Some(last)) => follow(last, cursor.varint()?),
        };
        if form.is_delta && form.has_first_key {
            cursor.prefixed()?;
        }
        handles.push(handle);
        last = Some(handle);
    }
    Ok(handles)
}

/// A block right behind `last`, whose length differs by `zigzag`.
fn follow(last: BlockHandle, zigzag: u64) -> BlockHandle {
    let delta = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
    BlockHandle {
        offset: last.offset.saturating_add(last.bytes).saturating_add(5),
        bytes: last.bytes.saturating_add_signed(delta),
    }
}
