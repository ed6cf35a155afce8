//! What a checkpoint says of itself, and each shard's meta in it.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use stateward_model::key_hash;
use stateward_model::wire::CheckpointKind;

use super::file::FileRecord;
use crate::changelog::{FrameReader, ShardMeta, put_frame};
use crate::durable;
use crate::error::Error;

/// The name of what a checkpoint says of itself.
pub(super) const ABOUT_FILE: &str = "about.json";

/// The name of a shard's meta file in a checkpoint.
const SHARD_META_FILE: &str = "shard.meta";

/// Version of a checkpoint's layout.
const VERSION: u32 = 2;

/// What a checkpoint is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct About {
    pub(crate) version: u32,
    /// Newest epoch that it contains.
    pub(crate) applied_epoch: u64,
    pub(crate) shards: usize,
    /// Which layout of shards wrote it.
    pub(crate) generation: u32,
    pub(crate) kind: CheckpointKind,
    pub(crate) wall_millis: i64,
    /// Wall clock of the last full one; where there is none, of the first one.
    pub(crate) full_millis: i64,
    /// Every file but this one.
    pub(crate) files: Vec<FileRecord>,
}

/// `about.json`: a flipped digit must not pass for another epoch.
#[derive(Serialize, Deserialize)]
struct Sealed {
    about: About,
    xxh3: u64,
}

impl About {
    /// Of an incremental one of no files.
    pub(crate) fn new(
        applied_epoch: u64,
        shards: usize,
        generation: u32,
        wall_millis: i64,
    ) -> Self {
        Self {
            version: VERSION,
            applied_epoch,
            shards,
            generation,
            kind: CheckpointKind::Incremental,
            wall_millis,
            full_millis: wall_millis,
            files: Vec::new(),
        }
    }

    pub(crate) fn read(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(ABOUT_FILE);
        let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
        let damaged = |offset: usize, why: String| Error::Damaged {
            path: path.clone(),
            offset: offset as u64,
            detail: format!("what the checkpoint says of itself cannot be read: {why}"),
        };
        let sealed: Sealed =
            serde_json::from_slice(&bytes).map_err(|e| damaged(e.column(), e.to_string()))?;
        let about = sealed.about;
        if about.version != VERSION {
            return Err(Error::Folder {
                path: dir.to_path_buf(),
                detail: format!(
                    "it is a checkpoint of version {}, this release reads {VERSION}",
                    about.version
                ),
            });
        }
        if seal(&about, &path)?.xxh3 != sealed.xxh3 {
            return Err(damaged(0, "it contradicts its checksum".into()));
        }
        Ok(about)
    }

    /// Writes it, durably; the folder is complete then.
    pub(crate) fn write(&self, dir: &Path) -> Result<(), Error> {
        let path = dir.join(ABOUT_FILE);
        let sealed = seal(self, &path)?;
        let text = serde_json::to_vec(&sealed).map_err(unwritable(&path))?;
        durable::write_synced(&path, &text)?;
        durable::sync_dir(dir)
    }
}

fn seal(about: &About, path: &Path) -> Result<Sealed, Error> {
    let text = serde_json::to_vec(about).map_err(unwritable(path))?;
    Ok(Sealed { about: about.clone(), xxh3: key_hash(&text) })
}

fn unwritable(path: &Path) -> impl FnOnce(serde_json::Error) -> Error {
    let place = path.display().to_string();
    move |e| Error::Codec { place, detail: e.to_string() }
}

/// Writes what a shard keeps beside its rows into its part of a checkpoint, durably.
pub(crate) fn write_shard_meta(dir: &Path, meta: &ShardMeta) -> Result<(), Error> {
    let payload = postcard::to_stdvec(meta)
        .map_err(|e| Error::Codec { place: "checkpoint".into(), detail: e.to_string() })?;
    let mut frame = Vec::new();
    put_frame(&payload, &mut frame);
    durable::write_synced(&dir.join(SHARD_META_FILE), &frame)?;
    durable::sync_dir(dir)
}

/// Reads it.
pub(crate) fn read_shard_meta(saved: &Path) -> Result<ShardMeta, Error> {
    let mut frames = FrameReader::open(&saved.join(SHARD_META_FILE))?;
    let mut payload = Vec::new();
    if !frames.next(&mut payload)? {
        return Err(frames.damaged());
    }
    frames.decode(&payload)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// §4.2: no flipped bit of it passes.
    #[test]
    fn no_damage_passes() {
        let dir = tempfile::tempdir().unwrap();
        let about = About::new(1_234, 2, 0, 77);
        about.write(dir.path()).unwrap();
        assert_eq!(About::read(dir.path()).unwrap(), about);
        let path = dir.path().join(ABOUT_FILE);
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            fs::write(&path, flipped).unwrap();
            assert!(About::read(dir.path()).is_err(), "byte {at}");
        }
    }
}
