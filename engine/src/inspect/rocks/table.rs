//! One SST file, read alone: footer, properties, index, and its entries in order.
//!
//! RocksDB's own reader wants a whole database and a folder that it may write to; a checkpoint of
//! Flink's holds tables under random names, a copy of a running job's folder may hold half of one.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

use super::block::{
    BLOCK_BYTES_MAX, BlockEntries, BlockHandle, IndexForm, decompress, index_handles,
};
use super::checksum::{ChecksumKind, context_of, masked_crc32c};
use crate::inspect::bytes::{Cursor, Malformed};
use crate::inspect::place::Place;
use crate::inspect::report::Unread;

const MAGIC: u64 = 0x88e2_41b7_85f4_cff7;
/// Bytes of a footer since table format 1.
const FOOTER_BYTES: usize = 53;
/// Bytes behind a block: its compression and its checksum.
const TRAILER_BYTES: usize = 5;
/// Table formats that are read: before 2 a compressed block had no length.
const FORMATS: std::ops::RangeInclusive<u32> = 2..=7;

/// What a table says of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Properties {
    pub(crate) family: Option<String>,
    pub(crate) entries: u64,
    pub(crate) deletions: u64,
    pub(crate) range_deletions: u64,
    pub(crate) comparator: String,
    pub(crate) merge_operator: String,
    index_type: u32,
    is_delta: bool,
    global_sequence: Option<u64>,
}

/// What an entry does to its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// Sets the value.
    Put,
    /// Adds an operand to the value.
    Merge,
    /// Removes the key.
    Delete,
    /// Something that cannot be evaluated here: a blob, a wide column.
    Other,
}

impl Deed {
    pub(super) fn of(byte: u8) -> Self {
        match byte {
            1 => Self::Put,
            2 => Self::Merge,
            0 | 7 | 0x14 => Self::Delete,
            _ => Self::Other,
        }
    }
}

/// Keys that were removed at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemovedRange {
    /// First key.
    pub(crate) from: Vec<u8>,
    /// Key behind the last one.
    pub(crate) to: Vec<u8>,
    /// Older entries are removed.
    pub(crate) sequence: u64,
}

/// One SST file.
#[derive(Debug)]
pub(crate) struct Table {
    place: Place,
    /// Open, where it is a file.
    file: Option<File>,
    bytes: u64,
    checksum: ChecksumKind,
    context: u32,
    pub(crate) properties: Properties,
    blocks: Vec<BlockHandle>,
    range_deletions: Option<BlockHandle>,
}

struct Footer {
    checksum: ChecksumKind,
    context: u32,
    metaindex: BlockHandle,
    /// In the metaindex since format 6.
    index: Option<BlockHandle>,
}

impl Table {
    /// Opens a table and reads its index.
    pub(crate) fn open(place: &Place) -> Result<Self, Unread> {
        let unread = |e: std::io::Error| place.unread(format!("cannot be read: {e}"));
        let (file, bytes) = match place {
            Place::Path(path) => {
                let file = File::open(path).map_err(unread)?;
                let bytes = file.metadata().map_err(unread)?.len();
                (Some(file), bytes)
            }
            Place::Inline { bytes, .. } => (None, bytes.len() as u64),
        };
        let at = bytes.saturating_sub(FOOTER_BYTES as u64);
        let mut table = Self {
            place: place.clone(),
            file,
            bytes,
            checksum: ChecksumKind::None,
            context: 0,
            properties: Properties::default(),
            blocks: Vec::new(),
            range_deletions: None,
        };
        let footer = table
            .read_at(at, (bytes - at) as usize)
            .and_then(|tail| footer(&tail, at))
            .map_err(|e| place.unread(format!("is no whole RocksDB table: {e}")))?;
        (table.checksum, table.context) = (footer.checksum, footer.context);
        table.read_index(&footer)?;
        Ok(table)
    }

    fn read_at(&mut self, offset: u64, length: usize) -> Result<Vec<u8>, Malformed> {
        let Some(file) = &mut self.file else {
            let Place::Inline { bytes, .. } = &self.place else { return Ok(Vec::new()) };
            let start = usize::try_from(offset).unwrap_or(usize::MAX);
            let found = bytes.get(start..start.saturating_add(length));
            return Ok(found.ok_or(Malformed("it lies behind the end"))?.to_vec());
        };
        let mut found = vec![0; length];
        file.seek(SeekFrom::Start(offset))
            .and_then(|_| file.read_exact(&mut found))
            .map_err(|_e| Malformed("the system cannot read it"))?;
        Ok(found)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    fn unread(&self, at: BlockHandle, e: &Malformed) -> Unread {
        self.place.unread(format!("the block at byte {} is damaged: {e}", at.offset))
    }

    fn read_index(&mut self, footer: &Footer) -> Result<(), Unread> {
        let mut index = footer.index;
        let mut properties = None;
        self.visit(footer.metaindex, |key, value| {
            let Ok(handle) = BlockHandle::read(&mut Cursor::new(value)) else { return };
            match key {
                b"rocksdb.index" => index = Some(handle),
                b"rocksdb.properties" => properties = Some(handle),
                _ => {}
            }
        })?;
        let mut range_deletions = None;
        self.visit(footer.metaindex, |key, value| {
            if key == b"rocksdb.range_del" {
                range_deletions = BlockHandle::read(&mut Cursor::new(value)).ok();
            }
        })?;
        self.range_deletions = range_deletions;
        if let Some(handle) = properties {
            let mut found = Properties::default();
            self.visit(handle, |key, value| take_property(&mut found, key, value))?;
            self.properties = found;
        }
        let Some(index) = index else {
            return Err(self.place.unread("names no index block"));
        };
        let form = IndexForm {
            is_delta: self.properties.is_delta,
            has_first_key: self.properties.index_type == 3,
        };
        let top = self.handles(index, form)?;
        if self.properties.index_type != 2 {
            self.blocks = top;
            return Ok(());
        }
        for part in top {
            let handles = self.handles(part, form)?;
            self.blocks.extend(handles);
        }
        Ok(())
    }

    fn handles(&mut self, at: BlockHandle, form: IndexForm) -> Result<Vec<BlockHandle>, Unread> {
        let block = self.block(at).map_err(|e| self.unread(at, &e))?;
        index_handles(&block, form).map_err(|e| self.unread(at, &e))
    }

    fn visit(
        &mut self,
        at: BlockHandle,
        mut visit: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Unread> {
        let entries = self.block(at).and_then(BlockEntries::new);
        let mut entries = entries.map_err(|e| self.unread(at, &e))?;
        while entries.advance().map_err(|e| self.unread(at, &e))? {
            visit(entries.key(), entries.value());
        }
        Ok(())
    }

    fn block(&mut self, at: BlockHandle) -> Result<Vec<u8>, Malformed> {
        let length = usize::try_from(at.bytes).unwrap_or(usize::MAX);
        let end = at.offset.saturating_add(at.bytes).saturating_add(TRAILER_BYTES as u64);
        if length > BLOCK_BYTES_MAX || end > self.bytes {
            return Err(Malformed("it lies behind the end of the file"));
        }
        let mut block = self.read_at(at.offset, length + TRAILER_BYTES)?;
        let trailer = block.split_off(length);
        let mut trailer = Cursor::new(&trailer);
        let (compression, stored) = (trailer.byte()?, trailer.u32_le()?);
        if self.checksum != ChecksumKind::None {
            let context = context_of(self.context, at.offset);
            let sum = self.checksum.of_block(&block, compression).wrapping_add(context);
            if sum != stored {
                return Err(Malformed("its checksum is not that of its bytes"));
            }
        }
        decompress(block, compression)
    }

    /// Ranges of keys that were removed at once.
    pub(crate) fn removed_ranges(&mut self) -> Result<Vec<RemovedRange>, Unread> {
        let Some(at) = self.range_deletions else { return Ok(Vec::new()) };
        let mut ranges = Vec::new();
        self.visit(at, |key, to| {
            if let Some((from, sequence, _)) = split_key(key) {
                ranges.push(RemovedRange { from: from.to_vec(), to: to.to_vec(), sequence });
            }
        })?;
        Ok(ranges)
    }

    /// The entries, in order.
    pub(crate) fn entries(self) -> TableEntries {
        TableEntries { table: self, next_block: 0, entries: BlockEntries::default() }
    }
}

/// Walks a table, one block in memory at a time.
#[derive(Debug)]
pub(crate) struct TableEntries {
    pub(crate) table: Table,
    next_block: usize,
    entries: BlockEntries,
}

impl TableEntries {
    /// Goes to the next entry; `false` at the end. A block that cannot be read goes into `unread`
    /// and is left out.
    pub(crate) fn advance(&mut self, unread: &mut Vec<Unread>) -> bool {
        loop {
            match self.entries.advance() {
                Ok(true) if split_key(self.entries.key()).is_some() => return true,
                Ok(true) => {}
                Ok(false) => {
                    let Some(handle) = self.table.blocks.get(self.next_block).copied() else {
                        return false;
                    };
                    self.next_block += 1;
                    match self.table.block(handle).and_then(BlockEntries::new) {
                        Ok(entries) => self.entries = entries,
                        Err(e) => unread.push(self.table.unread(handle, &e)),
                    }
                }
                Err(e) => {
                    self.entries = BlockEntries::default();
                    let last = self.next_block.saturating_sub(1);
                    let handle = self.table.blocks.get(last).copied().unwrap_or_default();
                    unread.push(self.table.unread(handle, &e));
                }
            }
        }
    }

    /// Key, sequence and deed of the entry.
    pub(crate) fn key(&self) -> (&[u8], u64, Deed) {
        let (key, sequence, deed) = split_key(self.entries.key()).unwrap_or((&[], 0, Deed::Other));
        (key, self.table.properties.global_sequence.unwrap_or(sequence), deed)
    }

    pub(crate) fn value(&self) -> &[u8] {
        self.entries.value()
    }
}

/// Splits what RocksDB keeps behind a key off it: sequence and kind, eight bytes.
fn split_key(key: &[u8]) -> Option<(&[u8], u64, Deed)> {
    let (user, packed) = key.split_last_chunk::<8>()?;
    let packed = u64::from_le_bytes(*packed);
    Some((user, packed >> 8, Deed::of(packed as u8)))
}

fn footer(tail: &[u8], at: u64) -> Result<Footer, Malformed> {
    let (head, magic) = tail.split_last_chunk::<8>().ok_or(Malformed("it is too short"))?;
    if u64::from_le_bytes(*magic) != MAGIC || tail.len() != FOOTER_BYTES {
        return Err(Malformed("its end is missing, or it is of another kind"));
    }
    let (head, format) = head.split_last_chunk::<4>().ok_or(Malformed("it is too short"))?;
    let format = u32::from_le_bytes(*format);
    let mut cursor = Cursor::new(head);
    let checksum = ChecksumKind::of(cursor.byte()?).ok_or(Malformed("its checksum is unknown"))?;
    if !FORMATS.contains(&format) {
        return Err(Malformed("its table format is not one of 2 to 7"));
    }
    if format < 6 {
        let metaindex = BlockHandle::read(&mut cursor)?;
        let index = Some(BlockHandle::read(&mut cursor)?);
        return Ok(Footer { checksum, context: 0, metaindex, index });
    }
    cursor.take(4)?;
    let (stored, context) = (cursor.u32_le()?, cursor.u32_le()?);
    let bytes = u64::from(cursor.u32_le()?);
    if checksum != ChecksumKind::None && footer_sum(tail, checksum, context, at) != stored {
        return Err(Malformed("the checksum of its footer is not that of its bytes"));
    }
    let end = at.checked_sub(TRAILER_BYTES as u64).and_then(|end| end.checked_sub(bytes));
    let offset = end.ok_or(Malformed("its index lies before its start"))?;
    Ok(Footer { checksum, context, metaindex: BlockHandle { offset, bytes }, index: None })
}

fn footer_sum(tail: &[u8], kind: ChecksumKind, context: u32, at: u64) -> u32 {
    let mut blank = tail.to_vec();
    if let Some(stored) = blank.get_mut(5..9) {
        stored.fill(0);
    }
    let sum = match (kind, blank.split_last()) {
        (ChecksumKind::Crc32c, _) => masked_crc32c(&[&blank]),
        (_, Some((last, rest))) => kind.of_block(rest, *last),
        (_, None) => 0,
    };
    sum.wrapping_add(context_of(context, at))
}

fn take_property(into: &mut Properties, key: &[u8], value: &[u8]) {
    let number = || Cursor::new(value).varint().unwrap_or(0);
    let text = || String::from_utf8_lossy(value).into_owned();
    match key {
        b"rocksdb.column.family.name" => into.family = Some(text()),
        b"rocksdb.num.entries" => into.entries = number(),
        b"rocksdb.deleted.keys" => into.deletions = number(),
        b"rocksdb.num.range-deletions" => into.range_deletions = number(),
        b"rocksdb.comparator" => into.comparator = text(),
        b"rocksdb.merge.operator" => into.merge_operator = text(),
        b"rocksdb.index.value.is.delta.encoded" => into.is_delta = number() == 1,
        b"rocksdb.block.based.table.index.type" => {
            into.index_type = Cursor::new(value).u32_le().unwrap_or(0);
        }
        b"rocksdb.external_sst_file.global_seqno" => {
            // the place for a number that an ingestion fills in; 0 where none did
            into.global_sequence = Cursor::new(value).u64_le().ok().filter(|number| *number > 0);
        }
        _ => {}
    }
}
