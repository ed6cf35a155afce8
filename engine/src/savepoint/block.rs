//! The blocks that a savepoint's file is made of, and where each of them is.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use xxhash_rust::xxh3::Xxh3;

use crate::error::Error;

/// What a savepoint begins and ends with.
pub(super) const MAGIC: [u8; 8] = *b"STATEWRD";
/// Version of the format; a later one may say more in its header without a new number.
pub(super) const VERSION: u32 = 1;
/// Bytes in front of the first block.
const PRELUDE_BYTES: u64 = 12;
/// Bytes behind the last one.
const TRAILER_BYTES: u64 = 16;
/// Bytes of a block in front of its payload.
const HEAD_BYTES: usize = 19;
/// Compressed harder it would be little smaller and much later.
const ZSTD_LEVEL: i32 = 3;
/// Longest payload, decompressed: a longer one is damage.
const PAYLOAD_BYTES_MAX: u32 = 1 << 30;

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// What the savepoint says of itself.
    Header = 1,
    /// Rows of a state, in key order.
    Rows = 2,
    /// Keys of a state whose entries expired lately.
    Recent = 3,
    /// Events that an operator's breakers diverted.
    Spilled = 4,
    /// Records of an operator that a barrier overtook.
    Held = 5,
    /// What all blocks hold together; the last one.
    Totals = 6,
}

impl Kind {
    fn of(code: u8) -> Option<Self> {
        let all = [Self::Header, Self::Rows, Self::Recent, Self::Spilled, Self::Held, Self::Totals];
        all.into_iter().find(|kind| *kind as u8 == code)
    }
}

/// What stands in front of a payload.
#[derive(Clone, Copy, Debug)]
struct Head {
    kind: Kind,
    /// Id of the state, or index of the operator, that it belongs to.
    owner: u16,
    raw_bytes: u32,
    stored_bytes: u32,
    xxh3: u64,
}

impl Head {
    /// The hash covers where the block is, so that none can stand in for another one.
    fn hash(&self, offset: u64, stored: &[u8]) -> u64 {
        let mut hash = Xxh3::new();
        hash.update(&prelude());
        hash.update(&offset.to_be_bytes());
        hash.update(&[self.kind as u8]);
        hash.update(&self.owner.to_be_bytes());
        hash.update(&self.raw_bytes.to_be_bytes());
        hash.update(stored);
        hash.digest()
    }

    fn encode(&self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        let fields = [self.kind as u8]
            .into_iter()
            .chain(self.owner.to_be_bytes())
            .chain(self.raw_bytes.to_be_bytes())
            .chain(self.stored_bytes.to_be_bytes())
            .chain(self.xxh3.to_be_bytes());
        bytes.iter_mut().zip(fields).for_each(|(to, from)| *to = from);
        bytes
    }

    fn decode(bytes: &[u8; HEAD_BYTES]) -> Option<Self> {
        let [kind, o0, o1, r0, r1, r2, r3, s0, s1, s2, s3, sum @ ..] = *bytes;
        let head = Self {
            kind: Kind::of(kind)?,
            owner: u16::from_be_bytes([o0, o1]),
            raw_bytes: u32::from_be_bytes([r0, r1, r2, r3]),
            stored_bytes: u32::from_be_bytes([s0, s1, s2, s3]),
            xxh3: u64::from_be_bytes(sum),
        };
        (head.raw_bytes <= PAYLOAD_BYTES_MAX).then_some(head)
    }
}

fn prelude() -> [u8; PRELUDE_BYTES as usize] {
    let mut bytes = [0; PRELUDE_BYTES as usize];
    let fields = MAGIC.into_iter().chain(VERSION.to_be_bytes());
    bytes.iter_mut().zip(fields).for_each(|(to, from)| *to = from);
    bytes
}

/// Writes blocks, one behind the other.
pub(super) struct BlockWriter {
    path: PathBuf,
    out: BufWriter<File>,
    offset: u64,
}

impl BlockWriter {
    pub(super) fn new(path: &Path, file: File) -> Result<Self, Error> {
        let mut writer =
            Self { path: path.to_path_buf(), out: BufWriter::new(file), offset: PRELUDE_BYTES };
        writer.put(&prelude())?;
        Ok(writer)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.out.write_all(bytes).map_err(Error::io("write", &self.path))
    }

    /// Appends a block.
    pub(super) fn write(&mut self, kind: Kind, owner: u16, payload: &[u8]) -> Result<(), Error> {
        let raw_bytes = u32::try_from(payload.len()).ok().filter(|raw| *raw <= PAYLOAD_BYTES_MAX);
        let Some(raw_bytes) = raw_bytes else {
            return Err(Error::Codec {
                place: self.path.display().to_string(),
                detail: format!(
                    "{} bytes that belong together, most are {PAYLOAD_BYTES_MAX}",
                    payload.len()
                ),
            });
        };
        let stored = zstd::bulk::compress(payload, ZSTD_LEVEL)
            .map_err(Error::io("compress for", &self.path))?;
        let mut head = Head { kind, owner, raw_bytes, stored_bytes: stored.len() as u32, xxh3: 0 };
        head.xxh3 = head.hash(self.offset, &stored);
        self.put(&head.encode())?;
        self.put(&stored)?;
        self.offset += (HEAD_BYTES + stored.len()) as u64;
        Ok(())
    }

    /// Appends a block of something that is written as JSON.
    pub(super) fn write_json(&mut self, kind: Kind, value: &impl Serialize) -> Result<(), Error> {
        let text = serde_json::to_vec(value).map_err(|e| Error::Codec {
            place: self.path.display().to_string(),
            detail: e.to_string(),
        })?;
        self.write(kind, 0, &text)
    }

    /// Appends the last block and makes all of it durable; returns the length of the file.
    pub(super) fn finish(mut self, totals: &impl Serialize) -> Result<u64, Error> {
        let last = self.offset;
        self.write_json(Kind::Totals, totals)?;
        self.put(&last.to_be_bytes())?;
        self.put(&MAGIC)?;
        let file = self.out.into_inner().map_err(std::io::IntoInnerError::into_error);
        file.and_then(|file| file.sync_all()).map_err(Error::io("write", &self.path))?;
        Ok(self.offset + TRAILER_BYTES)
    }
}

/// One block of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    offset: u64,
    head: Head,
}

/// The blocks of a file.
#[derive(Debug)]
pub(super) struct BlockFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    blocks: Vec<Block>,
}

impl BlockFile {
    /// Finds all blocks; their payloads are verified when they are read.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::io("open", path))?;
        let bytes = file.metadata().map_err(Error::io("read", path))?.len();
        let mut found = Self { path: path.to_path_buf(), file, bytes, blocks: Vec::new() };
        found.check_prelude()?;
        let last = found.read_trailer()?;
        let end = bytes - TRAILER_BYTES;
        let mut offset = PRELUDE_BYTES;
        while offset < end {
            let block = found.read_head(offset, end)?;
            found.blocks.push(block);
            offset += HEAD_BYTES as u64 + u64::from(block.head.stored_bytes);
        }
        let is_last = |block: &Block| block.offset == last && block.head.kind == Kind::Totals;
        if !found.blocks.last().is_some_and(is_last) {
            return Err(found.damaged(end, "it does not end with its totals"));
        }
        Ok(found)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Length of the file.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The blocks of a kind that belong to an owner, in their order.
    pub(super) fn of(&self, kind: Kind, owner: u16) -> impl Iterator<Item = &Block> {
        let is_it = move |block: &&Block| (block.head.kind, block.head.owner) == (kind, owner);
        self.blocks.iter().filter(is_it)
    }

    /// The damage of this file, with the way out.
    pub(super) fn damaged(&self, offset: u64, what: &str) -> Error {
        Error::Damaged {
            path: self.path.clone(),
            offset,
            detail: format!("{what}; take another savepoint or checkpoint, or a copy of this one"),
        }
    }

    /// The damage of a block whose checksum holds.
    pub(super) fn nonsense(&self, block: &Block, what: &str) -> Error {
        self.damaged(block.offset, what)
    }

    fn read_at<const N: usize>(&self, offset: u64) -> Result<[u8; N], Error> {
        let mut bytes = [0; N];
        self.file.read_exact_at(&mut bytes, offset).map_err(Error::io("read", &self.path))?;
        Ok(bytes)
    }

    fn check_prelude(&self) -> Result<(), Error> {
        if self.bytes < PRELUDE_BYTES + TRAILER_BYTES {
            return Err(self.damaged(self.bytes, "it ends before its first block"));
        }
        let magic: [u8; 8] = self.read_at(0)?;
        if magic != MAGIC {
            return Err(self.damaged(0, "this is no savepoint of Stateward"));
        }
        let version = u32::from_be_bytes(self.read_at(MAGIC.len() as u64)?);
        if version != VERSION {
            let what = format!(
                "it is of version {version} of the format, this release reads {VERSION}: another release wrote it, or the number is damaged"
            );
            return Err(self.damaged(MAGIC.len() as u64, &what));
        }
        Ok(())
    }

    /// Where the last block begins.
    fn read_trailer(&self) -> Result<u64, Error> {
        let at = self.bytes - TRAILER_BYTES;
        let magic: [u8; 8] = self.read_at(at + 8)?;
        if magic != MAGIC {
            return Err(self.damaged(self.bytes, "it is cut off, or its end is damaged"));
        }
        Ok(u64::from_be_bytes(self.read_at(at)?))
    }

    fn read_head(&self, offset: u64, end: u64) -> Result<Block, Error> {
        let no_block = || self.damaged(offset, "no block begins here, or its head is damaged");
        if end - offset < HEAD_BYTES as u64 {
            return Err(no_block());
        }
        let head = Head::decode(&self.read_at(offset)?).ok_or_else(no_block)?;
        if u64::from(head.stored_bytes) > end - offset - HEAD_BYTES as u64 {
            return Err(no_block());
        }
        Ok(Block { offset, head })
    }

    /// Verifies every block, whether or not anybody asks for it later: a damaged owner would let one
    /// go missing.
    pub(super) fn verify(&self) -> Result<(), Error> {
        self.blocks.iter().try_for_each(|block| self.read_stored(block).map(drop))
    }

    /// Reads and verifies what is stored of a block.
    fn read_stored(&self, block: &Block) -> Result<Vec<u8>, Error> {
        let Block { offset, head } = block;
        let mut stored = vec![0; head.stored_bytes as usize];
        self.file
            .read_exact_at(&mut stored, offset + HEAD_BYTES as u64)
            .map_err(Error::io("read", &self.path))?;
        if head.hash(*offset, &stored) != head.xxh3 {
            return Err(
                self.damaged(*offset, "the block that begins here contradicts its checksum")
            );
        }
        Ok(stored)
    }

    /// Reads and verifies a block's payload.
    pub(super) fn read(&self, block: &Block) -> Result<Vec<u8>, Error> {
        let stored = self.read_stored(block)?;
        let Block { offset, head } = block;
        let payload = zstd::bulk::decompress(&stored, head.raw_bytes as usize);
        let payload = payload.map_err(|e| {
            self.damaged(
                *offset,
                &format!("the block that begins here cannot be decompressed: {e}"),
            )
        })?;
        if payload.len() != head.raw_bytes as usize {
            return Err(self.damaged(*offset, "the block that begins here has another length"));
        }
        Ok(payload)
    }

    /// Reads the one block of a kind that is written as JSON.
    pub(super) fn read_json<T: DeserializeOwned>(&self, kind: Kind) -> Result<T, Error> {
        let mut found = self.of(kind, 0);
        let (Some(block), None) = (found.next(), found.next()) else {
            return Err(
                self.damaged(PRELUDE_BYTES, &format!("it does not have one block {kind:?}"))
            );
        };
        serde_json::from_slice(&self.read(block)?)
            .map_err(|e| self.nonsense(block, &format!("the block {kind:?} cannot be read: {e}")))
    }
}
