//! Alerts: what is active, the rules, what happened.

use leptos::prelude::*;
use stateward_model::alert::{Rule, Subject};
use stateward_model::view::{AlertRow, AlertTransition, AlertsPage};

use super::act::{presets_for, rule_sender};
use super::shown::{Heading, OfLink, shown};
use crate::api::{Ask, answer, one};
use crate::component::{
    Ago, AlertBadge, At, Empty, NeedsScripts, RuleAct, RuleDialog, SeverityBadge, subject_figure,
    subject_word,
};
use crate::format;
use crate::i18n::{use_lang, use_words};
use crate::live::use_live;

/// A rule to start from.
fn blank() -> Rule {
    Rule {
        id: 0,
        name: String::new(),
        job: String::new(),
        operator: String::new(),
        state: String::new(),
        subject: Subject::LogicalBytes,
        above: 1_073_741_824.0,
        traffic_per_second_min: 0.0,
        for_millis: 300_000,
        keep_firing_millis: 0,
        severity: "warning".to_owned(),
        enabled: true,
    }
}

/// `/alerts`.
#[component]
pub fn AlertsView() -> impl IntoView {
    let words = use_words();
    let act = RwSignal::new(None::<RuleAct>);
    let data = answer(|| vec![Ask::Alerts], use_live().figures);
    let presets = presets_for(act);
    view! {
        <Heading text=words.alerts>
            <button type="button" class="primary" data-act="rule" on:click=move |_| act.set(Some(RuleAct::Save(blank())))>
                {words.new_rule}
            </button>
            <NeedsScripts/>
        </Heading>
        {shown(data, one::<AlertsPage>, move |page, at| {
            // a transition carries no unit: it is that of the rule, while there is one of that name
            let subjects = page.rules.iter().map(|rule| (rule.name.clone(), rule.subject)).collect();
            view! {
                <section><h2>{words.active}</h2><Active rows=page.active at=at/></section>
                <section><h2>{words.rules}</h2><Rules rules=page.rules act=act/></section>
                <section><h2>{words.history}</h2><History rows=page.history subjects=subjects/></section>
            }
            .into_any()
        })}
        <RuleDialog act=act send=rule_sender() presets=presets/>
    }
    .into_any()
}

#[component]
fn Active(
    /// Pending, firing, resolved.
    rows: Vec<AlertRow>,
    /// When the answer was given, ms.
    at: i64,
) -> impl IntoView {
    let (words, lang) = (use_words(), use_lang());
    if rows.is_empty() {
        return view! { <Empty text=words.no_active></Empty> }.into_any();
    }
    let rows = rows
        .into_iter()
        .map(|alert| {
            let (rule, instance) = (alert.rule, alert.instance);
            let condition = lang.condition(
                subject_word(words, rule.subject),
                &subject_figure(rule.subject, rule.above),
                rule.for_millis,
            );
            let since = instance.fired_millis.unwrap_or(instance.active_millis);
            let no_data = instance
                .no_data
                .then(|| view! { " " <span class="badge quiet">{words.no_data}</span> });
            view! {
                <tr>
                    <td><AlertBadge phase=instance.phase/>{no_data}</td>
                    <td><SeverityBadge severity=rule.severity/></td>
                    <td>{rule.name}</td>
                    <td><OfLink of=alert.of/></td>
                    <td>{condition}</td>
                    <td class="num">{subject_figure(rule.subject, instance.value)}</td>
                    <td class="num quiet"><Ago at=since answered=at/></td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <div class="scroll">
            <table>
                <thead>
                    <tr>
                        <th scope="col">{words.phase}</th>
                        <th scope="col">{words.severity}</th>
                        <th scope="col">{words.rule}</th>
                        <th scope="col">{words.state}</th>
                        <th scope="col">{words.condition}</th>
                        <th scope="col" class="num">{words.value}</th>
                        <th scope="col" class="num">{words.since}</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

#[component]
fn Rules(
    /// All rules.
    rules: Vec<Rule>,
    /// Opens the dialogs.
    act: RwSignal<Option<RuleAct>>,
) -> impl IntoView {
    let (words, lang) = (use_words(), use_lang());
    if rules.is_empty() {
        return view! { <Empty text=words.no_rules></Empty> }.into_any();
    }
    let rows = rules
        .into_iter()
        .map(|rule| {
            let condition = lang.condition(
                subject_word(words, rule.subject),
                &subject_figure(rule.subject, rule.above),
                rule.for_millis,
            );
            let scope = [&rule.job, &rule.operator, &rule.state]
                .into_iter()
                .filter(|part| !part.is_empty())
                .cloned()
                .collect::<Vec<_>>()
                .join(" · ");
            let scope = if scope.is_empty() { words.everywhere.to_owned() } else { scope };
            let traffic = if rule.traffic_per_second_min > 0.0 {
                format::rate(rule.traffic_per_second_min)
            } else {
                String::new()
            };
            let off = (!rule.enabled).then(|| view! { " " <span class="badge quiet">{words.disabled}</span> });
            let (edit, delete) = (rule.clone(), rule.clone());
            view! {
                <tr>
                    <td>{rule.name}{off}</td>
                    <td><SeverityBadge severity=rule.severity/></td>
                    <td class="mono">{scope}</td>
                    <td>{condition}</td>
                    <td class="num">{traffic}</td>
                    <td class="acts">
                        <button type="button" on:click=move |_| act.set(Some(RuleAct::Save(edit.clone())))>{words.edit}</button>
                        <button type="button" on:click=move |_| act.set(Some(RuleAct::Delete(delete.clone())))>{words.delete}</button>
                    </td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <div class="scroll">
            <table>
                <thead>
                    <tr>
                        <th scope="col">{words.name}</th>
                        <th scope="col">{words.severity}</th>
                        <th scope="col">{words.scope}</th>
                        <th scope="col">{words.condition}</th>
                        <th scope="col" class="num">{words.traffic_min}</th>
                        <th scope="col"></th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

#[component]
fn History(
    /// Newest first.
    rows: Vec<AlertTransition>,
    /// What the rules of today watch, by name.
    subjects: Vec<(String, Subject)>,
) -> impl IntoView {
    let words = use_words();
    if rows.is_empty() {
        return view! { <Empty text=words.no_history></Empty> }.into_any();
    }
    let rows = rows
        .into_iter()
        .map(|row| {
            let subject =
                subjects.iter().find(|(name, _)| *name == row.rule).map(|(_, subject)| *subject);
            let value = subject.map_or_else(
                || format::significant(row.value),
                |subject| subject_figure(subject, row.value),
            );
            view! {
                <tr>
                    <td><At at=row.wall_millis/></td>
                    <td><AlertBadge phase=row.phase/></td>
                    <td>{row.rule}</td>
                    <td><OfLink of=row.of/></td>
                    <td class="num">{value}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <div class="scroll">
            <table>
                <thead>
                    <tr>
                        <th scope="col">{words.time}</th>
                        <th scope="col">{words.phase}</th>
                        <th scope="col">{words.rule}</th>
                        <th scope="col">{words.state}</th>
                        <th scope="col" class="num">{words.value}</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}
