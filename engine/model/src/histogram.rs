//! One bucket layout for every age and duration.
//!
//! Four buckets a doubling: bucket `i` holds values from [`bucket_lower_bound`]`(i)` up to the next
//! bound, so a bound is at most 25 % off. Values 0 to 3 have a bucket each. The layout is fixed:
//! histograms of shards, minutes and runs add up bucket by bucket.

use serde::{Deserialize, Serialize};

/// Number of buckets; the last one also holds everything above its bound (2^43 and more).
pub const HISTOGRAM_BUCKETS: usize = 168;

/// Returns the bucket that holds `value`.
#[inline]
pub fn bucket_of(value: u64) -> usize {
    if value < 4 {
        return value as usize;
    }
    let exponent = 63 - value.leading_zeros() as usize;
    let quarter = ((value >> (exponent - 2)) & 3) as usize;
    (exponent * 4 - 4 + quarter).min(HISTOGRAM_BUCKETS - 1)
}

/// Returns the smallest value that falls into `bucket`.
pub fn bucket_lower_bound(bucket: usize) -> u64 {
    if bucket < 4 {
        return bucket as u64;
    }
    let exponent = (bucket + 4) / 4;
    let quarter = ((bucket + 4) % 4) as u64;
    (4 + quarter) << (exponent - 2)
}

/// A sparse histogram as it travels and is stored: (bucket, count) pairs, sorted by bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histogram {
    /// Non-empty buckets with their counts, sorted by bucket.
    pub buckets: Vec<(u16, u64)>,
    /// Sum of all observed values, in the unit of the metric.
    pub sum: u64,
}

impl Histogram {
    /// Packs dense counts, leaving empty buckets out.
    pub fn from_dense(counts: &[u64], sum: u64) -> Self {
        let buckets = counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(bucket, count)| (bucket as u16, *count))
            .collect();
        Self { buckets, sum }
    }

    /// Number of observations.
    pub fn count(&self) -> u64 {
        self.buckets.iter().map(|(_, count)| count).sum()
    }

    /// Adds the observations of another histogram.
    pub fn merge(&mut self, other: &Self) {
        for &(bucket, count) in &other.buckets {
            match self.buckets.binary_search_by_key(&bucket, |(b, _)| *b) {
                Ok(at) => {
                    if let Some(slot) = self.buckets.get_mut(at) {
                        slot.1 += count;
                    }
                }
                Err(at) => self.buckets.insert(at, (bucket, count)),
            }
        }
        self.sum = self.sum.saturating_add(other.sum);
    }

    /// Returns what was observed since `earlier`, a former value of the same cumulative histogram;
    /// all of it where the histogram was reset in between.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut delta = Self { buckets: Vec::new(), sum: self.sum.saturating_sub(earlier.sum) };
        for &(bucket, count) in &self.buckets {
            let before = earlier
                .buckets
                .binary_search_by_key(&bucket, |(b, _)| *b)
                .ok()
                .and_then(|at| earlier.buckets.get(at))
                .map_or(0, |(_, count)| *count);
            if count < before {
                return self.clone();
            }
            if count > before {
                delta.buckets.push((bucket, count - before));
            }
        }
        delta
    }

    /// Returns the lower bound of the bucket that holds the `q` quantile (0 to 1), `None` when empty.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let total = self.count();
        let rank = ((total as f64 * q).ceil() as u64).clamp(1, total.max(1));
        let mut seen = 0;
        for &(bucket, count) in &self.buckets {
            seen += count;
            if seen >= rank {
                return Some(bucket_lower_bound(usize::from(bucket)));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn bounds_and_buckets_agree() {
        for bucket in 0..HISTOGRAM_BUCKETS {
            let bound = bucket_lower_bound(bucket);
            assert_eq!(bucket_of(bound), bucket);
            if bucket > 0 {
                assert_eq!(bucket_of(bound - 1), bucket - 1);
            }
        }
        assert_eq!(bucket_of(u64::MAX), HISTOGRAM_BUCKETS - 1);
    }

    proptest! {
        #[test]
        fn since_and_merge_are_inverse(
            a in prop::collection::vec(0_u64..9, HISTOGRAM_BUCKETS),
            b in prop::collection::vec(0_u64..9, HISTOGRAM_BUCKETS)
        ) {
            let early = Histogram::from_dense(&a, a.iter().sum());
            let later = Histogram::from_dense(&b, b.iter().sum());
            let mut sum = early.clone();
            sum.merge(&later);
            prop_assert_eq!(sum.since(&early), later);
        }
    }
}
