//! What a checkpoint holds beside its databases: what it is of, and each shard's meta.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::changelog::{FrameReader, ShardMeta, put_frame};
use crate::durable;
use crate::error::Error;

/// The name of a shard's meta file in a checkpoint.
const SHARD_META_FILE: &str = "shard.meta";

/// Version of a checkpoint's layout.
const VERSION: u32 = 1;

/// `about.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct About {
    version: u32,
    /// Newest epoch that it contains.
    pub(crate) applied_epoch: u64,
    pub(crate) shards: usize,
    /// Which layout of shards wrote it.
    #[serde(default)]
    pub(crate) generation: u32,
    wall_millis: i64,
}

impl About {
    pub(crate) fn new(
        applied_epoch: u64,
        shards: usize,
        generation: u32,
        wall_millis: i64,
    ) -> Self {
        Self { version: VERSION, applied_epoch, shards, generation, wall_millis }
    }

    pub(crate) fn read(dir: &Path) -> Result<Self, Error> {
        let path = dir.join("about.json");
        let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
        serde_json::from_slice(&bytes).map_err(|e| Error::Damaged {
            path,
            offset: e.column() as u64,
            detail: format!("what the checkpoint says of itself cannot be read: {e}"),
        })
    }

    /// Writes it, durably; the folder is complete then.
    pub(crate) fn write(&self, dir: &Path) -> Result<(), Error> {
        let path = dir.join("about.json");
        let text = serde_json::to_vec(self).map_err(|e| Error::Codec {
            place: path.display().to_string(),
            detail: e.to_string(),
        })?;
        durable::write_synced(&path, &text)?;
        durable::sync_dir(dir)
    }
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
