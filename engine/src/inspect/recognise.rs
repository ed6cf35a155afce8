//! What a folder is, and which parts it has to be read by.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use super::checkpoint::{newest_checkpoint, read_manifest};
use super::flink::{FileRef, KeyedHandle, KnownState, Metadata, Subtask, head, metadata};
use super::place::{Place, list};
use super::report::{TakenFor, Unread};
use super::rocks::FileSet;
use crate::changelog::ShardMeta;
use crate::checkpoint::{Manifest, read_shard_meta};
use crate::error::Error;
use crate::savepoint::{SavepointFile, Snapshot};

/// How deep RocksDB folders are looked for.
const DEPTH_MAX: usize = 4;
/// What every table of RocksDB ends with.
const TABLE_MAGIC: [u8; 8] = 0x88e2_41b7_85f4_cff7_u64.to_le_bytes();

/// One database, stream or shard.
#[derive(Debug)]
pub(super) struct Part {
    /// Operator, where it is known.
    pub(super) operator: Option<String>,
    pub(super) rows: Rows,
    /// States that serializers describe; empty where there are no serializers.
    pub(super) known: Vec<KnownState>,
    /// Bytes of the key group, where they are known.
    pub(super) group_bytes: Option<usize>,
}

/// Where a part's rows are.
#[derive(Debug)]
pub(super) enum Rows {
    /// In a RocksDB of Flink's or an unknown program's.
    Rocks(FileSet),
    /// In a canonical savepoint: the file, and the offsets of its key groups.
    Canonical(Place, Vec<i64>),
    /// In a shard of Stateward's.
    Shard(Box<Shard>),
    /// In a savepoint of Stateward's.
    Savepoint(Box<SavepointFile>),
}

/// A shard of Stateward's.
#[derive(Debug)]
pub(super) struct Shard {
    pub(super) dir: PathBuf,
    pub(super) set: FileSet,
    pub(super) meta: ShardMeta,
    /// `None` where `job.json` is not there to name the states.
    pub(super) manifest: Option<Manifest>,
}

/// A folder that was recognised.
#[derive(Debug)]
pub(super) struct Recognised {
    pub(super) taken_for: TakenFor,
    pub(super) parts: Vec<Part>,
    pub(super) unread: Vec<Unread>,
    pub(super) notes: Vec<String>,
}

impl Recognised {
    fn new(taken_for: TakenFor) -> Self {
        Self { taken_for, parts: Vec::new(), unread: Vec::new(), notes: Vec::new() }
    }
}

/// Finds out what a folder is.
pub(super) fn recognise(dir: &Path) -> Result<Recognised, Error> {
    if dir.is_file() {
        return savepoint(dir);
    }
    let paths = list(dir).map_err(|e| refuse(dir, e.why))?;
    if dir.join("job.json").is_file() {
        let (epoch, checkpoint) = newest_checkpoint(dir)?;
        let mut taken = stateward(&checkpoint, Some(&read_manifest(dir)?), TakenFor::StatewardJob)?;
        taken.notes.push(format!(
            "the checkpoint ends epoch {epoch}; what the changelog committed behind it is not in these figures"
        ));
        return Ok(taken);
    }
    if paths.iter().any(|path| path.join("shard.meta").is_file()) {
        let job_dir = dir.parent().and_then(Path::parent);
        let manifest = job_dir.and_then(|job_dir| read_manifest(job_dir).ok());
        return stateward(dir, manifest.as_ref(), TakenFor::StatewardCheckpoint);
    }
    if dir.join("_metadata").is_file() {
        return flink(dir);
    }
    let with_metadata: Vec<_> =
        paths.iter().filter(|path| path.join("_metadata").is_file()).collect();
    if let Some(newest) = with_metadata.iter().max_by_key(|path| checkpoint_number(path)) {
        if with_metadata.len() > 1 && checkpoint_number(newest).is_none() {
            return Err(refuse(dir, "holds several savepoints; name one of them"));
        }
        let mut taken = flink(newest)?;
        taken.notes.push(format!("the newest one here: {}", newest.display()));
        return Ok(taken);
    }
    let mut taken = Recognised::new(TakenFor::FlinkRocksdb);
    databases(dir, DEPTH_MAX, &mut taken);
    if taken.parts.is_empty() {
        taken = loose(&paths);
    }
    if taken.parts.is_empty() {
        return Err(refuse(
            dir,
            "nothing here is known: give a job's folder, a checkpoint, a savepoint (a file of Stateward's, or the folder with _metadata), or a RocksDB folder (with CURRENT and MANIFEST)",
        ));
    }
    Ok(taken)
}

fn refuse(dir: &Path, detail: impl Into<String>) -> Error {
    Error::Folder { path: dir.to_path_buf(), detail: detail.into() }
}

fn checkpoint_number(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_prefix("chk-")?.parse().ok()
}

fn stateward(
    checkpoint: &Path,
    manifest: Option<&Manifest>,
    taken_for: TakenFor,
) -> Result<Recognised, Error> {
    let mut taken = Recognised::new(taken_for);
    if manifest.is_none() {
        taken.notes.push("no job.json two folders up: states go by their numbers, and those on the heap are left out".into());
    }
    let wants_db = manifest
        .is_none_or(|manifest| manifest.states.iter().any(|state| state.backend == "rocksdb"));
    for shard in 0..manifest.map_or(0, |manifest| manifest.shards) {
        let dir = checkpoint.join(format!("shard-{shard}"));
        if !dir.join("shard.meta").is_file() {
            taken.unread.push(Unread::new(dir, "is a shard of the job and is not there"));
        }
    }
    let shards = list(checkpoint).map_err(|e| refuse(checkpoint, e.why))?;
    for dir in shards.into_iter().filter(|dir| dir.join("shard.meta").is_file()) {
        let meta = read_shard_meta(&dir).unwrap_or_else(|e| {
            taken.unread.push(Unread::new(&dir, e.to_string()));
            ShardMeta::default()
        });
        let mut set = FileSet::of_folder(&dir.join("db")).unwrap_or_else(|e| {
            taken.unread.extend(wants_db.then_some(e));
            FileSet::default()
        });
        // the write-ahead log is off: the changelog is the truth
        set.wants_log = false;
        let shard = Shard { dir, set, meta, manifest: manifest.cloned() };
        taken.parts.push(Part {
            operator: None,
            rows: Rows::Shard(Box::new(shard)),
            known: Vec::new(),
            group_bytes: None,
        });
    }
    Ok(taken)
}

fn savepoint(path: &Path) -> Result<Recognised, Error> {
    let mut taken = Recognised::new(TakenFor::StatewardSavepoint);
    let file = SavepointFile::open(path)?;
    let (header, totals) = (file.header(), file.totals());
    taken.notes.push(format!("job {} at epoch {}", header.job_name, header.epoch));
    let excluded: u64 = totals.states.iter().map(|state| state.excluded_entries).sum();
    if excluded > 0 {
        taken.notes.push(format!("{excluded} entries that were expired are not in it"));
    }
    taken.parts.push(Part {
        operator: None,
        rows: Rows::Savepoint(Box::new(file)),
        known: Vec::new(),
        group_bytes: None,
    });
    Ok(taken)
}

fn flink(dir: &Path) -> Result<Recognised, Error> {
    let mut taken = Recognised::new(TakenFor::FlinkCheckpoint);
    let path = dir.join("_metadata");
    let bytes = Place::Path(path.clone()).read(&mut taken.unread);
    let Metadata { version, checkpoint_id, subtasks, torn } =
        metadata(&bytes).map_err(|e| refuse(&path, e.to_string()))?;
    taken.notes.push(format!("number {checkpoint_id}, metadata version {version}"));
    if let Some(e) = torn {
        taken.unread.push(Unread::new(&path, format!("cannot be read to its end: {e}")));
    }
    for Subtask { operator, index, max_parallelism, keyed } in subtasks {
        let group_bytes = Some(if max_parallelism > 128 { 2 } else { 1 });
        let mut part = Part {
            operator: Some(operator),
            rows: Rows::Rocks(FileSet::default()),
            known: Vec::new(),
            group_bytes,
        };
        let at = format!("{} {index}", part.operator.as_deref().unwrap_or_default());
        let first = match keyed {
            KeyedHandle::Stream { offsets, file } => {
                taken.taken_for = TakenFor::FlinkCanonicalSavepoint;
                let Some(place) = found(dir, &at, file, &mut taken.unread) else { continue };
                let first = head_of_stream(&place, &offsets);
                part.rows = Rows::Canonical(place, offsets);
                first
            }
            KeyedHandle::Rocks { head, files } => {
                let mut set = FileSet::default();
                for (name, file) in files {
                    if let Some(place) = found(dir, &name, file, &mut taken.unread) {
                        set.files.insert(name, place);
                    }
                }
                part.rows = Rows::Rocks(set);
                let place = head.and_then(|head| found(dir, &at, head, &mut taken.unread));
                let place = place.unwrap_or(Place::Inline { name: at, bytes: Vec::new() });
                (place.read(&mut taken.unread), place)
            }
        };
        match head(&first.0) {
            Ok(known) => part.known = known,
            Err(e) => taken.unread.push(first.1.unread(format!("does not name its states: {e}"))),
        }
        taken.parts.push(part);
    }
    Ok(taken)
}

/// What lies in front of the first key group.
fn head_of_stream(place: &Place, offsets: &[i64]) -> (Vec<u8>, Place) {
    let first = offsets.iter().copied().filter(|offset| *offset > 0).min();
    let length = first.and_then(|first| u64::try_from(first).ok()).unwrap_or(u64::MAX);
    (read_range(place, 0, length.min(1 << 24)).unwrap_or_default(), place.clone())
}

/// Reads part of a file, less where it ends earlier.
pub(super) fn read_range(place: &Place, from: u64, length: u64) -> std::io::Result<Vec<u8>> {
    let mut found = Vec::new();
    match place {
        Place::Path(path) => {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(from))?;
            file.take(length).read_to_end(&mut found)?;
        }
        Place::Inline { bytes, .. } => {
            let from = usize::try_from(from).unwrap_or(usize::MAX);
            let rest = bytes.get(from..).unwrap_or_default();
            let length = usize::try_from(length).unwrap_or(usize::MAX).min(rest.len());
            found.extend_from_slice(rest.get(..length).unwrap_or_default());
        }
    }
    Ok(found)
}

/// The file that a checkpoint refers to. Its paths are those of the machine that wrote it, and only
/// their last part counts: a folder from elsewhere decides nothing about which files are read here.
fn found(dir: &Path, name: &str, file: FileRef, unread: &mut Vec<Unread>) -> Option<Place> {
    let path = match file {
        FileRef::Inline(bytes) => return Some(Place::Inline { name: name.to_owned(), bytes }),
        FileRef::Path(path) => path,
    };
    let last = path.rsplit('/').next().filter(|last| !matches!(*last, "" | "." | ".."))?;
    let beside = dir.parent().unwrap_or(dir);
    let places =
        [dir.join(last), beside.join("shared").join(last), beside.join("taskowned").join(last)];
    let place = places.into_iter().find(|place| place.is_file());
    if place.is_none() {
        unread.push(Unread::new(
            name,
            format!("is {path}, which is neither in this folder nor in shared/ beside it"),
        ));
    }
    place.map(Place::Path)
}

fn databases(dir: &Path, depth: usize, taken: &mut Recognised) {
    let paths = list(dir).unwrap_or_else(|e| {
        taken.unread.push(e);
        Vec::new()
    });
    let is_database = paths.iter().any(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        path.is_file() && (name == "CURRENT" || name.starts_with("MANIFEST-"))
    });
    if is_database {
        match FileSet::of_folder(dir) {
            Ok(set) => taken.parts.push(Part {
                operator: operator_in(dir),
                rows: Rows::Rocks(set),
                known: Vec::new(),
                group_bytes: None,
            }),
            Err(e) => taken.unread.push(e),
        }
    } else if depth > 0 {
        for path in paths.iter().filter(|path| path.is_dir() && !path.is_symlink()) {
            databases(path, depth - 1, taken);
        }
    }
}

/// Flink's name for an operator, from the folder `job_<id>_op_<operator>__<subtask>_<of>__uuid_<id>`.
fn operator_in(dir: &Path) -> Option<String> {
    dir.ancestors().take(2).find_map(|dir| {
        let name = dir.file_name()?.to_str()?;
        let (_, behind) = name.strip_prefix("job_")?.split_once("_op_")?;
        Some(behind.split_once("__")?.0.to_owned())
    })
}

fn loose(paths: &[PathBuf]) -> Recognised {
    let mut taken = Recognised::new(TakenFor::LooseTables);
    let tables = paths.iter().filter(|path| path.is_file() && is_table(path));
    let files: BTreeMap<_, _> = tables
        .filter_map(|path| {
            Some((path.file_name()?.to_str()?.to_owned(), Place::Path(path.clone())))
        })
        .collect();
    if !files.is_empty() {
        taken.notes.push(
            "tables of several databases, and obsolete ones, may be among these; give the folder with _metadata where there is one".into(),
        );
        let set = FileSet { files, is_loose: true, wants_log: false };
        taken.parts.push(Part {
            operator: None,
            rows: Rows::Rocks(set),
            known: Vec::new(),
            group_bytes: None,
        });
    }
    taken
}

fn is_table(path: &Path) -> bool {
    let length = std::fs::metadata(path).map_or(0, |meta| meta.len());
    let place = Place::Path(path.to_path_buf());
    let tail = read_range(&place, length.saturating_sub(8), 8).unwrap_or_default();
    tail == TABLE_MAGIC || path.extension().is_some_and(|extension| extension == "sst")
}
