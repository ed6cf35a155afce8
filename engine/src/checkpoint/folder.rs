//! What a job's folder says about itself: `job.json`, and the lock.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

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
    /// By how much its processing clock goes after the wall clock: outages that were compensated
    /// (SEMANTICS §1.13).
    #[serde(default)]
    pub(crate) clock_shift_millis: i64,
    /// Every entry with a stamp up to this one was dead when the state was restored.
    #[serde(default)]
    pub(crate) dead_on_arrival_millis: Option<i64>,
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
    /// Reads the manifest of a job's folder; `None` where there is none.
    pub(crate) fn read(job_dir: &Path) -> Result<Option<Self>, Error> {
        let path = job_dir.join("job.json");
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::io("read", &path)(e)),
        };
        let manifest: Self = serde_json::from_slice(&bytes).map_err(|e| {
            refuse(job_dir, format!("job.json cannot be read: {e}; restore it from a copy"))
        })?;
        if manifest.version == LAYOUT_VERSION {
            return Ok(Some(manifest));
        }
        Err(refuse(
            job_dir,
            format!(
                "layout version {} was written by another release, this one writes {LAYOUT_VERSION}; use that release, or another folder",
                manifest.version
            ),
        ))
    }

    /// Of a job that was never started; it knows no state yet.
    pub(crate) fn of(job: &Declared<'_>) -> Self {
        Self {
            version: LAYOUT_VERSION,
            namespace: job.namespace.to_owned(),
            job_name: job.job_name.to_owned(),
            shards: job.parallelism,
            key_groups: job.key_groups,
            generation: 0,
            states: Vec::new(),
            retired_sinks: Vec::new(),
        }
    }

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
        let manifest = Manifest::read(&self.path)?;
        let mut manifest = manifest.unwrap_or_else(|| Manifest::of(&job));
        manifest.adopt(job, &self.path)?;
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
}

fn refuse(folder: &Path, detail: String) -> Error {
    Error::Folder { path: folder.to_path_buf(), detail }
}

impl Manifest {
    /// Takes in what code declares, and gives its states the ids and schema versions that this
    /// manifest, of `folder`, knows them by.
    pub(crate) fn adopt(&mut self, job: Declared<'_>, folder: &Path) -> Result<(), Error> {
        let Declared { key_groups, states, .. } = job;
        self.check_groups(key_groups, folder)?;
        states.iter_mut().try_for_each(|state| self.register(state, folder))
    }

    fn check_groups(&self, key_groups: u16, folder: &Path) -> Result<(), Error> {
        if key_groups == self.key_groups {
            return Ok(());
        }
        Err(refuse(
            folder,
            format!(
                "it was written with {} key groups, the job asks for {key_groups}; their number is for ever: run it as before, or in another folder",
                self.key_groups
            ),
        ))
    }

    fn register(&mut self, state: &mut StateConfig, folder: &Path) -> Result<(), Error> {
        let backend = state.options.backend.as_str();
        let known = self
            .states
            .iter_mut()
            .find(|entry| entry.operator == state.operator && entry.state == state.options.name);
        let Some(entry) = known else {
            let id = self.states.iter().map(|entry| entry.id + 1).max().unwrap_or(0);
            state.id = id;
            self.states.push(StateEntry {
                id,
                operator: state.operator.clone(),
                state: state.options.name.clone(),
                kind: state.kind.as_str().into(),
                backend: backend.into(),
                clock: state.options.clock,
                schemas: vec![state.schema.clone()],
                families: Vec::new(),
                clock_shift_millis: 0,
                dead_on_arrival_millis: None,
            });
            return self.number_families(state, folder);
        };
        (state.id, state.clock_shift_millis) = (entry.id, entry.clock_shift_millis);
        state.dead_on_arrival_millis = entry.dead_on_arrival_millis;
        state.evolutions.clear();
        let (was, is) = (
            (entry.kind.as_str(), entry.backend.as_str(), entry.clock),
            (state.kind.as_str(), backend, state.options.clock),
        );
        if was != is {
            return Err(refuse(
                folder,
                format!(
                    "state {} was {was:?} (kind, backend, clock) and is declared as {is:?}; give the new one another name",
                    state.place()
                ),
            ));
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
                refuse(folder, format!(
                    "the value type of state {} changed from version {version}\n  {schema}\nto version {id}\n  {}\nand {why}: rows of the old type cannot be read as the new one. A field may be added as an Option; else give the new state another name",
                    state.place(),
                    state.schema
                ))
            })?;
            state.evolutions.push(evolution);
        }
        state.schema_id = id as u16;
        self.number_families(state, folder)
    }

    /// Gives the column families of a table the ids that the folder knows them by.
    fn number_families(&mut self, state: &mut StateConfig, folder: &Path) -> Result<(), Error> {
        let place = state.place();
        let Some(entry) = self.states.iter_mut().find(|entry| entry.id == state.id) else {
            return Ok(());
        };
        for family in &mut state.options.families {
            let known = entry.families.iter().position(|name| *name == family.name);
            let at = known.unwrap_or_else(|| {
                entry.families.push(family.name.clone());
                entry.families.len() - 1
            });
            family.id = u8::try_from(at).map_err(|_too_many| {
                refuse(folder, format!(
                    "state {place} has had more than 256 column families; give the new one another name"
                ))
            })?;
        }
        Ok(())
    }
}
