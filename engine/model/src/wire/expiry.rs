//! When the entries of a state expire (SEMANTICS §9).

use serde::{Deserialize, Serialize};

/// Bounds of the parts of a forecast, in ms of the state's clock: a minute to a week.
pub const EXPIRY_EDGES_MILLIS: [i64; 7] =
    [60_000, 300_000, 900_000, 3_600_000, 21_600_000, 86_400_000, 604_800_000];

/// Entries and bytes that expire within a bound and not within the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpiryPart {
    /// Entries.
    pub entries: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
}

/// How many entries, and bytes, expire when, over all shards: exact to one ledger bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpirySample {
    /// One part per bound of [`EXPIRY_EDGES_MILLIS`], and one for later; empty without a TTL.
    pub due: Vec<ExpiryPart>,
    /// Expired and not written off, by how long ago; the same bounds.
    pub overdue: Vec<ExpiryPart>,
}

fn add(sum: &mut Vec<ExpiryPart>, parts: &[ExpiryPart]) {
    sum.resize(sum.len().max(parts.len()), ExpiryPart::default());
    for (sum, part) in sum.iter_mut().zip(parts) {
        sum.entries += part.entries;
        sum.bytes += part.bytes;
    }
}

impl ExpirySample {
    /// A forecast with nothing in it.
    pub fn empty() -> Self {
        let parts = vec![ExpiryPart::default(); EXPIRY_EDGES_MILLIS.len() + 1];
        Self { due: parts.clone(), overdue: parts }
    }

    /// Counts entries that expire in `in_millis`; below or at zero they have expired.
    pub fn count(&mut self, in_millis: i64, entries: u64, bytes: u64) {
        let (parts, distance) = if in_millis > 0 {
            (&mut self.due, in_millis)
        } else {
            (&mut self.overdue, in_millis.saturating_neg())
        };
        let at = EXPIRY_EDGES_MILLIS.partition_point(|edge| *edge < distance);
        if let Some(part) = parts.get_mut(at) {
            part.entries += entries;
            part.bytes += bytes;
        }
    }

    /// Adds another shard's.
    pub fn add(&mut self, other: &Self) {
        add(&mut self.due, &other.due);
        add(&mut self.overdue, &other.overdue);
    }

    /// What expires within the bound of this number.
    pub fn within(&self, edge: usize) -> ExpiryPart {
        let parts = self.due.iter().take(edge + 1);
        parts.fold(ExpiryPart::default(), |sum, part| ExpiryPart {
            entries: sum.entries + part.entries,
            bytes: sum.bytes + part.bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// §9: bounds are inclusive, what has expired is counted apart, shards add up.
    #[test]
    fn parts_have_inclusive_bounds() {
        let mut sample = ExpirySample::empty();
        for in_millis in [1, 60_000, 60_001, 0, -60_000, -60_001, i64::MAX, i64::MIN] {
            sample.count(in_millis, 1, 10);
        }
        let mut sum = ExpirySample::default();
        sum.add(&sample);
        sum.add(&sample);
        let entries = |parts: &[ExpiryPart]| parts.iter().map(|p| p.entries).collect::<Vec<_>>();
        assert_eq!(entries(&sum.due), [4, 2, 0, 0, 0, 0, 0, 2]);
        assert_eq!(entries(&sum.overdue), [4, 2, 0, 0, 0, 0, 0, 2]);
        assert_eq!(sum.within(1), ExpiryPart { entries: 6, bytes: 60 });
    }
}
