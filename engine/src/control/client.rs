//! The other side: whoever wants something of a running job on this machine.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use stateward_model::breaker::Action;
use stateward_model::wire::{Command, Order};

use super::place::{SOCKET, ShortPath};
use super::protocol::{Answer, JobStatus, LINE_BYTES_MAX, Outcome, PROTOCOL, Request, What};
use crate::error::Error;
use crate::savepoint::Savepoint;

/// Talks to a running job through the socket in its folder.
///
/// # Examples
/// ```no_run
/// use stateward_engine::ControlClient;
/// let job = ControlClient::new("stateward-data", "flight-ops");
/// println!("epoch {}", job.status()?.epoch);
/// # Ok::<(), stateward_engine::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ControlClient {
    job_dir: PathBuf,
}

impl ControlClient {
    /// For a job of a data folder; whether it runs is found out by the first call.
    pub fn new(data_dir: impl AsRef<Path>, job: &str) -> Self {
        Self { job_dir: data_dir.as_ref().join("jobs").join(job) }
    }

    /// Asks how the job is.
    ///
    /// # Errors
    /// [`Error::NotRunning`] where nobody listens; [`Error::Io`] or [`Error::Codec`] where the answer
    /// does not come or cannot be read.
    pub fn status(&self) -> Result<JobStatus, Error> {
        match self.call(What::Status)? {
            Outcome::Status(status) => Ok(status),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Has a checkpoint made now; returns its epoch when it is published.
    ///
    /// # Errors
    /// [`Error::Refused`] where it failed, with the reason; else as [`ControlClient::status`].
    pub fn checkpoint(&self) -> Result<u64, Error> {
        match self.call(What::Checkpoint)? {
            Outcome::Checkpoint { epoch } => Ok(epoch),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Has a savepoint written by the job; without a path, into its own folder of savepoints.
    ///
    /// # Errors
    /// As [`ControlClient::checkpoint`]; also where the path is not absolute, for the job runs elsewhere.
    pub fn savepoint(&self, path: Option<&Path>) -> Result<Savepoint, Error> {
        self.written(What::Savepoint { path: absolute(path)? })
    }

    /// Ends the job as Ctrl-C does; it has not ended yet when this returns.
    ///
    /// # Errors
    /// As [`ControlClient::status`].
    pub fn stop(&self) -> Result<(), Error> {
        match self.call(What::Stop)? {
            Outcome::Stopping => Ok(()),
            other => Err(self.unexpected(&other)),
        }
    }

    /// Ends the job with a savepoint of its last epoch.
    ///
    /// # Errors
    /// As [`ControlClient::savepoint`].
    pub fn stop_with_savepoint(&self, path: Option<&Path>) -> Result<Savepoint, Error> {
        self.written(What::StopWithSavepoint { path: absolute(path)? })
    }

    /// Trips the breaker of a state by hand, until it is reset (SEMANTICS §7.8).
    ///
    /// # Errors
    /// [`Error::Refused`] where the job has no such state; [`Error::Declaration`] where a name is no
    /// name; else as [`ControlClient::status`].
    pub fn trip(
        &self,
        (operator, state): (&str, &str),
        action: Action,
        actor: &str,
        reason: &str,
    ) -> Result<(), Error> {
        self.order((operator, state), Order::Trip { action, until_millis: None }, actor, reason)
    }

    /// Resets the breaker of a state.
    ///
    /// # Errors
    /// As [`ControlClient::trip`].
    pub fn reset(
        &self,
        (operator, state): (&str, &str),
        actor: &str,
        reason: &str,
    ) -> Result<(), Error> {
        self.order((operator, state), Order::Reset, actor, reason)
    }

    fn order(
        &self,
        (operator, state): (&str, &str),
        order: Order,
        actor: &str,
        reason: &str,
    ) -> Result<(), Error> {
        let order = Command::local((operator, state), order, actor, reason)
            .map_err(|e| Error::Declaration(e.to_string()))?;
        match self.call(What::Order { order })? {
            Outcome::Done => Ok(()),
            other => Err(self.unexpected(&other)),
        }
    }

    fn written(&self, what: What) -> Result<Savepoint, Error> {
        match self.call(what)? {
            Outcome::Savepoint(savepoint) => Ok(savepoint),
            other => Err(self.unexpected(&other)),
        }
    }

    fn unexpected(&self, outcome: &Outcome) -> Error {
        match outcome {
            Outcome::Refused { why } | Outcome::Failed { why } => Error::Refused(why.clone()),
            other => Error::Codec {
                place: self.job_dir.join(SOCKET).display().to_string(),
                detail: format!("the job answers something else than was asked: {other:?}"),
            },
        }
    }

    fn call(&self, what: What) -> Result<Outcome, Error> {
        let socket = self.job_dir.join(SOCKET);
        let not_running = || Error::NotRunning { path: self.job_dir.clone() };
        if !socket.exists() {
            return Err(not_running());
        }
        let short = ShortPath::of(&self.job_dir, SOCKET)?;
        let mut stream = UnixStream::connect(short.path()).map_err(|e| match e.kind() {
            // what a killed run left behind
            std::io::ErrorKind::ConnectionRefused | std::io::ErrorKind::NotFound => not_running(),
            _ => Error::io("connect to", &socket)(e),
        })?;
        let place = || socket.display().to_string();
        let codec = |e: serde_json::Error| Error::Codec { place: place(), detail: e.to_string() };
        let mut text = serde_json::to_vec(&Request { protocol: PROTOCOL, what }).map_err(codec)?;
        text.push(b'\n');
        stream.write_all(&text).map_err(Error::io("write to", &socket))?;
        let mut line = String::new();
        // a savepoint takes as long as it takes
        BufReader::new(stream.take(LINE_BYTES_MAX))
            .read_line(&mut line)
            .map_err(Error::io("read from", &socket))?;
        if line.is_empty() {
            return Err(Error::Refused(
                "the job ended before it answered; see its log, and its folder for what it left"
                    .into(),
            ));
        }
        let answer: Answer = serde_json::from_str(&line).map_err(codec)?;
        Ok(answer.outcome)
    }
}

/// The job has a working folder of its own.
fn absolute(path: Option<&Path>) -> Result<Option<PathBuf>, Error> {
    path.map(|path| std::path::absolute(path).map_err(Error::io("find", path))).transpose()
}
