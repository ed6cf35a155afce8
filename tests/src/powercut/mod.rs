//! A power cut: every byte that had not been synced is gone.
//!
//! In: a program that is started with the recorder (`tests/recorder/recorder.rs`) preloaded and
//! killed somewhere. Out: a folder as a power cut at that instant would have left it.
//!
//! Why a preloaded library: a device that drops writes (dm-flakey) needs a kernel module, FUSE needs
//! a mount, `strace` would have to print every byte. The library sees every `fsync` and `fdatasync`
//! of Rust, RocksDB and SQLite alike, for they all go through libc, and needs no privilege.
//!
//! What is taken for durable: a file's bytes as of its last sync, nothing of a file that never was
//! synced but its name; and names as of the last sync of anything ([`Names::Ordered`], which is what
//! a journal does: ext4, XFS), or only as of the last sync of the folder they are in
//! ([`Names::Strict`], which is all that POSIX promises).

mod recorder;
mod remnant;

pub use recorder::Recorder;
pub use remnant::{Names, committed_epoch, last_synced};
