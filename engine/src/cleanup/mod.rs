//! Gets the bytes of written-off rows back (SEMANTICS §1.11). In: figures of the shards, orders of
//! people. Out: compactions of the key ranges that hold most of such rows, within a budget. Never here:
//! what is dead; the shards have decided that, and a compaction drops exactly the rows at or below
//! the committed cut-off.

mod options;
mod request;
mod cleaner;
mod governor;
#[cfg(test)]
mod tests;

pub use options::{CleanupOptions, DailyWindow};

pub(crate) use cleaner::Cleaner;
pub(crate) use governor::CleanupGovernor;
pub(crate) use request::SharedRequests;
