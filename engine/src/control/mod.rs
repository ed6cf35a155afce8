//! The local way to a job: a socket in its folder, and what a data folder says of its jobs. In:
//! requests of whoever may write to the folder. Out: checkpoints, savepoints, orders to breakers, the
//! job's end. Never here: networks, people's names beyond what they say themselves.
//!
//! It works when the server is gone (SEMANTICS §7.8): an order goes into the same journal, with actor
//! and reason, before it takes effect.
//!
//! ```text
//! jobs/<job>/control.sock     mode 0600; one line of JSON each way, then it is closed
//! request = {"protocol": 1, "command": "savepoint", "path": "/backup/monday.savepoint"}
//! answer  = {"protocol": 1, "outcome": "savepoint", "epoch": 81, …}
//! ```

mod protocol;
mod place;
mod socket;
mod client;
mod list;
#[cfg(test)]
mod tests;

pub use client::ControlClient;
pub use list::{JobSummary, list_jobs};
pub use protocol::JobStatus;

pub(crate) use protocol::{Outcome, What};
pub(crate) use socket::{Serve, listen, serve};
