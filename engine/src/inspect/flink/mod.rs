//! What Apache Flink writes: checkpoints, savepoints, and the rows of its keyed state.
//!
//! In: bytes of `_metadata`, of serializer snapshots, of keys and values. Out: which files belong
//! to which operator, which states there are, and when an entry was last accessed. Never here:
//! RocksDB's files.

mod metadata;
mod head;
mod canonical;
mod key;
mod layout;

pub(super) use canonical::visit_group;
pub(super) use head::{KnownKind, KnownState, head};
pub(super) use key::{KeyForm, hex, key_text};
pub(super) use layout::{Layout, Sample, guess, layout_of};
pub(super) use metadata::{FileRef, KeyedHandle, Metadata, Subtask, metadata};
