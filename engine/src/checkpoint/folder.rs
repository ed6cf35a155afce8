//! What a job's folder says about itself: `job.json`, and the lock.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use stateward_model::ClockKind;

use crate::durable;
use crate::error::Error;
use crate::schema::Evolution;
use crate::state::StateConfig;

/// Version of the folder's layout.
const LAYOUT_VERSION: u32 = 6;

/// One state that the folder knows, whether or not the code still declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StateEntry {
    pub(crate) id: u16,
    pub(crate) operator: String,
    pub(crate) state: String,
    pub(crate) kind: String,
    pub(crate) backend: String,
    pub(crate) clock: ClockKind,
    /// Traces of the value's type; a row's schema id is an index into them.
    pub(crate) schemas: Vec<String>,
    /// Names of a table's column families, declared or not; a family's id is an index into them.
    #[serde(default)]
    pub(crate) families: Vec<String>,
}

/// Where the sink of a shard had come to that a rescale did away with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RetiredSink {
    pub(crate) shard: usize,
    pub(crate) uid: String,
    pub(crate) position: Vec<u8>,
}

/// `job.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) version: u32,
    pub(crate) namespace: String,
    pub(crate) job_name: String,
    pub(crate) shards: usize,
    pub(crate) key_groups: u16,
    pub(crate) generation: u32,
    pub(crate) states: Vec<StateEntry>,
    #[serde(default)]
    pub(crate) retired_sinks: Vec<RetiredSink>,
}

impl Manifest {
    /// Names of the column families of a shard's database.
    pub(crate) fn rocks_families(&self) -> Vec<String> {
        let on_rocks = self.states.iter().filter(|state| state.backend == "rocksdb");
        on_rocks.map(|state| format!("state-{:03}", state.id)).collect()
    }
}

/// What code says of a job, to be reconciled with its folder.
pub(crate) struct Declared<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) job_name: &'a str,
    pub(crate) parallelism: usize,
    pub(crate) key_groups: u16,
    pub(crate) states: &'a mut [StateConfig],
}

/// A job's folder, locked.
#[derive(Debug)]
pub(crate) struct JobFolder {
    pub(crate) path: PathBuf,
    _lock: File,
}

impl JobFolder {
    /// Creates the folder where needed and locks it.
    pub(crate) fn lock(path: PathBuf) -> Result<Self, Error> {
        durable::make_dir(&path)?;
        let lock_path = path.join("lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&lock_path)
            .map_err(Error::io("open", &lock_path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(Error::Folder {
                path,
                detail: "another process runs this job here; stop it, or give this one another data folder".into(),
            }),
            Err(TryLockError::Error(e)) => Err(Error::io("lock", &lock_path)(e)),
        }
    }

    /// Reads the manifest, or makes one, and gives the job's states the ids and schema versions
    /// that the folder knows them by.
    pub(crate) fn reconcile(&self, job: Declared<'_>) -> Result<Manifest, Error> {
        let path = self.path.join("job.json");
        let mut manifest = match fs::read(&path) {
            Ok(bytes) => self.parse(&bytes)?,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Manifest {
                version: LAYOUT_VERSION,
                namespace: job.namespace.to_owned(),
                job_name: job.job_name.to_owned(),
                shards: job.parallelism,
                key_groups: job.key_groups,
                generation: 0,
                states: Vec::new(),
                retired_sinks: Vec::new(),
            },
            Err(e) => return Err(Error::io("read", &path)(e)),
        };
        self.check_groups(job.key_groups, &manifest)?;
        for state in job.states {
            self.register(state, &mut manifest)?;
        }
        self.write(&manifest)?;
        Ok(manifest)
    }

    /// Replaces the manifest, durably.
    pub(crate) fn write(&self, manifest: &Manifest) -> Result<(), Error> {
        let path = self.path.join("job.json");
        let text = serde_json::to_vec_pretty(manifest).map_err(|e| Error::Codec {
            place: path.display().to_string(),
            detail: e.to_string(),
        })?;
        durable::replace(&path, &text)
    }

    fn refuse(&self, detail: String) -> Error {
        Error::Folder { path: self.path.clone(), detail }
    }

    fn parse(&self, bytes: &[u8]) -> Result<Manifest, Error> {
        let manifest: Manifest = serde_json::from_slice(bytes).map_err(|e| {
            self.refuse(format!("job.json cannot be read: {e}; restore it from a copy"))
        })?;
        if manifest.version != LAYOUT_VERSION {
            return Err(self.refuse(format!(
                "layout version {} was written by another release, this one writes {LAYOUT_VERSION}; use that release, or another folder",
                manifest.version
            )));
        }
        Ok(manifest)
    }

    fn check_groups(&self, key_groups: u16, manifest: &Manifest) -> Result<(), Error> {
        if key_groups == manifest.key_groups {
            return Ok(());
        }
        Err(self.refuse(format!(
            "it was written with {} key groups, the job asks for {key_groups}; their number is for ever: run it as before, or in another folder",
            manifest.key_groups
        )))
    }

    fn register(&self, state: &mut StateConfig, manifest: &mut Manifest) -> Result<(), Error> {
        let backend = state.options.backend.as_str();
        let known = manifest
            .states
            .iter_mut()
            .find(|entry| entry.operator == state.operator && entry.state == state.options.name);
        let Some(entry) = known else {
            let id = manifest.states.iter().map(|entry| entry.id + 1).max().unwrap_or(0);
            state.id = id;
            manifest.states.push(StateEntry {
                id,
                operator: state.operator.clone(),
                state: state.options.name.clone(),
                kind: state.kind.as_str().into(),
                backend: backend.into(),
                clock: state.options.clock,
                schemas: vec![state.schema.clone()],
                families: Vec::new(),
            });
            return self.number_families(state, manifest);
        };
        state.id = entry.id;
        let (was, is) = (
            (entry.kind.as_str(), entry.backend.as_str(), entry.clock),
            (state.kind.as_str(), backend, state.options.clock),
        );
        if was != is {
            return Err(self.refuse(format!(
                "state {} was {was:?} (kind, backend, clock) and is declared as {is:?}; give the new one another name",
                state.place()
            )));
        }
        // a shape that an earlier build had is not a new one
        let known = entry.schemas.iter().position(|schema| *schema == state.schema);
        let id = known.unwrap_or(entry.schemas.len());
        if known.is_none() {
            entry.schemas.push(state.schema.clone());
        }
        for (version, schema) in entry.schemas.iter().enumerate() {
            let evolution = (version != id).then(|| Evolution::between(schema, &state.schema));
            let evolution = evolution.transpose().map_err(|why| {
                self.refuse(format!(
                    "the value type of state {} changed from version {version}\n  {schema}\nto version {id}\n  {}\nand {why}: rows of the old type cannot be read as the new one. A field may be added as an Option; else give the new state another name",
                    state.place(),
                    state.schema
                ))
            })?;
            state.evolutions.push(evolution);
        }
        state.schema_id = id as u16;
        self.number_families(state, manifest)
    }

    /// Gives the column families of a table the ids that the folder knows them by.
    fn number_families(
        &self,
        state: &mut StateConfig,
        manifest: &mut Manifest,
    ) -> Result<(), Error> {
        let place = state.place();
        let Some(entry) = manifest.states.iter_mut().find(|entry| entry.id == state.id) else {
            return Ok(());
        };
        for family in &mut state.options.families {
            let known = entry.families.iter().position(|name| *name == family.name);
            let at = known.unwrap_or_else(|| {
                entry.families.push(family.name.clone());
                entry.families.len() - 1
            });
            family.id = u8::try_from(at).map_err(|_too_many| {
                self.refuse(format!(
                    "state {place} has had more than 256 column families; give the new one another name"
                ))
            })?;
        }
        Ok(())
    }
}
