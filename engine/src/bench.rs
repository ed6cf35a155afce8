//! Hooks for the project's own benches: not part of the public API, may change at any time.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stateward_model::{key_group, key_hash};

use crate::changelog::{Entry, SegmentedLog};
use crate::error::Error;
use crate::job::encode_entry;
use crate::state::{Backend, Gate, Lookup, Moment, RowAddress, SharedTtl, StateConfig, StateKind};
use crate::state::{StateOptions, Table};
use crate::store::{
    CutOff, Overflow, RocksOptions, RocksStore, ShardDb, SharedCutOff, StateStore, WriteCache,
};
use crate::telemetry::{Counters, Off, Recorder, Site};

/// Memory of a benched state, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Write cache.
    pub write_cache: usize,
    /// Block cache.
    pub block_cache: usize,
    /// One memtable; RocksDB may hold two.
    pub memtable: usize,
}

/// The value that is read, changed and written: about 100 bytes encoded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchValue {
    /// Counts the writes.
    pub count: u64,
    /// A sum.
    pub sum: f64,
    /// The rest.
    pub text: String,
}

impl BenchValue {
    /// A value of about 100 bytes, whose text does not compress to nothing.
    pub fn of(key: u64) -> Self {
        let mut random = key;
        let text = std::iter::repeat_with(|| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'0' + (random >> 58) as u8)
        });
        Self { count: 1_000_000, sum: 1.0, text: text.take(88).collect() }
    }
}

/// One typed value state on RocksDB with changelog, driven by hand.
pub trait StateBench {
    /// Reads the value of a key, changes it and writes it back.
    ///
    /// # Errors
    /// Where the store fails.
    fn read_modify_write(&mut self, key: u64) -> Result<(), Error>;
    /// Whether so much is uncommitted that the engine would end the epoch early.
    fn wants_commit(&self) -> bool;
    /// Ends and commits an epoch: appends its changes, syncs, and lets them be evicted.
    ///
    /// # Errors
    /// As above.
    fn commit(&mut self) -> Result<(), Error>;
    /// Writes everything back and flushes.
    ///
    /// # Errors
    /// As above.
    fn finish(&mut self) -> Result<(), Error>;
    /// Waits for the compactions that are due, so that neither side of a pair pays for the other's.
    ///
    /// # Errors
    /// As above.
    fn settle(&mut self) -> Result<(), Error>;
}

/// What a benched state has beside its rows.
#[derive(Clone, Copy, Debug)]
pub struct Equipment {
    /// Telemetry, which is compiled out otherwise.
    pub instrumented: bool,
    /// A TTL of an hour.
    pub ttl: bool,
}

/// Opens a state to bench.
///
/// # Errors
/// Where the folder cannot be used.
pub fn open_state(
    dir: &Path,
    memory: Memory,
    equipment: Equipment,
) -> Result<Box<dyn StateBench>, Error> {
    let ttl = equipment.ttl.then(|| crate::Ttl::new(std::time::Duration::from_hours(1)));
    if equipment.instrumented {
        Ok(Box::new(Driven::<Counters>::open(dir, memory, ttl)?))
    } else {
        Ok(Box::new(Driven::<Off>::open(dir, memory, ttl)?))
    }
}

struct Driven<R: Recorder> {
    table: Table<R>,
    log: SegmentedLog,
    db: Arc<ShardDb>,
    dir: PathBuf,
    moment: Moment,
    row_key: Vec<u8>,
    syncer: Syncer,
}

/// Syncs the log on a thread of its own, as the coordinator of a job does.
struct Syncer {
    files: crossbeam_channel::Sender<(u64, PathBuf, Arc<File>)>,
    done: crossbeam_channel::Receiver<Result<u64, Error>>,
    underway: bool,
}

impl Syncer {
    fn start() -> Result<Self, Error> {
        let (files, to_sync) = crossbeam_channel::bounded::<(u64, PathBuf, Arc<File>)>(1);
        let (tell, done) = crossbeam_channel::bounded(1);
        // ends when the channel's other end is dropped
        std::thread::Builder::new()
            .name("bench-sync".into())
            .spawn(move || {
                for (epoch, path, file) in to_sync {
                    let result = file.sync_data().map(|()| epoch).map_err(Error::io("sync", &path));
                    if tell.send(result).is_err() {
                        return;
                    }
                }
            })
            .map_err(Error::io("start thread", "bench-sync"))?;
        Ok(Self { files, done, underway: false })
    }

    /// The epoch that has become durable, if one has; waits for it where told to.
    fn synced(&mut self, wait: bool) -> Result<Option<u64>, Error> {
        if !self.underway {
            return Ok(None);
        }
        let lost = |_closed| Error::ThreadLost("bench-sync".into());
        let result = if wait {
            self.done.recv().map_err(lost)?
        } else {
            match self.done.try_recv() {
                Ok(result) => result,
                Err(_) => return Ok(None),
            }
        };
        self.underway = false;
        result.map(Some)
    }

    fn sync(&mut self, epoch: u64, file: (PathBuf, Arc<File>)) -> Result<(), Error> {
        self.underway = true;
        self.files
            .send((epoch, file.0, file.1))
            .map_err(|_closed| Error::ThreadLost("bench-sync".into()))
    }
}

impl<R: Recorder> Driven<R> {
    #[track_caller]
    fn open(dir: &Path, memory: Memory, ttl: Option<crate::Ttl>) -> Result<Self, Error> {
        let rocks = RocksOptions::new(memory.block_cache, memory.memtable);
        let kind = StateKind::Value;
        let cut_off: SharedCutOff = Arc::new(CutOff::new(StateKind::hashed_from(kind.as_str())));
        let families = [("state".to_owned(), Some(cut_off.clone()))];
        let db = ShardDb::open(&dir.join("db"), &rocks, &families)?;
        let store = RocksStore::new(db.clone(), "state".into());
        let overflow = Overflow::new(dir.join("overflow"), rocks)?;
        let cache = WriteCache::new(Box::new(store), overflow, memory.write_cache, false);
        let config = StateConfig {
            id: 0,
            operator: "bench".into(),
            kind,
            options: StateOptions {
                canary_life: None,
                invariants: Vec::new(),
                readable_keys: false,
                read_key: None,
                name: "state".into(),
                ttl,
                ttl_min: None,
                backend: Backend::Rocks,
                clock: crate::ClockKind::EventTime,
                breaker: crate::Policy::default(),
                families: Vec::new(),
                site: std::panic::Location::caller(),
            },
            schema: String::new(),
            schema_id: 0,
            clock_shift_millis: 0,
            dead_on_arrival_millis: None,
            evolutions: Vec::new(),
        };
        let ttl = Arc::new(SharedTtl::new(config.ttl_millis()));
        Ok(Self {
            table: Table::new(config, cache, cut_off, Gate::default(), ttl),
            log: SegmentedLog::start(&dir.join("changelog"), 1)?,
            db,
            dir: dir.to_path_buf(),
            moment: Moment { epoch: 1, watermark: Some(0), ..Moment::default() },
            row_key: Vec::new(),
            syncer: Syncer::start()?,
        })
    }
}

impl<R: Recorder> Driven<R> {
    fn take_commit(&mut self, wait: bool) -> Result<(), Error> {
        match self.syncer.synced(wait)? {
            Some(epoch) => self.table.committed(epoch),
            None => Ok(()),
        }
    }
}

impl<R: Recorder> StateBench for Driven<R> {
    fn read_modify_write(&mut self, key: u64) -> Result<(), Error> {
        // as the engine does once per event: hash, group, row key
        let key = key.to_be_bytes();
        let hash = key_hash(&key);
        self.row_key.clear();
        self.row_key.extend_from_slice(&key_group(hash, 128).to_be_bytes());
        self.row_key.extend_from_slice(&key);
        self.moment.event += 1;
        self.moment.event_ts = (self.moment.event / 1_000) as i64;
        let at = RowAddress { hash, key: &self.row_key };
        let site = Site { at: std::panic::Location::caller(), name: None };
        let read = self.table.read::<BenchValue>(at, &self.moment, site)?;
        let mut value = match read {
            Lookup::Live(value) => value,
            _ => BenchValue::of(hash),
        };
        value.count += 1;
        value.sum += 0.5;
        self.table.write(at, &value, &self.moment, site)?;
        if self.moment.event.is_multiple_of(256) {
            self.take_commit(false)?;
            let (log, epoch) = (&mut self.log, self.moment.epoch);
            self.table.after_batch(|rows| {
                log.append(&encode_entry(&Entry::Rows { epoch, state: 0, rows })?)
            })?;
        }
        Ok(())
    }

    fn wants_commit(&self) -> bool {
        self.table.wants_commit()
    }

    fn commit(&mut self) -> Result<(), Error> {
        // as in a job: no barrier before the former epoch is committed
        self.take_commit(true)?;
        let (log, epoch) = (&mut self.log, self.moment.epoch);
        self.table
            .barrier(|rows| log.append(&encode_entry(&Entry::Rows { epoch, state: 0, rows })?))?;
        self.log.flush()?;
        self.syncer.sync(epoch, self.log.file())?;
        self.moment.epoch += 1;
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.commit()?;
        self.take_commit(true)?;
        self.table.write_back()?;
        flush(&self.db, &self.dir)
    }

    fn settle(&mut self) -> Result<(), Error> {
        self.db.settle()
    }
}

/// Flushes everything, as a checkpoint does.
fn flush(db: &ShardDb, dir: &Path) -> Result<(), Error> {
    let dir = dir.join("checkpoint");
    db.checkpoint(&dir, &["state".to_owned()])?;
    std::fs::remove_dir_all(&dir).map_err(Error::io("remove", &dir))
}

/// Puts rows into bare RocksDB, a thousand at a time, write-ahead log off, and flushes.
///
/// # Errors
/// Where the folder cannot be used.
pub fn bulk_put<'a>(
    dir: &Path,
    memory_bytes: usize,
    rows: u64,
    row: impl Fn(u64) -> (u64, &'a [u8]),
) -> Result<(), Error> {
    const ROWS_AT_ONCE: u64 = 1_000;
    let rocks = RocksOptions::new(memory_bytes / 2, memory_bytes / 8);
    let shard = ShardDb::open(&dir.join("db"), &rocks, &[("state".to_owned(), None)])?;
    let mut store = RocksStore::new(shard.clone(), "state".into());
    for from in (0..rows).step_by(ROWS_AT_ONCE as usize) {
        let some: Vec<([u8; 8], &[u8])> = (from..rows.min(from + ROWS_AT_ONCE))
            .map(&row)
            .map(|(key, row)| (key.to_be_bytes(), row))
            .collect();
        let some: Vec<_> = some.iter().map(|(key, row)| (key.as_slice(), Some(*row))).collect();
        store.apply(&some)?;
    }
    flush(&shard, dir)
}

/// Asks a closed breaker so many times; returns how often it admitted.
pub fn ask_closed_breaker(times: u64) -> u64 {
    let mut gate = Gate::default();
    let admitted = (0..times).filter(|_| {
        gate.next_event();
        std::hint::black_box(&mut gate).admits()
    });
    admitted.count() as u64
}

/// The same work by hand on bare RocksDB with the same options: get, decode, change, encode, put,
/// write-ahead log off.
struct Bare {
    shard: Arc<ShardDb>,
    store: RocksStore,
    row: Vec<u8>,
    dir: PathBuf,
}

/// Opens the baseline.
///
/// # Errors
/// Where the folder cannot be used.
pub fn open_bare(dir: &Path, memory: Memory) -> Result<Box<dyn StateBench>, Error> {
    let rocks = RocksOptions::new(memory.block_cache, memory.memtable);
    let shard = ShardDb::open(&dir.join("db"), &rocks, &[("state".to_owned(), None)])?;
    let store = RocksStore::new(shard.clone(), "state".into());
    Ok(Box::new(Bare { shard, store, row: Vec::new(), dir: dir.to_path_buf() }))
}

impl StateBench for Bare {
    fn read_modify_write(&mut self, key: u64) -> Result<(), Error> {
        let key = key.to_be_bytes();
        let mut value = if self.store.get(&key, &mut self.row)? {
            crate::codec::decode_value(&self.row, || "bench".into())?
        } else {
            BenchValue::of(key_hash(&key))
        };
        value.count += 1;
        value.sum += 0.5;
        self.row.clear();
        self.row = crate::codec::encode_value(&value, std::mem::take(&mut self.row), "bench")?;
        self.store.apply(&[(key.as_slice(), Some(self.row.as_slice()))])
    }

    fn wants_commit(&self) -> bool {
        false
    }

    fn commit(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        flush(&self.shard, &self.dir)
    }

    fn settle(&mut self) -> Result<(), Error> {
        self.shard.settle()
    }
}
