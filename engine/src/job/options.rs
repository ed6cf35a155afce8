//! Where and how a job runs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::coordinator::Pace;
use super::memory::Memory;
use super::restore::Restore;
use crate::agent::Transport;
use crate::cleanup::CleanupOptions;
use crate::clock::{Clock, SystemClock};

/// Where and how a job runs.
#[derive(Clone, Debug)]
pub struct RunOptions {
    pub(super) data_dir: PathBuf,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) pace: Pace,
    pub(super) memory: Memory,
    pub(super) spill_bytes_max: u64,
    pub(super) hold_millis_max: i64,
    pub(super) clock_jump_millis_max: i64,
    pub(super) cleanup: CleanupOptions,
    pub(super) build_id: String,
    pub(super) commit: Option<String>,
    pub(super) transport: Option<Arc<dyn Transport>>,
    pub(super) restore: Restore,
}

impl RunOptions {
    /// Most checkpoints that are kept.
    pub const CHECKPOINTS_KEPT_MAX: usize = 100;

    /// Smallest `memory.total`: below it rows would only be moved about.
    pub const MEMORY_BYTES_MIN: usize = 8 << 20;
    /// Memory of a job unless it is told otherwise.
    pub const MEMORY_BYTES: usize = 256 << 20;

    /// Runs in `data_dir/jobs/<job>` with the defaults.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            clock: Arc::new(SystemClock::new()),
            pace: Pace {
                commit_interval: Duration::from_millis(100),
                checkpoint_interval: Duration::from_secs(30),
                checkpoints_kept: 3,
                checkpoint_timeout: Duration::from_mins(10),
                full_checkpoint_interval: Duration::from_mins(30),
                changelog_bytes_due: 256 << 20,
                changelog_bytes_max: 4 << 30,
            },
            memory: Memory { total_bytes: Self::MEMORY_BYTES, per_cache: None, store: None },
            spill_bytes_max: 256 << 20,
            hold_millis_max: 30 * 86_400_000,
            clock_jump_millis_max: 60_000,
            cleanup: CleanupOptions::new(),
            build_id: "unknown".into(),
            commit: None,
            transport: None,
            restore: Restore::default(),
        }
    }

    /// Replaces the clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Time between the barriers of two epochs; default 100 ms.
    #[must_use]
    pub fn commit_interval(mut self, interval: Duration) -> Self {
        self.pace.commit_interval = interval;
        self
    }

    /// Time between two checkpoints; default 30 s.
    #[must_use]
    pub fn checkpoint_interval(mut self, interval: Duration) -> Self {
        self.pace.checkpoint_interval = interval;
        self
    }

    /// Checkpoints that are kept, from 1 to [`RunOptions::CHECKPOINTS_KEPT_MAX`]; default 3. The
    /// changelog is kept back to the oldest one.
    #[must_use]
    pub fn checkpoints_kept(mut self, kept: usize) -> Self {
        self.pace.checkpoints_kept = kept.clamp(1, Self::CHECKPOINTS_KEPT_MAX);
        self
    }

    /// Longest that a checkpoint may take, from its barrier to its publication; default 10 min. One
    /// that takes longer has failed, and the next one is tried.
    #[must_use]
    pub fn checkpoint_timeout(mut self, timeout: Duration) -> Self {
        self.pace.checkpoint_timeout = timeout;
        self
    }

    /// Time between two full checkpoints, which have copies of their own of the files that others
    /// share by hard links; default 30 min. A damaged shared file is mended from the last one.
    #[must_use]
    pub fn full_checkpoint_interval(mut self, interval: Duration) -> Self {
        self.pace.full_checkpoint_interval = interval;
        self
    }

    /// Bytes of changelog since the last checkpoint from which the next one is due at once (default
    /// 256 MiB), and bytes on disk from which the sources wait until one comes about (default 4 GiB);
    /// above half of the latter older checkpoints give way.
    #[must_use]
    pub fn changelog_bytes(mut self, due: u64, max: u64) -> Self {
        (self.pace.changelog_bytes_due, self.pace.changelog_bytes_max) = (due, max);
        self
    }

    /// Sets `memory.total`: bytes that write caches, memtables and block cache of the whole job share,
    /// at least [`RunOptions::MEMORY_BYTES_MIN`]; default [`RunOptions::MEMORY_BYTES`]. States that are busy get what others leave.
    /// States on the heap are held whole; the write caches of the others get what they leave.
    #[must_use]
    pub fn memory_bytes(mut self, total: usize) -> Self {
        self.memory.total_bytes = total.max(Self::MEMORY_BYTES_MIN);
        self
    }

    /// Fixes the bytes of each write cache, per state and shard, instead of its part of the total.
    #[must_use]
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.memory.per_cache = Some(bytes);
        self
    }

    /// Fixes the bytes of the block cache of all shards together, and of a memtable per state and
    /// shard, instead of their part of the total.
    #[must_use]
    pub fn store_bytes(mut self, block_cache: usize, memtable: usize) -> Self {
        self.memory.store = Some((block_cache, memtable));
        self
    }

    /// High-water mark of the spill in bytes, above which the sources stop; default 256 MiB.
    #[must_use]
    pub fn spill_bytes_max(mut self, bytes: u64) -> Self {
        self.spill_bytes_max = bytes;
        self
    }

    /// Longest that a spill may hold the emitted watermark, in event time, before the sources stop;
    /// default 30 days.
    #[must_use]
    pub fn spill_hold_max(mut self, hold: Duration) -> Self {
        self.hold_millis_max = i64::try_from(hold.as_millis()).unwrap_or(i64::MAX);
        self
    }

    /// Longest that the wall clock may move between two looks at it, a tenth of a second apart, without
    /// being taken for a jump: the machine was suspended, the process stood in a debugger, the clock
    /// was set. Expiry and timers of processing time then wait for
    /// [`JobHandle::accept_clock_jump`](super::JobHandle::accept_clock_jump) or
    /// [`JobHandle::compensate_clock_jump`](super::JobHandle::compensate_clock_jump). Default 1 min;
    /// [`Duration::MAX`]: never. No job without a state or timer on processing time waits.
    #[must_use]
    pub fn max_clock_jump(mut self, jump: Duration) -> Self {
        self.clock_jump_millis_max = i64::try_from(jump.as_millis()).unwrap_or(i64::MAX);
        self
    }

    /// When, and how fast, the bytes of expired entries are got back.
    #[must_use]
    pub fn cleanup(mut self, cleanup: CleanupOptions) -> Self {
        self.cleanup = cleanup;
        self
    }

    /// Names the build that writers and readers belong to.
    #[must_use]
    pub fn build(mut self, build_id: &str, commit: Option<&str>) -> Self {
        build_id.clone_into(&mut self.build_id);
        self.commit = commit.map(str::to_owned);
        self
    }

    /// Reports to a server.
    #[must_use]
    pub fn transport(mut self, transport: Arc<dyn Transport>) -> Self {
        self.transport = Some(transport);
        self
    }
}
