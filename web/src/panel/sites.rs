//! Writers and readers: which source line, how often, which share.

use leptos::prelude::*;
use stateward_model::view::StateDetail;
use stateward_model::wire::{AccessKind, SiteSample};

use super::table::{Column, bar, table};
use crate::component::Empty;
use crate::format;
use crate::i18n::use_words;

#[component]
pub(super) fn Sites(
    /// The state.
    detail: StateDetail,
) -> impl IntoView {
    let words = use_words();
    if detail.sites.is_empty() {
        return view! { <Empty text=words.no_sites></Empty> }.into_any();
    }
    let (writers, readers): (Vec<SiteSample>, Vec<SiteSample>) =
        detail.sites.into_iter().partition(|site| site.kind == AccessKind::Write);
    let revision = detail.commit.map(|commit| {
        view! { " · " {words.revision} " " <code>{commit}</code> }
    });
    view! {
        <p class="quiet">{words.lines_of_build} " " <code>{detail.build_id}</code> {revision}</p>
        <div class="columns">
            <section><h2>{words.writers}</h2><Lines sites=writers/></section>
            <section><h2>{words.readers}</h2><Lines sites=readers/></section>
        </div>
    }
    .into_any()
}

/// Lines of one kind, most frequent first.
#[component]
fn Lines(
    /// The lines.
    sites: Vec<SiteSample>,
) -> impl IntoView {
    let words = use_words();
    if sites.is_empty() {
        return view! { <p class="quiet">{words.no_sites}</p> }.into_any();
    }
    let total: u64 = sites.iter().map(|site| site.count).sum();
    let rows = sites
        .into_iter()
        .map(|site| {
            let kind = match site.kind {
                AccessKind::Write => words.access_write,
                AccessKind::Refresh => words.access_refresh,
                AccessKind::Read => words.access_read,
            };
            let share = site.count as f64 / total.max(1) as f64;
            let name = site.name.map(|name| view! { <br/><small class="quiet">{name}</small> });
            view! {
                <tr>
                    <td><code class="site">{site.site}</code>{name}</td>
                    <td>{kind}</td>
                    <td class="num">
                        {bar(share)}
                        {format::percent(share)}
                    </td>
                    <td class="num">{format::exact(site.count)}</td>
                    <td class="num" title=site.bytes.to_string()>{format::bytes(site.bytes as f64)}</td>
                </tr>
            }
        })
        .collect_view();
    table(
        "",
        &[
            Column::Text(words.line),
            Column::Text(words.kind),
            Column::Number(words.share),
            Column::Number(words.count),
            Column::Number(words.bytes),
        ],
        rows.into_any(),
    )
}
