//! The real program `stateward serve`: started on a folder, spoken to over HTTP, killed.
//!
//! In: a data folder. Out: a server that takes requests, and what it said on standard error. Never
//! here: an engine; reports are made up, so that a test knows what must be there.

mod program;
mod client;
mod message;
mod job;

pub use client::{Answer, Door};
pub use job::MadeUpJob;
pub use message::{OPERATOR, STATE, frame, hello_of, hello_with, report_of};
pub use program::{Exit, Serve, refused, stateward};
