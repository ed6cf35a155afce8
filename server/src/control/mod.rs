//! The life of a command: requested → delivered → applied → done, refused or timed out.
//!
//! A command is desired state: the latest trip or reset and the latest policy of a state hold until
//! a newer one, whatever became of their delivery, and an engine that starts anew (`after=0`) gets
//! exactly those. Versions grow for ever and are compared by the engine. The intent is in the audit
//! log in the same commit that makes the command visible; an outcome follows every final step.

pub(crate) mod order;
pub(crate) mod poll;
pub(crate) mod progress;
#[cfg(test)]
mod tests;

pub(crate) use order::order;
pub(crate) use poll::poll;
pub(crate) use progress::time_out;
