//! What a job's folder holds (SEMANTICS §9, sizes).

use serde::{Deserialize, Serialize};

/// Bytes of a job's folder; a file with several names counts once, for the first of these parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the unit is part of a field's name")]
pub struct FolderSample {
    /// Files of the running states, shared ones too.
    pub state_bytes: u64,
    /// The changelog.
    pub changelog_bytes: u64,
    /// Files that checkpoints alone hold.
    pub checkpoint_bytes: u64,
    /// Spills, journals and the rest.
    pub other_bytes: u64,
}

impl FolderSample {
    /// All of it.
    pub fn total_bytes(&self) -> u64 {
        self.state_bytes + self.changelog_bytes + self.checkpoint_bytes + self.other_bytes
    }
}
