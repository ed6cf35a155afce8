//! How the bytes of expired entries are got back, whether that keeps up, and the forms for it.

use leptos::prelude::*;
use stateward_model::wire::CleanupStrategy;

use super::table::{Column, table};
use super::{Page, fact, order};
use crate::format;

/// The section.
pub(super) fn cleanup(page: Page<'_>) -> AnyView {
    let Page { facts, words, .. } = page;
    let (sample, stock, flow) = (&facts.sample.cleanup, &facts.detail.stock, &facts.detail.flow);
    let rows = sample
        .runs
        .iter()
        .map(|runs| {
            let name = match runs.strategy {
                CleanupStrategy::Compaction => words.by_compaction,
                CleanupStrategy::Reclaim => words.by_scheduler,
                CleanupStrategy::Demand => words.by_demand,
                CleanupStrategy::Memory => words.in_memory,
            };
            view! {
                <tr>
                    <th scope="row">{name}</th>
                    <td class="num">{format::exact(runs.runs)}</td>
                    <td class="num">{format::exact(runs.rows)}</td>
                    <td class="num">{format::bytes(runs.bytes as f64)}</td>
                    <td class="num">{format::bytes(runs.read_bytes as f64)}</td>
                    <td class="num">{format::micros(runs.micros)}</td>
                </tr>
            }
        })
        .collect_view();
    let removed =
        flow.removed_delete + flow.removed_read + flow.removed_overwrite + flow.removed_sweep;
    let compacted = sample.compacted_millis.map_or_else(
        || words.not_yet.to_owned(),
        |at| format!("{} {}", format::duration((facts.at_millis - at).max(0)), words.ago),
    );
    let paused = sample.paused.then(|| match sample.paused_until_millis {
        Some(until) => {
            format!("{} {}", words.ends_in, format::duration((until - facts.at_millis).max(0)))
        }
        None => words.until_resumed.to_owned(),
    });
    let none = || ().into_any();
    let pause = if sample.paused {
        view! {
            <details><summary>{words.resume}</summary>{order(page, "resume_cleanup", words.resume, "primary", none())}</details>
        }
        .into_any()
    } else {
        let fields = view! {
            <label class="field">
                <span>{words.for_how_long}</span>
                <input type="text" name="for" placeholder="2h"/>
            </label>
        }
        .into_any();
        view! {
            <details><summary>{words.pause}</summary>{order(page, "pause_cleanup", words.pause, "primary", fields)}</details>
        }
        .into_any()
    };
    view! {
        <h2>{words.cleanup}</h2>
        <table class="narrow"><tbody>
            {fact(words.created_removed, format!("{} / {}", format::exact(flow.created), format::exact(removed)))}
            {fact(words.not_written_off, format!("{} · {}", format::exact(stock.expired_entries), format::bytes(stock.expired_bytes as f64)))}
            {fact(words.not_reclaimed, format!("≈\u{202f}{}", format::bytes(stock.unreclaimed_bytes as f64)))}
            {fact(words.last_compaction, compacted)}
            {fact(words.l0_files, format::exact(sample.l0_files))}
            {paused.map(|until| fact(words.paused, until))}
        </tbody></table>
        {table("", &[Column::Text(words.strategy), Column::Number(words.runs), Column::Number(words.rows), Column::Number(words.got_back), Column::Number(words.read), Column::Number(words.time)], rows.into_any())}
        <details><summary>{words.dry_run}</summary>{order(page, "dry_run", words.dry_run, "primary", none())}</details>
        <details><summary>{words.clean_now}</summary>{order(page, "clean", words.clean_now, "primary", none())}</details>
        {pause}
    }
    .into_any()
}
