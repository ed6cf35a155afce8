//! From a savepoint or a checkpoint into a folder that holds nothing yet (SEMANTICS §1.13).
//!
//! 1. Everything is read, verified and counted before anything is written; what would be lost is
//!    refused unless somebody said that it is meant.
//! 2. What is restored becomes a checkpoint of its own, with a commit record behind it. Until that is
//!    synced the folder holds nothing, and the restore can be begun again.
//! 3. Sinks begin anew: what they had written belongs to the folder that the job came from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use stateward_model::{ClockKind, TtlPolicy, TtlRule};

use super::Job;
use super::divide::{Division, commit, remove_scratch};
use super::options::RunOptions;
use super::savepoint::{remove_scratches, restore_scratch};
use crate::changelog::{CommitHistory, SpillPosition};
use crate::checkpoint::{Declared, JobFolder, Manifest, StateEntry, remove_dir};
use crate::durable;
use crate::error::Error;
use crate::policy::{TTL_FILE, journaled};
use crate::savepoint::{
    Header, Judging, RestorePreview, SavedState, Snapshot, StateFate, StatePreview, open,
    preview_state,
};
use crate::state::{StateConfig, StateKind};
use crate::store::RocksOptions;

/// What a job is restored from, and what is meant to be lost.
#[derive(Clone, Debug, Default)]
pub(super) struct Restore {
    pub(super) path: Option<PathBuf>,
    allow_non_restored_state: bool,
    confirm_expired: bool,
    compensate_downtime: bool,
}

impl RunOptions {
    /// Starts the job from a savepoint, or from the folder of a checkpoint, with its own parallelism
    /// and backends, in a folder that has committed nothing yet. Sinks begin anew: what was written
    /// behind the savepoint elsewhere will be written again here.
    #[must_use]
    pub fn restore_from(mut self, path: impl Into<PathBuf>) -> Self {
        self.restore.path = Some(path.into());
        self
    }

    /// Leaves behind what the job does not declare any more: states, and clocks, positions and waiting
    /// events of operators and sources. Refused by default.
    #[must_use]
    pub fn allow_non_restored_state(mut self) -> Self {
        self.restore.allow_non_restored_state = true;
        self
    }

    /// Restores although more than half of a state's entries are dead on arrival. Refused by default.
    #[must_use]
    pub fn confirm_expired(mut self) -> Self {
        self.restore.confirm_expired = true;
        self
    }

    /// Lets the clocks of processing-time states go after the wall clock by the time since the
    /// savepoint, for good, so that old and new entries live as if there had been no outage.
    #[must_use]
    pub fn compensate_downtime(mut self) -> Self {
        self.restore.compensate_downtime = true;
        self
    }
}

impl Job {
    /// Says what starting with these options would restore, and changes nothing. Reads all of what it
    /// would be restored from.
    ///
    /// # Errors
    /// [`Error::Declaration`] without [`RunOptions::restore_from`]; [`Error::Damaged`] where that is
    /// damaged; [`Error::Folder`] where a state's type, kind or clock does not fit.
    pub fn preview_restore(&self, options: &RunOptions) -> Result<RestorePreview, Error> {
        let path = options.restore.path.as_deref().ok_or_else(|| {
            Error::Declaration("there is nothing to preview: these options restore nothing".into())
        })?;
        let folder = options.data_dir.join("jobs").join(&self.name);
        // beside the job's folder, which belongs to somebody else while the job runs
        let scratch = options.data_dir.join(format!("preview-{}", uuid::Uuid::now_v7()));
        let snapshot = open(path, &scratch)?;
        let now = options.clock.now_millis();
        let mut states = self.states.clone();
        let restoring = Restoring { restore: &options.restore, job: self, folder: &folder, now };
        let manifest = restoring.manifest(snapshot.header(), &mut states)?;
        let judgings = restoring.judgings(path, snapshot.header(), &states)?;
        restoring.preview(path, snapshot.as_ref(), &manifest, (&states, &judgings))
    }

    /// Restores what the options ask for, and does not start. Returns what was done, in words.
    ///
    /// # Errors
    /// [`Error::Declaration`] without [`RunOptions::restore_from`]; else as [`Job::start`].
    pub fn restore(mut self, options: &RunOptions) -> Result<String, Error> {
        let folder = JobFolder::lock(options.data_dir.join("jobs").join(&self.name))?;
        let rocks = options.memory.rocks(self.parallelism).clock(Arc::clone(&options.clock));
        remove_scratch(&folder)?;
        remove_scratches(&folder.path)?;
        self.restore_into(&folder, options, &rocks)?.ok_or_else(|| {
            Error::Declaration("there is nothing to restore: these options name nothing".into())
        })
    }

    /// Restores what the options ask for; returns what was done, in words.
    pub(super) fn restore_into(
        &mut self,
        folder: &JobFolder,
        options: &RunOptions,
        rocks: &RocksOptions,
    ) -> Result<Option<String>, Error> {
        let Some(path) = options.restore.path.as_deref() else { return Ok(None) };
        empty(folder)?;
        let scratch = restore_scratch(&folder.path);
        remove_dir(&scratch)?;
        let snapshot = open(path, &scratch)?;
        let now = options.clock.now_millis();
        let mut states = self.states.clone();
        let restoring =
            Restoring { restore: &options.restore, job: self, folder: &folder.path, now };
        let mut manifest = restoring.manifest(snapshot.header(), &mut states)?;
        let judgings = restoring.judgings(path, snapshot.header(), &states)?;
        let preview =
            restoring.preview(path, snapshot.as_ref(), &manifest, (&states, &judgings))?;
        if !preview.refusals.is_empty() {
            return Err(Error::Refused(preview.refusals.join("; also ")));
        }
        for (id, judging) in &judgings {
            let restored = manifest.states.iter_mut().filter(|entry| entry.id == *id);
            restored.for_each(|entry| {
                entry.dead_on_arrival_millis = judging.rule.hidden_limit(judging.clock_millis);
            });
        }
        let rows = restoring.take(folder, &manifest, snapshot.as_ref(), rocks)?;
        Ok(Some(format!(
            "restored from {} of epoch {}: {rows} rows on {} shards",
            path.display(),
            preview.epoch,
            manifest.shards
        )))
    }
}

/// Makes sure that a folder holds nothing that is committed, and removes what never was.
fn empty(folder: &JobFolder) -> Result<(), Error> {
    let history = CommitHistory::read(&folder.path.join("changelog/commits"))?;
    if let Some(last) = &history.last {
        return Err(Error::Folder {
            path: folder.path.clone(),
            detail: format!(
                "a job is only restored into an empty folder, and this one is at epoch {}; start without restoring to go on from there, or give another data folder",
                last.epoch
            ),
        });
    }
    for dir in ["changelog", "checkpoints", "state", "spill", "held"] {
        remove_dir(&folder.path.join(dir))?;
    }
    Ok(())
}

/// A restore of one job.
struct Restoring<'a> {
    restore: &'a Restore,
    job: &'a Job,
    folder: &'a Path,
    /// Wall clock.
    now: i64,
}

impl Restoring<'_> {
    /// The job as it will be: the states that go on keep their ids and schemas, and rest where code
    /// says now.
    fn manifest(&self, header: &Header, states: &mut [StateConfig]) -> Result<Manifest, Error> {
        let declared: Vec<StateConfig> = states.to_vec();
        let job = Declared {
            namespace: &self.job.namespace,
            job_name: &self.job.name,
            parallelism: self.job.parallelism,
            key_groups: self.job.key_groups,
            states,
        };
        let mut manifest = Manifest { key_groups: header.key_groups, ..Manifest::of(&job) };
        let outage = self.outage(header);
        for SavedState { entry, .. } in &header.states {
            let Some(config) = declared.iter().find(|config| is_of(config, entry)) else {
                continue;
            };
            let shifted =
                self.restore.compensate_downtime && entry.clock == ClockKind::ProcessingTime;
            manifest.states.push(StateEntry {
                backend: config.options.backend.as_str().into(),
                clock_shift_millis: entry.clock_shift_millis + if shifted { outage } else { 0 },
                ..entry.clone()
            });
        }
        manifest.adopt(job, self.folder)?;
        Ok(manifest)
    }

    fn outage(&self, header: &Header) -> i64 {
        self.now.saturating_sub(header.wall_millis).max(0)
    }

    /// How each state that goes on will be judged from its first moment on, by its id.
    fn judgings(
        &self,
        path: &Path,
        header: &Header,
        states: &[StateConfig],
    ) -> Result<Vec<(u16, Judging)>, Error> {
        let ttls = header.journals.iter().find(|journal| journal.file == TTL_FILE);
        let policies = ttls.map(|ttls| journaled(&ttls.text)).transpose();
        let policies = policies.map_err(|detail| Error::Damaged {
            path: path.to_path_buf(),
            offset: 0,
            detail: format!("its {TTL_FILE} cannot be read: {detail}"),
        })?;
        let policies = policies.unwrap_or_default();
        let judging = |saved: &SavedState| {
            let config = states.iter().find(|config| is_of(config, &saved.entry))?;
            let entry = &saved.entry;
            let known = policies
                .iter()
                .find(|known| (&known.operator, &known.state) == (&entry.operator, &entry.state));
            let judging = self.judging(header, saved, config, known.map(|known| &known.policy));
            Some((entry.id, judging))
        };
        Ok(header.states.iter().filter_map(judging).collect())
    }

    fn preview(
        &self,
        path: &Path,
        from: &dyn Snapshot,
        manifest: &Manifest,
        (states, judgings): (&[StateConfig], &[(u16, Judging)]),
    ) -> Result<RestorePreview, Error> {
        let header = from.header();
        let mut found = Vec::new();
        for saved in &header.states {
            let judging = judgings.iter().find(|(id, _)| *id == saved.entry.id);
            let judging = judging.map(|(_, judging)| *judging);
            let mut preview = preview_state(from, saved, judging, self.now)?;
            if has_no_ttl(&saved.entry.kind) {
                (preview.dead_on_arrival, preview.dead_bytes) = (None, None);
                (preview.dies, preview.returns) = (None, None);
            }
            found.push(preview);
        }
        found.extend(states.iter().filter(|config| !is_known(config, header)).map(fresh));
        found.sort_by_key(|state| match state.fate {
            StateFate::Restored => 0,
            StateFate::New => 1,
            StateFate::Dropped => 2,
        });
        let mut preview = RestorePreview {
            path: path.to_path_buf(),
            job_name: header.job_name.clone(),
            epoch: header.epoch,
            wall_millis: header.wall_millis,
            outage_millis: self.outage(header),
            compensated: self.restore.compensate_downtime,
            shards: (header.shards, manifest.shards),
            states: found,
            dropped: self.dropped(header),
            refusals: Vec::new(),
        };
        preview.refusals = self.refusals(&preview);
        Ok(preview)
    }

    fn judging(
        &self,
        header: &Header,
        saved: &SavedState,
        config: &StateConfig,
        known: Option<&TtlPolicy>,
    ) -> Judging {
        let declared = config.ttl_millis();
        let mut policy = known.cloned().unwrap_or_else(|| TtlPolicy::new(declared));
        policy.tick(self.now);
        policy.declare(declared, self.now);
        let clock_millis = match config.options.clock {
            ClockKind::EventTime => header.clock(&saved.entry),
            ClockKind::ProcessingTime => Some(self.now.saturating_sub(config.clock_shift_millis)),
        };
        let meta = saved.meta.as_ref();
        let ttl_millis = policy.effective_millis();
        let switched_on =
            ttl_millis.is_some() && meta.is_some_and(|meta| meta.ttl_millis.is_none());
        let adopted_at_millis = if switched_on {
            clock_millis.unwrap_or(i64::MAX)
        } else {
            meta.map_or(i64::MIN, |meta| meta.adopted_at_millis)
        };
        let rule = TtlRule {
            ttl_millis,
            kept_millis: policy.kept_millis(),
            adopted_at_millis,
            grace: None,
        };
        Judging { rule, clock_millis }
    }

    fn has_node(&self, uid: &str) -> bool {
        self.job.nodes.iter().any(|node| node.uid == uid)
    }

    /// Operators and sources that are there no more.
    fn dropped(&self, header: &Header) -> Vec<String> {
        let mut dropped = Vec::new();
        for operator in &header.operators {
            let uid = &operator.meta.sample.operator;
            if !self.has_node(uid) {
                let waits =
                    if operator.spilled || operator.held { " with events that wait" } else { "" };
                dropped.push(format!("operator {uid}{waits}"));
            }
        }
        for source in header.sources.iter().filter(|source| !self.has_node(&source.source)) {
            let text = format!("position of source {}", source.source);
            if !dropped.contains(&text) {
                dropped.push(text);
            }
        }
        dropped
    }

    /// §1.13: what would be lost has to be meant.
    fn refusals(&self, preview: &RestorePreview) -> Vec<String> {
        let mut refusals = Vec::new();
        let left_behind = preview.left_behind();
        if !left_behind.is_empty() && !self.restore.allow_non_restored_state {
            refusals.push(format!(
                "{} has what the job does not declare: {}; give it the names it had, or allow non-restored state to leave that behind",
                preview.path.display(),
                left_behind.join(", ")
            ));
        }
        let dead = |state: &StatePreview| {
            let dead = state.dead_on_arrival.unwrap_or_default();
            format!("{dead} of {} entries of {}/{}", state.entries, state.operator, state.state)
        };
        let dead: Vec<String> = preview.mostly_dead().map(dead).collect();
        if !dead.is_empty() && !self.restore.confirm_expired {
            refusals.push(format!(
                "{} would be expired on arrival; compensate the downtime (processing-time states), restore with a longer TTL, or confirm that they are expired",
                dead.join(", ")
            ));
        }
        refusals
    }

    fn take(
        &self,
        folder: &JobFolder,
        manifest: &Manifest,
        from: &dyn Snapshot,
        rocks: &RocksOptions,
    ) -> Result<u64, Error> {
        let header = from.header();
        let epoch = header.epoch + 1;
        let mut division = Division::new(folder, manifest, rocks, epoch)?;
        let nothing = |_: &str, _, _| SpillPosition::default();
        let rows = division.take(from, |operator| self.has_node(operator), &nothing)?;
        division.publish(self.now)?;
        for journal in &header.journals {
            durable::replace(&folder.path.join(&journal.file), journal.text.as_bytes())?;
        }
        folder.write(manifest)?;
        // what the clock showed elsewhere says nothing about jumps here
        commit(folder, manifest, (epoch, self.now), None)?;
        Ok(rows)
    }
}

fn is_of(config: &StateConfig, entry: &StateEntry) -> bool {
    config.operator == entry.operator && config.options.name == entry.state
}

fn is_known(config: &StateConfig, header: &Header) -> bool {
    header.states.iter().any(|saved| is_of(config, &saved.entry))
}

/// Tables go by their families' rules, timers by none.
fn has_no_ttl(kind: &str) -> bool {
    [StateKind::Table, StateKind::Timer].iter().any(|without| without.as_str() == kind)
}

/// A state that begins empty.
fn fresh(config: &StateConfig) -> StatePreview {
    StatePreview {
        operator: config.operator.clone(),
        state: config.options.name.clone(),
        kind: config.kind.as_str().into(),
        fate: StateFate::New,
        entries: 0,
        logical_bytes: 0,
        clock: config.options.clock,
        clock_millis: None,
        stored_ttl_millis: None,
        ttl_millis: config.ttl_millis(),
        dead_on_arrival: None,
        dead_bytes: None,
        dies: None,
        returns: None,
        oldest_millis: None,
        newest_millis: None,
        implausible: Vec::new(),
    }
}
