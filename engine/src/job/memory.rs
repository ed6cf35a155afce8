//! How a job's memory is divided.

use crate::store::{CACHE_BYTES_MIN, CachePool, RocksOptions};

/// How much may be held in memory, and by what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Memory {
    /// `memory.total`.
    pub(super) total_bytes: usize,
    /// Of each write cache, whatever the total says.
    pub(super) per_cache: Option<usize>,
    /// Of the block cache, and of one memtable, whatever the total says.
    pub(super) store: Option<(usize, usize)>,
}

impl Memory {
    /// The pool of write caches: 7 parts in 20.
    ///
    /// A row is found in a write cache without RocksDB, so it is the better place for it; a block holds
    /// rows that nobody asked for beside it.
    pub(super) fn pool(&self) -> CachePool {
        CachePool::new(self.total_bytes / 20 * 7, self.per_cache)
    }

    /// RocksDB's part: as much for the block cache, memtables included. The rest is left for what has
    /// no bound of its own and grows with the others: batches on their way, rows being sorted,
    /// compactions.
    pub(super) fn rocks(&self, shards: usize) -> RocksOptions {
        let blocks = self.total_bytes / 20 * 7;
        if let Some((block_cache, memtable)) = self.store {
            return RocksOptions::new(block_cache, memtable);
        }
        let memtables = blocks / 2;
        let memtable = (memtables / (2 * shards.max(1))).clamp(CACHE_BYTES_MIN, 16 << 20);
        RocksOptions::new(blocks, memtable).memtables_max(memtables)
    }
}
