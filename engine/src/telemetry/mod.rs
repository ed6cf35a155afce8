//! What a shard counts. In: calls from the record path. Out: plain integers, copied out once a
//! second. Never here: locks, clocks, strings per record.

mod site;
mod counters;
mod heavy;
mod changes;
mod overshoot;
mod board;

pub(crate) use board::{Board, ShardBoard, StateSnapshot};
pub(crate) use changes::{ReadKey, RowChange};
pub(crate) use counters::{Counters, Dense, Off, Recorder};
pub(crate) use overshoot::Overshoot;
pub(crate) use site::{Access, Site, site_text};
