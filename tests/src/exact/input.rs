//! Numbers as events: hot keys that live on and cold ones that expire, in time, late, and too late.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::crash::Random;

/// Event time of the first event.
const START_MILLIS: i64 = 1_600_000_000_000;
/// Out-of-orderness that the watermark allows for.
pub(super) const BOUND_MILLIS: i64 = 200;

/// An event: keys of the two operators, and dice for what it does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Event {
    pub(super) n: u64,
    pub(super) ts: i64,
    pub(super) left: u64,
    pub(super) right: u64,
    pub(super) dice: u64,
}

/// Writes `records` events as NDJSON.
///
/// # Errors
/// Where the file cannot be written.
pub fn write_numbers(path: &Path, seed: u64, records: u64) -> anyhow::Result<()> {
    let mut random = Random::new(seed);
    let mut out = BufWriter::new(File::create(path)?);
    for n in 0..records {
        let behind = match random.below(100) {
            0..=2 => 3_000 + random.below(4_000),
            3..=14 => random.below(1_500),
            _ => random.below(BOUND_MILLIS as u64),
        };
        let mut key = || match random.below(2) {
            0 => random.below(40),
            _ => 1_000 + random.below(2_500),
        };
        let (left, right) = (key(), key());
        let ts = START_MILLIS + n as i64 - behind as i64;
        let event = Event { n, ts, left, right, dice: random.below(1 << 40) };
        serde_json::to_writer(&mut out, &event)?;
        out.write_all(b"\n")?;
    }
    Ok(out.into_inner()?.sync_all()?)
}
