//! The clock of processing time.

use serde::{Deserialize, Serialize};

/// How a job's processing time stands to its wall clock (SEMANTICS §1.10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the unit belongs to each")]
pub struct ClockSample {
    /// By how much it is behind the wall clock, for jumps that were compensated.
    pub shift_millis: i64,
    /// The jump that waits for a decision; expiry and timers of processing time stand meanwhile.
    pub jump_millis: Option<i64>,
    /// Engine wall clock since when.
    pub since_millis: Option<i64>,
}
