//! Sizes: each with its name, how one comes from the other, and what lies in memory.

use leptos::prelude::*;
use stateward_model::wire::{CheckpointKind, JobSample};

use super::bars::bars;
use super::{Page, fact};
use crate::format;

/// The sections.
pub(super) fn sizes(page: Page<'_>) -> AnyView {
    view! {
        <div class="columns">
            <section>{of_state(page)}</section>
            <section>{of_job(page)}</section>
        </div>
        <div class="columns">
            <section>{values(page)}</section>
            <section>{memory(page)}</section>
        </div>
    }
    .into_any()
}

fn bytes(value: u64) -> String {
    format::bytes(value as f64)
}

/// A line that leads from one size to the next.
fn step(name: &'static str, value: i64) -> AnyView {
    let sign = if value < 0 { "\u{2212}" } else { "+" };
    let text = format!("{sign}\u{202f}{}", bytes(value.unsigned_abs()));
    view! { <tr class="quiet"><td>{name}</td><td class="num">{text}</td></tr> }.into_any()
}

fn sum(name: &'static str, value: u64) -> AnyView {
    view! { <tr><th scope="row">{name}</th><td class="num" title=value.to_string()>{bytes(value)}</td></tr> }
        .into_any()
}

/// From the rows to their files.
fn of_state(page: Page<'_>) -> AnyView {
    let Page { facts, words, .. } = page;
    let stock = &facts.sample.stock;
    let on_heap = facts.detail.backend == "heap";
    let rest = stock.disk_bytes as i64 - (stock.logical_bytes + stock.unreclaimed_bytes) as i64;
    let to_disk = if on_heap {
        view! {
            {step(words.heap_overhead, stock.disk_bytes as i64 - stock.logical_bytes as i64)}
            {sum(words.in_memory_size, stock.disk_bytes)}
        }
        .into_any()
    } else {
        view! {
            {step(words.not_reclaimed, stock.unreclaimed_bytes as i64)}
            {step(words.files_differ, rest)}
            {sum(words.disk_size, stock.disk_bytes)}
            {sum(words.of_it_cached, stock.resident_bytes)}
        }
        .into_any()
    };
    view! {
        <h2>{words.this_state}</h2>
        <table class="narrow"><tbody>
            {sum(words.logical_size, stock.logical_bytes)}
            {to_disk}
        </tbody></table>
        <p class="quiet small">{if on_heap { words.heap_note } else { words.disk_note }}</p>
    }
    .into_any()
}

/// From the states' files to the folder, and what checkpoints cost.
fn of_job(page: Page<'_>) -> AnyView {
    let Page { facts, words, .. } = page;
    let JobSample { folder, checkpoints, .. } = &facts.job;
    let done = || checkpoints.runs.iter().rev().filter(|run| run.failure.is_none());
    let last = done().next();
    let full = done().find(|run| run.kind == CheckpointKind::Full);
    let uploaded = last.map(|run| sum(words.uploaded, run.copied_bytes));
    let full = full.map(|run| sum(words.last_full, run.copied_bytes + run.linked_bytes));
    view! {
        <h2>{words.whole_job}</h2>
        <table class="narrow"><tbody>
            {sum(words.all_states_disk, facts.job_disk_bytes)}
            {step(words.being_replaced, folder.state_bytes as i64 - facts.job_disk_bytes as i64)}
            {step(words.changelog, folder.changelog_bytes as i64)}
            {step(words.pinned, folder.checkpoint_bytes as i64)}
            {step(words.other_files, folder.other_bytes as i64)}
            {sum(words.folder_size, folder.total_bytes())}
            {full}
            {uploaded}
        </tbody></table>
        <p class="quiet small">{words.folder_note}</p>
    }
    .into_any()
}

fn values(page: Page<'_>) -> AnyView {
    let Page { facts, words, .. } = page;
    let rows = bars(&facts.sample.value_bytes, (words.size, words.writes), bytes, words.no_changes);
    view! { <h2>{words.value_sizes}</h2> <p class="quiet small">{words.value_note}</p> {rows} }
        .into_any()
}

fn memory(page: Page<'_>) -> AnyView {
    let Page { facts, words, .. } = page;
    let memory = &facts.job.memory;
    let used = memory.budgeted_bytes();
    let share = used as f64 / memory.budget_bytes.max(1) as f64;
    view! {
        <h2>{words.memory}</h2>
        <table class="narrow"><tbody>
            {sum(words.write_caches, memory.write_cache_bytes)}
            {sum(words.heap_states, memory.heap_bytes)}
            {sum(words.memtables, memory.memtable_bytes)}
            {sum(words.block_cache, memory.block_cache_bytes)}
            {fact(words.of_budget, format!("{} / {} ({})", bytes(used), bytes(memory.budget_bytes), format::percent(share)))}
            {fact(words.open_files, format!("≈\u{202f}{}", bytes(memory.table_reader_bytes)))}
            {fact(words.process, format::maybe(memory.process_bytes, bytes))}
        </tbody></table>
        <p class="quiet small">{words.memory_note}</p>
    }
    .into_any()
}
