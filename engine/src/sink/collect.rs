//! Keeps results in memory, for tests.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Prepared, Sink, SinkContext, SinkWriter};
use crate::error::Error;

/// Collects what is committed; clones share it.
///
/// It behaves like an output that survives the job: dropped at any point and opened again at the
/// last committed position, it holds each committed record once.
///
/// # Examples
/// ```
/// use stateward_engine::CollectSink;
/// let results = CollectSink::<String>::new();
/// // job.sink("results", results.clone()); … run …
/// assert!(results.records().is_empty());
/// ```
pub struct CollectSink<T> {
    shards: Arc<Mutex<Vec<Shard<T>>>>,
}

struct Shard<T> {
    /// Everything prepared.
    log: Vec<(T, i64)>,
    committed: usize,
}

impl<T> Clone for CollectSink<T> {
    fn clone(&self) -> Self {
        Self { shards: Arc::clone(&self.shards) }
    }
}

impl<T> Default for CollectSink<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for CollectSink<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CollectSink").finish_non_exhaustive()
    }
}

impl<T> CollectSink<T> {
    /// Makes an empty one.
    pub fn new() -> Self {
        Self { shards: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Shard<T>>> {
        self.shards.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone> CollectSink<T> {
    /// The committed records with their event times: those of shard 0 in order, then of shard 1, ….
    pub fn records(&self) -> Vec<(T, i64)> {
        let shards = self.lock();
        shards.iter().flat_map(|shard| shard.log.iter().take(shard.committed)).cloned().collect()
    }
}

impl<T: Clone + Send + 'static> Sink<T> for CollectSink<T> {
    fn open(
        &self,
        context: SinkContext,
        position: Option<&[u8]>,
    ) -> Result<Box<dyn SinkWriter<T>>, Error> {
        let committed = match position {
            None => 0,
            Some(bytes) => postcard::from_bytes(bytes).map_err(|error| Error::Codec {
                place: format!("position of sink {}", context.uid),
                detail: error.to_string(),
            })?,
        };
        let mut shards = self.lock();
        while shards.len() <= context.shard {
            shards.push(Shard { log: Vec::new(), committed: 0 });
        }
        if let Some(shard) = shards.get_mut(context.shard) {
            if shard.log.len() < committed {
                return Err(Error::Declaration(format!(
                    "sink {}: {committed} records were committed, but this CollectSink has {}; \
                     clone the one of the run before",
                    context.uid,
                    shard.log.len()
                )));
            }
            shard.log.truncate(committed);
            shard.committed = committed;
        }
        drop(shards);
        let writer = CollectWriter {
            sink: self.clone(),
            shard: context.shard,
            pending: Vec::new(),
            prepared: 0,
        };
        Ok(Box::new(writer))
    }

    fn detail(&self) -> String {
        "memory".to_owned()
    }
}

struct CollectWriter<T> {
    sink: CollectSink<T>,
    shard: usize,
    pending: Vec<(T, i64)>,
    prepared: usize,
}

impl<T: Clone + Send> SinkWriter<T> for CollectWriter<T> {
    fn write(&mut self, value: &T, ts: i64) -> Result<(), Error> {
        self.pending.push((value.clone(), ts));
        Ok(())
    }

    fn prepare(&mut self) -> Result<Prepared, Error> {
        let mut shards = self.sink.lock();
        if let Some(shard) = shards.get_mut(self.shard) {
            shard.log.append(&mut self.pending);
            self.prepared = shard.log.len();
        }
        drop(shards);
        let position = postcard::to_stdvec(&self.prepared).map_err(|error| Error::Codec {
            place: "position of a CollectSink".to_owned(),
            detail: error.to_string(),
        })?;
        Ok(Prepared { position, sync: Vec::new() })
    }

    fn committed(&mut self) -> Result<(), Error> {
        if let Some(shard) = self.sink.lock().get_mut(self.shard) {
            shard.committed = self.prepared;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> SinkContext {
        SinkContext { uid: "results".to_owned(), shard: 1, job_dir: "unused".into() }
    }

    #[test]
    fn only_committed_records_are_seen_once() {
        let sink = CollectSink::new();
        let mut writer = sink.open(context(), None).unwrap();
        writer.write(&"a", 1).unwrap();
        let first = writer.prepare().unwrap().position;
        assert!(sink.records().is_empty());
        writer.committed().unwrap();
        writer.write(&"b", 2).unwrap();
        let second = writer.prepare().unwrap().position;
        assert_eq!(sink.records(), [("a", 1)]);
        // The commit record is written, then the process dies before anyone is told.
        drop(writer);
        drop(sink.open(context(), Some(&second)).unwrap());
        assert_eq!(sink.records(), [("a", 1), ("b", 2)]);
        // The commit record was not written after all.
        drop(sink.open(context(), Some(&first)).unwrap());
        assert_eq!(sink.records(), [("a", 1)]);
    }
}
