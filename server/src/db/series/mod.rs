//! Statements on `series.db`. Writes take the writer's connection, reads the pool.

pub(crate) mod append;
pub(crate) mod chunk;
pub(crate) mod histogram;
pub(crate) mod key;
