//! The kinds of states, and what their row keys are made of.

use stateward_model::key_hash;

use crate::codec::GROUP_BYTES;

/// What a state keeps per key; of timers, per time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateKind {
    Value,
    Reducing,
    Aggregating,
    List,
    Map,
    Table,
    Timer,
}

impl StateKind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Reducing => "reducing",
            Self::Aggregating => "aggregating",
            Self::List => "list",
            Self::Map => "map",
            Self::Table => "table",
            Self::Timer => "timer",
        }
    }

    /// Whether a key has many rows, which are read together, rather than one.
    pub(crate) fn is_sorted(self) -> bool {
        match self {
            Self::Value | Self::Reducing | Self::Aggregating => false,
            Self::List | Self::Map | Self::Table | Self::Timer => true,
        }
    }

    /// The stream's key within a row key, and its hash; `hash` is what the row key goes by.
    pub(crate) fn stream_key(self, hash: u64, row_key: &[u8]) -> (u64, &[u8]) {
        let rest = row_key.get(GROUP_BYTES..).unwrap_or_default();
        if !self.is_sorted() {
            return (hash, rest);
        }
        let key = rest
            .split_first_chunk::<4>()
            .and_then(|(length, rest)| rest.get(..u32::from_be_bytes(*length) as usize));
        let key = key.unwrap_or_default();
        (key_hash(key), key)
    }

    /// Bytes of a row key in front of what is hashed: a state with one row per key goes by the hash
    /// of the record's key, which routing has computed already; one with many by its whole row key.
    pub(crate) fn hashed_from(kind: &str) -> usize {
        let single = [Self::Value, Self::Reducing, Self::Aggregating];
        if single.iter().any(|single| single.as_str() == kind) { GROUP_BYTES } else { 0 }
    }
}
