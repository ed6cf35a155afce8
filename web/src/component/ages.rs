//! Ages as bars in log time, with the TTL as a labelled line.

use leptos::html::Div;
use leptos::prelude::*;
use stateward_model::Histogram;

use super::plot::{Plot, across};
use crate::chart::{Bars, BarsInput};
use crate::format;
use crate::i18n::use_words;

/// Draws one histogram of ages.
#[component]
pub fn Ages(
    /// What it shows.
    title: &'static str,
    /// The ages, ms.
    histogram: Histogram,
    /// TTL in force, ms.
    ttl_millis: Option<i64>,
    /// Which histogram of the page is under the pointer, and where, 0 to 1. It belongs to the page,
    /// because histograms are drawn anew while they are live.
    under: RwSignal<Option<(&'static str, f64)>>,
    /// Said where nothing was observed.
    empty: &'static str,
) -> impl IntoView {
    let words = use_words();
    let Some(bars) = Bars::new(&BarsInput { histogram: &histogram, ttl_millis }) else {
        return view! {
            <figure class="chart">
                <figcaption><span class="title">{title}</span></figcaption>
                <p class="empty small">{empty}</p>
            </figure>
        }
        .into_any();
    };
    let area = NodeRef::<Div>::new();
    let quantile =
        |q: f64| format::maybe(histogram.quantile(q), |age| format::duration(age as i64));
    let summary = format!(
        "{} ≈\u{202f}{} · {} ≈\u{202f}{}",
        words.median,
        quantile(0.5),
        words.p99,
        quantile(0.99)
    );
    let label = format!("{title}: {summary}, n {}", format::exact(histogram.count()));
    let drawing = bars.drawing.clone();
    let ttl = bars.ttl_at.map(|at| {
        // the label stands on the side with more room
        let class = if at > 0.7 { "ttl-label end" } else { "ttl-label" };
        let text = format!("TTL {}", format::maybe(ttl_millis, format::duration));
        let nudge = if at > 0.7 { "-5" } else { "5" };
        view! { <text class=class x=across(at) dx=nudge y="24">{text}</text> }
    });
    let reading = move || {
        let here = under.get().filter(|(of, _)| *of == title);
        here.and_then(|(_, share)| bars.at(share)).map_or_else(
            || summary.clone(),
            |(from, to, count)| {
                let (from, to) = (format::duration(from as i64), format::duration(to as i64));
                format!("{from} – {to}: {}", format::exact(count))
            },
        )
    };
    let share_of = move |client_x: i32| {
        let bounds = area.get_untracked()?.get_bounding_client_rect();
        Some((f64::from(client_x) - bounds.left()) / bounds.width().max(1.0))
    };
    view! {
        <figure class="chart">
            <figcaption>
                <span class="title">{title}</span>
                <span class="grow"></span>
                <span class="quiet">{move || reading()}</span>
            </figcaption>
            <div
                class="canvas"
                node_ref=area
                on:pointermove=move |event| under.set(share_of(event.client_x()).map(|share| (title, share)))
                on:pointerleave=move |_| under.set(None)
            >
                <Plot drawing=drawing label=label>{ttl}</Plot>
            </div>
        </figure>
    }
    .into_any()
}
