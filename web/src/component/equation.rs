//! The conservation equation of an operator (SEMANTICS §7.7), with its figures.

use leptos::prelude::*;
use stateward_model::view::Conservation;

use crate::format;
use crate::i18n::use_words;

/// `in = applied + spilled + late + dead-lettered` and `spilled = replayed + discarded + pending`.
#[component]
pub fn Equation(
    /// The operator's figures.
    figures: Conservation,
) -> impl IntoView {
    let words = use_words();
    let f = figures;
    let first = (
        words.c_in,
        f.arrived,
        [
            (words.c_applied, f.applied),
            (words.c_spilled, f.spilled),
            (words.c_late, f.late),
            (words.c_dead, f.dead_lettered),
        ],
    );
    let second = (
        words.c_spilled,
        f.spilled,
        [
            (words.c_replayed, f.replayed),
            (words.c_discarded, f.discarded),
            (words.c_pending, f.pending),
        ],
    );
    view! {
        <div class="equation">
            {line(first.0, first.1, &first.2)}
            {line(second.0, second.1, &second.2)}
        </div>
    }
    .into_any()
}

fn line(name: &'static str, total: u64, parts: &[(&'static str, u64)]) -> impl IntoView + use<> {
    let words = use_words();
    let holds = parts.iter().map(|(_, n)| n).sum::<u64>() == total;
    let (tone, icon, word) =
        if holds { ("good", "✓", words.holds) } else { ("bad", "▲", words.holds_not) };
    let terms = parts
        .iter()
        .enumerate()
        .map(|(n, (name, count))| {
            let sign = if n == 0 { "=" } else { "+" };
            view! {
                <span class="sign">{sign}</span>
                <span class="term"><b>{format::exact(*count)}</b> <small>{*name}</small></span>
            }
        })
        .collect_view();
    view! {
        <p>
            <span class="term"><b>{format::exact(total)}</b> <small>{name}</small></span>
            {terms}
            <span class=format!("badge {tone}")>
                <span class="icon" aria-hidden="true">{icon}</span>
                {word}
            </span>
        </p>
    }
}
