//! What `demo` and `run` share: a job with its transport and build.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use stateward::{ApiError, InProcess};
use stateward_engine::{Error, JobHandle, RunOptions, Transport, TransportError};
use stateward_model::{ProblemKind, key_hash};

use crate::Failure;

/// Carries reports to a server in this process.
#[derive(Debug)]
pub(crate) struct InThisProcess(pub(crate) InProcess);

fn translate(error: &ApiError) -> TransportError {
    let problem = error.problem();
    let text = format!("{}: {}", problem.title, problem.detail);
    let is = |kind: ProblemKind| problem.uri == kind.uri();
    if is(ProblemKind::NotFound) {
        TransportError::UnknownRun(text)
    } else if problem.status >= 500 {
        TransportError::Unavailable(text)
    } else {
        TransportError::Refused(text)
    }
}

impl Transport for InThisProcess {
    fn hello(&self, body: &[u8]) -> Result<Vec<u8>, TransportError> {
        self.0.hello(body).map_err(|e| translate(&e))
    }

    fn report(&self, body: &[u8]) -> Result<Vec<u8>, TransportError> {
        self.0.report(body).map_err(|e| translate(&e))
    }

    fn commands(&self, run: &str, after: u64, wait: Duration) -> Result<Vec<u8>, TransportError> {
        self.0.commands(run, after, wait).map_err(|e| translate(&e))
    }
}

/// Names this build by the bytes of its program, so that two builds of one version differ.
fn build_id() -> String {
    let program = std::env::current_exe().and_then(std::fs::read);
    let hash =
        program.map_or_else(|_| "unknown".into(), |bytes| format!("{:016x}", key_hash(&bytes)));
    format!("{}-{hash}", env!("CARGO_PKG_VERSION"))
}

/// Options of a job of this build in a data folder.
pub(crate) fn options(data_dir: &Path, transport: Option<Arc<dyn Transport>>) -> RunOptions {
    let options = RunOptions::new(data_dir).build(&build_id(), option_env!("STATEWARD_COMMIT"));
    match transport {
        Some(transport) => options.transport(transport),
        None => options,
    }
}

/// Says what a job could not do: that its answer is no, or that it cannot be found out.
pub(crate) fn failure(error: Error) -> Failure {
    match error {
        Error::Refused(why) => Failure::no(why),
        Error::Declaration(why) => Failure::usage(why),
        other => Failure::unable(other),
    }
}

/// Waits, off the async threads, until a job ends.
pub(crate) async fn ended(handle: JobHandle) -> Result<(), Failure> {
    let waiting = tokio::task::spawn_blocking(move || handle.wait());
    waiting.await.map_err(Failure::unable)?.map_err(Failure::unable)
}
