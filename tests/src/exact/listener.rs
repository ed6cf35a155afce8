//! Takes an engine's reports, as a server does.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Duration;

use serde::Serialize;
use stateward_engine::{Transport, TransportError};
use stateward_model::wire::{Commands, HelloReply, PROTOCOL, Report, ReportReply};

/// Largest report that is taken.
const REPORT_BYTES_MAX: usize = 16 << 20;

/// Keeps the newest report.
#[derive(Debug, Default)]
pub struct Listener {
    last: Mutex<Option<Report>>,
}

impl Listener {
    /// The newest report.
    pub fn last(&self) -> Option<Report> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn refused<E: std::fmt::Display>(error: E) -> TransportError {
    TransportError::Refused(format!("{error}"))
}

fn json(reply: &impl Serialize) -> Result<Vec<u8>, TransportError> {
    serde_json::to_vec(reply).map_err(refused)
}

impl Transport for Listener {
    fn hello(&self, _body: &[u8]) -> Result<Vec<u8>, TransportError> {
        json(&HelloReply { protocol: PROTOCOL, stored_seq: None })
    }

    fn report(&self, body: &[u8]) -> Result<Vec<u8>, TransportError> {
        let plain = zstd::bulk::decompress(body, REPORT_BYTES_MAX).map_err(refused)?;
        let report: Report = serde_json::from_slice(&plain).map_err(refused)?;
        let reply = ReportReply { seq: report.seq, duplicate: false };
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(report);
        json(&reply)
    }

    fn commands(&self, _run: &str, after: u64, wait: Duration) -> Result<Vec<u8>, TransportError> {
        // shorter than asked for, so that the job's end need not wait for it
        std::thread::park_timeout(wait.min(Duration::from_millis(20)));
        json(&Commands { version: after, commands: Vec::new() })
    }
}
