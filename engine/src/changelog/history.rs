//! What the commit log says.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::path::Path;

use super::frame::FrameReader;
use super::log::segments;
use super::record::CommitRecord;
use crate::error::Error;

/// What the commit log says.
#[derive(Clone, Debug, Default)]
pub(crate) struct CommitHistory {
    /// Epochs that are committed and still in the log.
    pub(crate) epochs: BTreeSet<u64>,
    pub(crate) last: Option<CommitRecord>,
}

impl CommitHistory {
    /// Reads all commit records and cuts a torn one off.
    pub(crate) fn read(dir: &Path) -> Result<Self, Error> {
        Self::scan(dir, cut)
    }

    /// Reads all commit records and changes nothing.
    pub(crate) fn peek(dir: &Path) -> Result<Self, Error> {
        Self::scan(dir, |_, _| Ok(()))
    }

    fn scan(dir: &Path, torn: impl Fn(&Path, u64) -> Result<(), Error>) -> Result<Self, Error> {
        let mut history = Self::default();
        if !dir.exists() {
            return Ok(history);
        }
        for (_, path) in segments(dir)? {
            let mut frames = FrameReader::open(&path)?;
            let mut payload = Vec::new();
            while frames.next(&mut payload)? {
                let record: CommitRecord = frames.decode(&payload)?;
                history.epochs.insert(record.epoch);
                history.last = Some(record);
            }
            // a commit that was torn off is the last; one that others follow had been committed
            if frames.is_followed()? {
                return Err(frames.damaged());
            }
            torn(&path, frames.offset())?;
        }
        Ok(history)
    }

    pub(crate) fn last_epoch(&self) -> u64 {
        self.last.as_ref().map_or(0, |record| record.epoch)
    }
}

/// Cuts off what lies behind the committed part of a file.
pub(crate) fn cut(path: &Path, length: u64) -> Result<(), Error> {
    let file = OpenOptions::new().write(true).open(path).map_err(Error::io("open", path))?;
    let now = file.metadata().map_err(Error::io("read", path))?.len();
    if now > length {
        file.set_len(length).and_then(|()| file.sync_all()).map_err(Error::io("cut", path))?;
    }
    Ok(())
}
