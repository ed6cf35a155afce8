//! How figures read: three significant digits with a unit, a thin space before it.
//!
//! Unknown is never 0: callers pass an `Option` through [`maybe`] and say why on hover.

/// What stands between a number and its unit.
const THIN: char = '\u{202f}';

/// Shown for what is not known.
pub const UNKNOWN: &str = "—";

const KIB: f64 = 1024.0;
const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Formats a value, or [`UNKNOWN`].
pub fn maybe<T>(value: Option<T>, format: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), format)
}

/// Three significant digits; zeros after the point go only where nothing else stands there, so that
/// `1.10` and `1.46` line up.
pub fn significant(value: f64) -> String {
    if !value.is_finite() {
        return UNKNOWN.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = (2 - magnitude).clamp(0, 9) as usize;
    let text = format!("{value:.decimals$}");
    let text = match text.split_once('.') {
        Some((whole, decimals)) if decimals.bytes().all(|digit| digit == b'0') => whole,
        _ => &text,
    };
    text.replace('-', "−")
}

fn scaled(value: f64, base: f64, units: &[&str]) -> String {
    let mut scaled = value;
    let mut unit = units.first().copied().unwrap_or_default();
    for next in units.iter().skip(1) {
        // 999.5 would read as 1000 in three digits
        if scaled.abs() < base.min(999.5) {
            break;
        }
        scaled /= base;
        unit = next;
    }
    let number = significant(scaled);
    if unit.is_empty() || unit.starts_with('/') {
        format!("{number}{unit}")
    } else {
        format!("{number}{THIN}{unit}")
    }
}

/// `4.72 GiB`.
pub fn bytes(value: f64) -> String {
    scaled(value, KIB, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"])
}

/// `1.21 M`.
pub fn count(value: f64) -> String {
    scaled(value, 1e3, &["", "k", "M", "G", "T"])
}

/// `12.4 k/s`.
pub fn rate(value: f64) -> String {
    scaled(value, 1e3, &["/s", "k/s", "M/s", "G/s"])
}

/// `97 %` of a ratio from 0 to 1.
pub fn percent(ratio: f64) -> String {
    format!("{}{THIN}%", significant(ratio * 100.0))
}

/// `+15 %/d` of a relative growth.
pub fn growth(ratio: f64) -> String {
    let sign = if ratio > 0.0 { "+" } else { "" };
    format!("{sign}{}{THIN}%/d", significant(ratio * 100.0))
}

/// `×288`, how much faster than the wall event time runs.
pub fn factor(factor: f64) -> String {
    format!("×{}", significant(factor))
}

/// A whole number with its digits grouped: `1 234 567`.
pub fn exact(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(THIN);
        }
        text.push(digit);
    }
    text
}

/// `36 h`, `5 d 4 h`, `12 min 30 s`, `250 ms`.
pub fn duration(millis: i64) -> String {
    if millis < 0 {
        return format!("−{}", duration(millis.saturating_neg()));
    }
    let pair = |whole: i64, big: &str, rest: i64, small: &str| {
        if rest == 0 {
            format!("{whole}{THIN}{big}")
        } else {
            format!("{whole}{THIN}{big} {rest}{THIN}{small}")
        }
    };
    match millis {
        m if m < SECOND => format!("{m}{THIN}ms"),
        m if m < 10 * SECOND => format!("{}{THIN}s", significant(m as f64 / 1e3)),
        m if m < MINUTE => format!("{}{THIN}s", m / SECOND),
        m if m < HOUR => pair(m / MINUTE, "min", m % MINUTE / SECOND, "s"),
        m if m < 2 * DAY => pair(m / HOUR, "h", m % HOUR / MINUTE, "min"),
        m if m < 60 * DAY => pair(m / DAY, "d", m % DAY / HOUR, "h"),
        m => format!("{}{THIN}d", m / DAY),
    }
}

/// A duration of microseconds: `830 µs`, `12.4 ms`, `3.1 s`.
pub fn micros(micros: u64) -> String {
    match micros {
        m if m < 1_000 => format!("{m}{THIN}µs"),
        m if m < 1_000_000 => format!("{}{THIN}ms", significant(m as f64 / 1e3)),
        m => duration((m / 1_000) as i64),
    }
}

/// A civil date and time in some zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Civil {
    /// Year, e.g. 2013.
    pub year: i64,
    /// 1 to 12.
    pub month: i64,
    /// 1 to 31.
    pub day: i64,
    /// 0 to 23.
    pub hour: i64,
    /// 0 to 59.
    pub minute: i64,
    /// 0 to 59.
    pub second: i64,
}

/// Splits ms since the epoch at an offset from UTC in minutes (Howard Hinnant's `civil_from_days`).
pub fn civil(millis: i64, offset_minutes: i64) -> Civil {
    let local = millis.saturating_add(offset_minutes * MINUTE);
    let (days, rest) = (local.div_euclid(DAY), local.rem_euclid(DAY));
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    Civil {
        year: year_of_era + era * 400 + i64::from(month <= 2),
        month,
        day: day_of_year - (153 * shifted_month + 2) / 5 + 1,
        hour: rest / HOUR,
        minute: rest % HOUR / MINUTE,
        second: rest % MINUTE / SECOND,
    }
}

/// `2026-11-30 20:12:05`.
pub fn date_time(millis: i64, offset_minutes: i64) -> String {
    let c = civil(millis, offset_minutes);
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02}",
        c.year, c.month, c.day, c.hour, c.minute, c.second
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(got: &str, expected: &str) {
        assert_eq!(got.replace(THIN, " "), expected);
    }

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        check(&bytes(0.0), "0 B");
        check(&bytes(1023.0), "0.999 KiB");
        check(&bytes(4.72 * KIB * KIB * KIB), "4.72 GiB");
        check(&bytes(999.4), "999 B");
        check(&count(1_210_000.0), "1.21 M");
        check(&count(999_600.0), "1 M");
        check(&rate(12_449.0), "12.4 k/s");
        check(&rate(0.25), "0.250/s");
        check(&bytes(1.1 * KIB * KIB), "1.10 MiB");
        check(&percent(0.97), "97 %");
        check(&percent(0.000_123), "0.0123 %");
        check(&growth(0.15), "+15 %/d");
        check(&growth(-0.02), "−2 %/d");
        check(&factor(288.0), "×288");
        check(&exact(1_234_567), "1 234 567");
        check(&exact(12), "12");
    }

    #[test]
    fn unknown_is_never_zero() {
        check(&maybe(None, bytes), "—");
        check(&significant(f64::NAN), "—");
    }

    #[test]
    fn durations_read_like_a_clock_on_the_wall() {
        let cases: [(i64, &str); 10] = [
            (250, "250 ms"),
            (1_250, "1.25 s"),
            (45_400, "45 s"),
            (12 * MINUTE + 30 * SECOND, "12 min 30 s"),
            (HOUR + 20 * MINUTE, "1 h 20 min"),
            (36 * HOUR, "36 h"),
            (5 * DAY + 4 * HOUR, "5 d 4 h"),
            (400 * DAY, "400 d"),
            (-3 * SECOND, "−3 s"),
            (0, "0 ms"),
        ];
        for (millis, expected) in cases {
            check(&duration(millis), expected);
        }
        check(&micros(830), "830 µs");
        check(&micros(12_400), "12.4 ms");
        check(&micros(3_100_000), "3.10 s");
    }

    #[test]
    fn civil_time_knows_leap_years_and_zones() {
        check(&date_time(0, 0), "1970-01-01 00:00:00");
        check(&date_time(951_782_400_000, 0), "2000-02-29 00:00:00");
        check(&date_time(951_782_400_000, -1), "2000-02-28 23:59:00");
        check(&date_time(-1, 0), "1969-12-31 23:59:59");
        check(&date_time(1_388_534_399_000, 480), "2014-01-01 07:59:59");
    }
}
