//! Which TTL holds and why, what another would do, and the forms that change it.

use leptos::prelude::*;
use stateward_model::{TtlPolicy, parse_ttl, preview_ttl};

use super::words::PanelWords;
use super::{Page, fact, order};
use crate::format;

fn ttl_words(ttl_millis: Option<i64>, words: &PanelWords) -> String {
    ttl_millis.map_or_else(|| words.no_ttl.to_owned(), format::duration)
}

/// The section.
pub(super) fn ttl(page: Page<'_>, preview: &str) -> AnyView {
    let Page { facts, words, .. } = page;
    let (policy, stock) = (&facts.sample.ttl, &facts.detail.stock);
    if matches!(facts.detail.kind.as_str(), "table" | "timer") {
        return view! { <h2>{words.ttl}</h2> <p class="quiet">{words.ttl_by_families}</p> }
            .into_any();
    }
    let source = match &policy.overridden {
        None => words.by_code.to_owned(),
        Some(set) => {
            let end = set.until_millis.map_or_else(
                || words.until_reverted.to_owned(),
                |until| format!("{} {}", words.ends_in, left(until, facts.at_millis)),
            );
            format!("{} {}: {} ({end})", words.set_by, set.actor, set.reason)
        }
    };
    let hidden = policy.undo_until_millis().map(|until| {
        let figure = format!(
            "{} · {} · {} {}",
            format::exact(stock.hidden_entries),
            format::bytes(stock.hidden_bytes as f64),
            words.can_return_for,
            left(until, facts.at_millis)
        );
        fact(words.hidden, figure)
    });
    view! {
        <h2>{words.ttl}</h2>
        <table class="narrow"><tbody>
            {fact(words.in_force, ttl_words(policy.effective_millis(), words))}
            {fact(words.source, source)}
            {fact(words.declared, ttl_words(policy.declared_millis, words))}
            {hidden}
        </tbody></table>
        {preview_form(page, preview)}
        {change_forms(page, policy, preview)}
    }
    .into_any()
}

fn left(until_millis: i64, now_millis: i64) -> String {
    format::duration(until_millis.saturating_sub(now_millis).max(0))
}

/// What a TTL that was typed would do at once.
fn preview_form(page: Page<'_>, preview: &str) -> AnyView {
    let Page { facts, words, here, .. } = page;
    let said = (!preview.is_empty()).then(|| match parse_ttl(preview) {
        Err(_) => view! { <p class="notice bad" role="alert">{words.no_duration}</p> }.into_any(),
        Ok(then) => {
            let now = facts.sample.ttl.effective_millis();
            let does = preview_ttl(&facts.detail.age_resident, now, then);
            let error = if does.error > 0 {
                format!(" (± {})", format::exact(does.error))
            } else {
                String::new()
            };
            view! {
                <table class="narrow"><tbody>
                    {fact(words.would_be, ttl_words(then, words))}
                    {fact(words.would_hide, format!("{}{error}", format::exact(does.hides)))}
                    {fact(words.would_return, format!("{}{error}", format::exact(does.returns)))}
                </tbody></table>
                <p class="quiet small">{words.preview_note}</p>
            }
            .into_any()
        }
    });
    view! {
        <form method="get" action=here.to_owned() class="order">
            <input type="hidden" name="tab" value="ttl"/>
            <label class="field">
                <span>{words.another_ttl}</span>
                <input type="text" name="ttl" value=preview.to_owned() placeholder="30m, 36h, none" required/>
            </label>
            <div class="buttons"><button type="submit">{words.preview}</button></div>
        </form>
        {said}
    }
    .into_any()
}

fn change_forms(page: Page<'_>, policy: &TtlPolicy, preview: &str) -> AnyView {
    let words = page.words;
    let fields = view! {
        <div class="field-row">
            <label class="field">
                <span>{words.new_ttl}</span>
                <input type="text" name="ttl" value=preview.to_owned() placeholder="30m, 36h, none" required/>
            </label>
            <label class="field">
                <span>{words.for_how_long}</span>
                <input type="text" name="for" placeholder="2h"/>
            </label>
        </div>
    }
    .into_any();
    let none = || ().into_any();
    let revert = policy.overridden.is_some().then(|| {
        view! {
            <details><summary>{words.revert}</summary>{order(page, "ttl_revert", words.revert, "primary", none())}</details>
        }
    });
    let reclaim = policy.undo_until_millis().map(|_| {
        view! {
            <details>
                <summary>{words.reclaim_now}</summary>
                <p class="quiet">{words.reclaim_note}</p>
                {order(page, "reclaim_now", words.reclaim_now, "danger", none())}
            </details>
        }
    });
    view! {
        <details open=!preview.is_empty()>
            <summary>{words.change_ttl}</summary>
            <p class="quiet">{words.change_note}</p>
            {order(page, "ttl", words.change_ttl, "primary", fields)}
        </details>
        {revert}
        {reclaim}
    }
    .into_any()
}
