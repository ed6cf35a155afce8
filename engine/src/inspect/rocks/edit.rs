//! The MANIFEST: which files a database consists of.

use std::collections::BTreeMap;

use super::log::records;
use crate::inspect::bytes::{Cursor, Malformed};

/// One file that the MANIFEST names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamedFile {
    pub(super) level: u32,
    pub(super) bytes: u64,
}

/// One column family.
#[derive(Clone, Debug, Default)]
pub(super) struct NamedFamily {
    pub(super) name: String,
    /// Changes in write-ahead logs below this number are in the files.
    pub(super) log_number: u64,
    /// By file number.
    pub(super) files: BTreeMap<u64, NamedFile>,
}

/// What the MANIFEST says, as far as it could be read.
#[derive(Debug, Default)]
pub(super) struct Version {
    /// By id.
    pub(super) families: BTreeMap<u32, NamedFamily>,
    /// Byte at which it cannot be read on, and why.
    pub(super) torn: Option<(usize, Malformed)>,
}

/// Reads a MANIFEST.
pub(super) fn version(manifest: &[u8]) -> Version {
    let found = records(manifest);
    let mut version = Version { families: BTreeMap::new(), torn: found.torn };
    version.families.insert(0, NamedFamily { name: "default".into(), ..NamedFamily::default() });
    for record in &found.records {
        if let Err(e) = apply(record, &mut version) {
            version.torn.get_or_insert((0, e));
        }
    }
    version
}

fn apply(record: &[u8], version: &mut Version) -> Result<(), Malformed> {
    let mut cursor = Cursor::new(record);
    let (mut family, mut added, mut dropped) = (0, None, false);
    let mut log_number = None;
    let (mut removed, mut new) = (Vec::new(), Vec::new());
    while !cursor.is_empty() {
        match cursor.varint_u32()? {
            1 => drop(cursor.prefixed()?),
            2 => log_number = Some(cursor.varint()?),
            3 | 4 | 9 | 10 | 203 | 300 => drop(cursor.varint()?),
            5 => {
                cursor.varint()?;
                cursor.prefixed()?;
            }
            6 => {
                cursor.varint()?;
                removed.push(cursor.varint()?);
            }
            tag @ (7 | 100 | 102 | 103) => new.push(new_file(&mut cursor, tag)?),
            200 => family = cursor.varint_u32()?,
            201 => added = Some(String::from_utf8_lossy(cursor.prefixed()?).into_owned()),
            202 => dropped = true,
            tag if tag & (1 << 13) != 0 => drop(cursor.prefixed()?),
            _ => return Err(Malformed("it holds a change that is not read here (blob files)")),
        }
    }
    if dropped {
        version.families.remove(&family);
        return Ok(());
    }
    let entry = version.families.entry(family).or_default();
    if let Some(name) = added {
        entry.name = name;
    }
    entry.log_number = log_number.unwrap_or(entry.log_number);
    for number in removed {
        entry.files.remove(&number);
    }
    entry.files.extend(new);
    Ok(())
}

fn new_file(cursor: &mut Cursor<'_>, tag: u32) -> Result<(u64, NamedFile), Malformed> {
    let level = cursor.varint_u32()?;
    let number = cursor.varint()?;
    if tag == 102 {
        cursor.varint()?;
    }
    let bytes = cursor.varint()?;
    cursor.prefixed()?;
    cursor.prefixed()?;
    if tag != 7 {
        cursor.varint()?;
        cursor.varint()?;
    }
    // fields that other versions add, each with its length
    while tag == 103 && cursor.varint()? != 1 {
        cursor.prefixed()?;
    }
    Ok((number, NamedFile { level, bytes }))
}
