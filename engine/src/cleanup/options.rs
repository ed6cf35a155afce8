//! When, and how fast, bytes are got back.

use std::time::Duration;

use crate::error::Error;

const MINUTES_A_DAY: u16 = 24 * 60;

/// A part of each day, UTC; one that ends before it begins goes over midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DailyWindow {
    from_minute: u16,
    to_minute: u16,
}

impl DailyWindow {
    /// From one time of the day to another, both as `HH:MM`, UTC.
    ///
    /// # Errors
    /// [`Error::Declaration`] for what is no time of day, or a window without length.
    pub fn new(from: &str, to: &str) -> Result<Self, Error> {
        let minute = |text: &str| {
            let (hours, minutes) = text.split_once(':')?;
            let (hours, minutes): (u16, u16) = (hours.parse().ok()?, minutes.parse().ok()?);
            (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
        };
        match (minute(from), minute(to)) {
            (Some(from_minute), Some(to_minute)) if from_minute != to_minute => {
                Ok(Self { from_minute, to_minute })
            }
            _ => Err(Error::Declaration(format!(
                "a window from {from:?} to {to:?} is not two times of the day like 01:00 and 05:30"
            ))),
        }
    }

    fn contains(self, wall_millis: i64) -> bool {
        let minute = wall_millis.div_euclid(60_000).rem_euclid(i64::from(MINUTES_A_DAY)) as u16;
        if self.from_minute < self.to_minute {
            (self.from_minute..self.to_minute).contains(&minute)
        } else {
            minute >= self.from_minute || minute < self.to_minute
        }
    }
}

/// How a job gets the bytes of expired entries back: how fast, when, and from when on it is worth it.
///
/// # Examples
/// ```
/// use stateward_engine::{CleanupOptions, DailyWindow};
/// let nightly = CleanupOptions::new()
///     .bytes_per_second(16 << 20)
///     .window(DailyWindow::new("01:00", "05:30")?);
/// # let _ = nightly;
/// # Ok::<(), stateward_engine::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CleanupOptions {
    bytes_per_second: u64,
    cpu_share: f64,
    windows: Vec<DailyWindow>,
    share_min: f64,
    within: Duration,
}

impl Default for CleanupOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Share of a state's files that is worth a look at any hour.
const URGENT_SHARE: f64 = 0.5;

/// Written-off bytes below which only their age makes a compaction worth its I/O.
const BYTES_MIN: u64 = 1 << 20;

impl CleanupOptions {
    /// At any hour, 64 MiB and a quarter of a processor a second, from a fifth of a state's files
    /// on, and for whatever has been written off for a day.
    pub fn new() -> Self {
        Self {
            bytes_per_second: 64 << 20,
            cpu_share: 0.25,
            windows: Vec::new(),
            share_min: 0.2,
            within: Duration::from_hours(24),
        }
    }

    /// Bytes of files that may be read a second, at least 1 KiB; default 64 MiB.
    #[must_use]
    pub fn bytes_per_second(mut self, bytes: u64) -> Self {
        self.bytes_per_second = bytes.max(1 << 10);
        self
    }

    /// Share of one processor, from 0.01 to 1; default 0.25.
    #[must_use]
    pub fn cpu_share(mut self, share: f64) -> Self {
        self.cpu_share = if share.is_finite() { share.clamp(0.01, 1.0) } else { 1.0 };
        self
    }

    /// Adds a part of the day in which it may run; without one it may at any hour. A state of which
    /// more than half is written off does not wait for it.
    #[must_use]
    pub fn window(mut self, window: DailyWindow) -> Self {
        self.windows.push(window);
        self
    }

    /// Share of a state's files, from 0 to 1, from which on they are rewritten; default 0.2.
    #[must_use]
    pub fn share_min(mut self, share: f64) -> Self {
        self.share_min = if share.is_finite() { share.clamp(0.0, 1.0) } else { 1.0 };
        self
    }

    /// Longest that bytes stay after they are written off, however few; default a day.
    #[must_use]
    pub fn within(mut self, within: Duration) -> Self {
        self.within = within;
        self
    }

    /// Tells whether a state is due: how much is written off and not reclaimed, beside how much that is
    /// not written off, both as bytes of keys and values, and for how long some of it has been.
    pub(super) fn is_due(
        &self,
        unreclaimed_bytes: u64,
        logical_bytes: u64,
        since_millis: i64,
        wall_millis: i64,
    ) -> bool {
        if unreclaimed_bytes == 0 {
            return false;
        }
        let share = unreclaimed_bytes as f64 / (unreclaimed_bytes + logical_bytes) as f64;
        let in_window = self.windows.is_empty()
            || self.windows.iter().any(|window| window.contains(wall_millis));
        let within = i64::try_from(self.within.as_millis()).unwrap_or(i64::MAX);
        let worth = unreclaimed_bytes >= BYTES_MIN && share >= self.share_min;
        (in_window && (worth || since_millis >= within))
            || (unreclaimed_bytes >= BYTES_MIN && share >= URGENT_SHARE)
    }

    /// How long to rest after a compaction that took so long and read so much.
    pub(super) fn rest(&self, took: Duration, bytes: u64) -> Duration {
        let for_io = Duration::from_secs_f64(bytes as f64 / self.bytes_per_second as f64);
        let for_cpu = took.mul_f64(1.0 / self.cpu_share);
        for_io.max(for_cpu).saturating_sub(took)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    /// §1.11: within windows, from a share on, or after a time; urgent at any hour.
    #[test]
    fn due_by_share_age_and_hour() {
        let options = CleanupOptions::new().window(DailyWindow::new("22:00", "02:30").unwrap());
        let (day, night) = (12 * HOUR, 26 * HOUR);
        let mib = 1 << 20;
        assert!(!options.is_due(mib * 30, mib * 70, 0, day));
        assert!(options.is_due(mib * 30, mib * 70, 0, night));
        assert!(options.is_due(mib * 30, mib * 70, 0, 23 * HOUR));
        assert!(!options.is_due(mib * 19, mib * 81, 0, night));
        assert!(options.is_due(mib * 51, mib * 49, 0, day));
        assert!(!options.is_due(9, 10, 0, night), "too few bytes");
        assert!(options.is_due(9, 10, 24 * HOUR, night));
        assert!(!options.is_due(0, mib, 24 * HOUR, night));
        assert!(DailyWindow::new("2:75", "03:00").is_err());
        assert!(DailyWindow::new("02:00", "02:00").is_err());
    }

    #[test]
    fn rests_as_the_tighter_budget_says() {
        let options = CleanupOptions::new().bytes_per_second(1 << 20).cpu_share(0.5);
        let second = Duration::from_secs(1);
        assert_eq!(options.rest(second, 10 << 20), 9 * second);
        assert_eq!(options.rest(20 * second, 10 << 20), 20 * second);
    }
}
