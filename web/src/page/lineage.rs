//! Lineage: source → operator → state → sink, from left to right, click through.

use leptos::prelude::*;
use leptos_router::hooks::use_params_map;
use stateward_model::view::{JobRow, LineageGraph, StateRow};
use stateward_model::wire::{NodeDeclaration, NodeKind};

use super::shown::{Heading, StateLink, reference, shown};
use crate::api::{Ask, answer, one};
use crate::chart::{Layout, NODE_WIDTH, PlacedNode, STATE_HEIGHT, layout};
use crate::component::{NoJob, VerdictBadge};
use crate::format;
use crate::i18n::{use_lang, use_words};
use crate::live::use_live;
use crate::route;

/// `/lineage`: the jobs to choose from.
#[component]
pub fn LineageIndexView() -> impl IntoView {
    let words = use_words();
    let data = answer(|| vec![Ask::Jobs], use_live().figures);
    view! {
        <Heading text=words.lineage></Heading>
        {shown(data, one::<Vec<JobRow>>, |jobs, _| {
            if jobs.is_empty() {
                return view! { <NoJob/> }.into_any();
            }
            let items = jobs
                .into_iter()
                .map(|job| {
                    let href = route::lineage(&job.namespace, &job.job_name);
                    view! { <li><a class="row-link" href=href>{format!("{}/{}", job.namespace, job.job_name)}</a></li> }
                })
                .collect_view();
            view! { <ul class="list">{items}</ul> }.into_any()
        })}
    }
    .into_any()
}

/// `/lineage/{namespace}/{job}`.
#[component]
pub fn LineageView() -> impl IntoView {
    let words = use_words();
    let params = use_params_map();
    let data = answer(
        move || {
            let params = params.read();
            let part = |name: &str| params.get(name).unwrap_or_default();
            vec![Ask::Lineage(part("namespace"), part("job"))]
        },
        use_live().figures,
    );
    let title = move || {
        let params = params.read();
        format!("{} · {}", words.lineage, params.get("job").unwrap_or_default())
    };
    view! {
        {move || view! { <Heading text=title()></Heading> }}
        {shown(data, one::<LineageGraph>, |graph, _| view! { <Graph graph=graph/> }.into_any())}
    }
    .into_any()
}

#[component]
fn Graph(
    /// The graph.
    graph: LineageGraph,
) -> impl IntoView {
    let words = use_words();
    let Layout { nodes, edges, width, height } = layout(&graph);
    let paths = edges
        .iter()
        .filter_map(|placed| {
            let edge = graph.edges.get(placed.edge)?;
            let rate = graph.edge_rates.get(placed.edge).copied().flatten();
            let class = if edge.exchange { "edge exchange" } else { "edge" };
            let text = format::maybe(rate, format::rate);
            let title = format!("{} → {}: {text}", edge.from, edge.to);
            let (x, y) = placed.label;
            Some(view! {
                <g>
                    <path class=class d=placed.path.clone() stroke-width=format!("{:.1}", placed.width)>
                        <title>{title}</title>
                    </path>
                    <text class="rate" x=format!("{x:.0}") y=format!("{y:.0}")>{text}</text>
                </g>
            })
        })
        .collect_view();
    let boxes = nodes
        .iter()
        .filter_map(|placed| {
            let node = graph.nodes.get(placed.node)?.clone();
            let states =
                placed.states.iter().filter_map(|n| graph.states.get(*n).cloned()).collect();
            Some(view! { <Node placed=placed.clone() node=node states=states/> })
        })
        .collect_view();
    let label = format!("{} {}/{}", words.lineage, graph.namespace, graph.job_name);
    view! {
        <p class="quiet">{words.lineage_hint}</p>
        <div class="scroll lineage">
            <svg
                role="group"
                aria-label=label
                width=format!("{width:.0}")
                height=format!("{height:.0}")
                viewBox=format!("0 0 {width:.0} {height:.0}")
            >
                {paths} {boxes}
            </svg>
        </div>
        <details>
            <summary>{words.as_table}</summary>
            <EdgeTable graph=graph.clone()/>
        </details>
    }
    .into_any()
}

/// A source, operator or sink with its states.
#[component]
fn Node(
    /// Where it stands.
    placed: PlacedNode,
    /// What it is.
    node: NodeDeclaration,
    /// Its states, top to bottom.
    states: Vec<StateRow>,
) -> impl IntoView {
    let words = use_words();
    let (kind, class) = match node.kind {
        NodeKind::Source => (words.source, "node source"),
        NodeKind::Operator => (words.operator, "node operator"),
        NodeKind::Sink => (words.sink, "node sink"),
    };
    let cylinders = states
        .into_iter()
        .enumerate()
        .map(|(n, row)| view! { <Cylinder x=placed.x + 12.0 y=placed.state_y(n) row=row/> })
        .collect_view();
    let title = format!("{}\n{}", node.detail, node.site);
    let uid = node.uid.to_string();
    view! {
        <g class=class>
            <rect
                x=format!("{:.0}", placed.x)
                y=format!("{:.0}", placed.y)
                width=format!("{NODE_WIDTH:.0}")
                height=format!("{:.0}", placed.height)
                rx="4"
            >
                <title>{title}</title>
            </rect>
            <text class="uid" x=format!("{:.0}", placed.x + 12.0) y=format!("{:.0}", placed.y + 20.0)>{clipped(&uid, 28)}</text>
            <text class="what" x=format!("{:.0}", placed.x + 12.0) y=format!("{:.0}", placed.y + 37.0)>
                {kind} " · " {clipped(&node.detail, 26)}
            </text>
            {cylinders}
        </g>
    }
    .into_any()
}

/// A state as a cylinder: name, size, verdict; a link.
#[component]
fn Cylinder(
    /// Left edge, px.
    x: f64,
    /// Top edge, px.
    y: f64,
    /// The state.
    row: StateRow,
) -> impl IntoView {
    let (words, lang) = (use_words(), use_lang());
    let (width, height) = (NODE_WIDTH - 24.0, STATE_HEIGHT - 8.0);
    let wants = row.verdict.kind.needs_attention();
    let class = match (row.silent_since_millis.is_some(), wants) {
        (true, _) => "cylinder silent",
        (false, true) => "cylinder wants",
        (false, false) => "cylinder",
    };
    let sentence = lang.verdict(&row.verdict, row.growth_per_day);
    let word = words.verdict_name(row.verdict.kind);
    let icon = if wants { "▲" } else { "●" };
    let right = x + width;
    let body = format!(
        "M{x:.0} {:.0}v{:.0}c0 3 {w:.0} 3 {w:.0} 0v-{:.0}",
        y + 4.0,
        height - 8.0,
        height - 8.0,
        w = width
    );
    let lid = format!(
        "M{x:.0} {t:.0}c0 -5 {width:.0} -5 {width:.0} 0c0 5 -{width:.0} 5 -{width:.0} 0Z",
        t = y + 4.0
    );
    let figures = format!("{}  {icon} {word}", format::bytes(row.logical_bytes as f64));
    view! {
        <g>
            <a class=class href=reference(&row).path()>
                <title>{sentence}</title>
                <path class="side" d=body></path>
                <path class="lid" d=lid></path>
                <text class="name" x=format!("{:.0}", x + 8.0) y=format!("{:.0}", y + 23.0)>{clipped(&row.state, 26)}</text>
                <text class="size" x=format!("{:.0}", right - 8.0) y=format!("{:.0}", y + 37.0)>{figures}</text>
            </a>
        </g>
    }
    .into_any()
}

/// The graph in words, for readers who do not see it.
#[component]
fn EdgeTable(
    /// The graph.
    graph: LineageGraph,
) -> impl IntoView {
    let words = use_words();
    let edges = graph
        .edges
        .iter()
        .zip(graph.edge_rates.iter().copied().chain(std::iter::repeat(None)))
        .map(|(edge, rate)| {
            view! {
                <tr>
                    <td>{edge.from.to_string()}</td>
                    <td>{edge.to.to_string()}</td>
                    <td>{edge.exchange.then_some(words.exchange)}</td>
                    <td class="num">{format::maybe(rate, format::rate)}</td>
                </tr>
            }
        })
        .collect_view();
    let states = graph
        .states
        .iter()
        .map(|row| {
            view! {
                <tr>
                    <td>{row.operator.clone()}</td>
                    <td><StateLink row=row.clone()/></td>
                    <td><VerdictBadge verdict=row.verdict.clone() growth_per_day=row.growth_per_day/></td>
                    <td class="num">{format::bytes(row.logical_bytes as f64)}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <div class="columns">
            <table>
                <thead>
                    <tr>
                        <th scope="col">{words.from}</th>
                        <th scope="col">{words.to}</th>
                        <th scope="col"></th>
                        <th scope="col" class="num">{words.rate}</th>
                    </tr>
                </thead>
                <tbody>{edges}</tbody>
            </table>
            <table>
                <thead>
                    <tr>
                        <th scope="col">{words.operator}</th>
                        <th scope="col">{words.state}</th>
                        <th scope="col">{words.verdict}</th>
                        <th scope="col" class="num">{words.size}</th>
                    </tr>
                </thead>
                <tbody>{states}</tbody>
            </table>
        </div>
    }
    .into_any()
}

/// At most so many letters; the whole is in the title.
fn clipped(text: &str, letters_max: usize) -> String {
    if text.chars().count() <= letters_max {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(letters_max - 1).collect();
    short.push('…');
    short
}
