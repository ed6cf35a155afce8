//! A sparkline: the shape of an hour in a table cell.

use std::fmt::Write as _;

/// Returns the path data of a line through evenly spaced values in a box of 100 × 20; empty with
/// fewer than two values. The vertical span is the data's own, but never less than 2 % of the
/// largest value: noise is not growth.
pub fn sparkline(values: &[f64]) -> String {
    let mut path = String::new();
    if values.len() < 2 {
        return path;
    }
    let finite = || values.iter().copied().filter(|v| v.is_finite());
    let max = finite().fold(f64::MIN, f64::max);
    let min = finite().fold(f64::MAX, f64::min);
    let span = (max - min).max(max.abs() * 0.02).max(f64::MIN_POSITIVE);
    let base = f64::midpoint(max, min) - span / 2.0;
    let mut pen_down = false;
    for (index, value) in values.iter().enumerate() {
        if !value.is_finite() {
            pen_down = false;
            continue;
        }
        let x = index as f64 * 100.0 / (values.len() - 1) as f64;
        let y = 19.0 - (value - base) / span * 18.0;
        let command = if pen_down { 'L' } else { 'M' };
        // writing to a String cannot fail
        let _written = write!(path, "{command}{x:.1} {y:.1}");
        pen_down = true;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_spans_its_box_and_breaks_at_gaps() {
        assert_eq!(sparkline(&[0.0, 1.0, 2.0]), "M0.0 19.0L50.0 10.0L100.0 1.0");
        assert_eq!(sparkline(&[5.0, 5.0]), "M0.0 10.0L100.0 10.0");
        assert_eq!(sparkline(&[0.0, f64::NAN, 2.0]), "M0.0 19.0M100.0 1.0");
        assert_eq!(sparkline(&[0.0, 0.0]), "M0.0 10.0L100.0 10.0");
        assert_eq!(sparkline(&[1.0]), "");
    }
}
