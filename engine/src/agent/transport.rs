//! How bodies get to a server.

use std::time::Duration;

/// Why a body did not get through.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// Worth trying again: no connection, a busy server.
    #[error("the server cannot be reached: {0}")]
    Unavailable(String),
    /// The server wants a hello first.
    #[error("the server does not know this run: {0}")]
    UnknownRun(String),
    /// Trying again would not help.
    #[error("the server refuses: {0}")]
    Refused(String),
}

/// Carries the encoded bytes of [`stateward_model::wire`] to a server and its answers back. The
/// in-process and the HTTP transport carry the same bytes.
pub trait Transport: Send + Sync + std::fmt::Debug {
    /// Sends a compressed hello, returns the plain JSON of the reply.
    ///
    /// # Errors
    /// [`TransportError`] by what a retry can do about it.
    fn hello(&self, body: &[u8]) -> Result<Vec<u8>, TransportError>;
    /// Sends a compressed report, returns the plain JSON of the reply.
    ///
    /// # Errors
    /// As [`Transport::hello`].
    fn report(&self, body: &[u8]) -> Result<Vec<u8>, TransportError>;
    /// Waits up to `wait` for commands above version `after`, returns their plain JSON.
    ///
    /// # Errors
    /// As [`Transport::hello`].
    fn commands(&self, run: &str, after: u64, wait: Duration) -> Result<Vec<u8>, TransportError>;
}
