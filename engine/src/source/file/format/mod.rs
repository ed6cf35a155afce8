//! Cuts bytes into rows and rows into events. In: bytes from a row's beginning. Out: events, or the
//! reason why a row is rejected. Never here: files, positions.

mod csv;
mod ndjson;
mod lines;

pub(super) use self::csv::Csv;
pub(super) use self::lines::Lines;
pub(super) use self::ndjson::Ndjson;

use super::Timed;

/// A longer row is rejected.
pub(super) const ROW_BYTES_MAX: usize = 1 << 20;

/// Settings that not every format has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FormatOptions {
    pub(super) deny_unknown_columns: bool,
}

/// What the bytes begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Split {
    /// Not a whole row yet.
    Need,
    /// Nothing of interest: an empty line.
    Blank { bytes: usize },
    /// A row with its line end.
    Row { bytes: usize },
    /// Something longer than [`ROW_BYTES_MAX`], to be rejected.
    TooLong { bytes: usize },
}

pub(super) trait Format<T>: Send {
    /// Whether every file begins with a header.
    fn has_header(&self) -> bool {
        false
    }
    /// Takes the header that [`Format::split`] found last; says what is wrong with it.
    fn header(&mut self, _row: &[u8]) -> Result<(), String> {
        Ok(())
    }
    /// Looks at what `bytes` begin with; `ended`: none will follow.
    fn split(&mut self, bytes: &[u8], ended: bool) -> Split;
    /// Appends the events of the row that `split` found last, or says why there are none.
    fn decode(&mut self, row: &[u8], events: &mut Vec<Timed<T>>) -> Result<(), String>;
}

/// Splits at line ends.
fn split_line(bytes: &[u8], ended: bool) -> Split {
    match memchr::memchr(b'\n', bytes) {
        Some(end) if trimmed(bytes.get(..end).unwrap_or_default()).is_empty() => {
            Split::Blank { bytes: end + 1 }
        }
        Some(end) if end > ROW_BYTES_MAX => Split::TooLong { bytes: end + 1 },
        Some(end) => Split::Row { bytes: end + 1 },
        None if bytes.len() > ROW_BYTES_MAX => Split::TooLong { bytes: bytes.len() },
        None if !ended || bytes.is_empty() => Split::Need,
        None => Split::Row { bytes: bytes.len() },
    }
}

/// Takes the line end off.
fn trimmed(row: &[u8]) -> &[u8] {
    let row = row.strip_suffix(b"\n").unwrap_or(row);
    row.strip_suffix(b"\r").unwrap_or(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_at_their_ends() {
        for (bytes, ended, expected) in [
            (&b"a\r\nb"[..], false, Split::Row { bytes: 3 }),
            (b"b", false, Split::Need),
            (b"b", true, Split::Row { bytes: 1 }),
            (b"\r\nb", true, Split::Blank { bytes: 2 }),
            (b"", true, Split::Need),
        ] {
            assert_eq!(split_line(bytes, ended), expected, "{bytes:?} {ended}");
        }
        let long = vec![b'x'; ROW_BYTES_MAX + 1];
        assert_eq!(split_line(&long, false), Split::TooLong { bytes: long.len() });
    }
}
