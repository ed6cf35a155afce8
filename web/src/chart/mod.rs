//! What a chart shows, computed without a view: ticks, projections, gaps, paths, the layout of the
//! lineage graph. In: what the API answers. Out: SVG text with CSS classes and the labels that go
//! with it. Nothing here knows a signal, an endpoint or the time.

mod tick;
mod svg;
mod line;
mod bars;
mod spark;
mod lineage;

pub use bars::{Bars, BarsInput};
pub use line::{Lines, LinesInput, MARKS_MAX, nearest};
pub use lineage::{Layout, NODE_WIDTH, PlacedNode, STATE_HEIGHT, layout};
pub use spark::sparkline;
pub use tick::Unit;

/// A tick label: where (0 to 1 along its axis) and what.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// 0 at the left or the top, 1 at the right or the bottom.
    pub at: f64,
    /// What it says.
    pub text: String,
}

/// What is drawn, in a box of [`svg::WIDTH`] × [`svg::HEIGHT`] that the view stretches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Drawing {
    /// The inside of an `<svg>`.
    pub body: String,
    /// Labels of the horizontal axis.
    pub x_ticks: Vec<Tick>,
    /// Labels of the vertical axis.
    pub y_ticks: Vec<Tick>,
}

/// The `viewBox` of every drawing.
pub const VIEW_BOX: &str = "0 0 2000 1000";
