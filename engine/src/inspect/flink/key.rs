//! Keys of Flink's keyed state: `key group | key | namespace | key within a map`.

use crate::inspect::bytes::{Cursor, Malformed};

/// How a job's keys are serialized, where it is one of the usual ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyForm {
    /// A `String`.
    Text,
    /// A `Long`.
    Long,
    /// An `Integer`.
    Int,
}

/// How a state's row keys are built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyLayout {
    /// 1 up to 128 key groups, else 2.
    pub(crate) group_bytes: usize,
    pub(crate) form: KeyForm,
    /// The namespace is a window (start and end, 16 bytes), not a void (one zero byte).
    pub(crate) has_window: bool,
    /// The key within a map follows.
    pub(crate) has_user_key: bool,
}

/// A row key's parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyParts<'a> {
    pub(crate) key: &'a [u8],
    /// Start and end of the window, ms.
    pub(crate) window: Option<(i64, i64)>,
    pub(crate) user_key: &'a [u8],
}

impl KeyLayout {
    /// Takes a row key apart; `None` where it is built otherwise.
    pub(crate) fn split<'a>(&self, row_key: &'a [u8]) -> Option<KeyParts<'a>> {
        self.read(row_key).ok()
    }

    fn read<'a>(&self, row_key: &'a [u8]) -> Result<KeyParts<'a>, Malformed> {
        let mut cursor = Cursor::new(row_key);
        cursor.take(self.group_bytes)?;
        let start = cursor.rest();
        match self.form {
            KeyForm::Text => drop(text(&mut cursor)?),
            KeyForm::Long => drop(cursor.take(8)?),
            KeyForm::Int => drop(cursor.take(4)?),
        }
        let key = start.get(..start.len() - cursor.rest().len()).unwrap_or_default();
        let mut window = None;
        if self.has_window {
            let (from, to) = (cursor.i64_be()?, cursor.i64_be()?);
            if from >= to {
                return Err(Malformed("a window ends before it starts"));
            }
            window = Some((from, to));
        } else if cursor.byte()? != 0 {
            return Err(Malformed("the namespace is not void"));
        }
        let user_key = cursor.rest();
        if user_key.is_empty() == self.has_user_key {
            return Err(Malformed("the key ends elsewhere"));
        }
        Ok(KeyParts { key, window, user_key })
    }
}

/// What Flink's `StringSerializer` writes: length plus one (0 is null), then the characters, seven
/// bits a byte.
fn text(cursor: &mut Cursor<'_>) -> Result<String, Malformed> {
    let length = cursor.varint()?;
    let mut text = String::new();
    for _ in 1..length {
        let unit = cursor.varint()?;
        let unit = u16::try_from(unit).map_err(|_large| Malformed("a character is too large"))?;
        text.push(char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    Ok(text)
}

/// A key as a person would write it, where its form is one that has such; else in hex.
pub(crate) fn key_text(form: KeyForm, key: &[u8]) -> String {
    let mut cursor = Cursor::new(key);
    match form {
        KeyForm::Text => text(&mut cursor).ok(),
        KeyForm::Long => cursor.i64_be().ok().map(|number| number.to_string()),
        KeyForm::Int => cursor.i32_be().ok().map(|number| number.to_string()),
    }
    .filter(|_| cursor.is_empty())
    .unwrap_or_else(|| hex(key))
}

/// Bytes in hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
