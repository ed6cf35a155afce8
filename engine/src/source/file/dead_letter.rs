//! Keeps the rows that could not be read: one JSON object a line with place, row and reason.

use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::PathBuf;

use serde::Serialize;

use crate::durable;
use crate::error::Error;

/// Longer rows are kept cut off.
const ROW_CHARS_MAX: usize = 4096;
/// Rows rejected beyond this length of the file are counted, not kept.
const FILE_BYTES_MAX: u64 = 64 << 20;

#[derive(Serialize)]
struct Letter<'a> {
    place: &'a str,
    row: &'a str,
    reason: &'a str,
}

/// The dead-letter file of one source; made when the first row is rejected.
pub(super) struct DeadLetters {
    path: PathBuf,
    file: Option<File>,
    length_bytes: u64,
    is_dirty: bool,
}

impl DeadLetters {
    /// Cuts everything behind `length_bytes` off: it was never committed.
    pub(super) fn open(path: PathBuf, length_bytes: u64) -> Result<Self, Error> {
        let mut letters = Self { path, file: None, length_bytes, is_dirty: false };
        if length_bytes > 0 || letters.path.exists() {
            letters.file()?;
        }
        Ok(letters)
    }

    pub(super) fn length_bytes(&self) -> u64 {
        self.length_bytes
    }

    pub(super) fn append(&mut self, place: &str, row: &[u8], reason: &str) -> Result<(), Error> {
        if self.length_bytes >= FILE_BYTES_MAX {
            return Ok(());
        }
        let row: String = String::from_utf8_lossy(row).chars().take(ROW_CHARS_MAX).collect();
        let letter = Letter { place, row: row.trim_end_matches(['\r', '\n']), reason };
        let mut line = serde_json::to_vec(&letter).map_err(|error| Error::Codec {
            place: format!("dead letter of {place}"),
            detail: error.to_string(),
        })?;
        line.push(b'\n');
        let path = self.path.clone();
        self.file()?.write_all(&line).map_err(Error::io("cannot write the dead letters", path))?;
        self.length_bytes += line.len() as u64;
        self.is_dirty = true;
        Ok(())
    }

    /// Makes what was appended durable.
    pub(super) fn sync(&mut self) -> Result<(), Error> {
        if !self.is_dirty {
            return Ok(());
        }
        if let Some(file) = &self.file {
            file.sync_data().map_err(Error::io("cannot sync the dead letters", &self.path))?;
        }
        self.is_dirty = false;
        Ok(())
    }

    fn file(&mut self) -> Result<&mut File, Error> {
        let file = match self.file.take() {
            Some(file) => file,
            None => self.open_file()?,
        };
        Ok(self.file.insert(file))
    }

    fn open_file(&mut self) -> Result<File, Error> {
        let refused = || Error::io("cannot open the dead letters", &self.path);
        if let Some(folder) = self.path.parent() {
            durable::make_dir(folder)?;
        }
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&self.path)
            .map_err(refused())?;
        let found = file.metadata().map_err(refused())?.len();
        if found < self.length_bytes {
            tracing::warn!(
                path = %self.path.display(), found, committed = self.length_bytes,
                "the dead-letter file is shorter than it was; what was removed stays removed"
            );
        }
        let length = self.length_bytes.min(found);
        file.set_len(length).map_err(refused())?;
        file.seek(SeekFrom::Start(length)).map_err(refused())?;
        durable::sync_parent(&self.path)?;
        self.length_bytes = length;
        Ok(file)
    }
}
