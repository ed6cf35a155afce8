//! Opens a file as a stream of plain bytes.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::error::Error;

/// How a file is compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compression {
    /// By the file's first bytes; a file named `.gz` or `.zst` that does not begin so is refused.
    #[default]
    Auto,
    /// Not at all.
    None,
    /// gzip, also several streams one after the other.
    Gzip,
    /// Zstandard, also several frames one after the other.
    Zstd,
}

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const BUFFER_BYTES: usize = 64 << 10;

/// A file's decompressed bytes.
pub(super) enum Stream {
    Plain(File),
    Gzip(Box<MultiGzDecoder<BufReader<File>>>),
    Zstd(Box<zstd::stream::read::Decoder<'static, BufReader<File>>>),
}

impl Stream {
    /// Wraps `file`, which stands at its start.
    pub(super) fn open(
        mut file: File,
        path: &Path,
        compression: Compression,
    ) -> Result<Self, Error> {
        let compression = match compression {
            Compression::Auto => detect(&mut file, path)?,
            given => given,
        };
        match compression {
            Compression::Auto | Compression::None => Ok(Self::Plain(file)),
            Compression::Gzip => {
                let reader = BufReader::with_capacity(BUFFER_BYTES, file);
                Ok(Self::Gzip(Box::new(MultiGzDecoder::new(reader))))
            }
            Compression::Zstd => zstd::stream::read::Decoder::new(file)
                .map(|decoder| Self::Zstd(Box::new(decoder)))
                .map_err(Error::io("cannot open the zstd stream of", path)),
        }
    }

    pub(super) fn plain(&self) -> Option<&File> {
        match self {
            Self::Plain(file) => Some(file),
            Self::Gzip(_) | Self::Zstd(_) => None,
        }
    }

    /// Name of the compression for messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Plain(_) => "plain",
            Self::Gzip(_) => "gzip",
            Self::Zstd(_) => "zstd",
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(file) => file.read(buffer),
            Self::Gzip(decoder) => decoder.read(buffer),
            Self::Zstd(decoder) => decoder.read(buffer),
        }
    }
}

fn detect(file: &mut File, path: &Path) -> Result<Compression, Error> {
    let mut first = Vec::with_capacity(ZSTD_MAGIC.len());
    Read::by_ref(file)
        .take(ZSTD_MAGIC.len() as u64)
        .read_to_end(&mut first)
        .and_then(|_| file.seek(SeekFrom::Start(0)))
        .map_err(Error::io("cannot read", path))?;
    let suffix = path.extension().and_then(|suffix| suffix.to_str());
    let expected = match suffix {
        Some("gz") => Compression::Gzip,
        Some("zst" | "zstd") => Compression::Zstd,
        _ => Compression::None,
    };
    let found = if first.starts_with(&GZIP_MAGIC) {
        Compression::Gzip
    } else if first.starts_with(&ZSTD_MAGIC) {
        Compression::Zstd
    } else {
        Compression::None
    };
    if expected != Compression::None && found == Compression::None {
        return Err(Error::Input {
            place: path.display().to_string(),
            detail: format!(
                "the name promises {expected:?}, but the file does not begin like it; give the \
                 whole file, rename it, or say what it is with .compression(…)"
            ),
        });
    }
    Ok(found)
}
