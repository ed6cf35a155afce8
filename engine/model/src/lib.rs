//! The words and the pure rules that Stateward's engine, server and web UI share.
//!
//! Nothing here reads a clock, touches a file or a network, or depends on a platform: the crate
//! builds for `wasm32-unknown-unknown` too. Modules are listed in the order in which data meets
//! them: who a state is, when an entry is dead, which versions of a table's cells are there, how
//! figures are bucketed and named, what travels from engine to server, when a breaker moves, and
//! what the server answers.

mod identity;
mod ttl;
mod ttl_policy;
mod table;
mod histogram;
mod duration;
pub mod metric;
pub mod breaker;
pub mod wire;
pub mod alert;
mod verdict;
pub mod view;
mod problem;

pub use duration::{ParseTtlError, parse_duration, parse_ttl};
pub use histogram::{HISTOGRAM_BUCKETS, Histogram, bucket_lower_bound, bucket_of};
pub use identity::{
    DEFAULT_KEY_GROUPS, NAME_LEN_MAX, Name, NameError, StateIdentity, key_group, key_hash,
};
pub use problem::{Problem, ProblemKind};
pub use table::{AsOf, CellVersion, ColumnScan, DeleteMarker, FamilyRule, Fate};
pub use ttl::{ClockKind, Grace, TtlRule, UpdateType, Visibility, expired, write_off_limit};
pub use ttl_policy::{
    PastTtl, TtlOverride, TtlPolicy, TtlPreview, UNDO_WINDOW_MILLIS, longer_ttl, preview_ttl,
};
pub use verdict::{Evidence, Verdict, VerdictKind, judge};
