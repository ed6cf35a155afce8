//! Decisions on disk.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stateward_model::wire::Command;

use crate::durable;
use crate::error::Error;

/// Decisions about breakers.
pub(crate) const BREAKERS_FILE: &str = "breakers.json";
/// Decisions about TTLs.
pub(crate) const TTL_FILE: &str = "ttl.json";
/// Decisions about cleanup.
pub(crate) const CLEANUP_FILE: &str = "cleanup.json";
/// All files of decisions in a job's folder.
pub(crate) const JOURNAL_FILES: [&str; 3] = [BREAKERS_FILE, TTL_FILE, CLEANUP_FILE];

/// Decisions kept for the record.
const DECISIONS_MAX: usize = 256;

/// What a person decided, with actor and reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Decision<T> {
    wall_millis: i64,
    command: T,
}

/// The latest decisions, oldest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Decisions<T = Command>(VecDeque<Decision<T>>);

impl<T> Default for Decisions<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Decisions<T> {
    pub(crate) fn push(&mut self, wall_millis: i64, command: T) {
        self.0.push_back(Decision { wall_millis, command });
        if self.0.len() > DECISIONS_MAX {
            self.0.pop_front();
        }
    }
}

/// One file of decisions, replaced whole.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
}

impl Journal {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Reads it; `way_out` says what to do where it is damaged.
    pub(crate) fn read<T: DeserializeOwned + Default>(&self, way_out: &str) -> Result<T, Error> {
        match fs::read(&self.path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| Error::Damaged {
                path: self.path.clone(),
                offset: e.column() as u64,
                detail: format!("the journal cannot be read: {e}; {way_out}"),
            }),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(T::default()),
            Err(e) => Err(Error::io("read", &self.path)(e)),
        }
    }

    /// Replaces it; what is written survives a power cut from then on.
    pub(crate) fn write(&self, journal: &impl Serialize) -> Result<(), Error> {
        let text = serde_json::to_vec_pretty(journal).map_err(|e| Error::Codec {
            place: self.path.display().to_string(),
            detail: e.to_string(),
        })?;
        durable::replace(&self.path, &text)
    }
}
