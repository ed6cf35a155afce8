//! Ages and durations as bars in log time, with the TTL as a line.
//!
//! The model's buckets are evenly spaced in log time from 4 on, so a bucket is one bar.

use plotters::coord::Shift;
use plotters::prelude::{ChartBuilder, DrawingArea, IntoDrawingArea, PathElement, Rectangle};
use plotters::style::Color;
use stateward_model::{HISTOGRAM_BUCKETS, Histogram, bucket_lower_bound, bucket_of};

use super::svg::{Mark, Svg};
use super::{Drawing, Tick, tick};
use crate::format;

/// What the bars are computed from.
#[derive(Clone, Copy, Debug)]
pub struct BarsInput<'a> {
    /// The counts, in ms.
    pub histogram: &'a Histogram,
    /// The TTL in force, ms.
    pub ttl_millis: Option<i64>,
}

/// A computed histogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// What to draw.
    pub drawing: Drawing,
    /// Where the TTL stands, 0 to 1.
    pub ttl_at: Option<f64>,
    /// First bucket shown.
    pub first: usize,
    /// Counts from there on.
    pub counts: Vec<u64>,
}

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
const LANDMARKS: [u64; 17] = [
    1,
    10,
    100,
    SECOND,
    10 * SECOND,
    MINUTE,
    10 * MINUTE,
    HOUR,
    4 * HOUR,
    12 * HOUR,
    DAY,
    3 * DAY,
    7 * DAY,
    30 * DAY,
    90 * DAY,
    365 * DAY,
    1_000 * DAY,
];
/// Narrowest picture, in buckets: a single bar as wide as the page says nothing.
const BUCKETS_MIN: usize = 16;

/// Where a value stands among the buckets, as a fraction.
fn position(value: u64) -> f64 {
    let bucket = bucket_of(value);
    let (low, high) = (bucket_lower_bound(bucket), bucket_lower_bound(bucket + 1));
    bucket as f64 + (value - low) as f64 / (high - low).max(1) as f64
}

impl Bars {
    /// Computes the bars; `None` where nothing was observed.
    pub fn new(input: &BarsInput<'_>) -> Option<Self> {
        let buckets = &input.histogram.buckets;
        let ttl = input.ttl_millis.map(|ttl| ttl.max(1) as u64);
        let low = usize::from(buckets.first()?.0);
        let high = usize::from(buckets.last()?.0);
        let ttl_bucket = ttl.map(bucket_of);
        let low = low.min(ttl_bucket.unwrap_or(low)).saturating_sub(1);
        let high = (high.max(ttl_bucket.unwrap_or(high)) + 2)
            .max(low + BUCKETS_MIN)
            .min(HISTOGRAM_BUCKETS);
        let mut counts = vec![0_u64; high.saturating_sub(low).max(1)];
        for (bucket, count) in buckets {
            if let Some(slot) = counts.get_mut(usize::from(*bucket).saturating_sub(low)) {
                *slot += count;
            }
        }
        let width = counts.len() as f64;
        let share = |value: u64| (position(value) - low as f64) / width;
        let max = counts.iter().copied().max().unwrap_or_default();
        let values = tick::values(max as f64, tick::Unit::Count);
        let top = values.last().copied().unwrap_or(1.0);
        let ttl_at = ttl.map(share).filter(|at| (0.0..=1.0).contains(at));
        let mut body = String::new();
        // the backend cannot fail
        let _drawn = draw(&mut body, &counts, &values, top, ttl_at);
        Some(Self {
            drawing: Drawing {
                body,
                x_ticks: landmarks(share),
                y_ticks: values
                    .iter()
                    .map(|v| Tick { at: 1.0 - v / top, text: format::count(*v) })
                    .collect(),
            },
            ttl_at,
            first: low,
            counts,
        })
    }

    /// The bar at a share of the width: from, to and count.
    pub fn at(&self, share: f64) -> Option<(u64, u64, u64)> {
        let index = (share * self.counts.len() as f64).floor().max(0.0) as usize;
        let count = *self.counts.get(index)?;
        let bucket = self.first + index;
        Some((bucket_lower_bound(bucket), bucket_lower_bound(bucket + 1), count))
    }
}

fn landmarks(share: impl Fn(u64) -> f64) -> Vec<Tick> {
    let mut ticks: Vec<Tick> = Vec::new();
    for value in LANDMARKS {
        let at = share(value);
        let clear = ticks.last().is_none_or(|last| at - last.at > 0.11);
        if (0.0..=1.0).contains(&at) && clear {
            ticks.push(Tick { at, text: format::duration(value as i64) });
        }
    }
    ticks
}

fn draw(
    body: &mut String,
    counts: &[u64],
    values: &[f64],
    top: f64,
    ttl_at: Option<f64>,
) -> Result<(), Box<dyn std::error::Error>> {
    let root: DrawingArea<Svg<'_>, Shift> = Svg::new(body).into_drawing_area();
    let width = counts.len() as f64;
    let mut chart = ChartBuilder::on(&root).build_cartesian_2d(0.0..width, 0.0..top)?;
    chart.draw_series(values.iter().map(|v| {
        PathElement::new(vec![(0.0, *v), (width, *v)], Mark::Grid.color().stroke_width(1))
    }))?;
    chart.draw_series(counts.iter().enumerate().filter(|(_, count)| **count > 0).map(
        |(index, count)| {
            let left = index as f64;
            let over = ttl_at.is_some_and(|ttl| left >= ttl * width);
            let mark = if over { Mark::BarOver } else { Mark::Bar };
            // a bar that is there is at least visible
            let height = (*count as f64).max(top * 0.008);
            Rectangle::new([(left + 0.06, height), (left + 0.94, 0.0)], mark.color().filled())
        },
    ))?;
    if let Some(at) = ttl_at {
        let line = vec![(at * width, 0.0), (at * width, top)];
        chart.draw_series([PathElement::new(line, Mark::Ttl.color().stroke_width(1))])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_cover_the_data_and_the_ttl() {
        let mut histogram = Histogram::default();
        for (age, count) in [(30 * MINUTE, 5_u64), (HOUR, 7), (36 * HOUR + MINUTE, 2)] {
            histogram.merge(&Histogram { buckets: vec![(bucket_of(age) as u16, count)], sum: 0 });
        }
        let ttl_millis = Some(36 * HOUR as i64);
        let bars = Bars::new(&BarsInput { histogram: &histogram, ttl_millis }).unwrap();
        assert_eq!(bars.counts.iter().sum::<u64>(), 14);
        let at = bars.ttl_at.unwrap();
        let (low, high, _) = bars.at(at).unwrap();
        assert!(low <= 36 * HOUR && 36 * HOUR < high);
        assert_eq!(bars.drawing.body.matches("class=\"ttl\"").count(), 1);
        assert!(bars.drawing.x_ticks.windows(2).all(|pair| pair[0].at < pair[1].at));
    }

    #[test]
    fn nothing_observed_is_no_picture() {
        assert_eq!(
            Bars::new(&BarsInput { histogram: &Histogram::default(), ttl_millis: Some(1) }),
            None
        );
    }

    #[test]
    fn the_extremes_of_the_layout_are_drawn() {
        let last = (HISTOGRAM_BUCKETS - 1) as u16;
        for buckets in [vec![(0, 1)], vec![(last, 1)], vec![(0, 1), (last, 1)]] {
            let histogram = Histogram { buckets, sum: 0 };
            let bars = Bars::new(&BarsInput { histogram: &histogram, ttl_millis: None }).unwrap();
            assert!(bars.drawing.body.contains("class=\"bar\""));
        }
    }
}
