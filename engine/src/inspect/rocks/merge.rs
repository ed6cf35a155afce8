//! All entries of a family in key order, and of each key the value that a read would find.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::ControlFlow;

use super::store::StoreFamily;
use super::table::{Deed, RemovedRange, TableEntries};
use super::wal::LoggedChange;
use crate::inspect::report::Unread;

/// One physical entry, live or not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<'a> {
    /// Index of its file within the family; `None` for the write-ahead log.
    pub(crate) file: Option<usize>,
    pub(crate) key: &'a [u8],
    pub(crate) deed: Deed,
    pub(crate) value: &'a [u8],
}

/// What looks at a family.
pub(crate) trait Visit {
    /// One physical entry.
    fn entry(&mut self, entry: &Entry<'_>);
    /// One live key with its value; `None` where the value cannot be evaluated (a blob, an unknown
    /// merge operator).
    fn row(&mut self, key: &[u8], value: Option<&[u8]>) -> ControlFlow<()>;
}

/// One run of sorted entries.
enum Run {
    Table(Box<TableEntries>),
    Log(std::vec::IntoIter<LoggedChange>, Option<LoggedChange>),
}

impl Run {
    fn advance(&mut self, unread: &mut Vec<Unread>) -> bool {
        match self {
            Self::Table(entries) => entries.advance(unread),
            Self::Log(rest, current) => {
                *current = rest.next();
                current.is_some()
            }
        }
    }

    fn entry(&self) -> (&[u8], u64, Deed) {
        match self {
            Self::Table(entries) => entries.key(),
            Self::Log(_, current) => current
                .as_ref()
                .map_or((&[], 0, Deed::Other), |c| (c.key.as_slice(), c.sequence, c.deed)),
        }
    }

    fn value(&self) -> &[u8] {
        match self {
            Self::Table(entries) => entries.value(),
            Self::Log(_, current) => current.as_ref().map_or(&[], |c| c.value.as_slice()),
        }
    }
}

/// Where a run stands; the smallest key first, of one key the newest entry.
#[derive(PartialEq, Eq)]
struct Head {
    key: Vec<u8>,
    sequence: u64,
    run: usize,
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        let order = self.key.cmp(&other.key).then(other.sequence.cmp(&self.sequence));
        order.then(self.run.cmp(&other.run))
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// What is known of the key at hand.
#[derive(Default)]
struct Pending {
    key: Vec<u8>,
    is_any: bool,
    /// A put, a removal or a range has decided: what is older does not count.
    is_decided: bool,
    base: Option<Vec<u8>>,
    /// Newest first.
    operands: Vec<Vec<u8>>,
    is_opaque: bool,
}

impl Pending {
    fn start(&mut self, key: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.operands.clear();
        (self.is_any, self.is_decided, self.base, self.is_opaque) = (true, false, None, false);
    }

    fn take(&mut self, deed: Deed, value: &[u8], is_removed: bool) {
        if self.is_decided {
            return;
        }
        match deed {
            _ if is_removed => self.is_decided = true,
            Deed::Delete => self.is_decided = true,
            Deed::Merge => self.operands.push(value.to_vec()),
            Deed::Put => {
                self.base = Some(value.to_vec());
                self.is_decided = true;
            }
            Deed::Other => {
                self.is_opaque = true;
                self.is_decided = true;
            }
        }
    }

    fn finish(&mut self, delimiter: Option<u8>, visit: &mut dyn Visit) -> ControlFlow<()> {
        if !std::mem::take(&mut self.is_any) {
            return ControlFlow::Continue(());
        }
        if self.operands.is_empty() && !self.is_opaque {
            return match &self.base {
                Some(value) => visit.row(&self.key, Some(value)),
                None => ControlFlow::Continue(()),
            };
        }
        let Some(delimiter) = delimiter.filter(|_| !self.is_opaque) else {
            return visit.row(&self.key, None);
        };
        let mut value = self.base.take().unwrap_or_default();
        for operand in self.operands.iter().rev() {
            if !value.is_empty() {
                value.push(delimiter);
            }
            value.extend_from_slice(operand);
        }
        visit.row(&self.key, Some(&value))
    }
}

/// The removed ranges around the key at hand; keys come in order.
struct Ranges {
    /// Those that begin later, the next one last.
    later: Vec<RemovedRange>,
    around: Vec<RemovedRange>,
}

impl Ranges {
    fn new(mut removed: Vec<RemovedRange>) -> Self {
        removed.sort_by(|a, b| b.from.cmp(&a.from));
        Self { later: removed, around: Vec::new() }
    }

    /// Tells whether one of them removes an entry.
    fn remove(&mut self, key: &[u8], sequence: u64) -> bool {
        while let Some(next) = self.later.pop_if(|next| *next.from <= *key) {
            self.around.push(next);
        }
        self.around.retain(|range| *key < *range.to);
        self.around.iter().any(|range| range.sequence > sequence)
    }
}

/// Walks a family until its end or until `visit` breaks off. Entries of one key come newest first.
pub(crate) fn merge(family: StoreFamily, unread: &mut Vec<Unread>, visit: &mut dyn Visit) {
    let StoreFamily { files, mut logged, removed, delimiter, .. } = family;
    let mut ranges = Ranges::new(removed);
    logged.sort_by(|a, b| a.key.cmp(&b.key).then(b.sequence.cmp(&a.sequence)));
    let tables = files.len();
    let mut runs: Vec<Run> =
        files.into_iter().map(|file| Run::Table(Box::new(file.table.entries()))).collect();
    runs.push(Run::Log(logged.into_iter(), None));
    let mut heads = BinaryHeap::new();
    for (at, run) in runs.iter_mut().enumerate() {
        if run.advance(unread) {
            let (key, sequence, _) = run.entry();
            heads.push(Reverse(Head { key: key.to_vec(), sequence, run: at }));
        }
    }
    let mut pending = Pending::default();
    while let Some(Reverse(mut head)) = heads.pop() {
        let Some(run) = runs.get_mut(head.run) else { continue };
        let (deed, value) = (run.entry().2, run.value());
        let file = Some(head.run).filter(|at| *at < tables);
        visit.entry(&Entry { file, key: &head.key, deed, value });
        if !pending.is_any || pending.key != head.key {
            if pending.finish(delimiter, visit).is_break() {
                return;
            }
            pending.start(&head.key);
        }
        let is_removed = ranges.remove(&head.key, head.sequence);
        pending.take(deed, value, is_removed);
        if run.advance(unread) {
            let (key, sequence, _) = run.entry();
            head.key.clear();
            head.key.extend_from_slice(key);
            head.sequence = sequence;
            heads.push(Reverse(head));
        }
    }
    // nothing comes behind the last key that could be broken off
    let _last = pending.finish(delimiter, visit);
}
