//! What an engine measures of getting bytes back (SEMANTICS §1.11).

use serde::{Deserialize, Serialize};

/// How bytes of removed rows are got back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CleanupStrategy {
    /// A compaction that the store made for its own reasons.
    Compaction,
    /// The scheduler rewrote what held most of them.
    Reclaim,
    /// A person asked for it.
    Demand,
    /// Rows left memory before they came to the disk, or live there.
    Memory,
}

impl CleanupStrategy {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Compaction, Self::Reclaim, Self::Demand, Self::Memory];

    /// The label value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Compaction => "compaction",
            Self::Reclaim => "reclaim",
            Self::Demand => "demand",
            Self::Memory => "memory",
        }
    }
}

/// What one strategy did, cumulative over the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CleanupRuns {
    /// Which.
    pub strategy: CleanupStrategy,
    /// Compactions; not counted for memory.
    pub runs: u64,
    /// Written-off rows that it dropped.
    pub rows: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// Bytes of files that it read.
    pub read_bytes: u64,
    /// How long it took.
    pub micros: u64,
}

/// How a state's bytes are got back, over all shards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CleanupSample {
    /// What each strategy did.
    pub runs: Vec<CleanupRuns>,
    /// Files of level 0: what compactions have yet to sort in.
    pub l0_files: u64,
    /// Engine wall clock of the end of the last compaction.
    pub compacted_millis: Option<i64>,
    /// Cleaned only on demand.
    pub paused: bool,
    /// When that ends by itself.
    pub paused_until_millis: Option<i64>,
}

impl CleanupSample {
    /// Adds another shard's.
    pub fn add(&mut self, other: &Self) {
        for part in &other.runs {
            match self.runs.iter_mut().find(|sum| sum.strategy == part.strategy) {
                Some(sum) => {
                    sum.runs += part.runs;
                    sum.rows += part.rows;
                    sum.bytes += part.bytes;
                    sum.read_bytes += part.read_bytes;
                    sum.micros += part.micros;
                }
                None => self.runs.push(*part),
            }
        }
        self.l0_files += other.l0_files;
        self.compacted_millis = self.compacted_millis.max(other.compacted_millis);
    }
}
