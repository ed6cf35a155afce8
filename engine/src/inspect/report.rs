//! What an inspection says. Its JSON is documented in `docs/inspect.md`.

use std::path::Path;

use serde::Serialize;
use stateward_model::{Histogram, VerdictKind};

/// What a folder holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Inspection {
    /// Version of this shape, 1.
    pub format: u32,
    /// The folder.
    pub folder: String,
    /// What it was taken for.
    pub taken_for: TakenFor,
    /// Instant that ages and expiry go by, ms; `None` where the folder has no time at all.
    pub now_millis: Option<i64>,
    /// Where that instant is from.
    pub now_from: NowFrom,
    /// The states, by operator and name.
    pub states: Vec<StateInspection>,
    /// What belongs to the folder and could not be read.
    pub unread: Vec<Unread>,
    /// What else the reader should know.
    pub notes: Vec<String>,
}

impl Inspection {
    /// Tells whether everything that belongs to the folder was read.
    pub fn is_whole(&self) -> bool {
        self.unread.is_empty()
    }
}

/// Kinds of folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TakenFor {
    /// A job of Stateward's: its newest checkpoint.
    #[serde(rename = "job")]
    StatewardJob,
    /// One checkpoint of Stateward's.
    #[serde(rename = "checkpoint")]
    StatewardCheckpoint,
    /// A savepoint of Stateward's.
    #[serde(rename = "savepoint")]
    StatewardSavepoint,
    /// RocksDB folders with states of Flink's.
    FlinkRocksdb,
    /// A checkpoint of Flink's, or a savepoint in RocksDB's format: `_metadata` names tables.
    FlinkCheckpoint,
    /// A canonical savepoint of Flink's.
    FlinkCanonicalSavepoint,
    /// RocksDB tables whose database is not known.
    LooseTables,
    /// A RocksDB folder that nothing of Flink's or Stateward's was recognised in.
    Rocksdb,
}

impl TakenFor {
    /// The kind in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::StatewardJob => "a job of Stateward's, its newest checkpoint",
            Self::StatewardCheckpoint => "a checkpoint of Stateward's",
            Self::StatewardSavepoint => "a savepoint of Stateward's",
            Self::FlinkRocksdb => "RocksDB folders of Apache Flink's",
            Self::FlinkCheckpoint => {
                "a checkpoint of Apache Flink's, or a savepoint in native format"
            }
            Self::FlinkCanonicalSavepoint => "a savepoint of Apache Flink's in canonical format",
            Self::LooseTables => "RocksDB tables without their database",
            Self::Rocksdb => "a RocksDB folder of an unknown program",
        }
    }
}

/// Where the instant that ages go by is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NowFrom {
    /// It was given.
    Given,
    /// The newest time of an access in the folder.
    NewestAccess,
    /// The checkpoint's own clock.
    CheckpointClock,
    /// The folder has no time.
    Nothing,
}

/// How sure something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// Written in the folder.
    Known,
    /// Told from what many rows look like.
    Guess,
}

/// What the times of a state are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stamp {
    /// When an entry was last accessed: it can expire.
    LastAccess,
    /// When a timer fires.
    FireTime,
    /// When an entry's window ends.
    WindowEnd,
    /// There are none.
    None,
}

/// One state, over all subtasks or shards.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateInspection {
    /// Operator, where the folder names it.
    pub operator: Option<String>,
    /// Its name: the column family.
    pub state: String,
    /// `value`, `map`, `list`, `timer`, or Flink's word for it.
    pub kind: String,
    /// How sure kind and stamp are.
    pub basis: Basis,
    /// What its times are.
    pub stamp: Stamp,
    /// Share of the live keys whose row looks like that, 0 to 1; `None` without live keys.
    pub plausible_ratio: Option<f64>,
    /// TTL that expiry is judged by, ms.
    pub ttl_millis: Option<i64>,
    /// What is there.
    pub figures: Figures,
    /// Largest rows, largest first.
    pub largest: Vec<LargeKey>,
    /// Its tables; none where it is not in RocksDB.
    pub files: Vec<FileInspection>,
    /// Whether its TTL works, as far as a folder can tell.
    pub verdict: FolderVerdict,
}

/// The verdict of the state page, from what a folder holds: nobody's reads are in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FolderVerdict {
    /// The answer.
    pub kind: VerdictKind,
    /// Bytes that are expired, or written off and not reclaimed; `None` where no TTL is known.
    pub debt_bytes: Option<u64>,
    /// All bytes of entries, live, expired or written off.
    pub total_bytes: u64,
}

/// Figures of a state. All are exact where everything was read and the layout is right.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Keys that a read would find a row for, expired or not.
    pub live_keys: u64,
    /// Entries: one a row, for lists one an element.
    pub entries: u64,
    /// Bytes of keys and values of the live keys.
    pub logical_bytes: u64,
    /// Bytes of the tables.
    pub table_bytes: u64,
    /// Entries of the tables that shadow nothing any more and removals: garbage.
    pub garbage_entries: u64,
    /// Changes that are only in the write-ahead log.
    pub logged_entries: u64,
    /// Keys at or below the committed cut-off: written off, their bytes not reclaimed.
    pub written_off_keys: u64,
    /// Bytes of those.
    pub written_off_bytes: u64,
    /// Keys whose every entry is expired. `None` without a TTL or an access time.
    pub expired_keys: Option<u64>,
    /// Keys whose first entry is expired: for lists the oldest element.
    pub expired_first_keys: Option<u64>,
    /// Expired entries.
    pub expired_entries: Option<u64>,
    /// Bytes of the expired entries.
    pub expired_bytes: Option<u64>,
    /// Oldest time, ms.
    pub oldest_millis: Option<i64>,
    /// Newest time, ms.
    pub newest_millis: Option<i64>,
    /// Ages of the entries in ms, in the buckets of all histograms; future times count as 0.
    pub ages: Option<Histogram>,
    /// Entries that were last accessed after `now`.
    pub future_entries: u64,
}

/// One large row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct LargeKey {
    /// Bytes of key and value.
    pub bytes: u64,
    /// The key as text where it is one, else in hex.
    pub key: String,
    /// The whole row key in hex, cut behind 64 bytes.
    pub row_key_hex: String,
}

/// One table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileInspection {
    /// RocksDB's name.
    pub name: String,
    /// The file, relative to the folder where it lies in it.
    pub path: String,
    /// Level, where a MANIFEST tells.
    pub level: Option<u32>,
    /// Its size.
    pub bytes: u64,
    /// Entries that it says it has, live or not.
    pub entries: u64,
    /// Removals among them.
    pub deletions: u64,
    /// Entries with a time.
    pub stamped: u64,
    /// Those of them that are expired.
    pub expired: Option<u64>,
    /// Oldest time, ms.
    pub oldest_millis: Option<i64>,
    /// Newest time, ms.
    pub newest_millis: Option<i64>,
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// File or place.
    pub place: String,
    /// Why.
    pub why: String,
}

impl Unread {
    pub(super) fn new(place: impl AsRef<Path>, why: impl Into<String>) -> Self {
        Self { place: place.as_ref().display().to_string(), why: why.into() }
    }
}
