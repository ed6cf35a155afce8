//! What RocksDB tells of its compactions.

use std::sync::Arc;

use rocksdb::event_listener::{CompactionJobInfo, DBCompactionReason, EventListener};

use super::SharedCutOff;
use crate::clock::Clock;

/// Counts the compactions of a shard's states.
pub(super) struct CompactionCounter {
    /// By the name of the column family.
    pub(super) states: Vec<(String, SharedCutOff)>,
    pub(super) clock: Arc<dyn Clock>,
}

impl EventListener for CompactionCounter {
    fn on_compaction_completed(&self, info: &CompactionJobInfo) {
        let Some(family) = info.cf_name() else { return };
        let found = self.states.iter().find(|(name, _)| name.as_bytes() == family);
        let Some((_, cut_off)) = found else { return };
        let by_hand = info.compaction_reason() == DBCompactionReason::KManualCompaction;
        let (read, micros) = (info.total_input_bytes(), info.elapsed_micros());
        cut_off.compacted(by_hand, read, micros, self.clock.now_millis());
    }
}
