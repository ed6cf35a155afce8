//! The frame around a drawing: stretched paths, labels that are not stretched.

use leptos::prelude::*;

use crate::chart::{Drawing, VIEW_BOX};

/// Height of a plot without its time axis, px.
const PLOT_HEIGHT: f64 = 132.0;
/// Height with it.
const FULL_HEIGHT: f64 = 152.0;

/// A share of the width as SVG takes it.
pub(super) fn across(share: f64) -> String {
    format!("{:.2}%", share * 100.0)
}

/// Draws a computed chart; `children` are overlays in the same coordinates.
#[component]
pub fn Plot(
    /// What to draw.
    drawing: Drawing,
    /// What it shows, for readers who do not see it.
    label: String,
    /// Overlays.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    let y_labels = drawing
        .y_ticks
        .into_iter()
        .map(|tick| {
            // the label stands on its line; the topmost one below it
            let y = (tick.at * PLOT_HEIGHT - 3.0).max(11.0);
            view! { <text class="tick" x="4" y=format!("{y:.1}")>{tick.text}</text> }
        })
        .collect_view();
    let x_labels = drawing
        .x_ticks
        .into_iter()
        .filter(|tick| (0.02..=0.98).contains(&tick.at))
        .map(|tick| {
            view! {
                <text class="tick middle" x=across(tick.at) y=(FULL_HEIGHT - 4.0).to_string()>
                    {tick.text}
                </text>
            }
        })
        .collect_view();
    view! {
        <svg class="plot" role="img" aria-label=label width="100%" height=FULL_HEIGHT.to_string()>
            <svg
                width="100%"
                height=PLOT_HEIGHT.to_string()
                viewBox=VIEW_BOX
                preserveAspectRatio="none"
                aria-hidden="true"
                inner_html=drawing.body
            ></svg>
            <g aria-hidden="true">{y_labels} {x_labels}</g>
            {children.map(|children| children())}
        </svg>
    }
    .into_any()
}
