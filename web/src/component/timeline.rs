//! A chart over time: direct figures in its head, a crosshair shared by the page, drag to zoom.

use leptos::html::Div;
use leptos::prelude::*;
use stateward_model::view::{Annotation, SeriesAnswer};

use super::plot::{Plot, across};
use crate::chart::{Lines, LinesInput, MARKS_MAX, nearest};
use crate::i18n::{use_lang, use_words};
use crate::live::use_live;
use crate::route::RANGE_MILLIS_MIN;

/// The time under the pointer and where a drag began, shared by all charts of a page. They belong to
/// the page, because charts are drawn anew while they are live.
#[derive(Clone, Copy, Debug)]
pub struct Crosshair {
    at: RwSignal<Option<i64>>,
    drag: RwSignal<Option<i64>>,
}

impl Crosshair {
    /// Nothing under the pointer.
    pub fn new() -> Self {
        Self { at: RwSignal::new(None), drag: RwSignal::new(None) }
    }
}

/// What a drag or a double click on a chart asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zoom {
    /// Show from, to, ms.
    To(i64, i64),
    /// Show the default again.
    Back,
}

/// Draws one series answer.
#[component]
pub fn Timeline(
    /// What it shows.
    title: &'static str,
    /// The data.
    answer: SeriesAnswer,
    /// What happened meanwhile.
    annotations: Vec<Annotation>,
    /// Time under the pointer.
    crosshair: Crosshair,
    /// Where zooming goes.
    zoom: Callback<Zoom>,
    /// Shown where a figure is an estimate, e.g. "in part an estimate".
    #[prop(optional)]
    note: &'static str,
    /// The same as a Prometheus query.
    promql: String,
) -> impl IntoView {
    let (lang, words, live) = (use_lang(), use_words(), use_live());
    let area = NodeRef::<Div>::new();
    let drag = crosshair.drag;
    let (from, to) = (answer.from, answer.to.max(answer.from + 1));
    let time_at = move |share: f64| from + (share * (to - from) as f64) as i64;
    let share_at = move |time: i64| (time - from) as f64 / (to - from) as f64;
    let share_of = move |client_x: i32| {
        let bounds = area.get_untracked()?.get_bounding_client_rect();
        let share = (f64::from(client_x) - bounds.left()) / bounds.width().max(1.0);
        Some(share.clamp(0.0, 1.0))
    };
    let compute = {
        let (answer, annotations) = (answer.clone(), annotations.clone());
        move || {
            let offset_minutes = live.offset_minutes(to);
            Lines::new(&LinesInput { answer: &answer, annotations: &annotations, offset_minutes })
        }
    };
    let shape = compute();
    let unit = shape.unit;
    let estimate = if note.is_empty() { "" } else { "≈\u{202f}" };
    let summary = shape.span.map_or_else(
        || format!("{title}: {}", words.no_points),
        |(least, most, last)| {
            lang.chart_summary(title, &unit.format(least), &unit.format(most), &unit.format(last))
        },
    );
    let figures = {
        let lines = answer.lines.clone();
        let step = answer.step_millis;
        move || {
            let at = crosshair.at.get();
            lines
                .iter()
                .take(MARKS_MAX)
                .enumerate()
                .map(|(n, line)| {
                    let value = match at {
                        Some(at) => nearest(&line.points, at, step).map(|(_, value)| value),
                        None => line.points.last().map(|(_, value)| *value),
                    };
                    let figure = value.map_or_else(
                        || "—".to_owned(),
                        |v| format!("{estimate}{}", unit.format(v)),
                    );
                    let label = (!line.label.is_empty()).then(
                        || view! { <span class=format!("key s{n}")>{line.label.clone()}</span> },
                    );
                    view! { <span class="reading">{label} <b>{figure}</b></span> }
                })
                .collect_view()
        }
    };
    let when = move || crosshair.at.get().map(|at| live.clock(at)).unwrap_or_default();
    let flags = shape
        .flags
        .iter()
        .map(|flag| {
            let notes: Vec<Annotation> = flag
                .annotations
                .iter()
                .filter_map(|index| annotations.get(*index).cloned())
                .collect();
            let kind = notes.first().map(|note| note.kind.clone()).unwrap_or_default();
            let text = move || {
                let lines: Vec<String> = notes
                    .iter()
                    .map(|n| format!("{}  {}", live.clock(n.wall_millis), n.text))
                    .collect();
                lines.join("\n")
            };
            view! {
                <svg class=format!("flag {kind}") x=across(flag.at) y="132" overflow="visible">
                    <path d="M0 0L4.500 8H-4.500Z"></path>
                    <title>{move || text()}</title>
                </svg>
            }
        })
        .collect_view();
    let cross = move || {
        crosshair.at.get().map(share_at).filter(|at| (0.0..=1.0).contains(at)).map(|at| {
            view! { <line class="crosshair" x1=across(at) x2=across(at) y1="0" y2="132"></line> }
        })
    };
    let selection = move || {
        let (start, now) = (share_at(drag.get()?), share_at(crosshair.at.get()?));
        let (left, right) = (start.min(now), start.max(now));
        Some(view! {
            <rect class="selection" x=across(left) width=across(right - left) y="0" height="132"></rect>
        })
    };
    let finish = move |client_x: i32| {
        let Some(start) = drag.get_untracked() else { return };
        drag.set(None);
        let Some(end) = share_of(client_x).map(time_at) else { return };
        let (left, right) = (start.min(end), start.max(end));
        if right - left >= RANGE_MILLIS_MIN.max((to - from) / 100) {
            zoom.run(Zoom::To(left, right));
        }
    };
    let copied = promql.clone();
    let copy = move |_| copy_text(&copied);
    let empty = shape.span.is_none().then(|| view! { <p class="no-points">{words.no_points}</p> });
    view! {
        <figure class="chart">
            <figcaption>
                <span class="title">{title}</span>
                {(!note.is_empty()).then(|| view! { <span class="quiet">{note}</span> })}
                <span class="grow"></span>
                <span class="quiet">{move || when()}</span>
                {move || figures()}
            </figcaption>
            <div
                class="canvas zoomable"
                node_ref=area
                title=words.drag_to_zoom
                on:pointermove=move |event| crosshair.at.set(share_of(event.client_x()).map(time_at))
                on:pointerleave=move |_| {
                    crosshair.at.set(None);
                    drag.set(None);
                }
                on:pointerdown=move |event| drag.set(share_of(event.client_x()).map(time_at))
                on:pointerup=move |event| finish(event.client_x())
                on:dblclick=move |_| zoom.run(Zoom::Back)
            >
                {move || {
                    let drawing = compute().drawing;
                    view! { <Plot drawing=drawing label=summary.clone()></Plot> }
                }}
                <svg class="overlay" width="100%" height="152">
                    {flags} {move || selection()} {move || cross()}
                </svg>
                {empty}
            </div>
            <details class="promql">
                <summary on:click=copy>{words.copy_promql}</summary>
                <code>{promql}</code>
            </details>
        </figure>
    }
    .into_any()
}

/// Puts a text on the clipboard where the browser lets pages: not where they came unencrypted from
/// another machine. There it is to be selected.
#[cfg(feature = "hydrate")]
fn copy_text(text: &str) {
    use js_sys::{Function, Promise, Reflect};
    use wasm_bindgen::{JsCast, JsValue};

    let written = || {
        let navigator = Reflect::get(&js_sys::global(), &"navigator".into()).ok()?;
        let clipboard: JsValue = Reflect::get(&navigator, &"clipboard".into()).ok()?;
        let write = Reflect::get(&clipboard, &"writeText".into()).ok()?;
        let write = write.dyn_into::<Function>().ok()?;
        write.call1(&clipboard, &text.into()).ok()?.dyn_into::<Promise>().ok()
    };
    if let Some(written) = written() {
        // a refusal is handled by having the text on the page
        leptos::task::spawn_local(async {
            drop(wasm_bindgen_futures::JsFuture::from(written).await);
        });
    }
}

#[cfg(not(feature = "hydrate"))]
fn copy_text(_: &str) {}
