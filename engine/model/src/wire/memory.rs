//! What a job holds in memory (SEMANTICS §9, sizes).

use serde::{Deserialize, Serialize};

/// Bytes in memory, by what they are for.
#[expect(clippy::struct_field_names, reason = "the unit is part of a field's name")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemorySample {
    /// What write caches, memtables and block cache may hold together.
    pub budget_bytes: u64,
    /// Write caches of states on RocksDB.
    pub write_cache_bytes: u64,
    /// States that lie on the heap, whole.
    pub heap_bytes: u64,
    /// Memtables of RocksDB.
    pub memtable_bytes: u64,
    /// Blocks, indexes and filters that RocksDB keeps.
    pub block_cache_bytes: u64,
    /// What RocksDB holds of open files outside of its cache; an estimate of its own.
    pub table_reader_bytes: u64,
    /// Resident set of the whole process; `None` where the system does not tell.
    pub process_bytes: Option<u64>,
}

impl MemorySample {
    /// What is held of the budget.
    pub fn budgeted_bytes(&self) -> u64 {
        self.write_cache_bytes + self.heap_bytes + self.memtable_bytes + self.block_cache_bytes
    }
}
