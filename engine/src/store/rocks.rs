//! The RocksDB backend: one database per shard, one column family per state.
//!
//! Its write-ahead log is off, because the changelog is the truth: after a crash the shard starts
//! from a checkpoint's clone and the log, never from what RocksDB happened to have flushed.

use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rocksdb::compaction_filter::{CompactionFilter, Decision};
use rocksdb::compaction_filter_factory::{CompactionFilterContext, CompactionFilterFactory};
use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, BottommostLevelCompaction, Cache,
    ColumnFamilyDescriptor, CompactOptions, DBCompressionType, DBWithThreadMode, FlushOptions,
    IngestExternalFileOptions, Options, ReadOptions, SingleThreaded, SstFileWriter,
    WaitForCompactOptions, WriteBatch, WriteOptions, checkpoint::Checkpoint,
};

use super::{Change, Dropping, SharedCutOff, StateStore};
use crate::error::Error;

/// Column families are opened once, so the variant whose handles need no lock.
type Db = DBWithThreadMode<SingleThreaded>;

/// Changes from which on a file of their own costs less than the way through a memtable.
const INGESTED_ROWS_MIN: usize = 16_384;

/// Settings of a shard's database.
#[derive(Clone)]
pub(crate) struct RocksOptions {
    /// Block cache shared by all shards of a job.
    pub(crate) block_cache: Cache,
    /// Bytes of one memtable.
    pub(crate) memtable_bytes: usize,
}

impl RocksOptions {
    pub(crate) fn new(block_cache_bytes: usize, memtable_bytes: usize) -> Self {
        Self { block_cache: Cache::new_lru_cache(block_cache_bytes), memtable_bytes }
    }

    fn column_family(&self, cut_off: Option<SharedCutOff>) -> Options {
        let mut table = BlockBasedOptions::default();
        table.set_block_cache(&self.block_cache);
        table.set_bloom_filter(10.0, false);
        // in parts, because a whole filter of a big file would not fit a small cache: each look-up
        // would then read it again
        table.set_index_type(BlockBasedIndexType::TwoLevelIndexSearch);
        table.set_partition_filters(true);
        table.set_cache_index_and_filter_blocks(true);
        table.set_pin_top_level_index_and_filter(true);
        table.set_pin_l0_filter_and_index_blocks_in_cache(true);
        let mut options = Options::default();
        options.set_block_based_table_factory(&table);
        options.set_write_buffer_size(self.memtable_bytes);
        options.set_max_write_buffer_number(2);
        options.set_compression_type(DBCompressionType::Lz4);
        options.set_level_compaction_dynamic_level_bytes(true);
        if let Some(cut_off) = cut_off {
            options.set_compaction_filter_factory(CutOffFactory { cut_off });
        }
        options
    }
}

/// One shard's database.
pub(crate) struct ShardDb {
    db: Db,
    path: PathBuf,
    unlogged: WriteOptions,
    /// For files that are written outside of the database and taken in whole.
    file_options: Options,
    files_ingested: AtomicU64,
}

impl ShardDb {
    /// Opens, or creates, the database in `path` with one column family per state.
    pub(crate) fn open(
        path: &Path,
        options: &RocksOptions,
        states: &[(String, Option<SharedCutOff>)],
    ) -> Result<Arc<Self>, Error> {
        let mut db_options = Options::default();
        db_options.create_if_missing(true);
        db_options.create_missing_column_families(true);
        db_options.set_max_background_jobs(2);
        db_options.set_keep_log_file_num(2);
        db_options.set_max_open_files(512);
        let families = states.iter().map(|(name, cut)| {
            ColumnFamilyDescriptor::new(name, options.column_family(cut.clone()))
        });
        let default = ColumnFamilyDescriptor::new("default", Options::default());
        let db = Db::open_cf_descriptors(&db_options, path, families.chain([default]))
            .map_err(|e| Error::Store { path: path.to_path_buf(), detail: e.to_string() })?;
        let mut unlogged = WriteOptions::default();
        unlogged.disable_wal(true);
        Ok(Arc::new(Self {
            db,
            path: path.to_path_buf(),
            unlogged,
            file_options: options.column_family(None),
            files_ingested: AtomicU64::new(0),
        }))
    }

    fn error(&self, e: &rocksdb::Error) -> Error {
        Error::Store { path: self.path.clone(), detail: e.to_string() }
    }

    fn family(&self, name: &str) -> Result<&rocksdb::ColumnFamily, Error> {
        self.db.cf_handle(name).ok_or_else(|| Error::Store {
            path: self.path.clone(),
            detail: format!("column family {name} is missing; the folder is not this job's"),
        })
    }

    /// Flushes every memtable and hard-links the files into `dir`, which must not exist.
    pub(crate) fn checkpoint(&self, dir: &Path, states: &[String]) -> Result<(), Error> {
        for state in states {
            let mut flush = FlushOptions::default();
            flush.set_wait(true);
            self.db.flush_cf_opt(self.family(state)?, &flush).map_err(|e| self.error(&e))?;
        }
        Checkpoint::new(&self.db)
            .and_then(|checkpoint| checkpoint.create_checkpoint(dir))
            .map_err(|e| self.error(&e))
    }

    /// Takes in changes that are sorted and have each key once, as a file of their own: no memtable
    /// has to sort them again.
    fn ingest(&self, state: &str, changes: &[Change<'_>]) -> Result<(), Error> {
        let number = self.files_ingested.fetch_add(1, Ordering::Relaxed);
        let path = self.path.join(format!("ingest-{number}.sst"));
        let family = self.family(state)?;
        let mut file = SstFileWriter::create(&self.file_options);
        let written = file.open(&path).and_then(|()| {
            for (key, row) in changes {
                match row {
                    Some(row) => file.put(key, row)?,
                    None => file.delete(key)?,
                }
            }
            file.finish()
        });
        written.map_err(|e| self.error(&e))?;
        let mut ingestion = IngestExternalFileOptions::default();
        ingestion.set_move_files(true);
        // nobody reads through a snapshot
        ingestion.set_snapshot_consistency(false);
        self.db
            .ingest_external_file_cf_opts(family, &ingestion, vec![&path])
            .map_err(|e| self.error(&e))
    }

    /// Waits until no compaction is due.
    pub(crate) fn settle(&self) -> Result<(), Error> {
        self.db.wait_for_compact(&WaitForCompactOptions::default()).map_err(|e| self.error(&e))
    }

    /// Tells whether a state is kept here.
    pub(crate) fn has(&self, state: &str) -> bool {
        self.db.cf_handle(state).is_some()
    }

    /// Rewrites all files of a state, so that its filter sees every row.
    pub(crate) fn compact(&self, state: &str) -> Result<(), Error> {
        let mut options = CompactOptions::default();
        options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
        options.set_exclusive_manual_compaction(false);
        let family = self.family(state)?;
        self.db.flush_cf(family).map_err(|e| self.error(&e))?;
        self.db.compact_range_cf_opt(family, None::<&[u8]>, None::<&[u8]>, &options);
        Ok(())
    }
}

/// One state in a shard's database.
pub(crate) struct RocksStore {
    shard: Arc<ShardDb>,
    state: String,
}

impl RocksStore {
    pub(crate) fn new(shard: Arc<ShardDb>, state: String) -> Self {
        Self { shard, state }
    }

    /// Removes all rows from `from`, inclusive, to `to`, exclusive.
    pub(crate) fn remove_range(&mut self, from: &[u8], to: &[u8]) -> Result<(), Error> {
        let family = self.shard.family(&self.state)?;
        let mut batch = WriteBatch::default();
        batch.delete_range_cf(family, from, to);
        self.shard.db.write_opt(&batch, &self.shard.unlogged).map_err(|e| self.shard.error(&e))
    }

    /// Visits the rows from `from`, inclusive, to `to`, exclusive, in key order, until `visit` has
    /// enough.
    pub(crate) fn range(
        &self,
        from: &[u8],
        to: &[u8],
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<(), Error> {
        let family = self.shard.family(&self.state)?;
        let mut options = ReadOptions::default();
        options.set_iterate_upper_bound(to);
        let mut rows = self.shard.db.raw_iterator_cf_opt(family, options);
        rows.seek(from);
        while let Some((key, row)) = rows.item() {
            if !visit(key, row) {
                return Ok(());
            }
            rows.next();
        }
        rows.status().map_err(|e| self.shard.error(&e))
    }

    /// The last key from `from`, inclusive, to `to`, exclusive.
    pub(crate) fn last(&self, from: &[u8], to: &[u8]) -> Result<Option<Box<[u8]>>, Error> {
        let family = self.shard.family(&self.state)?;
        let mut options = ReadOptions::default();
        options.set_iterate_lower_bound(from);
        options.set_iterate_upper_bound(to);
        let mut rows = self.shard.db.raw_iterator_cf_opt(family, options);
        rows.seek_to_last();
        let last = rows.key().map(Into::into);
        rows.status().map_err(|e| self.shard.error(&e))?;
        Ok(last)
    }

    /// Looks many keys up, sorted: what `read` makes of each row that is there.
    pub(crate) fn get_many<T>(
        &self,
        keys: &[&[u8]],
        read: impl Fn(&[u8]) -> T,
    ) -> Result<Vec<Option<T>>, Error> {
        let family = self.shard.family(&self.state)?;
        let found = self.shard.db.batched_multi_get_cf(family, keys.iter().copied(), true);
        let read = |row: Result<Option<_>, rocksdb::Error>| {
            row.map(|row: Option<rocksdb::DBPinnableSlice<'_>>| row.map(|row| read(&row)))
        };
        found.into_iter().map(read).collect::<Result<_, _>>().map_err(|e| self.shard.error(&e))
    }
}

impl StateStore for RocksStore {
    fn get(&self, key: &[u8], row: &mut Vec<u8>) -> Result<bool, Error> {
        let family = self.shard.family(&self.state)?;
        let found = self.shard.db.get_pinned_cf(family, key).map_err(|e| self.shard.error(&e))?;
        row.clear();
        if let Some(found) = &found {
            row.extend_from_slice(found);
        }
        Ok(found.is_some())
    }

    fn scan(&self, from: &[u8], visit: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Result<(), Error> {
        let family = self.shard.family(&self.state)?;
        let mut rows = self.shard.db.raw_iterator_cf(family);
        rows.seek(from);
        while let Some((key, row)) = rows.item() {
            if !visit(key, row) {
                break;
            }
            rows.next();
        }
        rows.status().map_err(|e| self.shard.error(&e))
    }

    fn apply(&mut self, changes: &[Change<'_>]) -> Result<(), Error> {
        let family = self.shard.family(&self.state)?;
        let mut batch = WriteBatch::default();
        for (key, row) in changes {
            match row {
                Some(row) => batch.put_cf(family, key, row),
                None => batch.delete_cf(family, key),
            }
        }
        self.shard.db.write_opt(&batch, &self.shard.unlogged).map_err(|e| self.shard.error(&e))
    }

    fn apply_sorted(&mut self, changes: &[Change<'_>]) -> Result<(), Error> {
        if changes.len() < INGESTED_ROWS_MIN {
            return self.apply(changes);
        }
        self.shard.ingest(&self.state, changes)
    }

    fn disk_bytes(&self) -> u64 {
        let Ok(family) = self.shard.family(&self.state) else { return 0 };
        let size = self.shard.db.property_int_value_cf(family, "rocksdb.live-sst-files-size");
        size.ok().flatten().unwrap_or(0)
    }
}

/// Makes one filter a compaction.
struct CutOffFactory {
    cut_off: SharedCutOff,
}

impl CompactionFilterFactory for CutOffFactory {
    type Filter = CutOffFilter;

    fn create(&mut self, _context: CompactionFilterContext) -> CutOffFilter {
        CutOffFilter(Dropping::start(&self.cut_off))
    }

    fn name(&self) -> &CStr {
        c"stateward.cut-off"
    }
}

/// Drops exactly the rows at or below the committed cut-off. It sees shadowed versions too, which
/// is sound: their `ts` is not above the newest one's (SEMANTICS §1.15).
struct CutOffFilter(Dropping);

impl CompactionFilter for CutOffFilter {
    fn filter(&mut self, _level: u32, key: &[u8], row: &[u8]) -> Decision {
        if self.0.takes(key, row) { Decision::Remove } else { Decision::Keep }
    }

    fn name(&self) -> &CStr {
        c"stateward.cut-off"
    }
}
