//! Checksummed frames.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::Error;

/// Bytes in front of a payload.
pub(crate) const FRAME_HEADER_BYTES: usize = 8;
/// Longest payload: a longer one is damage.
const PAYLOAD_BYTES_MAX: u32 = 1 << 30;

/// Appends one frame to `out`.
pub(crate) fn put_frame(payload: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes());
    out.extend_from_slice(&crc32fast::hash(payload).to_be_bytes());
    out.extend_from_slice(payload);
}

/// Reads the frames of one file.
pub(crate) struct FrameReader {
    path: PathBuf,
    file: BufReader<File>,
    offset: u64,
}

impl FrameReader {
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::io("open", path))?;
        Ok(Self {
            path: path.to_path_buf(),
            file: BufReader::with_capacity(1 << 18, file),
            offset: 0,
        })
    }

    /// Goes to `offset`, where a frame begins.
    pub(crate) fn seek(&mut self, offset: u64) -> Result<(), Error> {
        self.file.seek(SeekFrom::Start(offset)).map_err(Error::io("read", &self.path))?;
        self.offset = offset;
        Ok(())
    }

    /// Offset behind the last whole frame.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads the next whole frame; `None` at the end or before a torn or damaged one.
    pub(crate) fn next(&mut self, payload: &mut Vec<u8>) -> Result<bool, Error> {
        let mut header = [0; FRAME_HEADER_BYTES];
        if !self.fill(&mut header)? {
            return Ok(false);
        }
        let [l0, l1, l2, l3, sum @ ..] = header;
        let length = u32::from_be_bytes([l0, l1, l2, l3]);
        if length > PAYLOAD_BYTES_MAX {
            return Ok(false);
        }
        payload.resize(length as usize, 0);
        if !self.fill(payload)? || crc32fast::hash(payload).to_be_bytes() != sum {
            return Ok(false);
        }
        self.offset += (FRAME_HEADER_BYTES as u64) + u64::from(length);
        Ok(true)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<bool, Error> {
        match self.file.read_exact(bytes) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
            Err(e) => Err(Error::io("read", &self.path)(e)),
        }
    }

    /// Decodes the payload of a whole frame; its checksum held, so this fails only for a frame of
    /// another kind.
    pub(crate) fn decode<'a, T: Deserialize<'a>>(&self, payload: &'a [u8]) -> Result<T, Error> {
        postcard::from_bytes(payload).map_err(|e| match self.damaged() {
            Error::Damaged { path, offset, detail } => {
                Error::Damaged { path, offset, detail: format!("{detail} ({e})") }
            }
            other => other,
        })
    }

    /// The error for a frame that must have been whole.
    pub(crate) fn damaged(&self) -> Error {
        Error::Damaged {
            path: self.path.clone(),
            offset: self.offset,
            detail: "a committed changelog frame is torn or contradicts its checksum; restore the folder from a copy, or delete the job's folder to start from nothing".into(),
        }
    }
}
