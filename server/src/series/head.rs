//! The newest samples of one series, in memory.

/// One value of one series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Engine wall clock.
    pub(crate) millis: i64,
    /// The value.
    pub(crate) value: f64,
}

/// Sorted by time, each time once; a later push of the same time wins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    samples: Vec<Sample>,
}

impl Head {
    /// Adds a sample, almost always at the end.
    pub(crate) fn push(&mut self, sample: Sample) {
        if self.samples.last().is_none_or(|last| last.millis < sample.millis) {
            self.samples.push(sample);
            return;
        }
        match self.samples.binary_search_by_key(&sample.millis, |s| s.millis) {
            Ok(at) => {
                if let Some(slot) = self.samples.get_mut(at) {
                    *slot = sample;
                }
            }
            Err(at) => self.samples.insert(at, sample),
        }
    }

    /// Returns the samples between two times, both included.
    pub(crate) fn between(&self, from_millis: i64, to_millis: i64) -> &[Sample] {
        let from = self.samples.partition_point(|s| s.millis < from_millis);
        let to = self.samples.partition_point(|s| s.millis <= to_millis);
        self.samples.get(from..to.max(from)).unwrap_or_default()
    }

    /// Returns all samples up to a time.
    pub(crate) fn up_to(&self, millis: i64) -> &[Sample] {
        self.between(i64::MIN, millis)
    }

    /// Removes the samples that were sealed; one that changed since stays.
    pub(crate) fn remove(&mut self, sealed: &[Sample]) {
        let mut sealed = sealed.iter().peekable();
        self.samples.retain(|sample| {
            while sealed.next_if(|s| s.millis < sample.millis).is_some() {}
            sealed.peek().is_none_or(|s| **s != *sample)
        });
    }
}

/// Merges sorted samples; where both have a time, `newer` wins.
pub(crate) fn merge(older: Vec<Sample>, newer: &[Sample]) -> Vec<Sample> {
    let mut merged = older;
    let in_order = match (merged.last(), newer.first()) {
        (Some(last), Some(first)) => last.millis < first.millis,
        _ => true,
    };
    merged.extend_from_slice(newer);
    if in_order {
        return merged;
    }
    // a stable sort keeps the newer one behind the older one of the same time
    merged.sort_by_key(|s| s.millis);
    merged.dedup_by(|next, kept| {
        let same = next.millis == kept.millis;
        if same {
            *kept = *next;
        }
        same
    });
    merged
}
