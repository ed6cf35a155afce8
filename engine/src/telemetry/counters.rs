//! The recorder of one state: counters, or nothing at all.

use stateward_model::wire::{HotKeys, InvariantSample, SiteSample, StateFlow};
use stateward_model::{HISTOGRAM_BUCKETS, Histogram, bucket_of};

use super::changes::{Changes, ReadKey, RowChange};
use super::overshoot::Overshoot;
use super::site::{Access, Site, Sites};

/// A histogram while it is being filled.
#[derive(Clone, Debug)]
pub(crate) struct Dense {
    // an array, so that no length is read to count
    counts: Box<[u64; HISTOGRAM_BUCKETS]>,
    sum: u64,
}

impl Default for Dense {
    fn default() -> Self {
        Self { counts: Box::new([0; HISTOGRAM_BUCKETS]), sum: 0 }
    }
}

impl Dense {
    #[inline]
    pub(crate) fn add(&mut self, value: u64, times: u64) {
        if let Some(count) = self.counts.get_mut(bucket_of(value)) {
            *count += times;
        }
        self.sum = self.sum.saturating_add(value.saturating_mul(times));
    }

    pub(crate) fn pack(&self) -> Histogram {
        Histogram::from_dense(self.counts.as_slice(), self.sum)
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (sum, count) in self.counts.iter_mut().zip(other.counts.iter()) {
            *sum += count;
        }
        self.sum = self.sum.saturating_add(other.sum);
    }

    pub(super) fn copy_from(&mut self, other: &Self) {
        self.counts.copy_from_slice(other.counts.as_slice());
        self.sum = other.sum;
    }
}

/// What a table tells about each access. A generic parameter, so that a build with [`Off`] beside
/// one with [`Counters`] measures what instrumentation costs.
pub(crate) trait Recorder: Default + Send {
    /// Runs `f` on the flow counters.
    fn flow(&mut self, f: impl FnOnce(&mut StateFlow));
    /// Counts an access by line.
    fn access(&mut self, site: Site, kind: Access, bytes: u64);
    /// An entry of this age was read.
    fn age_at_read(&mut self, age_millis: i64);
    /// Entries of this age were dropped.
    fn age_at_drop(&mut self, age_millis: i64, entries: u64);
    /// An expired entry was removed so long after its expiry.
    fn overshoot(&mut self, millis: i64);
    /// Until the next call, no key has two rows in [`Recorder::changed`].
    fn begin_round(&mut self);
    /// A row goes to the changelog.
    fn changed(&mut self, row: &RowChange<'_>);
    /// An invariant held, or not, for an entry.
    fn checked(&mut self, invariant: usize, held: bool, hash: u64, wall: i64);
    /// A sweep took so long.
    fn sweep(&mut self, micros: u64);
    /// Keeps the present counts, to come back to them with [`Recorder::rewind`].
    fn mark(&mut self);
    /// Forgets what was counted since [`Recorder::mark`], but for what was offered and diverted.
    fn rewind(&mut self);
}

/// Counts everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    counts: Counts,
    marked: Option<Box<Counts>>,
    /// Counted at the barrier, so nothing of it is ever taken back.
    changes: Changes,
}

#[derive(Clone, Debug, Default)]
struct Counts {
    flow: StateFlow,
    at_read: Dense,
    at_drop: Dense,
    overshoot: Overshoot,
    /// By the number of the invariant; without names.
    invariants: Vec<InvariantSample>,
    sweeps: Dense,
    sites: Sites,
}

impl Counters {
    pub(crate) fn flow_so_far(&self) -> StateFlow {
        self.counts.flow
    }

    pub(crate) fn ages(&self) -> (Histogram, Histogram) {
        (self.counts.at_read.pack(), self.counts.at_drop.pack())
    }

    pub(crate) fn overshoot_so_far(&self) -> &Overshoot {
        &self.counts.overshoot
    }

    /// How often each invariant was looked at and did not hold; without names.
    pub(crate) fn invariants(&self) -> &[InvariantSample] {
        &self.counts.invariants
    }

    /// Keys may be shown, and so.
    pub(crate) fn show_keys(&mut self, read_key: ReadKey) {
        self.changes.show_keys(read_key);
    }

    /// The keys that change most; `wall` in ms.
    pub(crate) fn hot_keys(&mut self, wall: i64) -> HotKeys {
        self.changes.hot_keys(wall)
    }

    pub(crate) fn value_bytes(&self) -> Histogram {
        self.changes.value_bytes()
    }

    pub(crate) fn sweeps(&self) -> Histogram {
        self.counts.sweeps.pack()
    }

    pub(crate) fn add_sites_to(&self, samples: &mut Vec<SiteSample>) {
        self.counts.sites.add_to(samples);
    }
}

impl Recorder for Counters {
    fn flow(&mut self, f: impl FnOnce(&mut StateFlow)) {
        f(&mut self.counts.flow);
    }

    #[inline]
    fn access(&mut self, site: Site, kind: Access, bytes: u64) {
        self.counts.sites.count(site, kind, bytes);
    }

    fn age_at_read(&mut self, age_millis: i64) {
        let age = self.counts.flow.age(age_millis);
        self.counts.at_read.add(age, 1);
    }

    fn age_at_drop(&mut self, age_millis: i64, entries: u64) {
        let age = self.counts.flow.age(age_millis);
        self.counts.at_drop.add(age, entries);
    }

    fn overshoot(&mut self, millis: i64) {
        self.counts.overshoot.add(millis);
    }

    fn begin_round(&mut self) {
        self.changes.begin_round();
    }

    #[inline]
    fn changed(&mut self, row: &RowChange<'_>) {
        self.changes.add(row);
    }

    fn checked(&mut self, invariant: usize, held: bool, hash: u64, wall: i64) {
        let counts = &mut self.counts.invariants;
        if counts.len() <= invariant {
            counts.resize(invariant + 1, InvariantSample::default());
        }
        let Some(count) = counts.get_mut(invariant) else { return };
        count.checked += 1;
        if !held {
            count.violations += 1;
            (count.last_hash, count.last_millis) = (Some(hash), Some(wall));
        }
    }

    fn sweep(&mut self, micros: u64) {
        self.counts.sweeps.add(micros, 1);
    }

    fn mark(&mut self) {
        let now = &self.counts;
        match &mut self.marked {
            // copies in place: this runs per event while a breaker is not closed
            Some(marked) => {
                marked.flow = now.flow;
                marked.at_read.copy_from(&now.at_read);
                marked.at_drop.copy_from(&now.at_drop);
                marked.overshoot.copy_from(&now.overshoot);
                marked.invariants.clone_from(&now.invariants);
                marked.sites.clone_from(&now.sites);
            }
            None => self.marked = Some(Box::new(now.clone())),
        }
    }

    fn rewind(&mut self) {
        let Some(marked) = &self.marked else { return };
        let (offered, diverted) = (self.counts.flow.offered, self.counts.flow.diverted);
        self.counts.flow = StateFlow { offered, diverted, ..marked.flow };
        self.counts.at_read.copy_from(&marked.at_read);
        self.counts.at_drop.copy_from(&marked.at_drop);
        self.counts.overshoot.copy_from(&marked.overshoot);
        self.counts.invariants.clone_from(&marked.invariants);
        self.counts.sites.clone_from(&marked.sites);
    }
}

/// A negative age is 0 and counted (SEMANTICS §1.8).
trait Age {
    fn age(&mut self, millis: i64) -> u64;
}

impl Age for StateFlow {
    fn age(&mut self, millis: i64) -> u64 {
        self.negative_ages += u64::from(millis < 0);
        millis.max(0) as u64
    }
}

/// Counts nothing and takes no space.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Off;

impl Recorder for Off {
    fn flow(&mut self, _f: impl FnOnce(&mut StateFlow)) {}
    fn access(&mut self, _site: Site, _kind: Access, _bytes: u64) {}
    fn age_at_read(&mut self, _age_millis: i64) {}
    fn age_at_drop(&mut self, _age_millis: i64, _entries: u64) {}
    fn overshoot(&mut self, _millis: i64) {}
    fn begin_round(&mut self) {}
    fn changed(&mut self, _row: &RowChange<'_>) {}
    fn checked(&mut self, _invariant: usize, _held: bool, _hash: u64, _wall: i64) {}
    fn sweep(&mut self, _micros: u64) {}
    fn mark(&mut self) {}
    fn rewind(&mut self) {}
}
