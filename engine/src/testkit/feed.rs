//! An input that a test pushes records and watermarks into.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::error::Error;
use crate::source::{Poll, Source, SourceContext, SourceReader, Timed};

/// What [`TestJob`](super::TestJob) asks of what it is fed by.
pub trait Feed: Send + Sync + fmt::Debug {
    /// Whether everything that was pushed is committed.
    fn is_committed(&self) -> bool;
    /// What was pushed and is not committed, in words.
    fn backlog(&self) -> String;
}

#[derive(Clone, Debug)]
enum Item<T> {
    Record(Timed<T>),
    Watermark(i64),
}

#[derive(Debug)]
struct Partition<T> {
    items: Vec<Item<T>>,
    ended: bool,
    lags: bool,
    committed: usize,
}

/// A source whose records a test pushes one by one; clones share them.
///
/// It is replayable like any other: after a crash the job reads again what it had not committed. A
/// partition into which nothing is pushed is idle once the job's `idle_timeout` has passed, and
/// caught up ([`SourceReader::caught_up`]) when all that was pushed is read.
///
/// # Examples
/// ```
/// use stateward_engine::testkit::{Feed, FeedSource};
/// let feed = FeedSource::new();
/// feed.push("a", 1_000);
/// feed.watermark(5_000);
/// assert!(!feed.is_committed(), "no job has read it");
/// ```
pub struct FeedSource<T> {
    partitions: Arc<Vec<Mutex<Partition<T>>>>,
}

impl<T> Clone for FeedSource<T> {
    fn clone(&self) -> Self {
        Self { partitions: Arc::clone(&self.partitions) }
    }
}

impl<T> fmt::Debug for FeedSource<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FeedSource").field("partitions", &self.partitions.len()).finish()
    }
}

impl<T> Default for FeedSource<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// A push is whole or not there, so a test that panicked while pushing leaves whole items.
fn lock<T>(partition: &Mutex<Partition<T>>) -> MutexGuard<'_, Partition<T>> {
    partition.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> FeedSource<T> {
    /// Makes an empty one with one partition.
    pub fn new() -> Self {
        Self::partitioned(1)
    }

    /// Makes an empty one with so many partitions, at least one.
    pub fn partitioned(partitions: u32) -> Self {
        let empty = |_| {
            Mutex::new(Partition { items: Vec::new(), ended: false, lags: false, committed: 0 })
        };
        Self { partitions: Arc::new((0..partitions.max(1)).map(empty).collect()) }
    }

    /// Pushes a record with its event time, ms, into the first partition.
    pub fn push(&self, value: T, ts: i64) {
        self.push_to(0, value, ts);
    }

    /// Pushes a record into a partition.
    ///
    /// # Panics
    /// Where there is no such partition.
    pub fn push_to(&self, partition: u32, value: T, ts: i64) {
        self.item(partition, Item::Record(Timed { value, ts }));
    }

    /// Moves the watermark of the first partition to at least `ts`, ms, behind what was pushed.
    pub fn watermark(&self, ts: i64) {
        self.watermark_of(0, ts);
    }

    /// Moves the watermark of a partition.
    ///
    /// # Panics
    /// As [`FeedSource::push_to`].
    pub fn watermark_of(&self, partition: u32, ts: i64) {
        self.item(partition, Item::Watermark(ts));
    }

    fn item(&self, partition: u32, item: Item<T>) {
        lock(self.partition(partition)).items.push(item);
    }

    fn partition(&self, partition: u32) -> &Mutex<Partition<T>> {
        match self.partitions.get(partition as usize) {
            Some(found) => found,
            None => panic!("partition {partition} is not one of {}", self.partitions.len()),
        }
    }

    /// Lets a partition say that there is more than was pushed, so that it is not caught up.
    ///
    /// # Panics
    /// As [`FeedSource::push_to`].
    pub fn lag(&self, partition: u32, lags: bool) {
        lock(self.partition(partition)).lags = lags;
    }

    /// Ends all partitions: nothing is pushed any more, and the job ends when it has read all.
    pub fn end(&self) {
        for partition in self.partitions.iter() {
            lock(partition).ended = true;
        }
    }
}

impl<T: Send + 'static> Feed for FeedSource<T> {
    fn is_committed(&self) -> bool {
        self.partitions
            .iter()
            .map(lock)
            .all(|partition| partition.committed == partition.items.len())
    }

    fn backlog(&self) -> String {
        let of = |partition: &Mutex<Partition<T>>| {
            let partition = lock(partition);
            format!("{} of {} items committed", partition.committed, partition.items.len())
        };
        self.partitions.iter().map(of).collect::<Vec<_>>().join(", ")
    }
}

impl<T: Clone + Send + Sync + 'static> Source<T> for FeedSource<T> {
    fn partitions(&self) -> u32 {
        self.partitions.len() as u32
    }

    fn open(
        &self,
        context: SourceContext,
        position: Option<&[u8]>,
    ) -> Result<Box<dyn SourceReader<T>>, Error> {
        let next = match position {
            None => 0,
            Some(bytes) => {
                let place = || format!("position of source {}", context.uid);
                crate::codec::decode_value::<u64>(bytes, place)? as usize
            }
        };
        let at = context.partition as usize;
        let mut watermark = None;
        if let Some(partition) = self.partitions.get(at) {
            let mut partition = lock(partition);
            partition.committed = next;
            for item in partition.items.iter().take(next) {
                if let Item::Watermark(ts) = item {
                    watermark = watermark.max(Some(*ts));
                }
            }
        }
        Ok(Box::new(Reader { feed: self.clone(), at, next, watermark, at_barrier: next }))
    }

    fn detail(&self) -> String {
        "what a test pushes".to_owned()
    }
}

struct Reader<T> {
    feed: FeedSource<T>,
    at: usize,
    next: usize,
    watermark: Option<i64>,
    at_barrier: usize,
}

impl<T> Reader<T> {
    fn with_partition<R: Default>(&self, f: impl FnOnce(&mut Partition<T>) -> R) -> R {
        self.feed
            .partitions
            .get(self.at)
            .map(|partition| f(&mut lock(partition)))
            .unwrap_or_default()
    }
}

impl<T: Clone + Send + Sync> SourceReader<T> for Reader<T> {
    fn poll(&mut self, out: &mut Vec<Timed<T>>, max: usize) -> Result<Poll, Error> {
        let Some(partition) = self.feed.partitions.get(self.at) else { return Ok(Poll::Finished) };
        let partition = lock(partition);
        for item in partition.items.iter().skip(self.next).take(max) {
            match item {
                Item::Record(record) => out.push(record.clone()),
                // what follows it must not be read before it has been announced
                Item::Watermark(ts) => {
                    self.watermark = self.watermark.max(Some(*ts));
                    self.next += 1;
                    return Ok(Poll::Ready);
                }
            }
            self.next += 1;
        }
        Ok(if self.next < partition.items.len() {
            Poll::Ready
        } else if partition.ended {
            Poll::Finished
        } else {
            // asked again in the shard's next turn, however its clock stands
            Poll::Wait(Duration::ZERO)
        })
    }

    fn position(&mut self) -> Result<Vec<u8>, Error> {
        self.at_barrier = self.next;
        crate::codec::encode_value(&(self.next as u64), Vec::new(), "position")
    }

    fn position_text(&self) -> String {
        format!("item {} of {}", self.next, self.with_partition(|partition| partition.items.len()))
    }

    fn committed(&mut self) {
        let at_barrier = self.at_barrier;
        self.with_partition(|partition| partition.committed = at_barrier);
    }

    fn watermark_millis(&self) -> Option<i64> {
        self.watermark
    }

    fn caught_up(&self) -> bool {
        self.with_partition(|partition| self.next == partition.items.len() && !partition.lags)
    }
}
