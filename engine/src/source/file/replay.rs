//! When a row of the past is due: pure arithmetic on the clock that the caller reads.

use std::fmt;
use std::time::Duration;

/// How fast input of the past is played.
///
/// The replay's own time is the source's clock for the future guard: at a fixed speed it passes
/// `speed` times as fast as the monotonic clock, from the first row's event time on; as fast as
/// possible, it is the newest row's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Replay {
    speed: Option<f64>,
    gap_max_millis: i64,
}

/// A row further ahead of the one before than this is taken for a wrong timestamp.
const GAP_MAX_MILLIS: i64 = 7 * 24 * 3_600_000;
/// A reader asks again after this time at the latest, so that a job stops promptly.
const WAIT_MAX: Duration = Duration::from_millis(100);

impl Replay {
    /// Does not wait.
    pub fn as_fast_as_possible() -> Self {
        Self { speed: None, gap_max_millis: GAP_MAX_MILLIS }
    }

    /// Plays `speed` seconds of event time in a second; must be above 0.
    pub fn speed(speed: f64) -> Self {
        Self { speed: Some(speed), gap_max_millis: GAP_MAX_MILLIS }
    }

    /// The longest stretch without a row that is waited for, 7 days by default. A row that is
    /// further ahead is delivered at once and does not move the replay's time, so that one wrong
    /// timestamp cannot stop the replay and the future guard sees it.
    #[must_use]
    pub fn gap_max(mut self, gap_max: Duration) -> Self {
        self.gap_max_millis = i64::try_from(gap_max.as_millis()).unwrap_or(i64::MAX);
        self
    }

    pub(super) fn is_valid(self) -> bool {
        self.speed.is_none_or(|speed| speed.is_finite() && speed > 0.0)
    }

    /// Event seconds in a second; `None` if as fast as possible.
    pub(super) fn factor(self) -> Option<f64> {
        self.speed
    }
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.speed {
            Some(speed) => write!(f, "{speed}× replay"),
            None => f.write_str("as fast as possible"),
        }
    }
}

/// Paces the rows of one reader.
#[derive(Debug)]
pub(super) struct Pacer {
    replay: Replay,
    /// Event time, monotonic time and round that the pace counts from.
    origin: Option<Origin>,
    newest_millis: i64,
}

#[derive(Clone, Copy, Debug)]
struct Origin {
    event_millis: i64,
    micros: u64,
    round: u64,
}

impl Pacer {
    pub(super) fn new(replay: Replay) -> Self {
        Self { replay, origin: None, newest_millis: i64::MIN }
    }

    /// How long a row of event time `pace_millis` in loop `round` must wait, `None` if it is due.
    pub(super) fn wait(&mut self, pace_millis: i64, round: u64, micros: u64) -> Option<Duration> {
        let fresh = Origin { event_millis: pace_millis, micros, round };
        let origin = *self.origin.get_or_insert(fresh);
        if round > origin.round {
            // What is empty between the last row of a round and the first of the next is skipped.
            self.origin = Some(fresh);
            self.newest_millis = pace_millis;
            return None;
        }
        let gap = self.gap(pace_millis);
        if gap > self.replay.gap_max_millis {
            return None;
        }
        let now = self.replayed(micros);
        let wait = match self.replay.speed {
            Some(speed) if pace_millis > now => {
                Duration::try_from_secs_f64((pace_millis - now) as f64 / 1_000.0 / speed)
                    .unwrap_or(WAIT_MAX)
            }
            _ => Duration::ZERO,
        };
        if wait > Duration::ZERO {
            return Some(wait.clamp(Duration::from_millis(1), WAIT_MAX));
        }
        self.newest_millis = self.newest_millis.max(pace_millis);
        None
    }

    fn gap(&self, pace_millis: i64) -> i64 {
        if self.newest_millis == i64::MIN {
            0
        } else {
            pace_millis.saturating_sub(self.newest_millis)
        }
    }

    /// The replay's time; `None` before the first row.
    pub(super) fn now_millis(&self, micros: u64) -> Option<i64> {
        self.origin.map(|_| self.replayed(micros))
    }

    fn replayed(&self, micros: u64) -> i64 {
        match (self.origin, self.replay.speed) {
            (Some(origin), Some(speed)) => {
                let passed = micros.saturating_sub(origin.micros) as f64 / 1_000.0 * speed;
                origin.event_millis.saturating_add(passed as i64)
            }
            _ => self.newest_millis,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    #[test]
    fn rows_are_due_at_the_pace() {
        let mut pacer = Pacer::new(Replay::speed(3_600.0));
        assert_eq!(pacer.now_millis(0), None);
        assert_eq!(pacer.wait(0, 0, 0), None);
        assert_eq!(pacer.wait(HOUR, 0, 500_000), Some(WAIT_MAX));
        assert_eq!(pacer.wait(HOUR, 0, 950_000), Some(Duration::from_millis(50)));
        assert_eq!(pacer.wait(HOUR, 0, 1_000_000), None);
        assert_eq!(pacer.now_millis(2_000_000), Some(2 * HOUR));
        assert_eq!(pacer.wait(HOUR / 2, 0, 2_000_000), None, "a row of the past is due");
    }

    #[test]
    fn a_wrong_timestamp_neither_stops_nor_moves_the_replay() {
        for replay in [Replay::speed(1.0), Replay::as_fast_as_possible()] {
            let mut pacer = Pacer::new(replay);
            assert_eq!(pacer.wait(0, 0, 0), None);
            assert_eq!(pacer.wait(30 * 24 * HOUR, 0, 0), None);
            assert_eq!(pacer.now_millis(0), Some(0));
        }
    }

    #[test]
    fn a_new_round_begins_at_once() {
        let mut pacer = Pacer::new(Replay::speed(1.0));
        assert_eq!(pacer.wait(0, 0, 0), None);
        assert_eq!(pacer.wait(400 * 24 * HOUR, 1, 5), None);
        assert_eq!(pacer.now_millis(5), Some(400 * 24 * HOUR));
        assert_eq!(pacer.wait(400 * 24 * HOUR + 50, 1, 5), Some(Duration::from_millis(50)));
    }
}
