//! Our reader of RocksDB's files against RocksDB itself: a database that is open and has been
//! written to at random, its files copied meanwhile.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use rocksdb::{
    BlockBasedIndexType, BlockBasedOptions, ChecksumType, DBCompressionType, DBWithThreadMode,
    DataBlockIndexType, IteratorMode, MergeOperands, Options, SingleThreaded, WriteBatch,
};

use crate::inspect::rocks::{Deed, Entry, FileSet, Store, Visit, merge};

type Db = DBWithThreadMode<SingleThreaded>;

/// A seeded generator: the same run every time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

#[expect(clippy::unnecessary_wraps, reason = "RocksDB's interface")]
fn append(_key: &[u8], old: Option<&[u8]>, operands: &MergeOperands) -> Option<Vec<u8>> {
    let parts: Vec<&[u8]> = old.into_iter().chain(operands).collect();
    Some(parts.join(&b','))
}

/// What a family is written like.
struct Shape {
    compression: DBCompressionType,
    checksum: ChecksumType,
    index: BlockBasedIndexType,
    index_restarts: i32,
    format: i32,
    has_hash: bool,
}

/// All combinations that differ in what is read: thirty of them meet each pair.
fn shape(at: usize) -> Shape {
    let compressions = [DBCompressionType::None, DBCompressionType::Lz4, DBCompressionType::Zstd];
    let is_two_level = at % 2 == 1;
    Shape {
        compression: compressions[at % 3],
        checksum: match at % 5 {
            0 => ChecksumType::NoChecksum,
            1 => ChecksumType::CRC32c,
            2 => ChecksumType::XXHash,
            3 => ChecksumType::XXHash64,
            _ => ChecksumType::XXH3,
        },
        index: if is_two_level {
            BlockBasedIndexType::TwoLevelIndexSearch
        } else {
            BlockBasedIndexType::BinarySearch
        },
        index_restarts: [1, 8][at / 2 % 2],
        format: [3, 5, 6, 7][at % 4],
        has_hash: at % 3 == 1,
    }
}

fn family(at: usize) -> Options {
    let shape = shape(at);
    let mut table = BlockBasedOptions::default();
    table.set_block_size(256);
    table.set_checksum_type(shape.checksum);
    table.set_index_type(shape.index);
    table.set_metadata_block_size(128);
    table.set_index_block_restart_interval(shape.index_restarts);
    table.set_format_version(shape.format);
    if shape.has_hash {
        table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    }
    let mut options = Options::default();
    options.set_block_based_table_factory(&table);
    options.set_compression_type(shape.compression);
    options.set_merge_operator_associative("StringAppendOperator", append);
    options.set_level_zero_file_num_compaction_trigger(100);
    options
}

/// What a run of the reader met.
#[derive(Debug, Default)]
struct Met {
    rows: BTreeMap<Vec<u8>, Vec<u8>>,
    logged: u64,
    tabled: u64,
    operands: u64,
    deletions: u64,
}

impl Visit for Met {
    fn entry(&mut self, entry: &Entry<'_>) {
        self.logged += u64::from(entry.file.is_none());
        self.tabled += u64::from(entry.file.is_some());
        self.operands += u64::from(entry.deed == Deed::Merge);
        self.deletions += u64::from(entry.deed == Deed::Delete);
    }

    fn row(&mut self, key: &[u8], value: Option<&[u8]>) -> ControlFlow<()> {
        self.rows.insert(key.to_vec(), value.unwrap().to_vec());
        ControlFlow::Continue(())
    }
}

fn write(db: &Db, random: &mut Random) {
    let families = ["default", "other"].map(|name| db.cf_handle(name).unwrap());
    let steps = 300 + random.below(600);
    let key = |n: u64| format!("key-{n:03}").into_bytes();
    for _ in 0..steps {
        let n = random.below(300);
        let mut batch = WriteBatch::default();
        // changes of one key within a batch: only their sequences tell which one is the last
        for _ in 0..=random.below(3) {
            let family = families[random.below(2) as usize];
            let value = format!("{n}-{}", "x".repeat(random.below(60) as usize));
            match random.below(100) {
                0 => batch.delete_range_cf(family, key(n), key(n + random.below(30))),
                1..15 => batch.delete_cf(family, key(n)),
                15..40 => batch.merge_cf(family, key(n), value),
                _ => batch.put_cf(family, key(n), value),
            }
        }
        db.write(&batch).unwrap();
        if random.below(100) == 0 {
            return db.flush_cf(families[random.below(2) as usize]).unwrap();
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
}

/// Every compression, checksum, index and table format: the copy of an open database reads as
/// RocksDB reads the original, write-ahead log and removed ranges included.
#[test]
fn a_copied_folder_reads_as_rocksdb_reads_the_original() {
    let mut random = Random(14);
    let (mut levels, mut met, mut ranges) = (Vec::new(), Met::default(), 0);
    for at in 0..30 {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("db");
        let mut options = family(at);
        options.create_if_missing(true);
        options.create_missing_column_families(true);
        let both = [("default", family(at)), ("other", family(at))];
        let db = Db::open_cf_with_opts(&options, &path, both).unwrap();
        for round in 0..4 {
            write(&db, &mut random);
            if round == 1 {
                db.compact_range(None::<&[u8]>, None::<&[u8]>);
            }
        }
        let copied = dir.path().join("copy");
        copy(&path, &copied);
        let store = Store::open(&FileSet::of_folder(&copied).unwrap());
        assert_eq!(store.unread, []);
        let mut unread = Vec::new();
        for family in store.families {
            let name = family.name.clone();
            levels.extend(family.files.iter().map(|file| file.level.unwrap()));
            ranges += family.removed.len();
            let tables = family.files.iter().map(|file| &file.table.properties);
            let stated: u64 = tables.map(|table| table.entries - table.range_deletions).sum();
            let logged = family.logged.len() as u64;
            let mut seen = Met::default();
            merge(family, &mut unread, &mut seen);
            let handle = db.cf_handle(&name).unwrap();
            let truth = db.iterator_cf(handle, IteratorMode::Start).map(|item| {
                let (key, value) = item.unwrap();
                (key.into_vec(), value.into_vec())
            });
            assert_eq!(seen.rows, truth.collect(), "{name}");
            assert_eq!((seen.logged, seen.tabled), (logged, stated), "{name}");
            met.logged += seen.logged;
            met.operands += seen.operands;
            met.deletions += seen.deletions;
        }
        assert_eq!(unread, []);
    }
    // every case was met
    assert!(levels.contains(&0) && levels.iter().any(|level| *level > 0), "{levels:?}");
    assert!(met.logged > 0 && met.operands > 0 && met.deletions > 0 && ranges > 0, "{met:?}");
}
