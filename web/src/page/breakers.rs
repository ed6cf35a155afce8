//! Breakers: what is not closed, and how nothing is lost meanwhile.

use leptos::prelude::*;
use stateward_model::breaker::{Action, Enforcement, Policy};
use stateward_model::view::{BreakerCard, CommandView};
use stateward_model::wire::CommandPhase;

use super::act::{breaker_sender, clock};
use super::shown::{Heading, shown};
use crate::api::{Ask, answer, one};
use crate::component::{
    Ago, At, BreakerAct, BreakerBadge, BreakerDialog, Empty, Equation, Freshness, NeedsScripts,
    command_word, order_word,
};
use crate::format;
use crate::i18n::{Words, use_lang, use_words};
use crate::live::use_live;
use crate::route::StateRef;

/// `/breakers`.
#[component]
pub fn BreakersView() -> impl IntoView {
    let words = use_words();
    let act = RwSignal::new(None::<BreakerAct>);
    let data = answer(|| vec![Ask::Breakers], use_live().figures);
    view! {
        <Heading text=words.breakers></Heading>
        {shown(data, one::<Vec<BreakerCard>>, move |cards, at| {
            let open: Vec<_> = cards.into_iter().filter(|card| !card.breaker.is_closed()).collect();
            if open.is_empty() {
                return view! { <Empty text=words.all_closed></Empty> }.into_any();
            }
            open.into_iter()
                .map(|card| {
                    let href = StateRef {
                        namespace: card.namespace.clone(),
                        job_name: card.job_name.clone(),
                        operator: card.operator.clone(),
                        state: card.state.clone(),
                    }
                    .path();
                    let place = format!("{} · {}/{}", card.operator, card.namespace, card.job_name);
                    view! {
                        <section class="panel">
                            <h2>
                                <a class="row-link" href=format!("{href}?tab=breaker")>{card.state.clone()}</a>
                                " " <small class="quiet">{place}</small>
                            </h2>
                            <Card card=card act=act at=at/>
                        </section>
                    }
                })
                .collect_view()
                .into_any()
        })}
        <p class="quiet">
            {words.trip_from_ranking} " "
            <a href="/states?sort=writes_per_second&columns=writes">{words.states_by_writes}</a>
        </p>
        <BreakerDialog act=act send=breaker_sender() now=clock()/>
    }
    .into_any()
}

fn action_word(words: &Words, action: Action) -> &'static str {
    match action {
        Action::Limit => words.a_limit,
        Action::Divert => words.a_divert,
    }
}

/// One breaker with everything a person needs before acting on it.
#[component]
pub(super) fn Card(
    /// The breaker.
    card: BreakerCard,
    /// Opens the dialogs.
    act: RwSignal<Option<BreakerAct>>,
    /// When the answer was given, ms.
    at: i64,
) -> impl IntoView {
    let (words, lang) = (use_words(), use_lang());
    let open = !card.breaker.is_closed();
    let figures = card.conservation.clone();
    let state = card.state.clone();
    let label = if open { lang.reset_on(&state) } else { lang.trip_on(&state) };
    let next = card.clone();
    let click = move |_| {
        let card = next.clone();
        act.set(Some(if open { BreakerAct::Reset(card) } else { BreakerAct::Trip(card) }));
    };
    let list = |names: &[String]| {
        if names.is_empty() { words.stops_nothing.to_owned() } else { names.join(", ") }
    };
    let since = (card.breaker.since_millis > 0).then(
        || view! { <dt>{words.since}</dt><dd><Ago at=card.breaker.since_millis answered=at/></dd> },
    );
    let until = card
        .breaker
        .until_millis
        .map(|until| view! { <dt>{words.until}</dt><dd><Ago at=until answered=at/></dd> });
    let action = open.then(
        || view! { <dt>{words.action}</dt><dd>{action_word(words, card.breaker.action)}</dd> },
    );
    let oldest = figures
        .oldest_pending_millis
        .map(|then| view! { <dt>{words.oldest_pending}</dt><dd><At at=then/> " " {words.event_time}</dd> });
    let silent = card.silent_since_millis.map(|since| {
        view! { <Freshness at=since silent_since=Some(since) answered=at/> }
    });
    let backlog =
        lang.waiting(&format::exact(figures.pending), &format::bytes(figures.pending_bytes as f64));
    view! {
        <div class="breaker-card" data-phase=format!("{:?}", card.breaker.phase)>
            <div class="columns">
                <dl class="facts">
                    <dt>{words.phase}</dt>
                    <dd><BreakerBadge breaker=card.breaker.clone()/> " " {silent}</dd>
                    {since} {until} {action}
                    <dt>{words.offered}</dt>
                    <dd>{format::rate(card.offered_per_second)}</dd>
                    <dt>{words.backlog}</dt>
                    <dd>{backlog}</dd>
                    {oldest}
                    <dt>{words.diverted_keys}</dt>
                    <dd>{format::exact(figures.diverted_keys)}</dd>
                    <dt>{words.stops_states}</dt>
                    <dd class="mono">{list(&card.stops_states)}</dd>
                    <dt>{words.stops_outputs}</dt>
                    <dd class="mono">{list(&card.stops_outputs)}</dd>
                </dl>
                <PolicyFacts policy=card.policy.clone()/>
            </div>
            <h3>{words.equation}</h3>
            <Equation figures=figures/>
            <p>
                <button type="button" class="danger" data-act="breaker" on:click=click>{label}</button>
                " " <NeedsScripts/>
            </p>
            <Commands commands=card.commands.clone() at=at/>
        </div>
    }
    .into_any()
}

/// The policy in force.
#[component]
fn PolicyFacts(
    /// The policy.
    policy: Policy,
) -> impl IntoView {
    let words = use_words();
    let enforcement = match policy.enforcement {
        Enforcement::Enforced => words.e_enforced,
        Enforcement::MetricsOnly => words.e_metrics_only,
        Enforcement::Disabled => words.e_disabled,
    };
    let max = policy.writes_per_second_max;
    let threshold = max.map_or_else(|| words.never.to_owned(), format::rate);
    let reset = max
        .map_or_else(|| format::UNKNOWN.to_owned(), |max| format::rate(max * policy.reset_ratio));
    let replay = policy.replay_per_second.map_or_else(|| words.unlimited.to_owned(), format::rate);
    view! {
        <dl class="facts">
            <dt>{words.policy}</dt>
            <dd>{enforcement}</dd>
            <dt>{words.trips_above}</dt>
            <dd>{threshold}</dd>
            <dt>{words.resets_below}</dt>
            <dd>{reset}</dd>
            <dt>{words.window}</dt>
            <dd>{format::duration(policy.window_millis as i64)}</dd>
            <dt>{words.open_min}</dt>
            <dd>{format::duration(policy.open_millis_min as i64)}</dd>
            <dt>{words.action}</dt>
            <dd>{action_word(words, policy.action)}</dd>
            <dt>{words.replay_budget}</dt>
            <dd>{replay}</dd>
        </dl>
    }
    .into_any()
}

/// The last commands and how far they got.
#[component]
fn Commands(
    /// Newest first.
    commands: Vec<CommandView>,
    /// When the answer was given, ms.
    at: i64,
) -> impl IntoView {
    let (words, lang) = (use_words(), use_lang());
    if commands.is_empty() {
        return ().into_any();
    }
    let rows = commands
        .into_iter()
        .map(|command| {
            let progress = command.progress;
            let tone = match progress.phase {
                CommandPhase::Done => "good",
                CommandPhase::Refused | CommandPhase::TimedOut => "bad",
                CommandPhase::Requested | CommandPhase::Delivered | CommandPhase::Applied => "warn",
            };
            let step = if progress.phase == CommandPhase::Applied {
                lang.applied_on_shards(progress.shards_applied, progress.shards)
            } else {
                command_word(words, progress.phase).to_owned()
            };
            view! {
                <tr>
                    <td class="quiet nowrap"><Ago at=command.requested_millis answered=at/></td>
                    <td>{order_word(words, &command.order)}</td>
                    <td><span class=format!("badge {tone}")>{step}</span></td>
                    <td>{command.actor}</td>
                    <td class="prose">{command.reason}</td>
                    <td class="prose quiet">{progress.detail}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <h3>{words.commands}</h3>
        <div class="scroll"><table class="plain"><tbody>{rows}</tbody></table></div>
    }
    .into_any()
}
