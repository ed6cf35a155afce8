//! Thresholds on this state: what watches it, and a way to add one.

use leptos::prelude::*;
use stateward_model::view::StateDetail;

use super::{Acts, rule_for};
use crate::component::{Ago, AlertBadge, Empty, RuleAct, subject_figure, subject_word};
use crate::i18n::{use_lang, use_words};

#[component]
pub(super) fn AlertsTab(
    /// The state.
    detail: StateDetail,
    /// Dialogs.
    acts: Acts,
    /// When the answer was given, ms.
    at: i64,
) -> impl IntoView {
    let (words, lang) = (use_words(), use_lang());
    let rule = rule_for(&detail);
    let create = view! {
        <p>
            <button type="button" class="primary" data-act="rule" on:click=move |_| acts.rule.set(Some(RuleAct::Save(rule.clone())))>
                {words.new_rule}
            </button>
        </p>
    };
    if detail.alerts.is_empty() {
        return view! { <Empty text=words.no_rules_here></Empty> {create} }.into_any();
    }
    let rows = detail
        .alerts
        .into_iter()
        .map(|alert| {
            let rule = alert.rule;
            let condition = lang.condition(
                subject_word(words, rule.subject),
                &subject_figure(rule.subject, rule.above),
                rule.for_millis,
            );
            let value = subject_figure(rule.subject, alert.instance.value);
            let since = (alert.instance.active_millis > 0)
                .then(|| view! { <Ago at=alert.instance.active_millis answered=at/> });
            let (edit, delete) = (rule.clone(), rule.clone());
            view! {
                <tr>
                    <td><AlertBadge phase=alert.instance.phase/></td>
                    <td>{rule.name.clone()}</td>
                    <td>{condition}</td>
                    <td class="num">{value}</td>
                    <td class="num quiet">{since}</td>
                    <td class="acts">
                        <button type="button" on:click=move |_| acts.rule.set(Some(RuleAct::Save(edit.clone())))>{words.edit}</button>
                        <button type="button" on:click=move |_| acts.rule.set(Some(RuleAct::Delete(delete.clone())))>{words.delete}</button>
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
                        <th scope="col">{words.phase}</th>
                        <th scope="col">{words.rule}</th>
                        <th scope="col">{words.condition}</th>
                        <th scope="col" class="num">{words.value}</th>
                        <th scope="col" class="num">{words.since}</th>
                        <th scope="col"></th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
        {create}
    }
    .into_any()
}
