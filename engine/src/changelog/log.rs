//! A log of frames in files that are named by their first epoch.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::frame::put_frame;
use super::record::LogPosition;
use crate::durable;
use crate::error::Error;

/// Buffered bytes above which they are handed to the system before the barrier.
const BUFFER_BYTES_MAX: usize = 1 << 18;

/// The files of a log, oldest first, with the epoch they begin at.
pub(crate) fn segments(dir: &Path) -> Result<Vec<(u64, PathBuf)>, Error> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(Error::io("list", dir))? {
        let path = entry.map_err(Error::io("list", dir))?.path();
        let epoch = path.file_stem().and_then(|stem| stem.to_str()).and_then(|s| s.parse().ok());
        if let (Some(epoch), Some("log")) = (epoch, path.extension().and_then(|e| e.to_str())) {
            found.push((epoch, path));
        }
    }
    found.sort();
    Ok(found)
}

/// Appends frames; handed to the system at [`SegmentedLog::flush`], synced by whoever commits.
pub(crate) struct SegmentedLog {
    dir: PathBuf,
    path: PathBuf,
    file: Arc<File>,
    first_epoch: u64,
    written: u64,
    buffer: Vec<u8>,
}

impl SegmentedLog {
    /// Starts a new file for `first_epoch`, replacing what an uncommitted run may have left.
    pub(crate) fn start(dir: &Path, first_epoch: u64) -> Result<Self, Error> {
        durable::make_dir(dir)?;
        let (path, file) = Self::create(dir, first_epoch)?;
        Ok(Self { dir: dir.to_path_buf(), path, file, first_epoch, written: 0, buffer: Vec::new() })
    }

    fn create(dir: &Path, first_epoch: u64) -> Result<(PathBuf, Arc<File>), Error> {
        let path = dir.join(format!("{first_epoch:020}.log"));
        let file = durable::make_file(&path)?;
        Ok((path, Arc::new(file)))
    }

    /// Begins a new file; the old one must be flushed.
    pub(crate) fn roll(&mut self, first_epoch: u64) -> Result<(), Error> {
        (self.path, self.file) = Self::create(&self.dir, first_epoch)?;
        (self.first_epoch, self.written) = (first_epoch, 0);
        Ok(())
    }

    pub(crate) fn append(&mut self, payload: &[u8]) -> Result<(), Error> {
        put_frame(payload, &mut self.buffer);
        if self.buffer.len() >= BUFFER_BYTES_MAX { self.flush() } else { Ok(()) }
    }

    /// Hands everything appended to the system.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        let mut file: &File = &self.file;
        file.write_all(&self.buffer).map_err(Error::io("append to", &self.path))?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    pub(crate) fn position(&self) -> LogPosition {
        LogPosition { first_epoch: self.first_epoch, bytes: self.written }
    }

    /// The file to sync, with its path for the error.
    pub(crate) fn file(&self) -> (PathBuf, Arc<File>) {
        (self.path.clone(), Arc::clone(&self.file))
    }

    /// Removes the files whose epochs all lie before `epoch`.
    pub(crate) fn cut_before(dir: &Path, epoch: u64) -> Result<(), Error> {
        let all = segments(dir)?;
        for pair in all.windows(2) {
            if let [(_, path), (next, _)] = pair
                && *next <= epoch
            {
                fs::remove_file(path).map_err(Error::io("remove", path))?;
            }
        }
        Ok(())
    }
}
