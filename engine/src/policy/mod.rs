//! What people decide about a state, and how far the shards follow. In: orders of people and what
//! code declares. Out: rules that the shards take up between two events, durable journals, events for
//! the log.
//!
//! A decision is in its journal, synced, before it takes effect (SEMANTICS §7.8); the journals are
//! read at start, so that decisions survive restarts whether or not a server is there.

mod journal;
mod progress;
mod ttl;
mod clock;
#[cfg(test)]
mod tests;

pub(crate) use clock::{ClockOrder, ProcessingClock, ProcessingTime, ShardClock};
pub(crate) use journal::{
    BREAKERS_FILE, CLEANUP_FILE, Decisions, JOURNAL_FILES, Journal, TTL_FILE,
};
pub(crate) use progress::{Progress, Taken};
pub(crate) use ttl::{TtlGovernor, journaled};
