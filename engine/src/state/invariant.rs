//! What a job demands of a state: counted where it does not hold, never enforced.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::codec::decode_value;

/// Tells whether the encoded value of an entry of this age is as it must be.
type Holds = Arc<dyn Fn(&[u8], Duration) -> bool + Send + Sync>;

/// A named demand on every live entry. It decodes the value by itself, so that all kinds of states are
/// checked at one place, and states without demands pay nothing.
#[derive(Clone)]
pub(crate) struct Invariant {
    pub(crate) name: &'static str,
    holds: Holds,
}

impl fmt::Debug for Invariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Invariant").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Invariant {
    pub(crate) fn new<V: DeserializeOwned>(
        name: &'static str,
        holds: impl Fn(&V, Duration) -> bool + Send + Sync + 'static,
    ) -> Self {
        let holds = move |bytes: &[u8], age| {
            // what cannot be read is an error of its own, told by whoever reads it
            decode_value::<V>(bytes, String::new).is_ok_and(|value| holds(&value, age))
        };
        Self { name, holds: Arc::new(holds) }
    }

    pub(crate) fn holds(&self, value: &[u8], age: Duration) -> bool {
        (self.holds)(value, age)
    }
}
