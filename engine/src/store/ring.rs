//! A ring of counters by timestamp: buckets of a power-of-two width, so that a change is two additions.
//! When the span outgrows [`BUCKETS_MAX`], the width doubles and neighbours merge.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// Most buckets a ring keeps.
const BUCKETS_MAX: usize = 1_024;

/// Entries and bytes in one bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cell {
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
}

impl Cell {
    #[inline]
    pub(super) fn add(&mut self, other: Self) {
        self.entries += other.entries;
        self.bytes += other.bytes;
    }

    #[inline]
    pub(super) fn take(&mut self, other: Self) {
        debug_assert!(
            self.entries >= other.entries && self.bytes >= other.bytes,
            "the ledger misses an entry"
        );
        self.entries = self.entries.saturating_sub(other.entries);
        self.bytes = self.bytes.saturating_sub(other.bytes);
    }
}

/// One bucket, as it is visited.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// Its first timestamp.
    pub(super) from: i64,
    /// Its last.
    pub(super) to: i64,
    pub(super) cell: Cell,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ring {
    /// Width of a bucket is `1 << shift` ms.
    shift: u32,
    /// Bucket number of the front.
    first: i64,
    cells: VecDeque<Cell>,
}

impl Ring {
    /// An empty ring with buckets at least this wide.
    pub(super) fn new(width_millis: i64) -> Self {
        let width = width_millis.clamp(1, 1 << 40) as u64;
        let shift = width.next_power_of_two().trailing_zeros();
        Self { shift, first: 0, cells: VecDeque::new() }
    }

    #[inline]
    pub(super) fn width_millis(&self) -> u64 {
        1 << self.shift
    }

    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// The last timestamp of the last bucket.
    pub(super) fn end(&self) -> Option<i64> {
        let last = self.first + self.cells.len() as i64 - 1;
        (!self.cells.is_empty()).then(|| self.bucket(last, Cell::default()).to)
    }

    fn bucket(&self, number: i64, cell: Cell) -> Bucket {
        let from = number << self.shift;
        Bucket { from, to: from + ((1_i64 << self.shift) - 1), cell }
    }

    /// All buckets, oldest first.
    pub(super) fn buckets(&self) -> impl Iterator<Item = Bucket> {
        (self.first..).zip(&self.cells).map(|(number, cell)| self.bucket(number, *cell))
    }

    /// The bucket of a timestamp.
    #[inline]
    pub(super) fn cell_mut(&mut self, ts: i64) -> Option<&mut Cell> {
        let index = self.index_for(ts);
        self.cells.get_mut(index)
    }

    /// Takes the oldest bucket out if its last possible timestamp is at or below `limit`.
    pub(super) fn pop_whole(&mut self, limit: i64) -> Option<Bucket> {
        let first = self.bucket(self.first, *self.cells.front()?);
        if first.to > limit {
            return None;
        }
        self.cells.pop_front();
        self.first += 1;
        Some(first)
    }

    /// Takes in what another ring counts; buckets become as wide as the wider of the two.
    pub(super) fn absorb(&mut self, other: &Self) {
        while self.shift < other.shift {
            self.coarsen();
        }
        for bucket in other.buckets().filter(|bucket| bucket.cell.entries > 0) {
            if let Some(cell) = self.cell_mut(bucket.from) {
                cell.add(bucket.cell);
            }
        }
    }

    /// Finds the index of a timestamp, making room where needed.
    #[inline]
    fn index_for(&mut self, ts: i64) -> usize {
        loop {
            let number = ts >> self.shift;
            if self.cells.is_empty() {
                self.first = number;
                self.cells.push_back(Cell::default());
            }
            let last = self.first + self.cells.len() as i64 - 1;
            let span = last.max(number).saturating_sub(self.first.min(number));
            if span >= BUCKETS_MAX as i64 {
                self.coarsen();
                continue;
            }
            while number < self.first {
                self.cells.push_front(Cell::default());
                self.first -= 1;
            }
            let index = (number - self.first) as usize;
            while self.cells.len() <= index {
                self.cells.push_back(Cell::default());
            }
            return index;
        }
    }

    /// Doubles the width; drops empty buckets at both ends first, which may be enough.
    fn coarsen(&mut self) {
        while self.cells.front().is_some_and(|cell| cell.entries == 0) {
            self.cells.pop_front();
            self.first += 1;
        }
        while self.cells.back().is_some_and(|cell| cell.entries == 0) {
            self.cells.pop_back();
        }
        let mut merged: VecDeque<Cell> = VecDeque::with_capacity(self.cells.len() / 2 + 1);
        let first = self.first >> 1;
        for (number, cell) in (self.first..).zip(&self.cells) {
            let index = ((number >> 1) - first) as usize;
            while merged.len() <= index {
                merged.push_back(Cell::default());
            }
            if let Some(into) = merged.get_mut(index) {
                into.add(*cell);
            }
        }
        self.first = first;
        self.cells = merged;
        self.shift += 1;
    }
}
