//! What tests of a job need: time that stands until it is moved, an input that is fed record by
//! record, a job that is driven step by step, crashed and started again.
//!
//! - [`TestJob`] runs a job in a folder in memory, on a [`ManualClock`](crate::ManualClock).
//! - [`FeedSource`] is an input that the test pushes records and watermarks into.
//! - [`CollectSink`](crate::CollectSink) keeps what is committed; [`MemorySource`](crate::MemorySource)
//!   has all its records from the start.
//!
//! The job is the real one, with its threads, commits, checkpoints and stores; nothing is replaced by
//! a stand-in. Only the disk is the system's memory where there is some to be had (`/dev/shm`), so
//! that syncing costs nothing.
//!
//! # Examples
//! ```
//! use std::time::Duration;
//! use stateward_engine::testkit::{FeedSource, TestJob};
//! use stateward_engine::{
//!     CollectSink, Context, JobBuilder, Open, Ttl, ValueStateDescriptor, Watermarks,
//! };
//!
//! let (clicks, results) = (FeedSource::new(), CollectSink::new());
//! let (source, sink) = (clicks.clone(), results.clone());
//! let mut job = TestJob::new(move || {
//!     let mut job = JobBuilder::new("sessions");
//!     job.source("clicks", source.clone(), Watermarks::monotonous())
//!         .key_by(|user: &String| user.as_str())
//!         .process("count", |open: &mut Open<'_, str>| {
//!             let ttl = Ttl::new(Duration::from_secs(60));
//!             let count = open.value_state(ValueStateDescriptor::<u64>::new("count").ttl(ttl));
//!             Ok(move |_: &String, ctx: &mut Context<'_, str, u64>| {
//!                 let next = count.get(ctx)?.unwrap_or(0) + 1;
//!                 count.put(ctx, &next)?;
//!                 ctx.emit(next);
//!                 Ok(())
//!             })
//!         })
//!         .sink("results", sink.clone());
//!     job.build()
//! })
//! .fed_by(&clicks);
//! job.start()?;
//! clicks.push("ann".to_owned(), 0);
//! clicks.push("ann".to_owned(), 59_000);
//! job.settle()?;
//! clicks.push("ann".to_owned(), 200_000);
//! job.settle()?;
//! assert_eq!(results.records(), [(1, 0), (2, 59_000), (1, 200_000)]);
//! assert_eq!(job.state("count", "count").flow.misses_present, 1);
//! # Ok::<(), stateward_engine::Error>(())
//! ```

mod feed;
mod folder;
mod job;
#[cfg(test)]
mod tests;

pub use feed::{Feed, FeedSource};
pub use job::TestJob;
