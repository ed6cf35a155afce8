//! Parts of pages that only the server renders: the browser puts their HTML in as it comes, so that
//! what is read, and forms that need no script, cost the hydrated bundle nothing.

mod words;
mod table;
mod ttl;
mod cleanup;
mod orders;
mod expiry;
mod sites;
mod storage;
mod bars;
mod hot;
mod sizes;
mod checkpoints;
mod overshoot;
mod invariants;
mod canary;
#[cfg(test)]
mod tests;

use leptos::prelude::*;
use stateward_model::view::StateFacts;

use crate::i18n::{Lang, Preferences};
use crate::route::StateRef;

#[cfg(test)]
pub(crate) use tests::sample;

use words::PanelWords;

/// What a reader has asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PanelQuery {
    /// Which tab of a state's page: `sites`, `storage`, else that of TTL and cleanup.
    pub tab: String,
    /// A TTL to preview, as typed.
    pub preview: String,
    /// Why the last order was not taken.
    pub refused: String,
}

/// What every part of the panel needs.
#[derive(Clone, Copy)]
struct Page<'a> {
    facts: &'a StateFacts,
    words: &'static PanelWords,
    /// Where forms are sent.
    orders: &'a str,
    /// Where the tab is.
    here: &'a str,
}

/// Renders a tab of a state's page.
pub fn state_panel(facts: &StateFacts, query: &PanelQuery, lang: Lang) -> String {
    Owner::new().with(|| {
        provide_context(Preferences { lang, ..Preferences::default() });
        let detail = || facts.detail.clone();
        let path = place(facts).path();
        let orders = path.replacen("/states/", "/ui/orders/", 1);
        let page = Page { facts, words: words::of(lang), orders: &orders, here: &path };
        let html = match query.tab.as_str() {
            "sites" => view! { <sites::Sites detail=detail()/> {hot::hot(page)} }.into_any(),
            "storage" => view! {
                <storage::Storage detail=detail()/>
                {sizes::sizes(page)}
                {checkpoints::checkpoints(page)}
            }
            .into_any(),
            _ => ttl_and_cleanup(page, query),
        };
        html.to_html()
    })
}

fn place(facts: &StateFacts) -> StateRef {
    let row = &facts.detail.row;
    StateRef {
        namespace: row.namespace.clone(),
        job_name: row.job_name.clone(),
        operator: row.operator.clone(),
        state: row.state.clone(),
    }
}

fn ttl_and_cleanup(page: Page<'_>, query: &PanelQuery) -> AnyView {
    let Page { words, here, .. } = page;
    let refused = (!query.refused.is_empty()).then(|| {
            view! { <p class="notice bad" role="alert">{words.refused} ": " {query.refused.clone()}</p> }
        });
    view! {
        {refused}
        <p class="quiet small">
            {words.as_of_load} " · " <a href=format!("{here}?tab=ttl")>{words.refresh}</a>
        </p>
        <div class="columns">
            <section>{ttl::ttl(page, &query.preview)}</section>
            <section>{cleanup::cleanup(page)}</section>
        </div>
        {canary::canary(page)}
        {invariants::invariants(page)}
        {overshoot::overshoot(page)}
        {expiry::expiry(page)}
        {orders::orders(page)}
    }
    .into_any()
}

/// A form that orders something: what it says beside its fields, and its button.
fn order(
    page: Page<'_>,
    name: &'static str,
    button: &'static str,
    class: &'static str,
    fields: AnyView,
) -> AnyView {
    let words = page.words;
    view! {
        <form method="post" action=page.orders.to_owned() class="order">
            <input type="hidden" name="order" value=name/>
            {fields}
            <label class="field">
                <span>{words.reason}</span>
                <input type="text" name="reason" required maxlength="500"/>
            </label>
            <div class="buttons"><button type="submit" class=class>{button}</button></div>
        </form>
    }
    .into_any()
}

/// A row of a table of facts.
fn fact(name: &'static str, value: String) -> AnyView {
    view! { <tr><th scope="row">{name}</th><td>{value}</td></tr> }.into_any()
}
