//! Where a reader stands, as bytes in the epoch and as words on a page.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::error::Error;

const VERSION: u8 = 1;

/// How a file begins: length and hash of its first decompressed bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    pub(super) bytes: u32,
    hash: u64,
}

impl Head {
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self { bytes: bytes.len() as u32, hash: xxh3_64(bytes) }
    }
}

/// What a file is known again by.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    path: Vec<u8>,
    pub(super) inode: u64,
    pub(super) head: Head,
}

impl Mark {
    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(OsString::from_vec(self.path.clone()))
    }
}

/// A file that was read from.
#[derive(Clone, Debug, Default)]
pub(super) struct Identity {
    pub(super) path: PathBuf,
    pub(super) inode: u64,
    /// Its first bytes, decompressed, as far as they were read.
    pub(super) head: Vec<u8>,
}

impl Identity {
    /// What byte `offset` of the file is found again by.
    pub(super) fn mark(&self, offset: u64) -> Mark {
        let known = usize::try_from(offset).unwrap_or(usize::MAX).min(self.head.len());
        Mark {
            path: self.path.as_os_str().as_bytes().to_vec(),
            inode: self.inode,
            head: Head::of(self.head.get(..known).unwrap_or_default()),
        }
    }
}

/// Everything a reader needs to go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// File of the first row that is not delivered whole.
    pub(super) mark: Mark,
    /// Its first byte, decompressed.
    pub(super) offset: u64,
    /// Rows before it in the file.
    pub(super) row: u64,
    /// How often the input began anew.
    pub(super) round: u64,
    /// Rows from there on that were read already: their rejections are in the dead-letter file.
    pub(super) reread: u64,
    /// Rows from there on whose first part is delivered and whose rest is held back.
    pub(super) advanced: u64,
    /// Events of the part in delivery that are out.
    pub(super) delivered: u64,
    /// Whether the part in delivery is the rest of a held row.
    pub(super) of_held: bool,
    /// Length of the dead-letter file.
    pub(super) dead_letter_bytes: u64,
    /// Rows rejected so far.
    pub(super) rejected: u64,
    /// Header of a pipe, which cannot be looked up again.
    pub(super) header: Option<Vec<u8>>,
}

impl Position {
    pub(super) fn encode(&self, uid: &str) -> Result<Vec<u8>, Error> {
        postcard::to_extend(self, vec![VERSION]).map_err(|error| Error::Codec {
            place: format!("position of source {uid}"),
            detail: error.to_string(),
        })
    }

    pub(super) fn decode(bytes: &[u8], uid: &str) -> Result<Self, Error> {
        let refused =
            |detail: String| Error::Codec { place: format!("position of source {uid}"), detail };
        let Some((&VERSION, rest)) = bytes.split_first() else {
            return Err(refused(format!(
                "expected a file position of version {VERSION}, got {:?}; was the source of this \
                 name another kind before? Give the new one another name",
                bytes.first()
            )));
        };
        postcard::from_bytes(rest).map_err(|error| refused(error.to_string()))
    }

    /// Forgets where it was, but not what was rejected.
    pub(super) fn start_over(&mut self) {
        let dead_letter_bytes = self.dead_letter_bytes;
        let rejected = self.rejected;
        *self = Self { dead_letter_bytes, rejected, ..Self::default() };
    }
}

/// Says where `row` (0-based) of a file is: `"flights.csv.zst row 10,000, loop 2"`.
pub(super) fn in_words(path: &Path, row: u64, round: u64) -> String {
    let name = path.file_name().map_or_else(|| path.display().to_string(), lossy);
    let mut text = format!("{name} row {}", grouped(row));
    if round > 0 {
        // Writing to a String cannot fail.
        let _infallible = write!(text, ", loop {}", grouped(round + 1));
    }
    text
}

fn lossy(name: &std::ffi::OsStr) -> String {
    name.to_string_lossy().into_owned()
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_well() {
        let path = Path::new("/data/flights.csv.zst");
        assert_eq!(in_words(path, 10_000, 1), "flights.csv.zst row 10,000, loop 2");
        assert_eq!(in_words(path, 7, 0), "flights.csv.zst row 7");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn a_position_survives_encoding_and_refuses_another_kind() {
        let position = Position {
            mark: Identity { path: "a.csv".into(), inode: 7, head: b"abc".to_vec() }.mark(2),
            offset: 1 << 40,
            header: Some(b"a,b".to_vec()),
            ..Position::default()
        };
        let bytes = position.encode("s").unwrap();
        assert_eq!(Position::decode(&bytes, "s").unwrap(), position);
        let error = Position::decode(&[9, 9], "s").unwrap_err().to_string();
        assert!(error.contains("another name"), "{error}");
    }
}
