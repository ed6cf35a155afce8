//! "Is its TTL working?" (SEMANTICS §9, *verdict*): a judgement from stated figures.

use serde::{Deserialize, Serialize};

use crate::ttl::UpdateType;

/// The possible answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    /// Nothing removes entries: the state grows with its keys.
    NoTtl,
    /// Reads keep entries alive, so that hardly anything expires.
    RefreshedByReads,
    /// Expired entries stay on disk.
    CleanupBehind,
    /// Many reads come just after the entry expired.
    TooShort,
    /// Entries are read only when they are much younger than the TTL.
    TooLong,
    /// Not enough has been seen.
    CannotTell,
    /// Entries expire on time and are cleaned.
    Working,
}

impl VerdictKind {
    /// Tells whether someone should look at the state.
    pub fn needs_attention(self) -> bool {
        !matches!(self, Self::Working | Self::CannotTell)
    }
}

/// The figures that a verdict is made from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// TTL in force, ms.
    pub ttl_millis: Option<i64>,
    /// What stamps.
    pub update_type: UpdateType,
    /// How long the state has been watched, in its own clock, ms.
    pub watched_millis: i64,
    /// Live entries.
    pub entries: u64,
    /// Reads while watched.
    pub reads: u64,
    /// TTL misses while watched.
    pub misses: u64,
    /// Writes that stamped, while watched.
    pub write_stamps: u64,
    /// Reads that stamped, while watched.
    pub read_stamps: u64,
    /// Entries created while watched.
    pub created: u64,
    /// Entries that expired (read, overwritten or swept) while watched.
    pub expired: u64,
    /// Bytes expired and not written off, or written off and not reclaimed.
    pub debt_bytes: u64,
    /// All bytes of live entries and debt.
    pub total_bytes: u64,
    /// 99th percentile of the age at read, ms.
    pub read_age_p99_millis: Option<u64>,
    /// Line with most refreshes, and its share (0 to 1).
    pub top_refresher: Option<(String, f64)>,
    /// Line with most writes, and its share (0 to 1).
    pub top_writer: Option<(String, f64)>,
}

/// A judgement with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The answer.
    pub kind: VerdictKind,
    /// What it rests on.
    pub evidence: Evidence,
}

/// Share of stamps that reads must make before they are said to keep a state alive.
const REFRESH_SHARE: f64 = 0.5;
/// Debt above this share of all bytes means that cleanup is behind (SEMANTICS §8.5).
const DEBT_SHARE: f64 = 0.2;
/// Debt below this many bytes is not worth a word.
const DEBT_BYTES_MIN: u64 = 1 << 20;
/// TTL-miss ratio above which a TTL is too short (SEMANTICS §8.5, "risk").
const MISS_RATIO: f64 = 0.2;
/// Reads below this number prove nothing.
const READS_MIN: u64 = 100;
/// A TTL this many times the age at which entries are read is too long.
const LONG_FACTOR: i64 = 10;

/// Judges a state from its evidence.
pub fn judge(evidence: Evidence) -> Verdict {
    Verdict { kind: kind(&evidence), evidence }
}

fn kind(e: &Evidence) -> VerdictKind {
    let (Some(ttl), true) = (e.ttl_millis, e.update_type != UpdateType::Disabled) else {
        return VerdictKind::NoTtl;
    };
    let ratio = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
    if e.debt_bytes >= DEBT_BYTES_MIN && ratio(e.debt_bytes, e.total_bytes) > DEBT_SHARE {
        return VerdictKind::CleanupBehind;
    }
    if e.watched_millis < ttl.saturating_mul(2) || e.created == 0 {
        return VerdictKind::CannotTell;
    }
    let stamps = e.read_stamps + e.write_stamps;
    if ratio(e.read_stamps, stamps) > REFRESH_SHARE && e.expired < e.created / 2 {
        return VerdictKind::RefreshedByReads;
    }
    if e.reads >= READS_MIN && ratio(e.misses, e.reads) > MISS_RATIO {
        return VerdictKind::TooShort;
    }
    let read_age = e.read_age_p99_millis.unwrap_or(u64::MAX).max(1);
    if e.reads >= READS_MIN && (ttl as u64) / (LONG_FACTOR as u64) > read_age {
        return VerdictKind::TooLong;
    }
    VerdictKind::Working
}

#[cfg(test)]
mod tests {
    use super::*;

    fn healthy() -> Evidence {
        Evidence {
            ttl_millis: Some(1_000),
            watched_millis: 10_000,
            entries: 10,
            reads: 1_000,
            misses: 10,
            write_stamps: 900,
            read_stamps: 0,
            created: 100,
            expired: 90,
            total_bytes: 1 << 30,
            read_age_p99_millis: Some(800),
            ..Evidence::default()
        }
    }

    type Case = (VerdictKind, fn(&mut Evidence));

    /// §9, verdict: each answer follows from stated figures.
    #[test]
    fn every_verdict_has_its_figures() {
        let cases: [Case; 8] = [
            (VerdictKind::Working, |_| {}),
            (VerdictKind::NoTtl, |e| e.ttl_millis = None),
            (VerdictKind::NoTtl, |e| e.update_type = UpdateType::Disabled),
            (VerdictKind::CannotTell, |e| e.watched_millis = 1_999),
            (VerdictKind::RefreshedByReads, |e| (e.read_stamps, e.expired) = (9_000, 0)),
            (VerdictKind::TooShort, |e| e.misses = 300),
            (VerdictKind::TooLong, |e| e.read_age_p99_millis = Some(50)),
            (VerdictKind::CleanupBehind, |e| e.debt_bytes = 1 << 29),
        ];
        for (expected, change) in cases {
            let mut evidence = healthy();
            change(&mut evidence);
            assert_eq!(judge(evidence).kind, expected);
        }
    }
}
