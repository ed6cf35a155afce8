//! What leaves a job for the server, and what comes back. In: boards, rulings, commit figures. Out:
//! numbered reports, orders for the governor. Never here: the record path; a server that is slow or
//! gone costs samples, never events.

mod report;
mod transport;
mod link;
mod exposition;
#[cfg(feature = "http")]
mod http;

pub use exposition::exposition;
#[cfg(feature = "http")]
pub use http::HttpTransport;
pub use transport::{Transport, TransportError};

pub(crate) use link::Link;
pub(crate) use report::{Reporter, Rulings, RunIdentity};
