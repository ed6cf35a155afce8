//! What the frames hold.

use serde::{Deserialize, Serialize, Serializer};
use stateward_model::wire::OperatorSample;

use crate::store::{Ledger, RecentSnapshot};

/// Bytes of encoded rows in one frame.
pub(crate) const FRAME_BYTES: usize = 1 << 18;

/// Up to where a shard's log is committed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogPosition {
    /// First epoch of the file, which is its name.
    pub(crate) first_epoch: u64,
    /// Length of the committed part.
    pub(crate) bytes: u64,
}

/// The frame that commits an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CommitRecord {
    pub(crate) epoch: u64,
    /// Which layout of shards wrote the logs; grows when a job is rescaled.
    pub(crate) generation: u32,
    pub(crate) wall_millis: i64,
    /// Processing time: nothing of the epoch is stamped later by it.
    pub(crate) clock_millis: Option<i64>,
    pub(crate) shards: Vec<LogPosition>,
}

/// One frame of a shard's log.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Entry<'a> {
    /// Row changes of one state; later frames of an epoch override earlier ones.
    Rows {
        epoch: u64,
        state: u16,
        #[serde(serialize_with = "whole")]
        rows: &'a [u8],
    },
    /// The epoch is complete on this shard.
    End { epoch: u64, meta: ShardMeta },
}

/// A slice would be written byte by byte, which costs more than the rest of a commit.
fn whole<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes)
}

/// Everything of a shard that is not rows, as of the end of an epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ShardMeta {
    /// Per source partition on this shard: (source uid, partition, position).
    pub(crate) sources: Vec<SourcePosition>,
    /// Per operator on this shard.
    pub(crate) operators: Vec<OperatorMeta>,
    /// Per sink: (uid, position).
    pub(crate) sinks: Vec<(String, Vec<u8>)>,
    /// Only what changed since the epoch before; merged at recovery.
    pub(crate) states: Vec<(u16, StateMeta)>,
}

/// Where a source partition goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SourcePosition {
    pub(crate) source: String,
    pub(crate) partition: u32,
    pub(crate) position: Vec<u8>,
    /// Largest event time read, from which the watermark follows.
    pub(crate) newest_ts: Option<i64>,
    pub(crate) records: u64,
    pub(crate) future: u64,
}

/// An operator's clock, equation, spill, and what it has not come to yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OperatorMeta {
    pub(crate) watermark: Option<i64>,
    pub(crate) emitted_watermark: Option<i64>,
    /// What the clock of its states showed while all inputs were idle.
    #[serde(default)]
    pub(crate) ttl_clock: Option<i64>,
    pub(crate) sample: OperatorSample,
    pub(crate) spill: SpillPosition,
    /// Records that the barrier overtook, for timers had to fire before them.
    pub(crate) held: SpillPosition,
    /// Held records, diverted timers, and 1 while timers are due: work that the job must not end
    /// before.
    pub(crate) waiting: u64,
}

/// The committed part of a spill: records from `head` to `tail` wait for replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SpillPosition {
    pub(crate) head: u64,
    pub(crate) tail: u64,
}

/// What recovery needs of a state beside its rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StateMeta {
    pub(crate) ledger: Ledger,
    pub(crate) cut_off: i64,
    /// TTL in force, in ms.
    pub(crate) ttl_millis: Option<i64>,
    /// The state's clock when its TTL was switched on (SEMANTICS §1.1).
    pub(crate) adopted_at_millis: i64,
    pub(crate) unreclaimed_bytes: u64,
    /// Number of the next row of a list or table.
    pub(crate) sequence: u64,
    pub(crate) recent: Option<RecentSnapshot>,
    /// Of timers: no timer is pending that is due before.
    pub(crate) next_timer: Option<i64>,
}

impl ShardMeta {
    /// What is said of a state.
    pub(crate) fn state(&self, id: u16) -> Option<&StateMeta> {
        self.states.iter().find(|(other, _)| *other == id).map(|(_, meta)| meta)
    }

    /// What is said of an operator.
    pub(crate) fn operator(&self, uid: &str) -> Option<&OperatorMeta> {
        self.operators.iter().find(|meta| meta.sample.operator == uid)
    }

    /// Replaces what is said of a state.
    pub(crate) fn set_state(&mut self, id: u16, meta: StateMeta) {
        self.states.retain(|(other, _)| *other != id);
        self.states.push((id, meta));
    }

    /// Takes in the end of a later epoch.
    pub(crate) fn advance(&mut self, later: Self) {
        let mut states = std::mem::take(&mut self.states);
        for (id, meta) in later.states {
            match states.iter_mut().find(|(other, _)| *other == id) {
                Some((_, old)) => {
                    let recent = meta.recent.clone().or(old.recent.take());
                    *old = StateMeta { recent, ..meta };
                }
                None => states.push((id, meta)),
            }
        }
        *self = Self { states, ..later };
    }
}

/// Encodes row changes: `flag | key length: u32 | key | row length: u32 | row`.
#[derive(Debug, Default)]
pub(crate) struct RowsBuilder {
    bytes: Vec<u8>,
}

impl RowsBuilder {
    pub(crate) fn push(&mut self, key: &[u8], row: Option<&[u8]>) {
        self.bytes.push(u8::from(row.is_some()));
        self.bytes.extend_from_slice(&(key.len() as u32).to_be_bytes());
        self.bytes.extend_from_slice(key);
        if let Some(row) = row {
            self.bytes.extend_from_slice(&(row.len() as u32).to_be_bytes());
            self.bytes.extend_from_slice(row);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Visits encoded row changes; `false` where the bytes are not such.
pub(crate) fn for_each_row<'a>(
    mut bytes: &'a [u8],
    mut visit: impl FnMut(&'a [u8], Option<&'a [u8]>),
) -> bool {
    fn field<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
        let (length, rest) = bytes.split_first_chunk::<4>()?;
        let (field, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        *bytes = rest;
        Some(field)
    }
    while let Some((flag, rest)) = bytes.split_first() {
        bytes = rest;
        let Some(key) = field(&mut bytes) else { return false };
        let row = if *flag == 1 {
            let Some(row) = field(&mut bytes) else { return false };
            Some(row)
        } else {
            None
        };
        visit(key, row);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    type Row = (Vec<u8>, Option<Vec<u8>>);

    proptest! {
        #[test]
        fn rows_come_back(rows in prop::collection::vec(any::<Row>(), 0..20)) {
            let mut builder = RowsBuilder::default();
            for (key, row) in &rows {
                builder.push(key, row.as_deref());
            }
            let mut back: Vec<Row> = Vec::new();
            let whole = for_each_row(builder.bytes(), |key, row| {
                back.push((key.to_vec(), row.map(<[u8]>::to_vec)));
            });
            prop_assert!(whole);
            prop_assert_eq!(back, rows);
        }
    }
}
