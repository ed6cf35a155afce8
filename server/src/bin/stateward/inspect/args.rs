//! The arguments' texts, read.

use stateward_engine::inspect::InspectOptions;
use stateward_model::parse_duration;

/// Reads `--now` and the `--ttl`s.
pub(super) fn options(now: Option<i64>, ttls: &[String]) -> Result<InspectOptions, String> {
    let mut options = InspectOptions { now_millis: now, ..InspectOptions::default() };
    for text in ttls {
        let (state, ttl) = match text.rsplit_once('=') {
            Some((state, ttl)) => (Some(state), ttl),
            None => (None, text.as_str()),
        };
        let ttl = parse_duration(ttl).ok_or_else(|| {
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

#[cfg(test)]
mod tests {
    use super::*;

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
