//! Reads the newest checkpoint of a job that does not run, row by row, and changes nothing.
//!
//! In: a job's folder. Out: the rows of every state above its cut-off, and the operators' figures,
//! as of the checkpoint. Never here: the changelog behind the checkpoint, a lock, a repair.

use std::fs;
use std::path::{Path, PathBuf};

use rocksdb::{DBWithThreadMode, IteratorMode, LogLevel, Options, SingleThreaded};
use stateward_model::wire::OperatorSample;

use crate::changelog::ShardMeta;
use crate::checkpoint::{Manifest, StateEntry, read_shard_meta};
use crate::codec::{row_ts, row_value};
use crate::error::Error;
use crate::store::{HeapStore, StateStore};

/// One row of a state.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// Row key, with its key group.
    pub key: Vec<u8>,
    /// When it was last stamped.
    pub ts: i64,
    /// The value's bytes.
    pub value: Vec<u8>,
}

/// One state over all shards.
#[derive(Clone, Debug)]
pub struct StateRows {
    /// Operator that owns it.
    pub operator: String,
    /// Its name.
    pub state: String,
    /// Rows above the cut-off, sorted.
    pub rows: Vec<Row>,
    /// How many entries the ledgers count.
    pub ledger_entries: u64,
}

/// A checkpoint's content.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// Epoch that the checkpoint ends.
    pub epoch: u64,
    /// Figures of each operator on each shard.
    pub operators: Vec<OperatorSample>,
    /// Every state that the folder knows.
    pub states: Vec<StateRows>,
}

/// Reads the newest checkpoint of the job in `job_dir`.
///
/// # Errors
/// Where there is none, or it cannot be read; the text names the file.
pub fn inspect(job_dir: &Path) -> Result<Inspected, Error> {
    let manifest = read_manifest(job_dir)?;
    let (epoch, dir) = newest_checkpoint(job_dir)?;
    let mut states: Vec<StateRows> = manifest
        .states
        .iter()
        .map(|entry| StateRows {
            operator: entry.operator.clone(),
            state: entry.state.clone(),
            rows: Vec::new(),
            ledger_entries: 0,
        })
        .collect();
    let mut operators = Vec::new();
    for shard in 0..manifest.shards {
        let dir = dir.join(format!("shard-{shard}"));
        let meta = read_shard_meta(&dir)?;
        for (entry, into) in manifest.states.iter().zip(&mut states) {
            let (cut_off, entries) = ledger_of(&meta, entry.id);
            into.ledger_entries += entries;
            visit_rows(&dir, entry, &mut |key, row| {
                if row_ts(row) > cut_off {
                    let value = row_value(row).to_vec();
                    into.rows.push(Row { key: key.to_vec(), ts: row_ts(row), value });
                }
            })?;
        }
        operators.extend(meta.operators.into_iter().map(|operator| operator.sample));
    }
    for state in &mut states {
        state.rows.sort_unstable();
    }
    Ok(Inspected { epoch, operators, states })
}

/// What the job's folder says of itself.
pub(super) fn read_manifest(job_dir: &Path) -> Result<Manifest, Error> {
    let path = job_dir.join("job.json");
    let bytes = fs::read(&path).map_err(Error::io("read", &path))?;
    serde_json::from_slice(&bytes)
        .map_err(|e| Error::Codec { place: path.display().to_string(), detail: e.to_string() })
}

/// Cut-off and entries of a state on a shard.
pub(super) fn ledger_of(meta: &ShardMeta, id: u16) -> (i64, u64) {
    let found = meta.states.iter().find(|(other, _)| *other == id);
    found.map_or((i64::MIN, 0), |(_, state)| (state.cut_off, state.ledger.total().entries))
}

pub(super) fn newest_checkpoint(job_dir: &Path) -> Result<(u64, PathBuf), Error> {
    let dir = job_dir.join("checkpoints");
    let mut newest = None;
    for entry in fs::read_dir(&dir).map_err(Error::io("list", &dir))? {
        let path = entry.map_err(Error::io("list", &dir))?.path();
        let epoch = path.file_name().and_then(|name| name.to_str()).and_then(|n| n.parse().ok());
        newest = newest.max(epoch.map(|epoch: u64| (epoch, path)));
    }
    newest.ok_or_else(|| Error::Folder {
        path: dir,
        detail: "no checkpoint has been published here yet; let the job run longer".into(),
    })
}

fn visit_rows(
    dir: &Path,
    entry: &StateEntry,
    visit: &mut dyn FnMut(&[u8], &[u8]),
) -> Result<(), Error> {
    let name = format!("state-{:03}", entry.id);
    if entry.backend == "heap" {
        return HeapStore::load(dir, &name)?.prefix(&[], visit);
    }
    let path = dir.join("db");
    let refused = |e: rocksdb::Error| Error::Store { path: path.clone(), detail: e.to_string() };
    let mut options = Options::default();
    // else RocksDB would write its log into the checkpoint
    options.set_callback_logger(LogLevel::Fatal, |_, _| {});
    let families = DBWithThreadMode::<SingleThreaded>::list_cf(&options, &path).map_err(refused)?;
    let db =
        DBWithThreadMode::<SingleThreaded>::open_cf_for_read_only(&options, &path, families, false)
            .map_err(refused)?;
    let Some(family) = db.cf_handle(&name) else { return Ok(()) };
    for item in db.iterator_cf(family, IteratorMode::Start) {
        let (key, row) = item.map_err(refused)?;
        visit(&key, &row);
    }
    Ok(())
}
