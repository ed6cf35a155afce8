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

    /// Tells whether a whole frame follows somewhere behind the last one that was read: then what is
    /// between them was whole once, and is damaged rather than torn off.
    pub(crate) fn is_followed(&mut self) -> Result<bool, Error> {
        let mut rest = Vec::new();
        self.file
            .seek(SeekFrom::Start(self.offset))
            .and_then(|_| self.file.read_to_end(&mut rest))
            .map_err(Error::io("read", &self.path))?;
        let whole = |bytes: &[u8]| {
            let (length, bytes) = bytes.split_first_chunk::<4>()?;
            let (sum, bytes) = bytes.split_first_chunk::<4>()?;
            let length = u32::from_be_bytes(*length) as usize;
            let payload = bytes.get(..length).filter(|payload| !payload.is_empty())?;
            (crc32fast::hash(payload).to_be_bytes() == *sum).then_some(())
        };
        Ok((1..rest.len()).any(|at| rest.get(at..).and_then(whole).is_some()))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// §4.8: a frame that is torn off at the end is told from a damaged one that others follow,
    /// wherever it is damaged.
    #[test]
    fn damage_in_the_middle_is_no_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut bytes = Vec::new();
        for payload in [b"first".as_slice(), b"second", b"third"] {
            put_frame(payload, &mut bytes);
        }
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            let mut frames = FrameReader::open(&path).unwrap();
            let (mut payload, mut count) = (Vec::new(), 0);
            while frames.next(&mut payload).unwrap() {
                count += 1;
            }
            (count, frames.is_followed().unwrap())
        };
        assert_eq!(read(&bytes), (3, false));
        for end in 0..bytes.len() {
            assert!(!read(&bytes[..end]).1, "cut at {end}");
        }
        let second = FRAME_HEADER_BYTES + 5;
        let third = second + FRAME_HEADER_BYTES + 6;
        for at in second..third {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x41;
            assert_eq!(read(&damaged), (1, true), "flipped at {at}");
        }
    }
}
