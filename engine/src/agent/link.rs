//! The threads between a job and its server.

use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use serde::Serialize;
use stateward_model::wire::{Command, Commands, Hello, HelloReply, Report};

use super::transport::{Transport, TransportError};
use crate::error::Error;
use crate::job::JobControl;

/// Reports that wait for the server; more are dropped and counted.
const REPORTS_MAX: usize = 120;
/// Pause after a failed attempt.
const RETRY: Duration = Duration::from_millis(500);
/// A long poll's wait.
const POLL: Duration = Duration::from_secs(5);
/// Compression level of bodies.
const ZSTD_LEVEL: i32 = 3;

/// The job's side of the link.
pub(crate) struct Link {
    reports: Sender<Report>,
    commands: Receiver<Command>,
}

impl Link {
    /// Starts the two threads: one sends reports, one waits for commands.
    pub(crate) fn start(
        transport: Arc<dyn Transport>,
        hello: Hello,
        after: u64,
        control: &Arc<JobControl>,
    ) -> Result<(Self, Vec<std::thread::JoinHandle<()>>), Error> {
        let (reports, to_send) = bounded(REPORTS_MAX);
        let (received, commands) = bounded(REPORTS_MAX);
        let run = hello.run.clone();
        let sender = {
            let transport = Arc::clone(&transport);
            let control = Arc::clone(control);
            spawn("stateward-agent", move || send(&*transport, &hello, &to_send, &control))?
        };
        let control = Arc::clone(control);
        let poller = spawn("stateward-commands", move || {
            poll(&*transport, &run, after, &received, &control);
        })?;
        Ok((Self { reports, commands }, vec![sender, poller]))
    }

    /// Tells whether a report has room.
    pub(crate) fn has_room(&self) -> bool {
        !self.reports.is_full()
    }

    /// Hands a report over; `false` where it had to be dropped.
    pub(crate) fn report(&self, report: Report) -> bool {
        match self.reports.try_send(report) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => false,
        }
    }

    /// Takes the commands that have come.
    pub(crate) fn commands(&self) -> Vec<Command> {
        self.commands.try_iter().collect()
    }
}

fn spawn(
    name: &str,
    f: impl FnOnce() + Send + 'static,
) -> Result<std::thread::JoinHandle<()>, Error> {
    std::thread::Builder::new().name(name.into()).spawn(f).map_err(Error::io("start thread", name))
}

fn encode(body: &impl Serialize) -> Result<Vec<u8>, TransportError> {
    let json = serde_json::to_vec(body).map_err(|e| TransportError::Refused(e.to_string()))?;
    zstd::bulk::compress(&json, ZSTD_LEVEL).map_err(|e| TransportError::Refused(e.to_string()))
}

fn greet(transport: &dyn Transport, hello: &Hello) -> Result<HelloReply, TransportError> {
    let reply = transport.hello(&encode(hello)?)?;
    serde_json::from_slice(&reply).map_err(|e| TransportError::Refused(e.to_string()))
}

/// Sends each report until it is acknowledged; says hello first, and again when the server has
/// forgotten the run. After the job's end what is left gets one more try each.
fn send(
    transport: &dyn Transport,
    hello: &Hello,
    reports: &Receiver<Report>,
    control: &JobControl,
) {
    let mut greeted = false;
    for report in reports {
        let body = match encode(&report) {
            Ok(body) => body,
            Err(e) => {
                tracing::warn!(error = %e, seq = report.seq, "report cannot be encoded");
                continue;
            }
        };
        loop {
            let sent = if greeted {
                transport.report(&body).map(drop)
            } else {
                greet(transport, hello).and_then(|_| transport.report(&body).map(drop))
            };
            match sent {
                Ok(()) => greeted = true,
                Err(TransportError::Refused(why)) => {
                    tracing::warn!(%why, seq = report.seq, "server refuses report");
                }
                Err(e) => {
                    greeted &= !matches!(e, TransportError::UnknownRun(_));
                    tracing::debug!(error = %e, seq = report.seq, "report waits");
                    if !control.exiting() {
                        std::thread::sleep(RETRY);
                        continue;
                    }
                }
            }
            break;
        }
    }
}

/// Long-polls for commands until the job exits.
fn poll(
    transport: &dyn Transport,
    run: &str,
    mut after: u64,
    received: &Sender<Command>,
    control: &JobControl,
) {
    while !control.exiting() {
        let answer = transport.commands(run, after, POLL).and_then(|body| {
            serde_json::from_slice::<Commands>(&body)
                .map_err(|e| TransportError::Refused(e.to_string()))
        });
        match answer {
            Ok(commands) => {
                after = after.max(commands.version);
                for command in commands.commands {
                    if received.send(command).is_err() {
                        return;
                    }
                }
            }
            Err(e) => {
                tracing::debug!(error = %e, "commands cannot be fetched");
                std::thread::sleep(RETRY);
            }
        }
    }
}
