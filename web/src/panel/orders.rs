//! What was ordered about the state, and how far it got.

use leptos::prelude::*;
use stateward_model::wire::CommandPhase;

use super::Page;
use super::table::{Column, table};
use crate::format;

/// The section.
pub(super) fn orders(page: Page<'_>) -> AnyView {
    let Page { facts, words, .. } = page;
    let commands = &facts.detail.breaker.commands;
    if commands.is_empty() {
        return view! { <section><h2>{words.orders}</h2><p class="quiet">{words.no_orders}</p></section> }
            .into_any();
    }
    let rows = commands
        .iter()
        .map(|command| {
            let phase = match command.progress.phase {
                CommandPhase::Requested => words.requested,
                CommandPhase::Delivered => words.delivered,
                CommandPhase::Applied => words.applied,
                CommandPhase::Done => words.done,
                CommandPhase::Refused => words.refused,
                CommandPhase::TimedOut => words.timed_out,
            };
            let shards = match command.progress.shards {
                0 => String::new(),
                all => format!(" {}/{all}", command.progress.shards_applied),
            };
            let ago = format::duration((facts.at_millis - command.requested_millis).max(0));
            view! {
                <tr>
                    <td>{format!("{ago} {}", words.ago)}</td>
                    <td class="mono">{command.order.clone()}</td>
                    <td>{command.actor.clone()} ": " {command.reason.clone()}</td>
                    <td>{phase} {shards}</td>
                    <td>{command.progress.detail.clone()}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <section>
            <h2>{words.orders}</h2>
            {table("", &[Column::Text(words.when), Column::Text(words.order), Column::Text(words.who_and_why), Column::Text(words.phase), Column::Text(words.result)], rows.into_any())}
        </section>
    }
    .into_any()
}
