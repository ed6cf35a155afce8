//! The dialogs that trip and reset a breaker: what, where, the current rate, what else stops, why.

use leptos::prelude::*;
use leptos::task::spawn_local;
use stateward_model::Problem;
use stateward_model::breaker::Action;
use stateward_model::view::{BreakerCard, OrderRequest};
use stateward_model::wire::Order;

use super::{Dialog, Equation, ProblemNotice};
use crate::api::Fetched;
use crate::format;
use crate::i18n::{use_lang, use_words};

/// What someone is about to do.
#[derive(Clone, Debug, PartialEq)]
pub enum BreakerAct {
    /// Stop the writes.
    Trip(BreakerCard),
    /// Replay and close.
    Reset(BreakerCard),
}

impl BreakerAct {
    fn card(&self) -> &BreakerCard {
        match self {
            Self::Trip(card) | Self::Reset(card) => card,
        }
    }
}

/// Ends that a trip can be given, ms; the first is none.
const EXPIRIES: [Option<i64>; 5] =
    [None, Some(900_000), Some(3_600_000), Some(21_600_000), Some(86_400_000)];

/// Shows the act in a dialog until it is sent or given up.
#[component]
pub fn BreakerDialog(
    /// The act; `None` while there is none.
    act: RwSignal<Option<BreakerAct>>,
    /// Sends the request for a state.
    send: Callback<([String; 4], OrderRequest), Fetched<()>>,
    /// Wall clock, ms.
    now: Callback<(), i64>,
) -> impl IntoView {
    let (words, lang) = (use_words(), use_lang());
    let reason = RwSignal::new(String::new());
    let expiry = RwSignal::new(0_usize);
    let action = RwSignal::new(Action::Divert);
    let sending = RwSignal::new(false);
    let problem = RwSignal::new(None::<Problem>);
    let title = Signal::derive(move || match act.get() {
        Some(BreakerAct::Trip(card)) => lang.trip_on(&card.state),
        Some(BreakerAct::Reset(card)) => lang.reset_on(&card.state),
        None => String::new(),
    });
    let close = Callback::new(move |()| {
        act.set(None);
        reason.set(String::new());
        problem.set(None);
    });
    let submit = move || {
        let Some(current) = act.get_untracked() else { return };
        let order = match current {
            BreakerAct::Trip(_) => {
                let lasts = EXPIRIES.get(expiry.get_untracked()).copied().flatten();
                let until_millis = lasts.map(|lasts| now.run(()) + lasts);
                Order::Trip { action: action.get_untracked(), until_millis }
            }
            BreakerAct::Reset(_) => Order::Reset,
        };
        let card = current.card();
        let of = [&card.namespace, &card.job_name, &card.operator, &card.state].map(Clone::clone);
        let request = OrderRequest { order, reason: reason.get_untracked().trim().to_owned() };
        sending.set(true);
        problem.set(None);
        let answer = send.run((of, request));
        spawn_local(async move {
            match answer.await {
                Ok(()) => close.run(()),
                Err(refusal) => problem.set(Some(refusal)),
            }
            sending.set(false);
        });
    };
    let incomplete = move || sending.get() || reason.with(|text| text.trim().is_empty());
    let tripping = move || matches!(act.get(), Some(BreakerAct::Trip(_)));
    view! {
        <Dialog open=Signal::derive(move || act.get().is_some()) on_close=close title=title>
            {move || act.get().map(|act| view! { <Facts act=act/> })}
            <form
                method="dialog"
                on:submit=move |event| {
                    event.prevent_default();
                    submit();
                }
            >
                <label class="field">
                    <span>{words.reason}</span>
                    <input
                        type="text"
                        name="reason"
                        required
                        maxlength="500"
                        placeholder=words.reason_hint
                        prop:value=move || reason.get()
                        on:input=move |event| reason.set(event_target_value(&event))
                    />
                </label>
                <div hidden=move || !tripping()>
                    <fieldset class="field">
                        <legend>{words.action}</legend>
                        {[
                            (Action::Divert, "divert", words.a_divert, words.a_divert_help),
                            (Action::Limit, "limit", words.a_limit, words.a_limit_help),
                        ]
                            .map(|(choice, value, name, help)| {
                                view! {
                                    <label class="choice">
                                        <input
                                            type="radio"
                                            name="action"
                                            value=value
                                            prop:checked=move || action.get() == choice
                                            on:change=move |_| action.set(choice)
                                        />
                                        <span>{name} <small>{help}</small></span>
                                    </label>
                                }
                            })
                            .into_iter()
                            .collect_view()}
                    </fieldset>
                    <label class="field">
                        <span>{words.expiry}</span>
                        <select
                            name="expiry"
                            on:change=move |event| {
                                expiry.set(event_target_value(&event).parse().unwrap_or_default());
                            }
                        >
                            {EXPIRIES
                                .into_iter()
                                .enumerate()
                                .map(|(n, lasts)| {
                                    let text = lasts
                                        .map_or_else(|| words.expiry_never.to_owned(), format::duration);
                                    view! {
                                        <option value=n.to_string() prop:selected=move || expiry.get() == n>
                                            {text}
                                        </option>
                                    }
                                })
                                .collect_view()}
                        </select>
                    </label>
                </div>
                {move || problem.get().map(|problem| view! { <ProblemNotice problem=problem/> })}
                <div class="buttons">
                    <button type="button" on:click=move |_| close.run(())>{words.cancel}</button>
                    <button type="submit" class=move || if tripping() { "danger" } else { "primary" } disabled=move || incomplete()>
                        {move || title.get()}
                    </button>
                </div>
            </form>
        </Dialog>
    }
    .into_any()
}

/// What, where, how much, and what else stops.
#[component]
fn Facts(
    /// The act.
    act: BreakerAct,
) -> impl IntoView {
    let (words, lang) = (use_words(), use_lang());
    let card = act.card().clone();
    let list = |names: &[String]| {
        if names.is_empty() { words.stops_nothing.to_owned() } else { names.join(", ") }
    };
    let (states, outputs) = (list(&card.stops_states), list(&card.stops_outputs));
    let details = if matches!(act, BreakerAct::Trip(_)) {
        view! {
            <dt>{words.stops_states}</dt>
            <dd class="mono">{states}</dd>
            <dt>{words.stops_outputs}</dt>
            <dd class="mono">{outputs}</dd>
        }
        .into_any()
    } else {
        let backlog = lang.waiting(
            &format::exact(card.conservation.pending),
            &format::bytes(card.conservation.pending_bytes as f64),
        );
        view! {
            <dt>{words.backlog}</dt>
            <dd>{backlog}</dd>
            <dt>{words.equation}</dt>
            <dd><Equation figures=card.conservation.clone()/></dd>
        }
        .into_any()
    };
    view! {
        <dl class="facts">
            <dt>{words.job}</dt>
            <dd class="mono">{format!("{}/{}", card.namespace, card.job_name)}</dd>
            <dt>{words.operator}</dt>
            <dd class="mono">{card.operator.clone()}</dd>
            <dt>{words.state}</dt>
            <dd class="mono">{card.state.clone()}</dd>
            <dt>{words.offered}</dt>
            <dd>{format::rate(card.offered_per_second)}</dd>
            {details}
        </dl>
        {matches!(act, BreakerAct::Reset(_)).then(|| view! { <p class="quiet">{words.reset_replays}</p> })}
    }
    .into_any()
}
