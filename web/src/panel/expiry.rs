//! When entries expire, and for how long expired ones have waited.

use leptos::prelude::*;
use stateward_model::wire::EXPIRY_EDGES_MILLIS;

use super::Page;
use super::table::{Column, bar, table};
use crate::format;

/// The section; nothing for a state without a TTL.
pub(super) fn expiry(page: Page<'_>) -> AnyView {
    let Page { facts, words, .. } = page;
    let sample = &facts.sample.expiry;
    if sample.due.is_empty() {
        return ().into_any();
    }
    let most = sample.due.iter().chain(&sample.overdue).map(|part| part.entries).max().unwrap_or(0);
    let share = |entries: u64| entries as f64 / most.max(1) as f64;
    let edges = EXPIRY_EDGES_MILLIS.into_iter().map(Some).chain([None]);
    let rows = edges
        .zip(&sample.due)
        .zip(&sample.overdue)
        .map(|((edge, due), overdue)| {
            let name = edge.map_or_else(
                || words.later.to_owned(),
                |edge| format!("≤\u{202f}{}", format::duration(edge)),
            );
            view! {
                <tr>
                    <th scope="row">{name}</th>
                    <td class="num">
                        {bar(share(due.entries))}
                        {format::exact(due.entries)}
                    </td>
                    <td class="num">{format::bytes(due.bytes as f64)}</td>
                    <td class="num">{format::exact(overdue.entries)}</td>
                    <td class="num">{format::bytes(overdue.bytes as f64)}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <section>
            <h2>{words.expiry}</h2>
            <p class="quiet small">{words.expiry_note}</p>
            {table("", &[Column::Text(words.within), Column::Number(words.will_expire), Column::Number(words.bytes), Column::Number(words.overdue_since), Column::Number(words.bytes)], rows.into_any())}
        </section>
    }
    .into_any()
}
