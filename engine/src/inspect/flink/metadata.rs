//! `_metadata` of a checkpoint or savepoint, versions 3 to 6: which keyed state lies in which
//! files.
//!
//! ```text
//! magic | version | checkpoint id | master states | operators
//! operator = [name | uid] | id: 16 | parallelism | max. parallelism | coordinator | subtasks
//! subtask  = index | operator state: managed, raw | keyed state: managed, raw | channels: in, out
//! ```
//! All numbers are big-endian, as Java writes them. What follows the operators is not read.

use super::key::hex;
use crate::inspect::bytes::{Cursor, Malformed};

const MAGIC: i32 = 0x4960_672d;

/// A file that a checkpoint refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileRef {
    /// By a name beside `_metadata`, or a path of the machine that wrote it.
    Path(String),
    /// Within `_metadata` itself.
    Inline(Vec<u8>),
}

/// Keyed state of one subtask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyedHandle {
    /// One file with rows by key group, as canonical savepoints have it.
    Stream {
        /// Offsets of the key groups.
        offsets: Vec<i64>,
        file: FileRef,
    },
    /// Files of a RocksDB.
    Rocks {
        /// Names and serializers of the states.
        head: Option<FileRef>,
        /// RocksDB's name and the file.
        files: Vec<(String, FileRef)>,
    },
}

/// One subtask with keyed state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Subtask {
    pub(crate) operator: String,
    pub(crate) index: i32,
    pub(crate) max_parallelism: i32,
    pub(crate) keyed: KeyedHandle,
}

/// A checkpoint.
#[derive(Debug, Default)]
pub(crate) struct Metadata {
    pub(crate) version: i32,
    pub(crate) checkpoint_id: i64,
    pub(crate) subtasks: Vec<Subtask>,
    /// Why what follows could not be read.
    pub(crate) torn: Option<Malformed>,
}

/// Reads `_metadata`; what precedes damage is kept.
///
/// # Errors
/// Where the bytes are not those of a checkpoint at all.
pub(crate) fn metadata(bytes: &[u8]) -> Result<Metadata, Malformed> {
    let mut cursor = Cursor::new(bytes);
    if cursor.i32_be()? != MAGIC {
        return Err(Malformed("it does not begin like a checkpoint of Flink's"));
    }
    let mut found = Metadata { version: cursor.i32_be()?, ..Metadata::default() };
    if !(3..=6).contains(&found.version) {
        return Err(Malformed("its version is not one of 3 to 6"));
    }
    found.checkpoint_id = cursor.i64_be()?;
    found.torn = operators(&mut cursor, &mut found).err();
    Ok(found)
}

fn operators(cursor: &mut Cursor<'_>, found: &mut Metadata) -> Result<(), Malformed> {
    for _ in 0..cursor.count_be(8)? {
        // what a coordinator keeps: kind, then bytes behind their length
        cursor.i32_be()?;
        let length = cursor.count_be(1)?;
        cursor.take(length)?;
    }
    for _ in 0..cursor.count_be(16)? {
        let (mut name, mut uid) = (String::new(), String::new());
        if found.version >= 5 {
            (name, uid) = (cursor.utf()?, cursor.utf()?);
        }
        let id = hex(cursor.take(16)?);
        let operator = [uid, name, id].into_iter().find(|name| !name.is_empty());
        let operator = operator.unwrap_or_default();
        cursor.i32_be()?;
        let max_parallelism = cursor.i32_be()?;
        file(cursor)?;
        // a negative number says that all subtasks have finished
        for _ in 0..cursor.i32_be()?.max(0) {
            let index = cursor.i32_be()?;
            if index < 0 {
                continue;
            }
            if let Some(keyed) = subtask(cursor)? {
                let operator = operator.clone();
                found.subtasks.push(Subtask { operator, index, max_parallelism, keyed });
            }
        }
    }
    Ok(())
}

fn subtask(cursor: &mut Cursor<'_>) -> Result<Option<KeyedHandle>, Malformed> {
    for _ in 0..2 {
        if cursor.i32_be()? != 0 {
            operator_state(cursor)?;
        }
    }
    let managed = keyed(cursor)?;
    keyed(cursor)?;
    for _ in 0..2 {
        if cursor.i32_be()? != 0 {
            return Err(Malformed("it holds records in flight, which are not read here"));
        }
    }
    Ok(managed)
}

fn operator_state(cursor: &mut Cursor<'_>) -> Result<(), Malformed> {
    match cursor.byte()? {
        0 => return Ok(()),
        4 => {}
        _ => return Err(Malformed("an operator's state is written in a way that is not known")),
    }
    for _ in 0..cursor.count_be(7)? {
        cursor.utf()?;
        cursor.byte()?;
        let offsets = cursor.count_be(8)?;
        cursor.take(offsets * 8)?;
    }
    file(cursor).map(drop)
}

fn keyed(cursor: &mut Cursor<'_>) -> Result<Option<KeyedHandle>, Malformed> {
    let kind = cursor.byte()?;
    match kind {
        0 => Ok(None),
        3 | 7 | 12 => {
            cursor.i32_be()?;
            let groups = cursor.count_be(8)?;
            let offsets = (0..groups).map(|_| cursor.i64_be()).collect::<Result<_, _>>()?;
            let file = file(cursor)?;
            if kind == 12 {
                cursor.utf()?;
            }
            Ok(file.map(|file| KeyedHandle::Stream { offsets, file }))
        }
        5 | 11 => {
            cursor.i64_be()?;
            cursor.utf()?;
            cursor.i32_be()?;
            cursor.i32_be()?;
            if kind == 11 {
                cursor.i64_be()?;
            }
            let head = file(cursor)?;
            let mut files = named_files(cursor)?;
            files.extend(named_files(cursor)?);
            if kind == 11 {
                cursor.utf()?;
            }
            Ok(Some(KeyedHandle::Rocks { head, files }))
        }
        _ => Err(Malformed("keyed state is written in a way that is not read here (changelog)")),
    }
}

fn named_files(cursor: &mut Cursor<'_>) -> Result<Vec<(String, FileRef)>, Malformed> {
    let mut files = Vec::new();
    for _ in 0..cursor.count_be(3)? {
        let name = cursor.utf()?;
        if let Some(file) = file(cursor)? {
            files.push((name, file));
        }
    }
    Ok(files)
}

fn file(cursor: &mut Cursor<'_>) -> Result<Option<FileRef>, Malformed> {
    match cursor.byte()? {
        0 => Ok(None),
        1 => {
            cursor.utf()?;
            let length = cursor.count_be(1)?;
            Ok(Some(FileRef::Inline(cursor.take(length)?.to_vec())))
        }
        2 => {
            cursor.i64_be()?;
            Ok(Some(FileRef::Path(cursor.utf()?)))
        }
        6 => {
            let path = cursor.utf()?;
            cursor.i64_be()?;
            Ok(Some(FileRef::Path(path)))
        }
        _ => Err(Malformed("a file is referred to in a way that is not known (merged files)")),
    }
}
