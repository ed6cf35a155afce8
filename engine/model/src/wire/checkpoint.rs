//! What an engine tells of its checkpoints (SEMANTICS §1.12, §4.2).

use serde::{Deserialize, Serialize};

/// How a checkpoint keeps the files of its databases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointKind {
    /// It shares them with the running job and with other checkpoints, by hard links.
    #[default]
    Incremental,
    /// Copies of its own, which outlive damage of a shared file.
    Full,
}

impl CheckpointKind {
    /// Its name in figures and pages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Incremental => "incremental",
            Self::Full => "full",
        }
    }
}

/// Why a checkpoint failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointFailure {
    /// It took longer than the timeout.
    Timeout,
    /// The disk was full.
    DiskFull,
    /// A file that it shares is damaged.
    Damaged,
    /// A file could not be written or read.
    Io,
}

impl CheckpointFailure {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Timeout, Self::DiskFull, Self::Damaged, Self::Io];

    /// The label value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::DiskFull => "disk_full",
            Self::Damaged => "damaged",
            Self::Io => "io",
        }
    }
}

/// One checkpoint that was tried.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckpointRun {
    /// Its id: the newest epoch that it contains.
    pub epoch: u64,
    /// How it keeps files.
    pub kind: CheckpointKind,
    /// Engine wall clock when it was asked for.
    pub wall_millis: i64,
    /// From then until it could be restored, or had failed.
    pub micros: u64,
    /// Longest that a shard stood still for it.
    pub pause_micros: u64,
    /// Entries of all states.
    pub entries: u64,
    /// Bytes of their keys and values.
    pub logical_bytes: u64,
    /// Files of its databases.
    pub files: u64,
    /// Bytes of files that it shares.
    pub linked_bytes: u64,
    /// Bytes of files that were written for it.
    pub copied_bytes: u64,
    /// Time spent on leaving expired entries out.
    pub cleanup_micros: u64,
    /// Expired entries that were left out.
    pub excluded_entries: u64,
    /// Bytes of their keys and values.
    pub excluded_bytes: u64,
    /// Why it failed; `None` for one that can be restored, or could until it was removed.
    pub failure: Option<CheckpointFailure>,
    /// The failure in words.
    pub detail: Option<String>,
}

/// A job's checkpoints.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckpointSample {
    /// The last ones that were tried since the job started, at most [`CheckpointSample::RUNS_MAX`],
    /// oldest first.
    pub runs: Vec<CheckpointRun>,
    /// Ids of those that can be restored, newest first.
    pub retained: Vec<u64>,
    /// How many failed since the job started, by [`CheckpointFailure::ALL`].
    pub failures: [u64; CheckpointFailure::ALL.len()],
    /// Bytes of changelog from which the sources wait until a checkpoint comes about.
    pub changelog_bytes_max: u64,
    /// They do now.
    pub sources_wait: bool,
}

impl CheckpointSample {
    /// Checkpoints that are remembered.
    pub const RUNS_MAX: usize = 100;

    /// Adds one that was tried.
    pub fn add(&mut self, run: CheckpointRun) {
        if let Some(count) = run.failure.and_then(|why| self.failures.get_mut(why as usize)) {
            *count += 1;
        }
        let surplus = (self.runs.len() + 1).saturating_sub(Self::RUNS_MAX);
        self.runs.drain(..surplus);
        self.runs.push(run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DESIGN, Wire: the last hundred are kept, failures are counted for ever.
    #[test]
    fn the_last_runs_are_kept_and_all_failures_counted() {
        let mut sample = CheckpointSample::default();
        for epoch in 1..=250 {
            let failure = (epoch % 2 == 0).then_some(CheckpointFailure::DiskFull);
            sample.add(CheckpointRun { epoch, failure, ..CheckpointRun::default() });
        }
        let epochs: Vec<u64> = sample.runs.iter().map(|run| run.epoch).collect();
        assert_eq!(epochs, (151..=250).collect::<Vec<u64>>());
        assert_eq!(sample.failures, [0, 125, 0, 0]);
    }
}
