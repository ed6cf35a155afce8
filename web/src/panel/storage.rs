//! Storage: sizes, and what part of them is debt.

use leptos::prelude::*;
use stateward_model::view::StateDetail;

use crate::format;
use crate::i18n::{use_lang, use_words};

#[component]
pub(super) fn Storage(
    /// The state.
    detail: StateDetail,
) -> impl IntoView {
    let (words, lang) = (use_words(), use_lang());
    let stock = detail.stock;
    let bytes = |value: u64| format::bytes(value as f64);
    let overhead = (stock.logical_bytes > 0).then(|| {
        format!(
            "{}\u{202f}×",
            format::significant(stock.disk_bytes as f64 / stock.logical_bytes as f64)
        )
    });
    let expired =
        lang.of_whole(&format::exact(stock.expired_entries), &format::exact(stock.entries));
    let error =
        (stock.error_entries > 0).then(|| format!(" ± {}", format::exact(stock.error_entries)));
    let rows = [
        (words.backend, detail.backend.clone(), String::new()),
        (words.logical_size, bytes(stock.logical_bytes), format::exact(stock.logical_bytes)),
        (words.disk_size, bytes(stock.disk_bytes), format::exact(stock.disk_bytes)),
        (words.overhead, format::maybe(overhead, |text| text), String::new()),
        (words.entries, format::exact(stock.entries), String::new()),
        (
            words.bytes_per_entry,
            format::maybe(detail.row.bytes_per_entry, format::bytes),
            String::new(),
        ),
        (
            words.debt_expired,
            format!("{} ({expired}{})", bytes(stock.expired_bytes), error.unwrap_or_default()),
            format::exact(stock.expired_bytes),
        ),
        (
            words.debt_unreclaimed,
            format!("≈\u{202f}{}", bytes(stock.unreclaimed_bytes)),
            words.estimate.to_owned(),
        ),
        (
            words.reclaimed,
            bytes(detail.flow.reclaimed_bytes),
            format::exact(detail.flow.reclaimed_bytes),
        ),
    ]
    .map(|(name, figure, title)| {
        view! { <tr><th scope="row">{name}</th><td class="num" title=title>{figure}</td></tr> }
    })
    .into_iter()
    .collect_view();
    view! { <table class="narrow"><tbody>{rows}</tbody></table> }.into_any()
}
