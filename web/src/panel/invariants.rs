//! What the job demands of the state, and whether it holds.

use leptos::prelude::*;

use super::Page;
use super::table::{Column, table};
use crate::format;

/// The section; nothing for a state of which nothing is demanded.
pub(super) fn invariants(page: Page<'_>) -> AnyView {
    let Page { facts, words, .. } = page;
    let all = &facts.sample.invariants;
    if all.is_empty() {
        return ().into_any();
    }
    let rows = all
        .iter()
        .map(|one| {
            let last = one.last_millis.map(|at| {
                let ago = format::duration((facts.at_millis - at).max(0));
                let hash = one.last_hash.map(|hash| format!("{hash:016x}")).unwrap_or_default();
                view! { {ago} " " {words.ago} ", " <code>{hash}</code> }
            });
            let (class, icon) = if one.violations > 0 { ("badge bad", "✕") } else { ("badge good", "✓") };
            view! {
                <tr>
                    <td>{one.name.clone()}</td>
                    <td class="num">{format::exact(one.checked)}</td>
                    <td class="num">
                        <span class=class><span class="icon" aria-hidden="true">{icon}</span>{format::exact(one.violations)}</span>
                    </td>
                    <td>{last}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <section>
            <h2>{words.business_checks}</h2>
            {table("", &[Column::Text(words.must_hold), Column::Number(words.checked), Column::Number(words.violations), Column::Text(words.last_violation)], rows.into_any())}
        </section>
    }
    .into_any()
}
