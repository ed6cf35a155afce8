//! Who runs now, and what was last heard of it: the ranking's memory.
//!
//! In come stored hellos and reports, out go jobs and states. Everything here is rebuilt at the
//! start from control.db (hello and last report of each run) and series.db (the last hours), so it
//! never holds the only copy of anything. The current run of a job is the one that said its first
//! hello last.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use serde::{Deserialize, Serialize};
use stateward_model::wire::{
    Hello, OperatorSample, Report, StateDeclaration, StateFlow, StateSample,
};

mod recent;
mod restore;
#[cfg(test)]
mod tests;

pub(crate) use recent::{Flows, Recent};
pub(crate) use restore::restore;

use crate::series::JobKey;

/// An engine that says nothing for longer is silent.
pub(crate) const SILENT_AFTER_MILLIS: i64 = 15_000;
/// Edge counters are kept this long.
const EDGES_KEPT_MILLIS: i64 = 60_000;
/// Runs of a job that reports are taken from.
const RUNS_KEPT: usize = 20;

/// Operator and state.
pub(crate) type StateKey = (String, String);

/// Where a state stood when its run was first seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Baseline {
    /// The state's clock.
    pub(crate) clock_millis: i64,
    /// Its counters.
    pub(crate) flow: StateFlow,
}

/// Baselines by `operator/state`.
pub(crate) type Baselines = BTreeMap<String, Baseline>;

/// A run that said hello.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Its number; grows.
    pub(crate) id: i64,
    /// Its job.
    pub(crate) job: JobKey,
    /// What it said.
    pub(crate) hello: Arc<Hello>,
}

/// A job by its current run.
#[derive(Debug)]
pub(crate) struct Job {
    /// Its current run.
    pub(crate) run: Run,
    /// The last report.
    pub(crate) report: Option<Arc<Report>>,
    /// Server clock of that.
    pub(crate) received_millis: Option<i64>,
    /// Server clock of the first report after the last silence.
    pub(crate) live_since_millis: Option<i64>,
    /// Where its states stood when the run was first seen.
    pub(crate) baselines: Arc<Baselines>,
    recent: BTreeMap<StateKey, Recent>,
    edges: VecDeque<(i64, Vec<u64>)>,
}

impl Job {
    fn new(run: Run) -> Self {
        Self {
            run,
            report: None,
            received_millis: None,
            live_since_millis: None,
            baselines: Arc::default(),
            recent: BTreeMap::new(),
            edges: VecDeque::new(),
        }
    }

    /// Server clock of the last report where the engine is silent since.
    pub(crate) fn silent_since_millis(&self, now_millis: i64) -> Option<i64> {
        self.received_millis.filter(|at| now_millis - at > SILENT_AFTER_MILLIS)
    }

    /// The states of the last report with what was declared and what is recent.
    pub(crate) fn states(&self) -> impl Iterator<Item = JobState<'_>> {
        let declared: BTreeMap<(&str, &str), &StateDeclaration> = self
            .run
            .hello
            .states
            .iter()
            .map(|d| ((d.operator.as_str(), d.state.as_str()), d))
            .collect();
        let samples = self.report.as_deref().map(|report| report.states.as_slice());
        samples.unwrap_or_default().iter().filter_map(move |sample| {
            let declaration = declared.get(&(sample.operator.as_str(), sample.state.as_str()))?;
            self.joined(declaration, sample)
        })
    }

    /// One state of the last report.
    pub(crate) fn state(&self, operator: &str, state: &str) -> Option<JobState<'_>> {
        let samples = &self.report.as_deref()?.states;
        let sample = samples.iter().find(|s| s.operator == operator && s.state == state)?;
        self.joined(declaration(&self.run.hello, operator, state)?, sample)
    }

    fn joined<'a>(
        &'a self,
        declaration: &'a StateDeclaration,
        sample: &'a StateSample,
    ) -> Option<JobState<'a>> {
        let recent = self.recent.get(&(sample.operator.clone(), sample.state.clone()))?;
        Some(JobState { declaration, sample, recent })
    }

    /// One operator of the last report; zeros where it has not reported.
    pub(crate) fn operator(&self, uid: &str) -> OperatorSample {
        let operators = self.report.as_deref().map(|report| report.operators.as_slice());
        let found = operators.unwrap_or_default().iter().find(|o| o.operator == uid);
        found.cloned().unwrap_or_else(|| OperatorSample {
            operator: uid.to_owned(),
            ..OperatorSample::default()
        })
    }

    /// Records a second per edge over the last minute; `None` while unknown or after a reset.
    pub(crate) fn edge_rates(&self) -> Vec<Option<f64>> {
        let edges = self.run.hello.edges.len();
        let (Some((from, before)), Some((to, now))) = (self.edges.front(), self.edges.back())
        else {
            return vec![None; edges];
        };
        let seconds = (to - from) as f64 / 1e3;
        (0..edges)
            .map(|at| {
                let grown = now.get(at)?.checked_sub(*before.get(at)?)?;
                (seconds > 0.0).then(|| grown as f64 / seconds)
            })
            .collect()
    }

    fn take(&mut self, report: Arc<Report>, received_millis: i64, baselines: Arc<Baselines>) {
        let silent = self.silent_since_millis(received_millis).is_some();
        if silent || self.live_since_millis.is_none() {
            self.live_since_millis = Some(received_millis);
        }
        self.received_millis = Some(received_millis);
        for sample in &report.states {
            let key = (sample.operator.clone(), sample.state.clone());
            self.recent.entry(key).or_default().push(report.wall_millis, sample);
        }
        self.edges.push_back((report.wall_millis, report.job.edge_records.clone()));
        let kept = report.wall_millis - EDGES_KEPT_MILLIS;
        while self.edges.len() > 2 && self.edges.front().is_some_and(|(at, _)| *at < kept) {
            self.edges.pop_front();
        }
        self.baselines = baselines;
        self.report = Some(report);
    }
}

/// One state of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JobState<'a> {
    /// What code declares.
    pub(crate) declaration: &'a StateDeclaration,
    /// Its last figures.
    pub(crate) sample: &'a StateSample,
    /// Its last hour.
    pub(crate) recent: &'a Recent,
}

/// Finds what a run declared of a state.
pub(crate) fn declaration<'a>(
    hello: &'a Hello,
    operator: &str,
    state: &str,
) -> Option<&'a StateDeclaration> {
    hello.states.iter().find(|d| d.operator.as_str() == operator && d.state.as_str() == state)
}

/// All jobs by their key.
pub(crate) type Jobs = BTreeMap<JobKey, Job>;

/// The memory.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    jobs: RwLock<Jobs>,
    runs: RwLock<BTreeMap<String, Run>>,
}

impl Catalog {
    /// Looks at all jobs. Hold the answer only as long as it takes to read.
    pub(crate) fn jobs(&self) -> RwLockReadGuard<'_, Jobs> {
        self.jobs.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds a run.
    pub(crate) fn run(&self, run: &str) -> Option<Run> {
        self.runs.read().unwrap_or_else(PoisonError::into_inner).get(run).cloned()
    }

    /// Takes a hello that is stored. A known run says it again; a new one becomes the current one.
    pub(crate) fn hear(&self, id: i64, hello: Arc<Hello>) {
        let job = (hello.namespace.to_string(), hello.job_name.to_string());
        let run = Run { id, job: job.clone(), hello };
        let mut runs = self.runs.write().unwrap_or_else(PoisonError::into_inner);
        runs.insert(run.hello.run.clone(), run.clone());
        let mut ids: Vec<i64> = runs.values().filter(|r| r.job == job).map(|r| r.id).collect();
        ids.sort_unstable();
        if let Some(oldest) = ids.len().checked_sub(RUNS_KEPT).and_then(|at| ids.get(at)) {
            runs.retain(|_, r| r.job != job || r.id >= *oldest);
        }
        drop(runs);
        let mut jobs = self.jobs.write().unwrap_or_else(PoisonError::into_inner);
        match jobs.get_mut(&job) {
            None => {
                jobs.insert(job, Job::new(run));
            }
            Some(known) if known.run.id == id => known.run = run,
            Some(known) if known.run.id < id => {
                let recent = std::mem::take(&mut known.recent);
                *known = Job { recent, ..Job::new(run) };
            }
            Some(_) => {}
        }
    }

    /// Takes a report that is stored. One of an earlier run changes nothing.
    pub(crate) fn take(
        &self,
        run_id: i64,
        report: Arc<Report>,
        received_millis: i64,
        baselines: Arc<Baselines>,
    ) {
        let mut jobs = self.jobs.write().unwrap_or_else(PoisonError::into_inner);
        let job = jobs.values_mut().find(|job| job.run.id == run_id);
        if let Some(job) = job
            && job.report.as_ref().is_none_or(|last| last.seq < report.seq)
        {
            job.take(report, received_millis, baselines);
        }
    }

    /// Changes what is recent of a state: only at the start.
    fn set_recent(&self, job: &JobKey, recent: BTreeMap<StateKey, Recent>) {
        let mut jobs = self.jobs.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(job) = jobs.get_mut(job) {
            job.recent = recent;
        }
    }
}

/// Adds the baselines of states that have none yet and whose clock has started; `None` where there
/// is nothing to add.
pub(crate) fn with_new_baselines(known: &Baselines, report: &Report) -> Option<Baselines> {
    let mut all = None;
    for sample in &report.states {
        let Some(clock_millis) = sample.stock.clock_millis else { continue };
        let key = format!("{}/{}", sample.operator, sample.state);
        if !known.contains_key(&key) {
            let baseline = Baseline { clock_millis, flow: sample.flow };
            all.get_or_insert_with(|| known.clone()).insert(key, baseline);
        }
    }
    all
}
