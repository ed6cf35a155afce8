//! Which parts of a state's files are worth rewriting.

/// A file of a state as RocksDB lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SstFile {
    pub(super) level: i32,
    pub(super) bytes: u64,
    /// First key.
    pub(super) from: Vec<u8>,
    /// Last key.
    pub(super) to: Vec<u8>,
}

/// A range of keys, one file of the last level wide, and all that lies above it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Range {
    /// First key; `None`: from the first.
    pub(crate) from: Option<Vec<u8>>,
    /// First key behind it; `None`: to the last.
    pub(crate) to: Option<Vec<u8>>,
    /// Bytes of files that a compaction of it reads.
    pub(crate) read_bytes: u64,
    /// Bytes within it: the part of the files that falls to it.
    pub(crate) bytes: u64,
    /// Share of its rows that is written off, by a sample.
    pub(crate) share: f64,
}

impl Range {
    /// Bytes that a compaction of it frees, by the sample.
    pub(crate) fn frees_bytes(&self) -> u64 {
        (self.bytes as f64 * self.share) as u64
    }

    fn overlaps(&self, file: &SstFile) -> bool {
        self.from.as_ref().is_none_or(|from| *from <= file.to)
            && self.to.as_ref().is_none_or(|to| file.from < *to)
    }
}

/// Divides the keys by the files of the last level, so that every key is in one range; the shares are
/// yet to be sampled.
pub(super) fn ranges(files: &[SstFile]) -> Vec<Range> {
    let last_level = files.iter().map(|file| file.level).max().unwrap_or(0);
    let mut bounds: Vec<Vec<u8>> = files
        .iter()
        .filter(|file| file.level == last_level && last_level > 0)
        .map(|file| file.from.clone())
        .collect();
    bounds.sort();
    let inner = bounds.into_iter().skip(1).map(Some);
    let bounds: Vec<_> = std::iter::once(None).chain(inner).chain([None]).collect();
    let mut ranges: Vec<Range> = bounds
        .iter()
        .zip(bounds.iter().skip(1))
        .map(|(from, to)| Range {
            from: from.clone(),
            to: to.clone(),
            read_bytes: 0,
            bytes: 0,
            share: 0.0,
        })
        .collect();
    for file in files {
        let over = ranges.iter().filter(|range| range.overlaps(file)).count().max(1) as u64;
        for range in ranges.iter_mut().filter(|range| range.overlaps(file)) {
            range.read_bytes += file.bytes;
            range.bytes += file.bytes / over;
        }
    }
    ranges
}

/// Keys between two others, evenly spaced by their value as numbers: where to look for a sample.
pub(super) fn spread(from: &[u8], to: &[u8], count: u64) -> Vec<Vec<u8>> {
    let shared = from.iter().zip(to).take_while(|(a, b)| a == b).count();
    let number = |key: &[u8]| {
        let mut bytes = [0; 8];
        let rest = key.iter().skip(shared);
        bytes.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
        u64::from_be_bytes(bytes)
    };
    let (low, high) = (number(from), number(to));
    let step = high.saturating_sub(low) / count.max(1);
    let prefix = from.get(..shared).unwrap_or_default();
    (0..count).map(|n| [prefix, (low + step * n).to_be_bytes().as_slice()].concat()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file() -> impl Strategy<Value = SstFile> {
        (0_i32..3, 1_u64..1000, 0_u8..200, 0_u8..50).prop_map(|(level, bytes, from, width)| {
            SstFile { level, bytes, from: vec![from], to: vec![from.saturating_add(width)] }
        })
    }

    proptest! {
        /// §1.11: whatever the files, every key is in exactly one range, no byte is counted more than
        /// once, and a range reads all files that have keys of it.
        #[test]
        fn ranges_cover_all_keys(files in prop::collection::vec(file(), 0..12)) {
            let ranges = ranges(&files);
            for key in 0..=255_u8 {
                let holds = |range: &&Range| {
                    range.from.as_ref().is_none_or(|from| from[0] <= key)
                        && range.to.as_ref().is_none_or(|to| key < to[0])
                };
                prop_assert_eq!(ranges.iter().filter(holds).count(), 1);
                let range = ranges.iter().find(holds).unwrap();
                let with_key = files.iter().filter(|f| f.from[0] <= key && key <= f.to[0]);
                prop_assert!(range.read_bytes >= with_key.map(|f| f.bytes).sum::<u64>());
            }
            let all: u64 = files.iter().map(|f| f.bytes).sum();
            prop_assert!(ranges.iter().map(|r| r.bytes).sum::<u64>() <= all);
        }

        #[test]
        fn a_spread_lies_between(from in prop::collection::vec(any::<u8>(), 0..12), to in prop::collection::vec(any::<u8>(), 0..12)) {
            let (from, to) = if from <= to { (from, to) } else { (to, from) };
            for key in spread(&from, &to, 8) {
                let shortest = [&*from, &[0; 9][..]].concat();
                prop_assert!(key <= to || to.len() < 8 || from == to || key <= shortest);
            }
        }
    }
}
