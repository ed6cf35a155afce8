//! One open file: where in its decompressed bytes we are, and how it begins.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::compression::{Compression, Stream};
use super::position::Head;
use crate::error::Error;

/// So much of a file's beginning is remembered to know it again.
pub(super) const HEAD_BYTES_MAX: usize = 1024;
const CHUNK_BYTES: usize = 64 << 10;

/// Device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inode {
    device: u64,
    pub(super) number: u64,
}

impl Inode {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self { device: metadata.dev(), number: metadata.ino() }
    }
}

pub(super) struct Cursor {
    pub(super) path: PathBuf,
    pub(super) inode: Inode,
    stream: Stream,
    offset: u64,
    head: Vec<u8>,
}

impl Cursor {
    /// Opens at the start.
    pub(super) fn open(path: &Path, compression: Compression) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::io("cannot open", path))?;
        let metadata = file.metadata().map_err(Error::io("cannot look at", path))?;
        if metadata.is_dir() {
            return Err(Error::Input {
                place: path.display().to_string(),
                detail: "is a folder; name a file in it".to_owned(),
            });
        }
        Ok(Self {
            path: path.to_path_buf(),
            inode: Inode::of(&metadata),
            stream: Stream::open(file, path, compression)?,
            offset: 0,
            head: Vec::new(),
        })
    }

    /// Bytes read so far, decompressed.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The first bytes, as far as they were read and at most [`HEAD_BYTES_MAX`].
    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Whether the content is decompressed on the way.
    pub(super) fn is_compressed(&self) -> bool {
        self.stream.plain().is_none()
    }

    /// Appends some bytes to `buffer`; 0 at the end.
    pub(super) fn read(&mut self, buffer: &mut Vec<u8>) -> Result<usize, Error> {
        let before = buffer.len();
        buffer.resize(before + CHUNK_BYTES, 0);
        let read = loop {
            let space = buffer.get_mut(before..).unwrap_or_default();
            match self.stream.read(space) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        buffer.truncate(before + read.as_ref().copied().unwrap_or(0));
        let read = read.map_err(|error| self.broken(error))?;
        self.offset += read as u64;
        let wanted = HEAD_BYTES_MAX.saturating_sub(self.head.len());
        if wanted > 0 && self.offset - read as u64 == self.head.len() as u64 {
            self.head.extend(buffer.iter().skip(before).take(wanted));
        }
        Ok(read)
    }

    /// Whether the file begins like `head`; reads as much as it takes.
    pub(super) fn begins_like(&mut self, head: Head) -> Result<bool, Error> {
        let mut scratch = Vec::new();
        while self.head.len() < head.bytes as usize {
            scratch.clear();
            if self.read(&mut scratch)? == 0 {
                return Ok(false);
            }
        }
        Ok(Head::of(self.head.get(..head.bytes as usize).unwrap_or_default()) == head)
    }

    /// Goes to `offset`; `false` if the file is shorter. What a caller had read ahead is void.
    pub(super) fn seek(&mut self, offset: u64, compression: Compression) -> Result<bool, Error> {
        let path = self.path.clone();
        let sought = Error::io("cannot seek in", &path);
        if let Stream::Plain(file) = &mut self.stream {
            let length = file.metadata().and_then(|metadata| {
                file.seek(SeekFrom::Start(offset))?;
                Ok(metadata.len())
            });
            self.offset = offset;
            return length.map(|length| length >= offset).map_err(sought);
        }
        if offset < self.offset {
            let head = std::mem::take(&mut self.head);
            *self = Self::open(&path, compression)?;
            self.head = head;
        }
        let mut scratch = vec![0; CHUNK_BYTES];
        while self.offset < offset {
            let want =
                usize::try_from(offset - self.offset).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
            match self.stream.read(scratch.get_mut(..want).unwrap_or_default()) {
                Ok(0) => return Ok(false),
                Ok(read) => self.offset += read as u64,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.broken(error)),
            }
        }
        Ok(true)
    }

    /// Whether a plain file was cut or rewritten under us since we read its end.
    pub(super) fn was_rewritten(&self) -> io::Result<bool> {
        let Some(file) = self.stream.plain() else { return Ok(false) };
        let length = file.metadata()?.len();
        if length < self.offset {
            return Ok(true);
        }
        let mut head = vec![0; self.head.len()];
        match file.read_exact_at(&mut head, 0) {
            Ok(()) => Ok(head != self.head),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(true),
            Err(error) => Err(error),
        }
    }

    fn broken(&self, error: io::Error) -> Error {
        match (&self.stream, error.kind()) {
            (Stream::Plain(_), _) => Error::io("cannot read", &self.path)(error),
            (stream, ErrorKind::UnexpectedEof) => Error::Input {
                place: self.path.display().to_string(),
                detail: format!(
                    "the {} stream is cut off after {} decompressed bytes; every whole row before \
                     is delivered. Put a complete copy in its place and start again: it goes on \
                     from there",
                    stream.kind(),
                    self.offset
                ),
            },
            (stream, _) => Error::Input {
                place: self.path.display().to_string(),
                detail: format!(
                    "the {} stream is damaged after {} decompressed bytes ({error}); put an intact \
                     copy in its place and start again: it goes on from there",
                    stream.kind(),
                    self.offset
                ),
            },
        }
    }
}
