//! The canaries: does the TTL work from end to end?

use leptos::prelude::*;
use stateward_model::wire::CanaryPhase;

use super::{Page, fact};
use crate::format;

/// The section; nothing for a state without canaries.
pub(super) fn canary(page: Page<'_>) -> AnyView {
    let Page { facts, words, .. } = page;
    let Some(sample) = &facts.sample.canary else { return ().into_any() };
    let badge = if sample.overdue {
        view! { <span class="badge bad"><span class="icon" aria-hidden="true">"✕"</span>{words.canary_overdue}</span> }
            .into_any()
    } else {
        view! { <span class="badge good"><span class="icon" aria-hidden="true">"✓"</span>{words.canary_well}</span> }
            .into_any()
    };
    let phase = sample.phase.map(|phase| match phase {
        CanaryPhase::Written => words.canary_lives,
        CanaryPhase::Expired => words.canary_expired,
        CanaryPhase::WrittenOff => words.canary_written_off,
    });
    let since = sample.since_millis.map(|at| format::duration((facts.at_millis - at).max(0)));
    let now = phase.zip(since).map(|(phase, since)| format!("{phase}, {since}"));
    let counts = [sample.written, sample.expired, sample.written_off, sample.removed];
    let counts = counts.map(format::exact).join(" / ");
    view! {
        <section>
            <h2>{words.canaries} " " {badge}</h2>
            <p class="quiet small">{words.canary_note}</p>
            <table class="narrow"><tbody>
                {fact(words.canary_now, format::maybe(now, |text| text))}
                {fact(words.canary_counts, counts)}
                {fact(words.canary_write_off, format::maybe(sample.write_off_millis, format::duration))}
                {fact(words.canary_removal, format::maybe(sample.removal_millis, format::duration))}
                {fact(words.canary_overdue_total, format::exact(sample.overdue_total))}
            </tbody></table>
        </section>
    }
    .into_any()
}
