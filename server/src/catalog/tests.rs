//! The recent past of a state.

use super::{Flows, Recent};

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

fn flows(reads: u64, writes: u64) -> Flows {
    Flows { reads, misses: reads / 2, writes }
}

/// Counters: what fell was reset, and shows what happened since.
#[test]
fn resets_are_seen() {
    let mut recent = Recent::default();
    assert_eq!(recent.increase(60_000), None);
    for (second, reads) in [(0, 100), (1, 110), (2, 4), (3, 8)] {
        recent.push_flows(second * 1_000, flows(reads, reads));
    }
    let sum = recent.increase(60_000).unwrap();
    assert_eq!((sum.reads, sum.writes), (10 + 8, 10 + 8));
    assert!((sum.seconds - 3.0).abs() < 1e-9);
}

/// A window reaches back as far as it is long, whatever the spacing of what is kept.
#[test]
fn windows_reach_back_exactly_as_far_as_they_can() {
    let mut recent = Recent::default();
    for second in 0..=900 {
        recent.push_flows(second * 1_000, flows(second as u64 * 10, second as u64 * 2));
    }
    for window in [60_000, 300_000] {
        let sum = recent.increase(window).unwrap();
        assert!((sum.reads as f64 / sum.seconds - 10.0).abs() < 1e-9);
        assert!((sum.writes as f64 / sum.seconds - 2.0).abs() < 1e-9);
        let millis = sum.seconds * 1e3;
        assert!(millis >= window as f64 && millis <= window as f64 + 6_000.0, "{millis}");
    }
}

/// §9: growth is of the state's clock, over a day of it where there is one, and unknown with less
/// than an hour.
#[test]
fn growth_is_by_the_states_clock() {
    let mut recent = Recent::default();
    recent.push_growth(0, 1_000.0);
    recent.push_growth(HOUR - 1, 2_000.0);
    assert_eq!(recent.growth_per_day(), None);
    recent.push_growth(HOUR, 1_010.0);
    assert!((recent.growth_per_day().unwrap() - 0.24).abs() < 1e-9);
    // a daily wave around 10 % growth a day: the hours of the day cancel out
    let mut recent = Recent::default();
    for hour in 0..=72 {
        let wave = (hour as f64 / 24.0 * std::f64::consts::TAU).sin() * 100.0;
        recent.push_growth(hour * HOUR, 1_000.0 + 100.0 * hour as f64 / 24.0 + wave);
    }
    assert!((recent.growth_per_day().unwrap() - 100.0 / 1_200.0).abs() < 1e-6);
    // a replay passes a day in a second
    let mut recent = Recent::default();
    recent.push_growth(0, 1_000.0);
    recent.push_growth(2 * DAY, 3_000.0);
    assert!((recent.growth_per_day().unwrap() - 1.0).abs() < 1e-9);
    recent.push_growth(DAY, 5.0);
    assert_eq!(recent.growth_per_day(), None);
    // nothing grows from nothing
    let mut recent = Recent::default();
    recent.push_growth(0, 0.0);
    recent.push_growth(DAY, 1.0);
    assert_eq!(recent.growth_per_day(), None);
}

#[test]
fn a_sparkline_is_even_and_an_hour_long() {
    let mut recent = Recent::default();
    for minute in [0, 1, 4, 70, 71] {
        recent.push_size(minute * 60_000, minute as f64);
        recent.push_size(minute * 60_000 + 30_000, minute as f64 + 0.5);
    }
    assert_eq!(recent.sparkline(), [70.5, 71.5]);
    let mut recent = Recent::default();
    for minute in [0, 1, 4] {
        recent.push_size(minute * 60_000, minute as f64);
    }
    assert_eq!(recent.sparkline(), [0.0, 1.0, 1.0, 1.0, 4.0]);
}
