//! What user code reads and writes. In: typed keys and values with the moment of the event. Out:
//! rows for the write cache, counts for telemetry, refusals for the breaker. Never here: files,
//! threads, the clock itself.

mod descriptor;
mod gate;
mod table;
mod timer;
mod value;
mod map;

pub use descriptor::{Backend, MapStateDescriptor, Ttl, ValueStateDescriptor};
pub use map::MapState;
pub use value::{Lookup, ValueState};

pub(crate) use descriptor::{StateConfig, StateKind, StateOptions};
pub(crate) use gate::{Gate, GateMode, SharedGate};
pub(crate) use table::{Moment, RowAddress, Table};
pub(crate) use timer::{TimerParts, TimerTable, stream_row_key, time_of};
