//! How long after their expiry entries really went.

use leptos::prelude::*;

use super::bars::bars;
use super::{Page, fact};
use crate::format;

/// The section; nothing for a state without a TTL.
pub(super) fn overshoot(page: Page<'_>) -> AnyView {
    let Page { facts, words, .. } = page;
    let sample = &facts.sample.overshoot;
    if facts.sample.stock.ttl_millis.is_none() && sample.late.count() == 0 {
        return ().into_any();
    }
    let duration = |millis: u64| format::duration(i64::try_from(millis).unwrap_or(i64::MAX));
    let quantile = |q: f64| format::maybe(sample.late.quantile(q), duration);
    let early = (sample.early.count() > 0)
        .then(|| fact(words.before_expiry, format::exact(sample.early.count())));
    let rows =
        bars(&sample.late, (words.after_expiry, words.entries), duration, words.none_removed);
    view! {
        <section>
            <h2>{words.overshoot}</h2>
            <p class="quiet small">{words.overshoot_note}</p>
            <table class="narrow"><tbody>
                {fact(words.median, quantile(0.5))}
                {fact("p99", quantile(0.99))}
                {early}
            </tbody></table>
            <details><summary>{words.distribution}</summary>{rows}</details>
        </section>
    }
    .into_any()
}
