//! Who a state is, and where a key lives.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Longest name of a job, operator, state, source or sink, in bytes.
pub const NAME_LEN_MAX: usize = 128;

/// Number of key groups of a job unless its manifest says otherwise.
pub const DEFAULT_KEY_GROUPS: u16 = 128;

/// A validated name: `[A-Za-z0-9_.-]{1,128}`.
///
/// # Examples
/// ```
/// use stateward_model::Name;
/// assert_eq!(Name::new("route_delays").unwrap().as_str(), "route_delays");
/// assert!(Name::new("a\nb").unwrap_err().to_string().contains("letters, digits"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

impl Name {
    /// Checks and wraps a name.
    ///
    /// # Errors
    /// [`NameError`] where the name is empty, longer than [`NAME_LEN_MAX`] bytes or holds another
    /// character than letters, digits, `_`, `.` and `-`.
    pub fn new(name: impl Into<String>) -> Result<Self, NameError> {
        let name = name.into();
        let fits = (1..=NAME_LEN_MAX).contains(&name.len());
        let clean = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b));
        if fits && clean { Ok(Self(name)) } else { Err(NameError { got: name }) }
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;
    fn try_from(name: String) -> Result<Self, NameError> {
        Self::new(name)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A name that breaks the rule of [`Name`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{got:?} is not a name: use 1 to {NAME_LEN_MAX} letters, digits, '_', '.' or '-', as in \"route_delays\""
)]
pub struct NameError {
    /// The text that was refused.
    pub got: String,
}

/// Identity of one state: (origin, namespace, `job_name`, operator, state).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StateIdentity {
    /// Which kind of system keeps the state; `"engine"` for the embedded engine.
    pub origin: String,
    /// Namespace of the job, `"default"` where none was given.
    pub namespace: String,
    /// Name of the job. Not called `job`, because a scrape overwrites that label.
    pub job_name: String,
    /// Uid of the operator that owns the state.
    pub operator: String,
    /// Name of the state, unique within its operator.
    pub state: String,
}

/// Hashes the encoded bytes of a key; shown as 16 hex digits in UI and API.
///
/// # Examples
/// ```
/// assert_eq!(format!("{:016x}", stateward_model::key_hash(b"N14228")).len(), 16);
/// ```
#[inline]
pub fn key_hash(key_bytes: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(key_bytes)
}

/// Returns the key group of a key hash: `(hash × groups) >> 64`.
///
/// # Examples
/// ```
/// assert_eq!(stateward_model::key_group(0, 128), 0);
/// assert_eq!(stateward_model::key_group(u64::MAX, 128), 127);
/// ```
#[inline]
pub fn key_group(hash: u64, groups: u16) -> u16 {
    ((u128::from(hash) * u128::from(groups)) >> 64) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_contract() {
        for good in ["a", "A-b_c.9", &"x".repeat(NAME_LEN_MAX)] {
            assert!(Name::new(good).is_ok(), "{good}");
        }
        for bad in ["", "a b", "<script>", "a\nb", "é", &"x".repeat(NAME_LEN_MAX + 1)] {
            assert!(Name::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_bad_name_in_a_message_is_refused() {
        assert!(serde_json::from_str::<Name>("\"<script>\"").is_err());
        assert_eq!(serde_json::to_string(&Name::new("a").unwrap()).unwrap(), "\"a\"");
    }
}
