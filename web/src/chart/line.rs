//! Lines over time: one value axis from 0, gaps where there is no data.

use plotters::coord::Shift;
use plotters::prelude::{
    AreaSeries, ChartBuilder, DrawingArea, IntoDrawingArea, LineSeries, PathElement,
};
use plotters::style::{Color, ShapeStyle};
use stateward_model::view::{Annotation, SeriesAnswer};

use super::svg::{Mark, Svg};
use super::{Drawing, Tick, Unit, tick};

/// Most lines that a chart tells apart; further ones are left to the tables.
pub const MARKS_MAX: usize = 6;

/// What a line chart is computed from.
#[derive(Clone, Copy, Debug)]
pub struct LinesInput<'a> {
    /// The series.
    pub answer: &'a SeriesAnswer,
    /// What happened meanwhile.
    pub annotations: &'a [Annotation],
    /// The viewer's zone, minutes east of UTC.
    pub offset_minutes: i64,
}

/// A flag on the time axis: annotations that stand close together share one.
#[derive(Clone, Debug, PartialEq)]
pub struct Flag {
    /// 0 to 1 along the time axis.
    pub at: f64,
    /// Indexes into the annotations.
    pub annotations: Vec<usize>,
}

/// A computed line chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    /// What to draw.
    pub drawing: Drawing,
    /// Flags, left to right.
    pub flags: Vec<Flag>,
    /// Unit of the value axis.
    pub unit: Unit,
    /// Smallest, largest and last value of the first line.
    pub span: Option<(f64, f64, f64)>,
}

impl Lines {
    /// Computes a chart.
    pub fn new(input: &LinesInput<'_>) -> Self {
        let answer = input.answer;
        let unit = Unit::parse(&answer.unit);
        let (from, to) = (answer.from, answer.to.max(answer.from + 1));
        let all =
            || answer.lines.iter().take(MARKS_MAX).flat_map(|line| &line.points).map(|(_, v)| *v);
        let max = all().filter(|v| v.is_finite()).fold(0.0, f64::max);
        let values = tick::values(max, unit);
        let top = values.last().copied().unwrap_or(1.0);
        let share = |at: i64| (at - from) as f64 / (to - from) as f64;

        let mut body = String::new();
        // the backend cannot fail
        let _drawn = draw(&mut body, answer, (from, to), &values, top);
        let first = answer.lines.first().map(|line| &line.points);
        Self {
            drawing: Drawing {
                body,
                x_ticks: tick::times(from, to, input.offset_minutes)
                    .into_iter()
                    .map(|(at, text)| Tick { at: share(at), text })
                    .collect(),
                y_ticks: values
                    .iter()
                    .map(|v| Tick { at: 1.0 - v / top, text: unit.format(*v) })
                    .collect(),
            },
            flags: flags(input.annotations, share),
            unit,
            span: first.and_then(|points| {
                let (_, last) = points.last()?;
                let values = || points.iter().map(|(_, v)| *v);
                Some((values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max), *last))
            }),
        }
    }
}

/// Splits a line where more than two steps are missing.
pub(super) fn segments(points: &[(i64, f64)], step_millis: i64) -> Vec<&[(i64, f64)]> {
    let gap = step_millis.max(1).saturating_mul(2);
    points
        .chunk_by(|(a, _), (b, _)| b - a <= gap)
        .filter(|segment| segment.iter().all(|(_, value)| value.is_finite()))
        .collect()
}

/// The point of a line that is nearest to a time, unless it lies in a gap.
pub fn nearest(points: &[(i64, f64)], at: i64, step_millis: i64) -> Option<(i64, f64)> {
    let after = points.partition_point(|(time, _)| *time < at);
    let candidates = [after.checked_sub(1), Some(after)];
    candidates
        .into_iter()
        .flatten()
        .filter_map(|index| points.get(index).copied())
        .min_by_key(|(time, _)| (time - at).abs())
        .filter(|(time, _)| (time - at).abs() <= step_millis.max(1) * 2)
}

fn flags(annotations: &[Annotation], share: impl Fn(i64) -> f64) -> Vec<Flag> {
    let mut placed: Vec<(f64, usize)> = annotations
        .iter()
        .enumerate()
        .map(|(index, annotation)| (share(annotation.wall_millis), index))
        .filter(|(at, _)| (0.0..=1.0).contains(at))
        .collect();
    placed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut flags: Vec<Flag> = Vec::new();
    for (at, index) in placed {
        match flags.last_mut() {
            Some(flag) if at - flag.at < 0.02 => flag.annotations.push(index),
            _ => flags.push(Flag { at, annotations: vec![index] }),
        }
    }
    flags
}

type DrawError = Box<dyn std::error::Error>;

fn draw(
    body: &mut String,
    answer: &SeriesAnswer,
    (from, to): (i64, i64),
    values: &[f64],
    top: f64,
) -> Result<(), DrawError> {
    let root: DrawingArea<Svg<'_>, Shift> = Svg::new(body).into_drawing_area();
    let x = |at: i64| (at - from) as f64;
    let mut chart = ChartBuilder::on(&root).build_cartesian_2d(0.0..x(to), 0.0..top)?;
    let stroke = |mark: Mark| -> ShapeStyle { mark.color().stroke_width(1) };
    chart.draw_series(
        values.iter().map(|v| PathElement::new(vec![(0.0, *v), (x(to), *v)], stroke(Mark::Grid))),
    )?;
    for (n, line) in answer.lines.iter().take(MARKS_MAX).enumerate() {
        for segment in segments(&line.points, answer.step_millis) {
            let points = || segment.iter().map(|(at, value)| (x(*at), *value));
            if n == 0 && answer.lines.len() == 1 {
                chart.draw_series(AreaSeries::new(points(), 0.0, Mark::Area.color().filled()))?;
            }
            chart.draw_series(LineSeries::new(points(), stroke(Mark::Line(n as u8))))?;
            if let [(at, value)] = segment {
                let half = answer.step_millis.max(1) as f64 / 2.0;
                let dash = vec![(x(*at) - half, *value), (x(*at) + half, *value)];
                chart.draw_series([PathElement::new(dash, stroke(Mark::Line(n as u8)))])?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use stateward_model::view::SeriesLine;

    fn answer(points: &[(i64, f64)]) -> SeriesAnswer {
        SeriesAnswer {
            lines: vec![SeriesLine { label: String::new(), points: points.to_vec() }],
            unit: "bytes".into(),
            from: 0,
            to: 100,
            step_millis: 10,
        }
    }

    #[test]
    fn missing_data_is_a_gap_and_not_a_line() {
        let points = [(0, 1.0), (10, 2.0), (30, 3.0), (60, 4.0), (70, 5.0)];
        let lengths: Vec<usize> = segments(&points, 10).iter().map(|s| s.len()).collect();
        assert_eq!(lengths, [3, 2]);
        let input = answer(&points);
        let lines = Lines::new(&LinesInput { answer: &input, annotations: &[], offset_minutes: 0 });
        assert_eq!(lines.drawing.body.matches("class=\"line s0\"").count(), 2);
        assert_eq!(lines.span, Some((1.0, 5.0, 5.0)));
    }

    #[test]
    fn values_are_projected_from_zero_to_the_top_tick() {
        let mut input = answer(&[(0, 0.0), (100, 4.0)]);
        input.step_millis = 100;
        let lines = Lines::new(&LinesInput { answer: &input, annotations: &[], offset_minutes: 0 });
        assert!(
            lines.drawing.body.contains("<path class=\"line s0\" d=\"M0 999L1999 0\"/>"),
            "{}",
            lines.drawing.body
        );
        let texts: Vec<String> =
            lines.drawing.y_ticks.iter().map(|t| t.text.replace('\u{202f}', " ")).collect();
        assert_eq!(texts, ["0 B", "2 B", "4 B"]);
    }

    #[test]
    fn nothing_and_not_numbers_draw_nothing() {
        for points in [&[][..], &[(5, f64::NAN)][..]] {
            let input = answer(points);
            let lines =
                Lines::new(&LinesInput { answer: &input, annotations: &[], offset_minutes: 0 });
            assert_eq!(lines.drawing.body.matches("line").count(), 0);
        }
    }

    #[test]
    fn flags_that_would_touch_are_one() {
        let note = |wall_millis| Annotation {
            wall_millis,
            kind: "checkpoint".into(),
            text: String::new(),
        };
        let notes = [note(51), note(10), note(50), note(500)];
        let input = answer(&[]);
        let lines =
            Lines::new(&LinesInput { answer: &input, annotations: &notes, offset_minutes: 0 });
        let indexes: Vec<Vec<usize>> = lines.flags.iter().map(|f| f.annotations.clone()).collect();
        assert_eq!(indexes, [vec![1], vec![2, 0]]);
    }

    #[test]
    fn the_nearest_point_is_not_across_a_gap() {
        let points = [(0, 1.0), (10, 2.0), (90, 3.0)];
        assert_eq!(nearest(&points, 12, 10), Some((10, 2.0)));
        assert_eq!(nearest(&points, 50, 10), None);
        assert_eq!(nearest(&[], 50, 10), None);
    }
}
