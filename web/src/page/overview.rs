//! The overview: how much there is, what needs attention, what fires, what changed.

use leptos::prelude::*;
use stateward_model::view::{Annotation, BreakerCard, Overview, StateRow};

use super::jobs::JobsTable;
use super::shown::{Heading, OfLink, StateLink, reference, shown};
use crate::api::{Ask, answer, one};
use crate::component::{Ago, AlertBadge, BreakerBadge, Empty, NoJob, VerdictBadge, subject_figure};
use crate::format;
use crate::i18n::{use_lang, use_words};
use crate::live::use_live;
use crate::route::StateRef;

/// `/`.
#[component]
pub fn OverviewView() -> impl IntoView {
    let words = use_words();
    let data = answer(|| vec![Ask::Overview], use_live().figures);
    view! {
        <Heading text=words.overview></Heading>
        {shown(data, one::<Overview>, |overview, at| view! { <Content overview=overview at=at/> }.into_any())}
    }
    .into_any()
}

#[component]
fn Content(
    /// The answer.
    overview: Overview,
    /// When it was given, ms.
    at: i64,
) -> impl IntoView {
    let words = use_words();
    if overview.jobs.is_empty() {
        return view! { <NoJob/> }.into_any();
    }
    let attention = if overview.attention.is_empty() {
        view! { <Empty text=words.no_attention></Empty> }.into_any()
    } else {
        view! { <Attention rows=overview.attention.clone()/> }.into_any()
    };
    let alerts = if overview.firing.is_empty() {
        view! { <p class="quiet">{words.no_firing}</p> }.into_any()
    } else {
        let rows = overview.firing.iter().cloned().map(|alert| {
            let value = subject_figure(alert.rule.subject, alert.instance.value);
            view! {
                <tr>
                    <td><AlertBadge phase=alert.instance.phase/></td>
                    <td><a href="/alerts">{alert.rule.name}</a></td>
                    <td><OfLink of=alert.of/></td>
                    <td class="num">{value}</td>
                </tr>
            }
        });
        view! { <table class="plain"><tbody>{rows.collect_view()}</tbody></table> }.into_any()
    };
    let breakers = if overview.breakers.is_empty() {
        view! { <p class="quiet">{words.all_closed}</p> }.into_any()
    } else {
        let rows =
            overview.breakers.into_iter().map(|card| view! { <BreakerLine card=card at=at/> });
        view! { <table class="plain"><tbody>{rows.collect_view()}</tbody></table> }.into_any()
    };
    view! {
        <Tiles
            figures=[
                (words.size, format::bytes(overview.logical_bytes as f64), overview.logical_bytes.to_string(), "/states?sort=logical_bytes"),
                (words.growth, format::maybe(overview.growth_per_day, format::growth), words.unknown_growth.to_owned(), "/states?sort=growth_per_day"),
                (words.debt, format!("≈\u{202f}{}", format::bytes(overview.debt_bytes as f64)), words.approximate.to_owned(), "/states?columns=ttl"),
                (words.needs_attention, overview.attention_total.to_string(), String::new(), "/states"),
            ]
            alarming={overview.attention_total > 0}
        />
        <section>
            <h2>
                {words.needs_attention}
                <a class="more" href="/states">{words.all_of_them} " " {overview.states}</a>
            </h2>
            {attention}
        </section>
        <div class="columns">
            <section><h2><a href="/alerts">{words.firing_alerts}</a></h2>{alerts}</section>
            <section><h2><a href="/breakers">{words.breakers_not_closed}</a></h2>{breakers}</section>
        </div>
        <section>
            <h2><a href="/jobs">{words.jobs}</a></h2>
            <JobsTable jobs=overview.jobs at=at/>
        </section>
        <section><h2>{words.what_changed}</h2><Changes changes=overview.changes at=at/></section>
    }
    .into_any()
}

/// Large figures that link to what they are made of: name, figure, on hover, where to.
#[component]
fn Tiles(
    /// The figures.
    figures: [(&'static str, String, String, &'static str); 4],
    /// Whether the last one wants action.
    alarming: bool,
) -> impl IntoView {
    let last = figures.len() - 1;
    let tiles = figures
        .into_iter()
        .enumerate()
        .map(|(n, (name, figure, title, href))| {
            let class = if n == last && alarming { "tile alarming" } else { "tile" };
            view! {
                <a class=class href=href title=title>
                    <span class="quiet">{name}</span>
                    <b>{figure}</b>
                </a>
            }
        })
        .collect_view();
    view! { <div class="tiles">{tiles}</div> }.into_any()
}

/// Verdict, state, why, what to do.
#[component]
fn Attention(
    /// Worst first.
    rows: Vec<StateRow>,
) -> impl IntoView {
    let (words, lang) = (use_words(), use_lang());
    let rows = rows
        .into_iter()
        .map(|row| {
            let why = lang.verdict(&row.verdict, row.growth_per_day);
            let remedy = lang.remedy(row.verdict.kind);
            let job = format!("{} · {}", row.operator, row.job_name);
            let href = reference(&row).path();
            let class = if row.silent_since_millis.is_some() { "silent" } else { "" };
            view! {
                <tr class=class>
                    <td><VerdictBadge verdict=row.verdict.clone() growth_per_day=row.growth_per_day/></td>
                    <td><StateLink row=row.clone()/><br/><small class="quiet">{job}</small></td>
                    <td class="num" title=row.logical_bytes.to_string()>{format::bytes(row.logical_bytes as f64)}</td>
                    <td class="prose">{why}</td>
                    <td class="prose quiet">
                        {if remedy.is_empty() { "—" } else { remedy }} " "
                        <a href=href aria-label=row.state.clone()>"→"</a>
                    </td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <div class="scroll">
            <table class="attention">
                <thead>
                    <tr>
                        <th scope="col">{words.verdict}</th>
                        <th scope="col">{words.state}</th>
                        <th scope="col" class="num">{words.size}</th>
                        <th scope="col">{words.why}</th>
                        <th scope="col">{words.what_to_do}</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

#[component]
fn BreakerLine(
    /// The breaker.
    card: BreakerCard,
    /// When the answer was given, ms.
    at: i64,
) -> impl IntoView {
    let lang = use_lang();
    let href = StateRef {
        namespace: card.namespace,
        job_name: card.job_name,
        operator: card.operator,
        state: card.state.clone(),
    }
    .path();
    let backlog = lang.waiting(
        &format::exact(card.conservation.pending),
        &format::bytes(card.conservation.pending_bytes as f64),
    );
    view! {
        <tr>
            <td><BreakerBadge breaker=card.breaker.clone()/></td>
            <td><a class="row-link" href=format!("{href}?tab=breaker")>{card.state}</a></td>
            <td>{backlog}</td>
            <td class="quiet num"><Ago at=card.breaker.since_millis answered=at/></td>
        </tr>
    }
    .into_any()
}

#[component]
fn Changes(
    /// Newest first.
    changes: Vec<Annotation>,
    /// When the answer was given, ms.
    at: i64,
) -> impl IntoView {
    let (words, lang) = (use_words(), use_lang());
    if changes.is_empty() {
        return view! { <p class="quiet">{words.no_changes}</p> }.into_any();
    }
    let rows = changes
        .into_iter()
        .take(20)
        .map(|change| {
            view! {
                <tr>
                    <td class="quiet nowrap"><Ago at=change.wall_millis answered=at/></td>
                    <td class="nowrap"><span class=format!("kind {}", change.kind)>{lang.event(&change.kind)}</span></td>
                    <td class="prose">{change.text}</td>
                </tr>
            }
        })
        .collect_view();
    view! { <div class="scroll"><table class="plain"><tbody>{rows}</tbody></table></div> }
        .into_any()
}
