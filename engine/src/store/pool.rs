//! Divides the memory of write caches among the states of a job: each is entitled to the same part,
//! and what some leave unused goes to those that are full.

use std::sync::{Arc, Mutex, PoisonError};

/// A cache that gets less than this would only shuffle rows.
pub(crate) const CACHE_BYTES_MIN: usize = 64 << 10;

/// What one write cache holds.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    used: usize,
    /// Holds all there is of its state, so no bound applies.
    is_whole: bool,
}

/// The write caches of a job, over all shards.
#[derive(Debug, Default)]
struct Pool {
    bytes_max: usize,
    /// Every cache has this bound, whatever the others leave.
    fixed: Option<usize>,
    members: Vec<Member>,
}

/// Shared by the caches of a job. Locked by each a few times a second, never on the record path.
#[derive(Clone, Debug, Default)]
pub(crate) struct CachePool(Arc<Mutex<Pool>>);

/// A cache's place in the pool.
#[derive(Debug)]
pub(crate) struct CacheShare {
    pool: CachePool,
    member: usize,
}

impl CachePool {
    /// A pool of so many bytes; with `fixed`, of so many a cache.
    pub(crate) fn new(bytes_max: usize, fixed: Option<usize>) -> Self {
        Self(Arc::new(Mutex::new(Pool { bytes_max, fixed, members: Vec::new() })))
    }

    /// Adds a cache.
    pub(crate) fn join(&self, is_whole: bool) -> CacheShare {
        let member = self.with(|pool| {
            pool.members.push(Member { used: 0, is_whole });
            pool.members.len() - 1
        });
        CacheShare { pool: self.clone(), member }
    }

    /// Bytes that bounded caches hold, and bytes of states that lie in memory whole.
    pub(crate) fn used_bytes(&self) -> (u64, u64) {
        self.with(|pool| {
            let sum = |whole: bool| {
                let members = pool.members.iter().filter(|member| member.is_whole == whole);
                members.map(|member| member.used as u64).sum()
            };
            (sum(false), sum(true))
        })
    }

    /// Sums are whole whenever the lock is free.
    fn with<T>(&self, f: impl FnOnce(&mut Pool) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CacheShare {
    /// Says what the cache holds, and returns what it may hold from now on.
    pub(crate) fn turn(&self, used: usize) -> usize {
        self.pool.with(|pool| {
            if let Some(member) = pool.members.get_mut(self.member) {
                member.used = used;
            }
            pool.share(self.member)
        })
    }
}

impl Pool {
    fn share(&self, of: usize) -> usize {
        let Some(member) = self.members.get(of) else { return CACHE_BYTES_MIN };
        if member.is_whole {
            return usize::MAX;
        }
        if let Some(fixed) = self.fixed {
            return fixed;
        }
        let whole: usize = self.members.iter().filter(|m| m.is_whole).map(|m| m.used).sum();
        let bounded = || self.members.iter().filter(|member| !member.is_whole);
        let part = self.bytes_max.saturating_sub(whole) / bounded().count().max(1);
        // who holds three quarters of its part is taken to want more
        let wants = |member: &Member| member.used > part / 4 * 3;
        if !wants(member) {
            return part.max(CACHE_BYTES_MIN);
        }
        // half as much again stays with the others, so that they can grow before the next turn
        let unused = |member: &Member| part.saturating_sub(member.used / 2 * 3);
        let left: usize = bounded().filter(|member| !wants(member)).map(unused).sum();
        let wanting = bounded().filter(|member| wants(member)).count().max(1);
        (part + left / wanting).max(CACHE_BYTES_MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    /// One budget: what idle states leave goes to busy ones, and comes back when they need it.
    #[test]
    fn what_is_left_is_shared() {
        let pool = CachePool::new(100 * MIB, None);
        let [busy, idle, other] = [(); 3].map(|()| pool.join(false));
        let heap = pool.join(true);
        assert_eq!(heap.turn(10 * MIB), usize::MAX);
        let part = 30 * MIB;
        assert_eq!(idle.turn(0), part);
        assert_eq!(other.turn(2 * MIB), part);
        assert_eq!(busy.turn(MIB), part, "it does not want more");
        let granted = busy.turn(29 * MIB);
        assert_eq!(granted, part + part + part - 3 * MIB);
        assert!(busy.turn(granted) <= granted);
        // the others grow: what they were lent comes back
        idle.turn(30 * MIB);
        other.turn(30 * MIB);
        assert_eq!(busy.turn(granted), part);
        assert_eq!(pool.used_bytes(), ((granted + 60 * MIB) as u64, 10 * MIB as u64));
    }

    #[test]
    fn a_part_is_never_too_small_to_work_with() {
        let pool = CachePool::new(MIB, None);
        let share = pool.join(false);
        let heap = pool.join(true);
        heap.turn(5 * MIB);
        assert_eq!(share.turn(MIB), CACHE_BYTES_MIN);
        assert_eq!(CachePool::new(MIB, Some(7)).join(false).turn(0), 7);
    }
}
