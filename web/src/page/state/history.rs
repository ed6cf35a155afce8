//! What happened to the state.

use leptos::prelude::*;
use stateward_model::view::Annotation;

use crate::component::{At, Empty};
use crate::i18n::{use_lang, use_words};

#[component]
pub(super) fn History(
    /// Newest first.
    events: Vec<Annotation>,
) -> impl IntoView {
    let (words, lang) = (use_words(), use_lang());
    if events.is_empty() {
        return view! { <Empty text=words.no_events></Empty> }.into_any();
    }
    let rows = events
        .into_iter()
        .map(|event| {
            view! {
                <tr>
                    <td><At at=event.wall_millis/></td>
                    <td class="nowrap"><span class=format!("kind {}", event.kind)>{lang.event(&event.kind)}</span></td>
                    <td class="prose">{event.text}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <div class="scroll">
            <table>
                <thead>
                    <tr>
                        <th scope="col">{words.time}</th>
                        <th scope="col">{words.kind}</th>
                        <th scope="col">{words.what}</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}
