//! The write breaker (SEMANTICS §7). In: trips and resets, offered rates, refused events. Out:
//! gates that the shards obey, spilled events, their replay. Never here: user code.

mod spill;
mod governor;

pub(crate) use governor::{Governor, Ruling};
pub(crate) use spill::{Spill, Spilled};
