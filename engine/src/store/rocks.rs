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
    WaitForCompactOptions, WriteBatch, WriteBufferManager, WriteOptions, checkpoint::Checkpoint,
};

use super::listener::CompactionCounter;
use super::range::{Range, SstFile, ranges, spread};
use super::{Change, Dropping, Manual, SharedCutOff, StateStore};
use crate::clock::{Clock, SystemClock};
use crate::codec::row_ts;
use crate::error::Error;

/// Column families are opened once, so the variant whose handles need no lock.
type Db = DBWithThreadMode<SingleThreaded>;

/// Where, and how many rows at each place, a sample looks for written-off rows.
const SAMPLED_PLACES: u64 = 16;
const SAMPLED_ROWS: u64 = 8;

/// Bytes that are handed to a memtable at once: a batch is never divided between two of them.
const BATCH_BYTES_MAX: usize = 256 << 10;
/// A memtable is flushed for its memory only from this part of what all may have on.
const MEMTABLE_PART: u64 = 8;

/// Changes from which on a file of their own costs less than the way through a memtable.
const INGESTED_ROWS_MIN: usize = 16_384;

/// Settings of a shard's database.
#[derive(Clone)]
pub(crate) struct RocksOptions {
    /// Block cache shared by all shards of a job.
    pub(crate) block_cache: Cache,
    /// Bytes of one memtable.
    pub(crate) memtable_bytes: usize,
    /// Bounds all memtables together, and charges them to the block cache.
    pub(crate) memtables: WriteBufferManager,
    /// For the time of compactions.
    clock: Arc<dyn Clock>,
}

impl RocksOptions {
    pub(crate) fn new(block_cache_bytes: usize, memtable_bytes: usize) -> Self {
        let block_cache = Cache::new_lru_cache(block_cache_bytes);
        // 0: no bound but the cache's
        let memtables =
            WriteBufferManager::new_write_buffer_manager_with_cache(0, false, block_cache.clone());
        Self { block_cache, memtable_bytes, memtables, clock: Arc::new(SystemClock::new()) }
    }

    /// Bounds all memtables together: beyond it they are flushed early.
    pub(crate) fn memtables_max(self, bytes: usize) -> Self {
        self.memtables.set_buffer_size(bytes);
        self
    }

    /// Replaces the clock.
    pub(crate) fn clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { clock, ..self }
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
    memtables: WriteBufferManager,
    cut_offs: Vec<(String, Option<SharedCutOff>)>,
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
        // of each file that a compaction reads; the default is 2 MiB
        db_options.set_compaction_readahead_size(256 << 10);
        db_options.set_writable_file_max_buffer_size(256 << 10);
        db_options.set_write_buffer_manager(&options.memtables);
        let counted = states.iter().filter_map(|(name, cut)| Some((name.clone(), cut.clone()?)));
        db_options.add_event_listener(CompactionCounter {
            states: counted.collect(),
            clock: Arc::clone(&options.clock),
        });
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
            memtables: options.memtables.clone(),
            cut_offs: states.to_vec(),
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

    /// Writes a batch, and waits until the memtables of the job are within their bound again.
    ///
    /// RocksDB could stall writers itself, but only flushes the database that is written to: one whose
    /// memory another database holds would wait for ever.
    fn write(&self, family: &rocksdb::ColumnFamily, batch: &WriteBatch) -> Result<(), Error> {
        self.db.write_opt(batch, &self.unlogged).map_err(|e| self.error(&e))?;
        let bytes_max = self.memtables.get_buffer_size();
        if bytes_max == 0 || self.memtables.get_usage() <= bytes_max {
            return Ok(());
        }
        let property = "rocksdb.cur-size-all-mem-tables";
        let own = self.db.property_int_value_cf(family, property).ok().flatten().unwrap_or(0);
        if own < bytes_max as u64 / MEMTABLE_PART {
            return Ok(());
        }
        let mut flush = FlushOptions::default();
        flush.set_wait(true);
        self.db.flush_cf_opt(family, &flush).map_err(|e| self.error(&e))
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

    fn cut_off(&self, state: &str) -> Option<&SharedCutOff> {
        self.cut_offs.iter().find(|(name, _)| name == state)?.1.as_ref()
    }

    /// Bytes of a state's live files.
    fn disk_bytes(&self, state: &str) -> u64 {
        let Ok(family) = self.family(state) else { return 0 };
        let size = self.db.property_int_value_cf(family, "rocksdb.live-sst-files-size");
        size.ok().flatten().unwrap_or(0)
    }

    /// Bytes that open files hold outside of the block cache, by RocksDB's own estimate.
    pub(crate) fn table_reader_bytes(&self) -> u64 {
        let of_family = |(name, _): &(String, Option<SharedCutOff>)| {
            let family = self.db.cf_handle(name)?;
            let property = "rocksdb.estimate-table-readers-mem";
            self.db.property_int_value_cf(family, property).ok().flatten()
        };
        self.cut_offs.iter().filter_map(of_family).sum()
    }

    /// Divides a state's keys into ranges with what compacting each would read and free; at most so
    /// many.
    pub(crate) fn ranges(&self, state: &str, ranges_max: usize) -> Result<Vec<Range>, Error> {
        let files = self.db.live_files().map_err(|e| self.error(&e))?;
        let of_state = files.into_iter().filter(|file| file.column_family_name == state);
        let files: Vec<SstFile> = of_state
            .map(|file| SstFile {
                level: file.level,
                bytes: file.size as u64,
                from: file.start_key.unwrap_or_default(),
                to: file.end_key.unwrap_or_default(),
            })
            .collect();
        let ends = |key: fn(&SstFile) -> &Vec<u8>| files.iter().map(key);
        let first = ends(|file| &file.from).min().cloned().unwrap_or_default();
        let last = ends(|file| &file.to).max().cloned().unwrap_or_default();
        let mut ranges = ranges(&files);
        ranges.truncate(ranges_max);
        for range in &mut ranges {
            let from = range.from.as_ref().unwrap_or(&first);
            let to = range.to.as_ref().unwrap_or(&last);
            range.share = self.dead_share(state, from, to)?;
        }
        Ok(ranges)
    }

    /// Share of the rows from `from` to `to` that is written off, by a sample of a few rows at each of
    /// a few places.
    fn dead_share(&self, state: &str, from: &[u8], to: &[u8]) -> Result<f64, Error> {
        let Some(limit) = self.cut_off(state).map(|cut_off| cut_off.committed()) else {
            return Ok(0.0);
        };
        let mut options = ReadOptions::default();
        // what the job reads should stay in the cache
        options.fill_cache(false);
        let mut rows = self.db.raw_iterator_cf_opt(self.family(state)?, options);
        let (mut seen, mut dead) = (0_u32, 0_u32);
        for key in spread(from, to, SAMPLED_PLACES) {
            rows.seek(key);
            for _ in 0..SAMPLED_ROWS {
                let Some((key, row)) = rows.item().filter(|(key, _)| *key <= to) else { break };
                debug_assert!(!key.is_empty(), "a row key begins with its group");
                seen += 1;
                dead += u32::from(row_ts(row) <= limit);
                rows.next();
            }
        }
        rows.status().map_err(|e| self.error(&e))?;
        Ok(f64::from(dead) / f64::from(seen.max(1)))
    }

    /// Rewrites the files of a range, so that the filter sees each of its rows. Returns by how
    /// many bytes the state's files became smaller.
    pub(crate) fn compact_range(
        &self,
        state: &str,
        range: &Range,
        why: Manual,
    ) -> Result<u64, Error> {
        let mut options = CompactOptions::default();
        options.set_bottommost_level_compaction(BottommostLevelCompaction::Force);
        options.set_exclusive_manual_compaction(false);
        let family = self.family(state)?;
        let before = self.disk_bytes(state);
        if let Some(cut_off) = self.cut_off(state) {
            cut_off.set_manual(why);
        }
        let (from, to) = (range.from.as_deref(), range.to.as_deref());
        self.db.compact_range_cf_opt(family, from, to, &options);
        Ok(before.saturating_sub(self.disk_bytes(state)))
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
            if batch.size_in_bytes() >= BATCH_BYTES_MAX {
                self.shard.write(family, &std::mem::take(&mut batch))?;
            }
        }
        self.shard.write(family, &batch)
    }

    fn apply_sorted(&mut self, changes: &[Change<'_>]) -> Result<(), Error> {
        if changes.len() < INGESTED_ROWS_MIN {
            return self.apply(changes);
        }
        self.shard.ingest(&self.state, changes)
    }

    fn l0_files(&self) -> u64 {
        let Ok(family) = self.shard.family(&self.state) else { return 0 };
        let files = self.shard.db.property_value_cf(family, "rocksdb.num-files-at-level0");
        files.ok().flatten().and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    fn disk_bytes(&self) -> u64 {
        self.shard.disk_bytes(&self.state)
    }
}

/// Makes one filter a compaction.
struct CutOffFactory {
    cut_off: SharedCutOff,
}

impl CompactionFilterFactory for CutOffFactory {
    type Filter = CutOffFilter;

    fn create(&mut self, context: CompactionFilterContext) -> CutOffFilter {
        let strategy = self.cut_off.strategy(context.is_manual_compaction);
        CutOffFilter(Dropping::start(&self.cut_off, strategy))
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
