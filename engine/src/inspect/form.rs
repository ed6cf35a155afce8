//! How a state's rows are read: ours, whose form is known, or Flink's.

use super::flink::{KeyForm, KnownKind, Layout, hex, key_text};
use super::report::{Basis, Stamp};
use crate::codec::{GROUP_BYTES, ROW_HEADER_BYTES, logical_bytes, row_ts};

/// How a state's rows are read.
#[derive(Clone, Debug)]
pub(super) enum Form {
    /// `ts | schema | value` behind a key with its group; at or below the cut-off is written off.
    Stateward { kind: String, cut_off: i64 },
    /// Flink's, by its layout, with its word for the kind.
    Flink { layout: Layout, word: String, basis: Basis },
}

impl Form {
    pub(super) fn kind(&self) -> &str {
        match self {
            Self::Stateward { kind, .. } => kind,
            Self::Flink { word, .. } => word,
        }
    }

    pub(super) fn basis(&self) -> Basis {
        match self {
            Self::Stateward { .. } => Basis::Known,
            Self::Flink { basis, .. } => *basis,
        }
    }

    pub(super) fn stamp(&self) -> Stamp {
        match self {
            Self::Stateward { .. } => Stamp::LastAccess,
            Self::Flink { layout, .. } => layout.stamp,
        }
    }

    /// Tells whether anything of Flink's was recognised.
    pub(super) fn is_recognised(&self) -> bool {
        match self {
            Self::Stateward { .. } => true,
            Self::Flink { layout, .. } => layout.key.is_some() || layout.stamp != Stamp::None,
        }
    }

    /// Tells whether a row is written off and only waits to be dropped.
    pub(super) fn is_written_off(&self, row: &[u8]) -> bool {
        matches!(self, Self::Stateward { cut_off, .. } if row_ts(row) <= *cut_off)
    }

    /// Bytes of key and value.
    pub(super) fn bytes(&self, key: &[u8], row: &[u8]) -> u64 {
        match self {
            Self::Stateward { .. } => logical_bytes(key, row),
            Self::Flink { .. } => (key.len() + row.len()) as u64,
        }
    }

    /// Visits the times in a row with the bytes that go with each; `false` where the row is built
    /// otherwise.
    pub(super) fn stamps(&self, key: &[u8], row: &[u8], visit: &mut dyn FnMut(i64, u64)) -> bool {
        match self {
            Self::Stateward { .. } => {
                let is_row = row.len() >= ROW_HEADER_BYTES;
                if is_row {
                    visit(row_ts(row), self.bytes(key, row));
                }
                is_row
            }
            Self::Flink { layout, .. } => layout.stamps(key, row, visit),
        }
    }

    /// A row key as a person would write it.
    pub(super) fn key_text(&self, row_key: &[u8]) -> String {
        match self {
            Self::Stateward { .. } => printable(row_key.get(GROUP_BYTES..).unwrap_or_default()),
            Self::Flink { layout, .. } => {
                let Some((form, parts)) = layout.split(row_key) else { return printable(row_key) };
                let mut text = key_text(form, parts.key);
                if let Some((start, end)) = parts.window {
                    text.extend([format!(" [{start}, {end})")]);
                }
                if !parts.user_key.is_empty() {
                    text.extend([" / ".to_owned(), key_text(KeyForm::Text, parts.user_key)]);
                }
                text
            }
        }
    }
}

/// Text where all of it is printable, else hex.
fn printable(bytes: &[u8]) -> String {
    let text = std::str::from_utf8(bytes).ok();
    let text = text.filter(|text| !text.is_empty() && !text.chars().any(char::is_control));
    text.map_or_else(|| hex(bytes), str::to_owned)
}

/// Our word for a kind of Flink's that was guessed.
pub(super) fn word(kind: KnownKind) -> &'static str {
    match kind {
        KnownKind::Value => "value",
        KnownKind::List => "list",
        KnownKind::Map => "map",
        KnownKind::Timer => "timer",
    }
}
