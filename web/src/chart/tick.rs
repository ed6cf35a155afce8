//! Round numbers along an axis.

use crate::format;

/// What a value axis counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Bytes, in powers of 1024.
    Bytes,
    /// 0 to 1, shown as per cent.
    Ratio,
    /// A second.
    PerSecond,
    /// Things.
    #[default]
    Count,
    /// Seconds.
    Seconds,
}

impl Unit {
    /// Reads the `unit` of a series.
    pub fn parse(unit: &str) -> Self {
        match unit {
            "bytes" => Self::Bytes,
            "ratio" => Self::Ratio,
            "1/s" | "/s" | "per_second" => Self::PerSecond,
            "s" | "seconds" => Self::Seconds,
            _ => Self::Count,
        }
    }

    /// Formats a value.
    pub fn format(self, value: f64) -> String {
        match self {
            Self::Bytes => format::bytes(value),
            Self::Ratio => format::percent(value),
            Self::PerSecond => format::rate(value),
            Self::Count => format::count(value),
            Self::Seconds => format::micros((value * 1e6).max(0.0) as u64),
        }
    }
}

/// Returns round values from 0 to at least `max`, three to five of them.
pub(super) fn values(max: f64, unit: Unit) -> Vec<f64> {
    let floor = match unit {
        Unit::Ratio => 0.01,
        Unit::Seconds => 1e-3,
        Unit::Bytes | Unit::PerSecond | Unit::Count => 1.0,
    };
    let max = if max.is_finite() { max.max(floor) } else { floor };
    let step = match unit {
        Unit::Bytes => {
            let scale = 1024_f64.powi((max.log2() / 10.0).floor() as i32);
            round_up(max / scale / 3.0) * scale
        }
        _ => round_up(max / 3.0),
    };
    let count = (max / step).ceil().clamp(1.0, 8.0) as u32;
    (0..=count).map(|n| f64::from(n) * step).collect()
}

/// The next of 1, 2, 2.5, 5 times a power of ten.
fn round_up(value: f64) -> f64 {
    let scale = 10_f64.powf(value.log10().floor());
    let lead = value / scale;
    let round = [1.0, 2.0, 2.5, 5.0].into_iter().find(|round| lead <= round + 1e-9).unwrap_or(10.0);
    round * scale
}

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

const TIME_STEPS: [i64; 19] = [
    SECOND,
    5 * SECOND,
    10 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    7 * DAY,
    14 * DAY,
];

/// Returns round instants within a range and how they read, six at most, aligned to the zone.
pub(super) fn times(from: i64, to: i64, offset_minutes: i64) -> Vec<(i64, String)> {
    let span = (to - from).max(1);
    let step = TIME_STEPS.into_iter().find(|step| span / step <= 5).unwrap_or(30 * DAY);
    let shift = offset_minutes * MINUTE;
    let mut at = (from + shift).div_euclid(step) * step - shift;
    if at < from {
        at += step;
    }
    let mut ticks = Vec::new();
    while at <= to {
        let c = format::civil(at, offset_minutes);
        let midnight = (c.hour, c.minute, c.second) == (0, 0, 0);
        let text = if midnight && span > 2 * HOUR {
            format!("{:02}-{:02}", c.month, c.day)
        } else if step < MINUTE {
            format!("{:02}:{:02}:{:02}", c.hour, c.minute, c.second)
        } else {
            format!("{:02}:{:02}", c.hour, c.minute)
        };
        ticks.push((at, text));
        at += step;
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_ticks_are_round_and_cover_the_data() {
        assert_eq!(values(0.97, Unit::Ratio), [0.0, 0.5, 1.0]);
        assert_eq!(values(12_400.0, Unit::PerSecond), [0.0, 5e3, 1e4, 1.5e4]);
        let mib = 1024.0 * 1024.0;
        assert_eq!(values(4.7 * mib, Unit::Bytes), [0.0, 2.0 * mib, 4.0 * mib, 6.0 * mib]);
        for max in [0.0, f64::NAN, 1e-12, 1.0, 3.0, 7.7, 999.0, 1e15] {
            for unit in [Unit::Bytes, Unit::Ratio, Unit::PerSecond, Unit::Count, Unit::Seconds] {
                let ticks = values(max, unit);
                assert!((2..=5).contains(&ticks.len()), "{max} {unit:?}: {ticks:?}");
                assert!(
                    ticks.last().copied().unwrap() >= max || max.is_nan(),
                    "{max} {unit:?}: {ticks:?}"
                );
            }
        }
    }

    #[test]
    fn time_ticks_are_aligned_to_the_zone() {
        let texts = |from, to, offset| -> Vec<String> {
            times(from, to, offset).into_iter().map(|(_, text)| text).collect()
        };
        assert_eq!(texts(0, HOUR, 0), ["00:00", "00:15", "00:30", "00:45", "01:00"]);
        assert_eq!(
            texts(7 * MINUTE, 11 * MINUTE, 0),
            ["00:07", "00:08", "00:09", "00:10", "00:11"]
        );
        assert_eq!(texts(0, DAY, 330), ["06:00", "12:00", "18:00", "01-02"]);
        assert_eq!(texts(0, 20 * SECOND, 0).len(), 5);
        assert!(times(0, 400 * DAY, 0).len() < 20);
    }
}
