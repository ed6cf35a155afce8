//! Durations as people type them.

/// Reads `90s` or `1h30m` as ms: whole numbers with `ms`, `s`, `m` or `min`, `h`, `d`, above zero
/// together. `None` for anything else.
///
/// # Examples
/// ```
/// use stateward_model::parse_duration;
/// assert_eq!(parse_duration("1h30m"), Some(5_400_000));
/// assert_eq!(parse_duration("soon"), None);
/// ```
pub fn parse_duration(text: &str) -> Option<i64> {
    let mut rest = text;
    let mut sum = 0_i64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, behind) = rest.split_at(digits);
        let unit = behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(unit);
        let millis = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        sum = sum.checked_add(number.parse::<i64>().ok()?.checked_mul(millis)?)?;
        rest = behind;
    }
    (sum > 0).then_some(sum)
}

/// A text that is no TTL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no TTL; write a number with ms, s, m, h or d, such as 30m or 36h, or none")]
pub struct ParseTtlError(String);

/// Reads a TTL as [`parse_duration`] does, in ms; `none`, for entries that never expire, is `None`.
///
/// # Errors
/// For anything else.
pub fn parse_ttl(text: &str) -> Result<Option<i64>, ParseTtlError> {
    match text.trim() {
        "none" => Ok(None),
        text => parse_duration(text).map(Some).ok_or_else(|| ParseTtlError(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_are_above_zero() {
        let good = [("30m", 1_800_000), ("1h30m", 5_400_000), ("250ms", 250), ("2d", 172_800_000)];
        for (text, millis) in good {
            assert_eq!(parse_duration(text), Some(millis), "{text}");
        }
        for text in ["", "30", "m", "0s", "-1s", "1.5h", "9999999999999d", "1h30"] {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
