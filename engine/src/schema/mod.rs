//! What the values of a state look like, and how rows of an older build are read.
//!
//! In: a value's type. Out: its shape as text, for the manifest; and, where the shape has changed
//! since a row was written, the row's bytes as today's type would have written them. Never here:
//! rows, states, files.

mod trace;
mod shape;
mod evolve;

pub(crate) use evolve::Evolution;
pub(crate) use trace::shape_of;
