//! The transport of an engine that runs in the server's process: the same bytes, no socket.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use stateward_model::ProblemKind;
use tokio::runtime::Handle;

use crate::control;
use crate::core::Core;
use crate::error::ApiError;

/// The way in for an engine in this process. Cheap to clone.
///
/// All methods block; call them from threads of your own, never from an async task. The answers are
/// the JSON bytes that the HTTP API answers with.
#[derive(Clone, Debug)]
pub struct InProcess {
    core: Arc<Core>,
    runtime: Handle,
}

impl InProcess {
    pub(crate) fn new(core: Arc<Core>, runtime: Handle) -> Self {
        Self { core, runtime }
    }

    /// Takes a zstd frame of a JSON `Hello`; returns the JSON of a `HelloReply`.
    ///
    /// # Errors
    /// As `POST /api/v1/agent/hello` answers.
    ///
    /// # Panics
    /// When called from an async task.
    pub fn hello(&self, body: &[u8]) -> Result<Vec<u8>, ApiError> {
        to_json(&self.runtime.block_on(super::hello(&self.core, body))?)
    }

    /// Takes a zstd frame of a JSON `Report`; returns the JSON of a `ReportReply`.
    ///
    /// # Errors
    /// As `POST /api/v1/agent/report` answers.
    ///
    /// # Panics
    /// When called from an async task.
    pub fn report(&self, body: &[u8]) -> Result<Vec<u8>, ApiError> {
        to_json(&self.runtime.block_on(super::report(&self.core, body))?)
    }

    /// Waits up to `wait` for commands above `after`; returns the JSON of `Commands`.
    ///
    /// # Errors
    /// As `GET /api/v1/agent/commands` answers.
    ///
    /// # Panics
    /// When called from an async task.
    pub fn commands(&self, run: &str, after: u64, wait: Duration) -> Result<Vec<u8>, ApiError> {
        to_json(&self.runtime.block_on(control::poll(&self.core, run, after, wait))?)
    }
}

fn to_json<T: Serialize>(reply: &T) -> Result<Vec<u8>, ApiError> {
    serde_json::to_vec(reply).map_err(|error| {
        ApiError::new(ProblemKind::Internal, format!("the answer cannot be encoded: {error}"))
    })
}
