//! The input of the jobs that are killed, so made that results do not depend on how shards take
//! turns.
//!
//! An operator behind an exchange sees the events of different origins in an order, and at a
//! watermark, that differ from run to run; only the order within one origin (one key of the
//! operator before) is fixed. Rows are kept per origin, or change commutatively. What is left is
//! time, and there are three kinds of origins:
//!
//! 1. **Steady** ones come at any distance, around the TTLs too, but never older than the watermark
//!    of their own channel, which bounds the operator's. They see state as of
//!    `max(watermark, own time)`, that is as of their own time, whatever the watermark is.
//! 2. **Bursting** ones are up to [`STRAGGLE_MILLIS`] out of order, far beyond the bound, so they do
//!    see state as of the watermark. But each comes in two short bursts: within one every row is
//!    younger than every TTL, even by the newest event time there is; between them lies more than
//!    every TTL and what the shards can be apart together. So no decision is near its limit.
//! 3. **Ancient** ones are older than everything by more than every TTL, and each is alone with its
//!    rows: all their writes to states with a TTL are late, and go to the late output. They begin
//!    when every channel must have had a watermark.
//!
//! How far shards can be apart follows from the bounded channels: 16 messages of at most 256
//! records on each of two hops, so below [`APART_RECORDS`].

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::random::Random;

/// Event time from one record to the next.
const STEP_MILLIS: i64 = 10;
/// Event time of the first record.
const START_MILLIS: i64 = 1_600_000_000_000;
/// Out-of-orderness that the watermark allows for.
pub(super) const BOUND_MILLIS: i64 = 2_000;
/// Out-of-orderness of bursting origins.
const STRAGGLE_MILLIS: i64 = 8_000;
/// Records from the first to the last of a burst.
const BURST_RECORDS: u64 = 200;
/// More than shards can be apart.
const APART_RECORDS: u64 = 12_000;
/// Longest TTL of the jobs.
pub(super) const TTL_MILLIS_MAX: i64 = 20_000;
/// Shortest TTL of the jobs.
pub(super) const TTL_MILLIS_MIN: i64 = 11_000;
/// Origins that are steady.
const STEADY: u64 = 700;
/// Entries that a flood writes.
pub(super) const FLOOD_ENTRIES: u32 = 2_000;
/// Records from one flood to the next; odd, so that floods meet different phases of an epoch.
const FLOOD_RECORDS: u64 = 7_801;
/// Keys of the second operator.
const TARGETS: u64 = 40;

const _: () = assert!(
    BURST_RECORDS as i64 * STEP_MILLIS + STRAGGLE_MILLIS < TTL_MILLIS_MIN,
    "rows of a burst must not expire within it"
);

/// What an event does to the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// Reads and writes.
    Write,
    /// Writes some states without reading them.
    Overwrite,
    /// Only reads.
    Read,
    /// Deletes.
    Delete,
    /// Writes [`FLOOD_ENTRIES`] entries at once, more than a write cache holds.
    Flood,
}

/// One record of the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its number.
    pub n: u64,
    /// Its time.
    pub ts: i64,
    /// Key of the first operator: the origin.
    pub a: String,
    /// Key of the second operator.
    pub b: String,
    /// What it does.
    pub deed: Deed,
    /// A number to add up.
    pub amount: u64,
}

/// Writes `records` events as NDJSON.
///
/// # Errors
/// Where the file cannot be written.
pub fn write_input(path: &Path, seed: u64, records: u64) -> anyhow::Result<()> {
    anyhow::ensure!(
        records >= 3 * APART_RECORDS,
        "{records} records are too few: between two bursts shards must not be able to overlap"
    );
    let mut random = Random::new(seed);
    let mut out = BufWriter::new(File::create(path)?);
    for n in 0..records {
        let event = event(n, records, &mut random);
        serde_json::to_writer(&mut out, &event)?;
        out.write_all(b"\n")?;
    }
    Ok(out.into_inner()?.sync_all()?)
}

fn event(n: u64, records: u64, random: &mut Random) -> Event {
    let now = START_MILLIS + n as i64 * STEP_MILLIS;
    let (mut deed, amount) = (deed(random), random.below(1_000));
    let (ts, a) = match random.below(100) {
        0..=1 if n > records / 2 => {
            // a second ancient event of an origin is as late as the first
            (1_000 + random.below(1_000) as i64, format!("ancient-{}", random.below(200)))
        }
        0..=19 => {
            // the same origins come again in the second half
            let burst = n % (records / 2) / BURST_RECORDS;
            let ts = now - random.below(STRAGGLE_MILLIS as u64) as i64;
            (ts, format!("burst-{burst}-{}", random.below(4)))
        }
        _ => {
            let ts = now - random.below(BOUND_MILLIS as u64) as i64;
            if n % FLOOD_RECORDS == FLOOD_RECORDS - 1 {
                deed = Deed::Flood;
            }
            (ts, format!("steady-{}", random.below(STEADY)))
        }
    };
    // every origin feeds three targets, every target is fed by many origins
    let spread = a.bytes().fold(0_u64, |sum, byte| sum * 31 % 65_521 + u64::from(byte));
    let b = format!("target-{}", (spread + random.below(3) * 7) % TARGETS);
    Event { n, ts, a, b, deed, amount }
}

fn deed(random: &mut Random) -> Deed {
    match random.below(20) {
        0..=1 => Deed::Delete,
        2..=6 => Deed::Read,
        7..=10 => Deed::Overwrite,
        _ => Deed::Write,
    }
}
