//! An embeddable engine for keyed streams whose TTL state is instrumented by construction.
//!
//! A job reads [`Source`]s, processes records by key with [`ValueState`]s, [`ReducingState`]s,
//! [`AggregatingState`]s, [`ListState`]s, [`MapState`]s and [`TableState`]s, and writes [`Sink`]s, exactly once: input positions, state changes and output positions are
//! committed together, several times a second, and `kill -9` at any instant loses or repeats
//! nothing. Every state counts its reads, TTL misses, writers down to the source line, ages and
//! debt, and has a write breaker.
//!
//! Start with [`JobBuilder`]. The rules of TTL, commits and breakers are in `docs/semantics.md`.
//!
//! What this is not: a cluster. A job is one process with as many threads as its parallelism.

mod clock;
mod error;
mod kill;
mod durable;
mod schema;
mod codec;
mod telemetry;
mod changelog;
mod store;
mod state;
mod policy;
mod breaker;
mod cleanup;
mod operator;
mod source;
mod sink;
mod checkpoint;
mod savepoint;
mod job;
mod control;
mod agent;
pub mod testkit;
#[doc(hidden)]
pub mod bench;
pub mod inspect;

#[cfg(feature = "http")]
pub use agent::HttpTransport;
pub use agent::{Transport, TransportError, exposition};
pub use cleanup::{CleanupOptions, DailyWindow};
pub use clock::{Clock, ManualClock, SystemClock};
pub use codec::Key;
pub use control::{ControlClient, JobStatus, JobSummary, list_jobs};
pub use error::Error;
pub use job::{
    FuturePolicy, Job, JobBuilder, JobHandle, KeyedStream, Record, RunOptions, Stream, Watermarks,
};
#[cfg(feature = "kill-points")]
pub use kill::{POINTS as KILL_POINTS, RESCALE_POINTS};
pub use operator::{Context, Open, ProcessFunction, Timer, Timers};
pub use savepoint::{RestorePreview, Savepoint, StateFate, StatePreview};
pub use sink::{CollectSink, FileSink, Prepared, Sink, SinkContext, SinkWriter};
pub use source::{
    Compression, FileSource, LostPosition, MemorySource, Poll, Replay, Source, SourceContext,
    SourceReader, Timed,
};
pub use state::{
    AggregateFunction, AggregatingState, AggregatingStateDescriptor, Backend, FamilyDescriptor,
    ListState, ListStateDescriptor, Lookup, MapState, MapStateDescriptor, ReducingState,
    ReducingStateDescriptor, TableFamily, TableState, TableStateDescriptor, Ttl, ValueState,
    ValueStateDescriptor,
};
pub use stateward_model::breaker::{Action, Enforcement, Policy};
pub use stateward_model::{AsOf, ClockKind, UpdateType, Visibility};
