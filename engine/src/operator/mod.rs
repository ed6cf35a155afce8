//! What processes records. In: batches, watermarks and barriers from the exchanges. Out: the same,
//! and everything an operator knows at a barrier. Never here: threads, files.

mod context;
mod cells;
mod function;
mod timer;
mod keyed;
mod stateless;

pub(crate) use cells::FamilyPlace;
pub use context::Context;
pub use function::{Open, ProcessFunction};
pub use timer::{Timer, Timers};

pub(crate) use function::KeySelector;
pub(crate) use keyed::{KeyedNode, KeyedParts};
pub(crate) use stateless::FlatMapNode;
pub(crate) use timer::OperatorTimers;
