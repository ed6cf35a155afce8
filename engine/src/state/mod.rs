//! What user code reads and writes. In: typed keys and values with the moment of the event. Out:
//! rows for the write cache, counts for telemetry, refusals for the breaker. Never here: files,
//! threads, the clock itself.

mod family;
mod invariant;
mod kind;
mod descriptor;
mod gate;
mod ttl;
mod table;
mod timer;
mod value;
mod reducing;
mod aggregating;
mod list;
mod map;
mod table_state;

pub use aggregating::{AggregateFunction, AggregatingState};
pub use descriptor::{
    AggregatingStateDescriptor, Backend, ListStateDescriptor, MapStateDescriptor,
    ReducingStateDescriptor, TableStateDescriptor, Ttl, ValueStateDescriptor,
};
pub use family::FamilyDescriptor;
pub use list::ListState;
pub use map::MapState;
pub use reducing::ReducingState;
pub use table_state::{TableFamily, TableState};
pub use value::{Lookup, ValueState};

pub(crate) use descriptor::{StateConfig, StateDeclared, StateOptions};
pub(crate) use family::complain;
pub(crate) use gate::{Gate, GateMode, SharedGate};
pub(crate) use kind::StateKind;
pub(crate) use table::{ColumnKey, Moment, NewCell, RowAddress, SLICE_ROWS, Table, Version};
pub(crate) use timer::{TimerParts, TimerTable, stream_row_key, time_of};
pub(crate) use ttl::SharedTtl;
