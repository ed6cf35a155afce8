//! Figures as a terminal shows them: plain ASCII, so that columns line up everywhere.

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// `12,345`.
pub(crate) fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `4.7 GiB`.
pub(crate) fn bytes(value: u64) -> String {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut scaled = value as f64;
    let mut at = 0;
    while scaled >= 1024.0 && at + 1 < UNITS.len() {
        scaled /= 1024.0;
        at += 1;
    }
    let decimals = usize::from(at > 0 && scaled < 100.0);
    format!("{scaled:.decimals$} {}", UNITS.get(at).copied().unwrap_or_default())
}

/// `2 h 5 min`, `180 s`, `250 ms`.
pub(crate) fn duration(millis: i64) -> String {
    let pair = |whole: i64, big: &str, rest: i64, small: &str| {
        if rest == 0 { format!("{whole} {big}") } else { format!("{whole} {big} {rest} {small}") }
    };
    match millis {
        m if m < 0 => format!("-{}", duration(m.saturating_neg())),
        m if m < SECOND => format!("{m} ms"),
        m if m < 10 * SECOND => format!("{:.1} s", m as f64 / 1e3),
        m if m < 5 * MINUTE => format!("{} s", m / SECOND),
        m if m < HOUR => format!("{} min", m / MINUTE),
        m if m < 2 * DAY => pair(m / HOUR, "h", m % HOUR / MINUTE, "min"),
        m => pair(m / DAY, "d", m % DAY / HOUR, "h"),
    }
}

/// `46 %` of a ratio; what is above 0 is never shown as 0, what is below 1 never as all.
pub(crate) fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".into();
    }
    match part as f64 / whole as f64 * 100.0 {
        0.0 => "0 %".into(),
        p if p < 1.0 => format!("{p:.2} %"),
        p if p > 99.0 && part < whole => format!("{p:.2} %"),
        p => format!("{p:.0} %"),
    }
}

/// `2026-11-30 18:03:20.543 UTC`; a time that no calendar has in ms.
pub(crate) fn instant(millis: i64) -> String {
    // years 0 to 9999
    if !(-62_167_219_200_000..253_402_300_800_000).contains(&millis) {
        return format!("{millis} ms");
    }
    let (day, of_day) = (millis.div_euclid(DAY), millis.rem_euclid(DAY));
    let (year, month, day) = date(day);
    let (hour, minute, second) = (of_day / HOUR, of_day % HOUR / MINUTE, of_day % MINUTE / SECOND);
    let rest = of_day % SECOND;
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{rest:03} UTC")
}

/// Year, month and day of a day since the epoch (Howard Hinnant's `civil_from_days`).
fn date(day: i64) -> (i64, i64, i64) {
    let z = day + 719_468;
    let (era, day_of_era) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

/// Reads a size in bytes, with KiB, MiB or GiB behind it or nothing.
pub(crate) fn parse_bytes(text: &str) -> Result<usize, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim() {
        "" | "B" => Some(0),
        "KiB" => Some(10),
        "MiB" => Some(20),
        "GiB" => Some(30),
        _ => None,
    };
    let number: Option<usize> = number.parse().ok();
    let bytes = number.zip(shift).and_then(|(number, shift)| number.checked_mul(1 << shift));
    bytes.ok_or_else(|| "write a whole number with KiB, MiB or GiB, such as 512MiB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_read_as_people_write_them() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!([bytes(999), bytes(44_475), bytes(5 << 30)], ["999 B", "43.4 KiB", "5.0 GiB"]);
        assert_eq!(duration(180_225), "180 s");
        assert_eq!(duration(7_500_000), "2 h 5 min");
        assert_eq!(
            [percent(1, 1_000), percent(999, 1_000), percent(0, 9), percent(1, 0)],
            ["0.10 %", "99.90 %", "0 %", "-"]
        );
        assert_eq!(instant(1_796_061_800_543), "2026-11-30 18:03:20.543 UTC");
        assert_eq!(instant(951_782_400_000), "2000-02-29 00:00:00.000 UTC");
        assert_eq!(instant(i64::MIN), format!("{} ms", i64::MIN));
    }

    #[test]
    fn sizes_have_binary_units() {
        for (text, bytes) in [("7", 7), ("8 MiB", 8 << 20), ("1GiB", 1 << 30), ("3KiB", 3_072)] {
            assert_eq!(parse_bytes(text), Ok(bytes), "{text}");
        }
        for text in ["", "MiB", "1.5GiB", "1GB", "-1", "99999999999999999999", "99999999999GiB"] {
            assert!(parse_bytes(text).unwrap_err().contains("512MiB"), "{text}");
        }
    }
}
