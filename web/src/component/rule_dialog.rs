//! The dialogs that create, edit and delete an alert rule.

use leptos::prelude::*;
use leptos::task::spawn_local;
use stateward_model::Problem;
use stateward_model::alert::{Rule, SUBJECTS};

use super::rule_fields::{RuleFields, subject_of, unit};
use super::{Dialog, ProblemNotice, subject_word};
use crate::api::Fetched;
use crate::i18n::{use_lang, use_words};

/// What someone is about to do.
#[derive(Clone, Debug, PartialEq)]
pub enum RuleAct {
    /// Create (id 0) or change a rule.
    Save(Rule),
    /// Delete one.
    Delete(Rule),
}

/// Shows the act in a dialog until it is sent or given up.
#[component]
pub fn RuleDialog(
    /// The act; `None` while there is none.
    act: RwSignal<Option<RuleAct>>,
    /// Sends it.
    send: Callback<RuleAct, Fetched<()>>,
    /// Rules to start from.
    #[prop(into)]
    presets: Signal<Vec<Rule>>,
) -> impl IntoView {
    let (words, lang) = (use_words(), use_lang());
    let typed = RwSignal::new(RuleFields::default());
    let hint = RwSignal::new(String::new());
    let problem = RwSignal::new(None::<Problem>);
    let sending = RwSignal::new(false);
    Effect::new(move || {
        if let Some(RuleAct::Save(rule)) = act.get() {
            typed.set(RuleFields::of(&rule));
        }
    });
    let close = Callback::new(move |()| {
        act.set(None);
        hint.set(String::new());
        problem.set(None);
    });
    let title = Signal::derive(move || match act.get() {
        Some(RuleAct::Save(rule)) if rule.id == 0 => words.create_rule.to_owned(),
        Some(RuleAct::Save(_)) => words.edit_rule.to_owned(),
        Some(RuleAct::Delete(rule)) => lang.delete_rule_named(&rule.name),
        None => String::new(),
    });
    let submit = move || {
        let Some(current) = act.get_untracked() else { return };
        let request = match current {
            RuleAct::Save(_) => match typed.get_untracked().rule(lang) {
                Ok(rule) => RuleAct::Save(rule),
                Err(text) => {
                    hint.set(text);
                    return;
                }
            },
            RuleAct::Delete(rule) => RuleAct::Delete(rule),
        };
        hint.set(String::new());
        problem.set(None);
        sending.set(true);
        let answer = send.run(request);
        spawn_local(async move {
            match answer.await {
                Ok(()) => close.run(()),
                Err(refusal) => problem.set(Some(refusal)),
            }
            sending.set(false);
        });
    };
    let deleting = move || matches!(act.get(), Some(RuleAct::Delete(_)));
    view! {
        <Dialog open=Signal::derive(move || act.get().is_some()) on_close=close title=title>
            <form
                method="dialog"
                on:submit=move |event| {
                    event.prevent_default();
                    submit();
                }
            >
                <p hidden=move || !deleting()>
                    {move || match act.get() {
                        Some(RuleAct::Delete(rule)) => lang.delete_rule_means(&rule.name),
                        _ => String::new(),
                    }}
                </p>
                <div hidden=move || deleting()>
                    <Presets presets=presets typed=typed/>
                    <Fields typed=typed/>
                </div>
                {move || {
                    let text = hint.get();
                    (!text.is_empty()).then(|| view! { <p class="hint" role="alert">{text}</p> })
                }}
                {move || problem.get().map(|problem| view! { <ProblemNotice problem=problem/> })}
                <div class="buttons">
                    <button type="button" on:click=move |_| close.run(())>{words.cancel}</button>
                    <button
                        type="submit"
                        class=move || if deleting() { "danger" } else { "primary" }
                        disabled=move || sending.get()
                    >
                        {move || match act.get() {
                            Some(RuleAct::Save(rule)) if rule.id == 0 => words.create_rule.to_owned(),
                            Some(RuleAct::Save(_)) => words.save_rule.to_owned(),
                            _ => title.get(),
                        }}
                    </button>
                </div>
            </form>
        </Dialog>
    }
    .into_any()
}

/// Buttons that fill the form from a ready-made rule; the scope stays.
#[component]
fn Presets(
    /// The rules.
    presets: Signal<Vec<Rule>>,
    /// The form.
    typed: RwSignal<RuleFields>,
) -> impl IntoView {
    let words = use_words();
    let buttons = move || {
        presets
            .get()
            .into_iter()
            .map(|rule| {
                let name = rule.name.clone();
                let fill = move |_| {
                    let preset = RuleFields::of(&rule);
                    typed.update(|form| {
                        let scope = [&form.job, &form.operator, &form.state].map(Clone::clone);
                        let [job, operator, state] = scope;
                        *form = RuleFields { id: form.id, job, operator, state, ..preset };
                    });
                };
                view! { <button type="button" class="chip" on:click=fill>{name}</button> }
            })
            .collect_view()
    };
    view! {
        <p class="chips" hidden=move || presets.with(Vec::is_empty)>
            <span class="quiet">{words.start_from}</span>
            {move || buttons()}
        </p>
    }
    .into_any()
}

type ReadField = fn(&RuleFields) -> &String;
type WriteField = fn(&mut RuleFields) -> &mut String;

/// The form itself.
#[component]
fn Fields(
    /// What is typed.
    typed: RwSignal<RuleFields>,
) -> impl IntoView {
    let words = use_words();
    let text = move |label: &'static str,
                     name: &'static str,
                     hint: &'static str,
                     get: ReadField,
                     set: WriteField| {
        view! {
            <label class="field">
                <span>{label}</span>
                <input
                    type="text"
                    name=name
                    placeholder=hint
                    autocomplete="off"
                    prop:value=move || typed.with(|form| get(form).clone())
                    on:input=move |event| typed.update(|form| *set(form) = event_target_value(&event))
                />
            </label>
        }
    };
    let number = move |label: &'static str,
                       name: &'static str,
                       get: ReadField,
                       set: WriteField,
                       unit: Signal<&'static str>| {
        view! {
            <label class="field">
                <span>{label}</span>
                <span class="with-unit">
                    <input
                        type="text"
                        inputmode="decimal"
                        name=name
                        autocomplete="off"
                        prop:value=move || typed.with(|form| get(form).clone())
                        on:input=move |event| typed.update(|form| *set(form) = event_target_value(&event))
                    />
                    <span class="unit">{move || unit.get()}</span>
                </span>
            </label>
        }
    };
    let seconds = Signal::derive(move || words.seconds);
    let per_second = Signal::derive(move || words.per_second);
    let threshold = Signal::derive(move || typed.with(|form| unit(subject_of(&form.subject)).0));
    let subjects = SUBJECTS
        .into_iter()
        .map(|(subject, name)| {
            view! {
                <option value=name prop:selected=move || typed.with(|form| form.subject == name)>
                    {subject_word(words, subject)}
                </option>
            }
        })
        .collect_view();
    let severities = [
        ("info", words.s_info),
        ("warning", words.s_warning),
        ("critical", words.s_critical),
    ]
    .map(|(value, name)| {
        view! {
            <option value=value prop:selected=move || typed.with(|form| form.severity == value)>
                {name}
            </option>
        }
    })
    .into_iter()
    .collect_view();
    view! {
        {text(words.name, "name", "", |f| &f.name, |f| &mut f.name)}
        <div class="field-row">
            {text(words.job, "job", words.job_hint, |f| &f.job, |f| &mut f.job)}
            {text(words.operator, "operator", words.empty_is_all, |f| &f.operator, |f| &mut f.operator)}
            {text(words.state, "state", words.empty_is_all, |f| &f.state, |f| &mut f.state)}
        </div>
        <div class="field-row">
            <label class="field">
                <span>{words.subject}</span>
                <select
                    name="subject"
                    on:change=move |event| typed.update(|form| form.subject = event_target_value(&event))
                >
                    {subjects}
                </select>
            </label>
            {number(words.above, "above", |f| &f.above, |f| &mut f.above, threshold)}
            {number(words.traffic_min, "traffic", |f| &f.traffic, |f| &mut f.traffic, per_second)}
        </div>
        <div class="field-row">
            {number(words.hold_for, "hold", |f| &f.hold, |f| &mut f.hold, seconds)}
            {number(words.keep_firing, "keep", |f| &f.keep, |f| &mut f.keep, seconds)}
            <label class="field">
                <span>{words.severity}</span>
                <select
                    name="severity"
                    on:change=move |event| typed.update(|form| form.severity = event_target_value(&event))
                >
                    {severities}
                </select>
            </label>
        </div>
        <label class="choice">
            <input
                type="checkbox"
                name="enabled"
                prop:checked=move || typed.with(|form| form.enabled)
                on:change=move |event| typed.update(|form| form.enabled = event_target_checked(&event))
            />
            <span>{words.enabled}</span>
        </label>
    }
    .into_any()
}
