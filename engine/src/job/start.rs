//! From a declaration to running threads.

use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, bounded};
use stateward_model::ClockKind;

use super::builder::Job;
use super::checkpoints::{Checkpoints, first_sample};
use super::control::JobControl;
use super::coordinator::{Coordinator, SharedFigures};
use super::divide::remove_scratch;
use super::govern::{Governing, SharedGoverning, govern, lock};
use super::handle::JobHandle;
use super::local::answers;
use super::making::Making;
use super::options::RunOptions;
use super::rescale::Rescale;
use super::savepoint::{Savepoints, remove_scratches};
use super::shard::FromShard;
use crate::agent::{Link, Reporter, RunIdentity};
use crate::breaker::Governor;
use crate::changelog::{CommitHistory, SegmentedLog};
use crate::checkpoint::{
    Declared, JobFolder, Manifest, Publisher, Recovered, RecoveredShard, Recovery, Retention,
    checkpoints,
};
use crate::cleanup::{Cleaner, CleanupGovernor, SharedRequests};
use crate::control::{listen, serve};
use crate::error::Error;
use crate::policy::{ProcessingClock, ShardClock, TtlGovernor};
use crate::state::{SharedGate, SharedTtl, StateConfig};
use crate::store::{CachePool, MemoryGauge, RocksOptions, ShardDb, SharedReclaims};
use crate::telemetry::Board;

impl Job {
    /// Recovers the job's folder and starts its threads.
    ///
    /// # Errors
    /// Where the folder is in use, of another layout or damaged, a state changed its type, or a
    /// source or sink cannot be opened; the text names the place and the way out.
    pub fn start(mut self, options: RunOptions) -> Result<JobHandle, Error> {
        let folder = JobFolder::lock(options.data_dir.join("jobs").join(&self.name))?;
        let rocks = options.memory.rocks(self.parallelism).clock(Arc::clone(&options.clock));
        remove_scratches(&folder.path)?;
        let restored = self.restore_into(&folder, &options, &rocks)?;
        let mut manifest = folder.reconcile(Declared {
            namespace: &self.namespace,
            job_name: &self.name,
            parallelism: self.parallelism,
            key_groups: self.key_groups,
            states: &mut self.states,
        })?;
        let commits = folder.path.join("changelog/commits");
        let mut history = CommitHistory::read(&commits)?;
        let mut told = Vec::new();
        if let Some(last) = &history.last
            && last.generation != manifest.generation
        {
            // a rescale was cut off behind its commit
            (manifest.shards, manifest.generation) = (last.shards.len(), last.generation);
            folder.write(&manifest)?;
        }
        remove_scratch(&folder)?;
        let mut rescaled = None;
        if manifest.shards != self.parallelism {
            let (job, clock) = (&self, options.clock.as_ref());
            let rescale = Rescale { folder: &folder, job, rocks: &rocks, history: &history, clock };
            rescaled = Some(rescale.run(&mut manifest, |text| told.push(text))?);
            history = CommitHistory::read(&commits)?;
        }
        let recovery =
            Recovery { folder: &folder, manifest: &manifest, rocks: &rocks, history: &history };
        let recovered = recovery.run(|text| told.push(text))?;
        // an epoch number is never used twice (see `recovery`)
        let first_epoch = history.last.as_ref().map_or(1, |last| last.epoch + 2);
        let partitions = self.nodes.iter().map(|node| u64::from(node.partitions)).sum();
        let control = JobControl::new(manifest.shards, first_epoch - 1, partitions);
        let verb = if history.last.is_some() { "recovered" } else { "started" };
        let text =
            format!("{verb} at epoch {} on {} shards", history.last_epoch(), manifest.shards);
        control.log.note(options.clock.as_ref(), verb, text);
        if let Some(text) = restored {
            control.log.note(options.clock.as_ref(), "restored", text);
        }
        if let Some(text) = rescaled {
            control.log.note(options.clock.as_ref(), "rescaled", text);
        }
        for text in told {
            tracing::warn!("{text}");
            control.log.note(options.clock.as_ref(), "checkpoint_fallback", text);
        }
        let caches = options.memory.pool();
        Starting {
            job: Arc::new(self),
            folder,
            manifest,
            options,
            control,
            first_epoch,
            committed_millis: history.last.and_then(|last| last.clock_millis),
            rocks,
            caches,
        }
        .start(recovered)
    }
}

/// Everything a start needs.
struct Starting {
    job: Arc<Job>,
    folder: JobFolder,
    manifest: Manifest,
    options: RunOptions,
    control: Arc<JobControl>,
    first_epoch: u64,
    /// Processing time of the last commit.
    committed_millis: Option<i64>,
    rocks: RocksOptions,
    caches: CachePool,
}

impl Starting {
    fn start(self, recovered: Recovered) -> Result<JobHandle, Error> {
        let shards = self.manifest.shards;
        let board = Arc::new(Board::new(shards));
        let Recovered { shards: recovered, from } = recovered;
        let figures = SharedFigures::default();
        let retained = checkpoints(&self.folder.path)?.into_iter().map(|(epoch, _)| epoch);
        figures.lock().unwrap_or_else(PoisonError::into_inner).checkpoints =
            first_sample(retained.collect(), &self.options.pace);
        let reclaims = SharedReclaims::default();
        let gates: Vec<Arc<SharedGate>> = self.job.states.iter().map(|_| Arc::default()).collect();
        let of_state = |state: &StateConfig| Arc::new(SharedTtl::new(state.ttl_millis()));
        let ttls: Vec<_> = self.job.states.iter().map(of_state).collect();
        let processing = self.processing_clock(&ttls)?;
        let dbs: Vec<Arc<ShardDb>> = recovered.iter().map(|shard| Arc::clone(&shard.db)).collect();
        let requests = SharedRequests::default();
        let memory = MemoryGauge {
            budget_bytes: self.options.memory.total_bytes as u64,
            pool: self.caches.clone(),
            rocks: self.rocks.clone(),
            dbs: dbs.clone(),
        };
        let governing = self.governing(
            &board,
            &figures,
            &reclaims,
            (memory, &processing),
            (&gates, &ttls, &requests),
        )?;
        // room for what every shard says in one epoch, so that no shard waits for the coordinator
        let (to_coordinator, from_shards) = bounded(shards * 2);
        let (alive, shards_alive) = bounded(0);
        let mut work =
            self.shards(recovered, &board, &processing, (&gates, &ttls), &to_coordinator, &alive)?;
        drop((to_coordinator, alive));
        let changelog = self.folder.path.join("changelog");
        let (checkpoints, publishing) = self.checkpoints(from.as_deref(), &figures)?;
        work.push(publishing);
        let coordinator = Coordinator {
            control: Arc::clone(&self.control),
            clock: Arc::clone(&self.options.clock),
            processing,
            pending: u64::MAX,
            from_shards,
            shards,
            commits: SegmentedLog::start(&changelog.join("commits"), self.first_epoch)?,
            commit_interval: self.options.pace.commit_interval,
            checkpoints,
            generation: self.manifest.generation,
            next_epoch: self.first_epoch,
            figures,
        };
        work.push(self.thread("stateward-commit", move || coordinator.run())?);
        let (link, mut threads) = self.link(&governing)?;
        let cleaner = Cleaner {
            board,
            dbs,
            reclaims,
            clock: Arc::clone(&self.options.clock),
            options: self.options.cleanup.clone(),
            requests,
        };
        let alive_for_local = shards_alive.clone();
        let alive = shards_alive.clone();
        threads.push(self.thread("stateward-cleanup", move || cleaner.run(&alive))?);
        let (shared, control) = (Arc::clone(&governing), Arc::clone(&self.control));
        threads.push(self.thread("stateward-governor", move || {
            govern(&shared, &control, link.as_ref(), &shards_alive)
        })?);
        let savepoints = Savepoints::new(self.folder.path.clone(), Arc::clone(&self.control));
        threads.extend(self.local_control(&governing, &savepoints, alive_for_local)?);
        Ok(JobHandle::new(self.control, governing, savepoints, (work, threads), self.folder))
    }

    /// Opens the socket in the job's folder, before anybody knows that the job runs, and starts the
    /// thread that answers there. A job works without it: where it cannot listen, that is said and
    /// nothing else.
    fn local_control(
        &self,
        governing: &SharedGoverning,
        savepoints: &Savepoints,
        alive: Receiver<Infallible>,
    ) -> Result<Option<JoinHandle<()>>, Error> {
        let (control, clock) = (Arc::clone(&self.control), Arc::clone(&self.options.clock));
        let failed = move |e: Error| {
            tracing::warn!("{e}; the job cannot be asked through its folder");
            control.log.note(clock.as_ref(), "control_failed", e.to_string());
        };
        let job_dir = self.folder.path.clone();
        let listener = match listen(&job_dir) {
            Ok(listener) => listener,
            Err(e) => {
                failed(e);
                return Ok(None);
            }
        };
        let shards = self.manifest.shards;
        let control = Arc::clone(&self.control);
        let answer = answers(control, Arc::clone(governing), savepoints.clone(), shards);
        let thread = self.thread("stateward-control", move || {
            serve(&listener, &job_dir, &answer, &alive).unwrap_or_else(failed);
            Ok(())
        })?;
        Ok(Some(thread))
    }

    fn processing_clock(&self, ttls: &[Arc<SharedTtl>]) -> Result<Arc<ProcessingClock>, Error> {
        let states = self.job.states.iter().zip(ttls);
        let by_it = states.filter(|(state, _)| state.options.clock == ClockKind::ProcessingTime);
        let by_it = by_it.map(|(_, ttl)| Arc::clone(ttl)).collect();
        ProcessingClock::open(
            &self.folder.path,
            Arc::clone(&self.options.clock),
            Arc::clone(&self.control),
            (self.options.clock_jump_millis_max, by_it),
            self.committed_millis,
        )
    }

    /// Starts the thread that publishes checkpoints, for the coordinator to hand them to.
    fn checkpoints(
        &self,
        from: Option<&Path>,
        figures: &SharedFigures,
    ) -> Result<(Checkpoints, JoinHandle<()>), Error> {
        let (path, pace) = (&self.folder.path, self.options.pace);
        let retention = Retention {
            kept: pace.checkpoints_kept,
            changelog_bytes_max: pace.changelog_bytes_max,
        };
        let mut publishing = Publisher::new(
            (path, self.manifest.shards, self.manifest.generation),
            from,
            retention,
            i64::try_from(pace.full_checkpoint_interval.as_millis()).unwrap_or(i64::MAX),
            Arc::clone(&self.options.clock),
        )?;
        // one is in flight at a time
        let (to_publisher, unfinished) = bounded(1);
        let (done, published) = bounded(1);
        let thread = self.thread("stateward-checkpoint", move || {
            for unfinished in unfinished {
                if done.send(publishing.publish(&unfinished)).is_err() {
                    break;
                }
            }
            Ok(())
        })?;
        let checkpoints = Checkpoints::new(
            path.clone(),
            pace,
            Arc::clone(&self.control),
            Arc::clone(&self.options.clock),
            Arc::clone(figures),
            (to_publisher, published),
        );
        Ok((checkpoints, thread))
    }

    /// Starts a thread whose failure ends the job.
    fn thread(
        &self,
        name: &str,
        run: impl FnOnce() -> Result<(), Error> + Send + 'static,
    ) -> Result<JoinHandle<()>, Error> {
        let (control, thread_name) = (Arc::clone(&self.control), name.to_owned());
        std::thread::Builder::new()
            .name(name.into())
            .spawn(move || {
                // a panic must end the job as an error does, or the other threads would wait for ever
                match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
                    Ok(Ok(())) => {}
                    Ok(Err(e)) => control.fail(e),
                    Err(_) => control.fail(Error::ThreadLost(thread_name)),
                }
            })
            .map_err(Error::io("start thread", name))
    }

    fn governing(
        &self,
        board: &Arc<Board>,
        figures: &SharedFigures,
        reclaims: &SharedReclaims,
        (memory, processing): (MemoryGauge, &Arc<ProcessingClock>),
        (gates, ttls, requests): (&[Arc<SharedGate>], &[Arc<SharedTtl>], &SharedRequests),
    ) -> Result<SharedGoverning, Error> {
        let clock = &self.options.clock;
        let identity = RunIdentity {
            run: uuid::Uuid::now_v7().to_string(),
            build_id: self.options.build_id.clone(),
            commit: self.options.commit.clone(),
            started_millis: clock.now_millis(),
        };
        let states: Vec<_> = self.job.states.iter().cloned().zip(gates.iter().cloned()).collect();
        let breakers = Governor::new(
            &self.folder.path,
            Arc::clone(clock),
            Arc::clone(&self.control),
            Arc::clone(board),
            &states,
            (self.options.spill_bytes_max, self.options.hold_millis_max),
        )?;
        let states: Vec<_> = self.job.states.iter().cloned().zip(ttls.iter().cloned()).collect();
        let ttls = TtlGovernor::new(
            &self.folder.path,
            Arc::clone(clock),
            Arc::clone(&self.control),
            Arc::clone(board),
            &states,
        )?;
        let cleanups = CleanupGovernor::new(
            &self.folder.path,
            Arc::clone(clock),
            Arc::clone(&self.control),
            Arc::clone(board),
            self.job.states.clone(),
            requests.clone(),
        )?;
        let reporter = Reporter::new(
            &self.job,
            &identity,
            Arc::clone(board),
            Arc::clone(&self.control),
            Arc::clone(clock),
            Arc::clone(figures),
            reclaims.clone(),
            memory,
            self.folder.path.clone(),
        )?;
        Ok(Arc::new(Mutex::new(Governing {
            clock: Arc::clone(processing),
            breakers,
            ttls,
            cleanups,
            board: Arc::clone(board),
            reporter,
        })))
    }

    /// Starts the shards. Nodes are made on their thread, because they never leave it; the first
    /// that cannot be made ends the start with its error.
    fn shards(
        &self,
        recovered: Vec<RecoveredShard>,
        board: &Arc<Board>,
        processing: &Arc<ProcessingClock>,
        (gates, ttls): (&[Arc<SharedGate>], &[Arc<SharedTtl>]),
        to_coordinator: &crossbeam_channel::Sender<FromShard>,
        alive: &crossbeam_channel::Sender<Infallible>,
    ) -> Result<Vec<JoinHandle<()>>, Error> {
        let shards = self.manifest.shards;
        let mut ends: Vec<Vec<_>> = (0..shards).map(|_| Vec::new()).collect();
        for edge in &self.job.edges {
            for (of_shard, end) in ends.iter_mut().zip(edge.channels(shards)) {
                of_shard.push(end);
            }
        }
        let (made, all_made) = bounded(shards);
        let mut threads = Vec::new();
        for ((index, recovered), ends) in recovered.into_iter().enumerate().zip(ends) {
            let making = Making {
                index,
                job: Arc::clone(&self.job),
                recovered,
                ends,
                options: self.options.clone(),
                rocks: self.rocks.clone(),
                caches: self.caches.clone(),
                control: Arc::clone(&self.control),
                board: Arc::clone(board),
                processing: ShardClock::new(Arc::clone(processing)),
                gates: gates.to_vec(),
                ttls: ttls.to_vec(),
                to_coordinator: to_coordinator.clone(),
                job_dir: self.folder.path.clone(),
                first_epoch: self.first_epoch,
                families: self.manifest.rocks_families(),
            };
            let (made, alive) = (made.clone(), alive.clone());
            threads.push(self.thread(&format!("stateward-shard-{index}"), move || {
                let shard = making.make();
                let waiting = made.send(shard.is_err()).is_ok();
                debug_assert!(waiting, "the start waits for every shard");
                let ended = shard?.run();
                // closed by an error or a panic too
                drop(alive);
                ended
            })?);
        }
        drop(made);
        let failed = all_made.iter().take(shards).any(|failed| failed);
        if failed {
            self.control.exit();
            for thread in threads {
                drop(thread.join());
            }
            return Err(self
                .control
                .take_failure()
                .unwrap_or(Error::ThreadLost("stateward-shard".into())));
        }
        Ok(threads)
    }

    fn link(
        &self,
        governing: &SharedGoverning,
    ) -> Result<(Option<Link>, Vec<JoinHandle<()>>), Error> {
        let Some(transport) = &self.options.transport else { return Ok((None, Vec::new())) };
        let (hello, version) = {
            let governing = lock(governing);
            (governing.reporter.hello(), governing.version())
        };
        let (link, threads) = Link::start(Arc::clone(transport), hello, version, &self.control)?;
        Ok((Some(link), threads))
    }
}
