//! Times: relative, with the absolute one on hover.

use leptos::prelude::*;

use crate::i18n::use_lang;
use crate::live::use_live;

/// "2 min ago".
#[component]
pub fn Ago(
    /// When, ms.
    at: i64,
    /// The time of the answer that says so, ms; the clock takes over once hydrated.
    answered: i64,
) -> impl IntoView {
    let (live, lang) = (use_live(), use_lang());
    let relative = move || lang.ago(live.now_millis.get().unwrap_or(answered) - at);
    let absolute = move || format!("{} {}", live.date_time(at), live.zone());
    view! { <time title=move || absolute()>{move || relative()}</time> }.into_any()
}

/// "2026-11-30 20:12:05", in the zone that the page names.
#[component]
pub fn At(
    /// When, ms.
    at: i64,
) -> impl IntoView {
    let live = use_live();
    view! { <time class="nowrap" title=move || live.zone()>{move || live.date_time(at)}</time> }
        .into_any()
}

/// "live, 3 s old", or "silent since …".
#[component]
pub fn Freshness(
    /// Engine wall clock of the figures, ms.
    at: i64,
    /// Set when the engine is silent, ms.
    silent_since: Option<i64>,
    /// The time of the answer, ms.
    answered: i64,
) -> impl IntoView {
    let (live, lang) = (use_live(), use_lang());
    let now = move || live.now_millis.get().unwrap_or(answered);
    let text = move || match silent_since {
        Some(since) => lang.silent_since(&live.clock(since), now() - since),
        None => lang.live_age(now() - at),
    };
    let class = if silent_since.is_some() { "freshness silent-since" } else { "freshness" };
    view! { <span class=class title=move || live.date_time(at)>{move || text()}</span> }.into_any()
}
