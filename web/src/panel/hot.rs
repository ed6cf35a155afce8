//! The hottest keys: which ones change most, and how sure that is.

use leptos::prelude::*;
use stateward_model::wire::HotList;

use super::Page;
use super::table::{Column, bar, table};
use crate::format;

/// The section.
pub(super) fn hot(page: Page<'_>) -> AnyView {
    let Page { facts, words, .. } = page;
    let sample = &facts.sample.hot;
    let since = sample.since_millis.map(|since| {
        let ago = format::duration((facts.at_millis - since).max(0));
        view! { <p class="quiet small">{words.hot_note} " " {words.counted_for} " " {ago} "."</p> }
    });
    let count = |amount: u64| format::exact(amount);
    let bytes = |amount: u64| format::bytes(amount as f64);
    view! {
        <section>
            <h2>{words.hot_keys}</h2>
            {since}
            <div class="columns">
                {list(page, &sample.by_changes, words.by_changes, count)}
                {list(page, &sample.by_bytes, words.by_changelog_bytes, bytes)}
            </div>
        </section>
    }
    .into_any()
}

fn list(
    page: Page<'_>,
    list: &HotList,
    name: &'static str,
    amount: impl Fn(u64) -> String,
) -> AnyView {
    let words = page.words;
    if list.keys.is_empty() {
        let text = if list.total == 0 {
            words.no_changes.to_owned()
        } else {
            format!("{} {}.", words.no_hot_key, amount(list.error))
        };
        return view! { <section><h3>{name}</h3><p class="quiet">{text}</p></section> }.into_any();
    }
    let total = list.total.max(1) as f64;
    let rows = list
        .keys
        .iter()
        .map(|key| {
            let share = key.amount as f64 / total;
            let hash = format!("{:016x}", key.hash);
            let shown = key.key.clone().unwrap_or_else(|| hash.clone());
            view! {
                <tr>
                    <td class="mono" title=hash>{shown}</td>
                    <td class="num">{amount(key.amount)}</td>
                    <td class="num">
                        {bar(share)}
                        {format::percent(share)}
                    </td>
                </tr>
            }
        })
        .collect_view();
    let error = (list.error > 0).then(
        || view! { <p class="quiet small">{words.at_least} " " {amount(list.error)} "."</p> },
    );
    view! {
        <section>
            <h3>{name}</h3>
            {table("", &[Column::Text(words.key), Column::Number(words.amount), Column::Number(words.share)], rows.into_any())}
            {error}
        </section>
    }
    .into_any()
}
