//! What a power cut leaves, made from a record.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};

/// Which names of files survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// As of the last sync of anything.
    Ordered,
    /// As of the last sync of their own folder.
    Strict,
}

/// Bytes in front of a frame's payload.
const FRAME_HEADER_BYTES: usize = 8;

fn read_or_nothing(path: &Path) -> Result<Vec<u8>> {
    match fs::read(path) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error).with_context(|| path.display().to_string()),
    }
}

/// Which file it is: the inode's number is used again after its end, so the time of its birth goes
/// with it.
pub(super) fn id(path: &Path) -> Result<String> {
    let found = fs::metadata(path)?;
    let born = found.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    Ok(format!("{}-{}", found.ino(), born.map_or(0, |born| born.as_nanos())))
}

impl Names {
    /// Makes `into` what a power cut would have left of `root`.
    ///
    /// # Errors
    /// Where a record cannot be read, or a file not be made.
    pub fn leave(self, record: &Path, root: &Path, into: &Path) -> Result<()> {
        fs::create_dir_all(into)?;
        match self {
            Self::Ordered => {
                let tree = String::from_utf8(read_or_nothing(&record.join("tree"))?)?;
                tree.lines().try_for_each(|line| make(line, record, into).map(drop))
            }
            Self::Strict => strict(&id(root)?, record, into),
        }
    }
}

fn strict(folder: &str, record: &Path, into: &Path) -> Result<()> {
    let listing = read_or_nothing(&record.join(format!("folder-{folder}")))?;
    for line in String::from_utf8(listing)?.lines() {
        if let Some((id, path)) = make(line, record, into)? {
            strict(&id, record, &path)?;
        }
    }
    Ok(())
}

/// Makes one entry; returns id and path of a folder.
fn make(line: &str, record: &Path, into: &Path) -> Result<Option<(String, PathBuf)>> {
    let mut parts = line.splitn(3, ' ');
    let (Some(kind), Some(id), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
        anyhow::bail!("{line:?} is no line of a record");
    };
    let path = into.join(path);
    if kind == "folder" {
        fs::create_dir_all(&path)?;
        return Ok(Some((id.to_owned(), path)));
    }
    fs::write(path, read_or_nothing(&record.join(format!("file-{id}")))?)?;
    Ok(None)
}

/// Tells when a file was last synced, by the record; `None` where it never was.
///
/// # Errors
/// Where the file is not there.
pub fn last_synced(record: &Path, path: &Path) -> Result<Option<SystemTime>> {
    let image = record.join(format!("file-{}", id(path)?));
    Ok(fs::metadata(image).and_then(|found| found.modified()).ok())
}

/// The newest epoch whose commit record had been synced, by the record of the job's log of commits,
/// whether or not a name leads to it.
///
/// # Errors
/// Where the log or its record cannot be read.
pub fn committed_epoch(record: &Path, job_dir: &Path) -> Result<u64> {
    let mut newest = 0;
    let Ok(entries) = fs::read_dir(job_dir.join("changelog/commits")) else { return Ok(0) };
    for entry in entries {
        let image = record.join(format!("file-{}", id(&entry?.path())?));
        let bytes = read_or_nothing(&image)?;
        let mut rest = bytes.as_slice();
        while let Some((length, _)) = rest.split_first_chunk::<4>() {
            let end = FRAME_HEADER_BYTES + u32::from_be_bytes(*length) as usize;
            let (Some(payload), Some(behind)) =
                (rest.get(FRAME_HEADER_BYTES..end), rest.get(end..))
            else {
                break;
            };
            newest = newest.max(leading_varint(payload));
            rest = behind;
        }
    }
    Ok(newest)
}

/// The epoch is a commit record's first field, seven bits a byte, lowest first.
fn leading_varint(payload: &[u8]) -> u64 {
    let mut value = 0;
    for (byte, shift) in payload.iter().zip((0..).step_by(7)) {
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}
