//! RocksDB's files, read without RocksDB: nothing is opened for writing, no lock is taken, and a
//! file that is missing, torn or damaged costs what was in it and no more.
//!
//! In: files of one database, by the names that RocksDB gave them. Out: its column families with
//! their files, and every entry in key order, newest first. Never here: what keys and values mean.

mod checksum;
mod block;
mod table;
mod log;
mod edit;
mod wal;
mod option;
mod store;
mod merge;

pub(super) use merge::{Entry, Visit, merge};
pub(super) use store::{FileSet, Store, StoreFamily, StoreFile};
pub(super) use table::Deed;
