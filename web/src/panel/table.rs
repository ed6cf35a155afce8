//! What the panels' tables have in common.

use leptos::prelude::*;

/// The head of a column.
#[derive(Clone, Copy, Debug)]
pub(super) enum Column {
    /// Text, which begins at the left.
    Text(&'static str),
    /// Figures, which end at the right.
    Number(&'static str),
}

/// A table of these rows that scrolls sideways where it has to.
pub(super) fn table(class: &'static str, columns: &[Column], rows: AnyView) -> AnyView {
    let head = columns
        .iter()
        .map(|column| match *column {
            Column::Text(name) => view! { <th scope="col">{name}</th> }.into_any(),
            Column::Number(name) => view! { <th scope="col" class="num">{name}</th> }.into_any(),
        })
        .collect_view();
    view! {
        <div class="scroll">
            <table class=class>
                <thead><tr>{head}</tr></thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

/// A bar that is so full, 0 to 1.
pub(super) fn bar(ratio: f64) -> AnyView {
    view! {
        <svg class="share" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
            <rect width=format!("{:.1}", ratio * 100.0) height="8"></rect>
        </svg>
    }
    .into_any()
}
