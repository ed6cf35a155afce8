//! What the job demands of the state, and whether it holds.

use leptos::prelude::*;

use super::Page;
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
            <div class="scroll">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">{words.must_hold}</th>
                            <th scope="col" class="num">{words.checked}</th>
                            <th scope="col" class="num">{words.violations}</th>
                            <th scope="col">{words.last_violation}</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </section>
    }
    .into_any()
}
