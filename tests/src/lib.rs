//! What needs engine, server and web together, and what the tree says about itself.
//!
//! The tests are in `tests/tests`, one binary; here is what they share.

pub mod browser;
pub mod figure;
pub mod durability;
pub mod keyed;
pub mod memory;
pub mod paint;
pub mod timer;
pub mod crash;
pub mod disk;
pub mod exact;
pub mod powercut;
pub mod serve;
pub mod tidy;
