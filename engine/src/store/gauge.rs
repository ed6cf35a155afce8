//! What a job holds in memory.

use std::sync::Arc;

use stateward_model::wire::MemorySample;

use super::{CachePool, RocksOptions, ShardDb};

/// Reads what is held where.
pub(crate) struct MemoryGauge {
    pub(crate) budget_bytes: u64,
    pub(crate) pool: CachePool,
    pub(crate) rocks: RocksOptions,
    pub(crate) dbs: Vec<Arc<ShardDb>>,
}

impl MemoryGauge {
    pub(crate) fn read(&self) -> MemorySample {
        let (write_cache_bytes, heap_bytes) = self.pool.used_bytes();
        let memtable_bytes = self.rocks.memtables.get_usage() as u64;
        // memtables are charged to the block cache, so that both have one bound
        let blocks = (self.rocks.block_cache.get_usage() as u64).saturating_sub(memtable_bytes);
        MemorySample {
            budget_bytes: self.budget_bytes,
            write_cache_bytes,
            heap_bytes,
            memtable_bytes,
            block_cache_bytes: blocks,
            table_reader_bytes: self.dbs.iter().map(|db| db.table_reader_bytes()).sum(),
            process_bytes: process_bytes(),
        }
    }
}

/// Resident set of this process, where the system tells it.
fn process_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_knows_its_resident_set() {
        let before = process_bytes().unwrap();
        let held = std::hint::black_box(vec![1_u8; 64 << 20]);
        let after = process_bytes().unwrap();
        assert!(after >= before + (48 << 20), "{before} {after} {}", held.len());
    }
}
