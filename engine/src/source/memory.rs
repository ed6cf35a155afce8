//! Records from memory, for the test kit and examples.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Poll, Source, SourceContext, SourceReader, Timed};
use crate::error::Error;

/// A source of given records, divided among one or more partitions.
///
/// # Examples
/// ```
/// use stateward_engine::{MemorySource, Source, Timed};
/// let source = MemorySource::new([Timed { value: 1_u32, ts: 0 }, Timed { value: 2, ts: 5 }]);
/// assert_eq!(source.partitions(), 1);
/// ```
#[derive(Clone)]
pub struct MemorySource<T> {
    partitions: Vec<Vec<Timed<T>>>,
}

impl<T> fmt::Debug for MemorySource<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemorySource").field("partitions", &self.partitions.len()).finish()
    }
}

impl<T> MemorySource<T> {
    /// One partition with these records.
    pub fn new(records: impl IntoIterator<Item = Timed<T>>) -> Self {
        Self::partitioned([records])
    }

    /// Several partitions, each with its own records.
    pub fn partitioned<P: IntoIterator<Item = Timed<T>>>(
        partitions: impl IntoIterator<Item = P>,
    ) -> Self {
        Self { partitions: partitions.into_iter().map(|p| p.into_iter().collect()).collect() }
    }
}

#[derive(Serialize, Deserialize)]
struct Position {
    next: u64,
}

struct Reader<T> {
    records: Vec<Timed<T>>,
    next: usize,
}

impl<T: Clone + Send + Sync + 'static> Source<T> for MemorySource<T> {
    fn partitions(&self) -> u32 {
        self.partitions.len() as u32
    }

    fn open(
        &self,
        context: SourceContext,
        position: Option<&[u8]>,
    ) -> Result<Box<dyn SourceReader<T>>, Error> {
        let records = self.partitions.get(context.partition as usize).cloned().unwrap_or_default();
        let next = match position {
            None => 0,
            Some(bytes) => {
                let place = || format!("position of source {}", context.uid);
                crate::codec::decode_value::<Position>(bytes, place)?.next as usize
            }
        };
        Ok(Box::new(Reader { records, next }))
    }

    fn detail(&self) -> String {
        let records: usize = self.partitions.iter().map(Vec::len).sum();
        format!("{records} records in memory")
    }
}

impl<T: Clone + Send> SourceReader<T> for Reader<T> {
    fn poll(&mut self, out: &mut Vec<Timed<T>>, max: usize) -> Result<Poll, Error> {
        let end = (self.next + max).min(self.records.len());
        out.extend_from_slice(self.records.get(self.next..end).unwrap_or_default());
        self.next = end;
        Ok(if end == self.records.len() { Poll::Finished } else { Poll::Ready })
    }

    fn position(&mut self) -> Result<Vec<u8>, Error> {
        crate::codec::encode_value(&Position { next: self.next as u64 }, Vec::new(), "position")
    }

    fn position_text(&self) -> String {
        format!("record {} of {}", self.next, self.records.len())
    }
}
