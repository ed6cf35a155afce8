//! The job's checkpoints: how long, how big, what was left out, and what failed.

use leptos::prelude::*;
use stateward_model::wire::{CheckpointFailure, CheckpointKind, CheckpointRun};

use super::Page;
use super::table::{Column, table};
use crate::format;

/// Checkpoints that are listed.
const RUNS_SHOWN: usize = 20;

/// The section.
pub(super) fn checkpoints(page: Page<'_>) -> AnyView {
    let Page { facts, words, .. } = page;
    let sample = &facts.job.checkpoints;
    let failed: u64 = sample.failures.iter().sum();
    let kept = sample.retained.len();
    let summary = format!(
        "{} {kept} · {} {} · {} {}",
        words.kept,
        words.failed,
        format::exact(failed),
        words.changelog,
        format::bytes(facts.job.changelog_bytes as f64),
    );
    let waits = sample
        .sources_wait
        .then(|| view! { <p class="notice bad" role="alert">{words.sources_wait}</p> });
    if sample.runs.is_empty() {
        return view! {
            <section>
                <h2>{words.checkpoints}</h2> {waits}
                <p class="quiet">{words.no_checkpoints}</p>
            </section>
        }
        .into_any();
    }
    let rows = sample.runs.iter().rev().take(RUNS_SHOWN).map(|run| row(page, run)).collect_view();
    view! {
        <section>
            <h2>{words.checkpoints}</h2> {waits}
            <p class="quiet small">{summary}</p>
            {table("", &[Column::Text(words.when), Column::Number(words.epoch), Column::Text(words.sort), Column::Number(words.took), Column::Number(words.stood_still), Column::Number(words.logical_size), Column::Number(words.written_new), Column::Number(words.linked), Column::Number(words.left_out), Column::Text(words.result)], rows.into_any())}
        </section>
    }
    .into_any()
}

fn row(page: Page<'_>, run: &CheckpointRun) -> AnyView {
    let Page { facts, words, .. } = page;
    let ago = format::duration((facts.at_millis - run.wall_millis).max(0));
    let sort = match run.kind {
        CheckpointKind::Incremental => words.incremental,
        CheckpointKind::Full => words.full,
    };
    let bytes = |value: u64| format::bytes(value as f64);
    let cleaning = (run.cleanup_micros > 0)
        .then(|| format!("{} {}", words.cleaning_took, format::micros(run.cleanup_micros)));
    let left_out =
        format!("{} · {}", format::exact(run.excluded_entries), bytes(run.excluded_bytes));
    let result = match run.failure {
        None => view! { <span class="badge good"><span class="icon" aria-hidden="true">"✓"</span>{words.done}</span> }.into_any(),
        Some(why) => {
            let why = match why {
                CheckpointFailure::Timeout => words.timed_out,
                CheckpointFailure::DiskFull => words.disk_full,
                CheckpointFailure::Damaged => words.damaged_file,
                CheckpointFailure::Io => words.io_error,
            };
            let detail = run.detail.clone().unwrap_or_default();
            view! {
                <span class="badge bad"><span class="icon" aria-hidden="true">"✕"</span>{why}</span> " "
                <small class="quiet">{detail}</small>
            }
            .into_any()
        }
    };
    view! {
        <tr>
            <td>{format!("{ago} {}", words.ago)}</td>
            <td class="num">{format::exact(run.epoch)}</td>
            <td>{sort}</td>
            <td class="num">{format::micros(run.micros)}</td>
            <td class="num">{format::micros(run.pause_micros)}</td>
            <td class="num">{bytes(run.logical_bytes)}</td>
            <td class="num">{bytes(run.copied_bytes)}</td>
            <td class="num">{bytes(run.linked_bytes)}</td>
            <td class="num" title=cleaning>{left_out}</td>
            <td>{result}</td>
        </tr>
    }
    .into_any()
}
