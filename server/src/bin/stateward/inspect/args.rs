//! The arguments' texts, read.

use stateward_engine::inspect::InspectOptions;

/// Reads `--now` and the `--ttl`s.
pub(super) fn options(now: Option<i64>, ttls: &[String]) -> Result<InspectOptions, String> {
    let mut options = InspectOptions { now_millis: now, ..InspectOptions::default() };
    for text in ttls {
        let (state, ttl) = match text.rsplit_once('=') {
            Some((state, ttl)) => (Some(state), ttl),
            None => (None, text.as_str()),
        };
        let ttl = duration(ttl).ok_or_else(|| {
            format!("--ttl {text}: {ttl:?} is no duration; write a number with ms, s, m, h or d, such as 30m")
        })?;
        match state {
            Some("") => return Err(format!("--ttl {text}: no state in front of the =")),
            Some(state) => options.ttl_millis_of.push((state.to_owned(), ttl)),
            None if options.ttl_millis.replace(ttl).is_some() => {
                return Err(format!("--ttl {text}: a TTL for all states is given twice"));
            }
            None => {}
        }
    }
    Ok(options)
}

/// `90s`, `1h30m`, in ms; above zero.
fn duration(text: &str) -> Option<i64> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_are_above_zero() {
        let good = [("30m", 1_800_000), ("1h30m", 5_400_000), ("250ms", 250), ("2d", 172_800_000)];
        for (text, millis) in good {
            assert_eq!(duration(text), Some(millis), "{text}");
        }
        for text in ["", "30", "m", "0s", "-1s", "1.5h", "9999999999999d", "1h30"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn a_ttl_is_for_one_state_or_for_all() {
        let texts = ["30m".to_owned(), "orders/carts=1h".to_owned()];
        let found = options(Some(5), &texts).unwrap();
        assert_eq!((found.now_millis, found.ttl_millis), (Some(5), Some(1_800_000)));
        assert_eq!(found.ttl_millis_of, [("orders/carts".to_owned(), 3_600_000)]);
        for bad in [&["x=soon"][..], &["=1h"], &["1h", "2h"]] {
            let texts: Vec<_> = bad.iter().map(|text| (*text).to_owned()).collect();
            assert!(options(None, &texts).unwrap_err().starts_with("--ttl "), "{bad:?}");
        }
    }
}
