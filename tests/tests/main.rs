//! The tests that need more than one crate, in one binary: each would link RocksDB again.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail the test")]

mod bad_input;
mod bench;
mod browser;
mod contract;
mod crash;
mod exact;
mod examples;
mod full_disk;
mod powercut;
mod memory;
mod rescale;
mod server_kill;
mod tidy;
