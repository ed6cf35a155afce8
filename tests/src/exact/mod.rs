//! A job whose every access is done a second time by a plain model, so that what the engine reports
//! has something exact to be held against.
//!
//! In: a seed. Out: the job, the models of its states after it, and what it reported last. The
//! models are fed inside the operators, with the watermark and the event time that the engine
//! showed there; so they need to know nothing of shards. Never here: a table, a ledger, a counter of
//! the engine.

mod model;
mod job;
mod input;
mod listener;

pub use input::write_numbers;
pub use job::{Books, LEFT, RIGHT, exact_job, exact_options};
pub use listener::Listener;
pub use model::{Expected, Model, bucket_millis};
