//! Audit: who did what, why, and what came of it.

use leptos::prelude::*;
use stateward_model::view::AuditPage;

use super::shown::{Heading, shown};
use crate::api::{Ask, answer, one};
use crate::component::{At, Empty};
use crate::i18n::use_words;
use crate::live::use_live;

/// `/audit`.
#[component]
pub fn AuditView() -> impl IntoView {
    let words = use_words();
    let data = answer(|| vec![Ask::Audit], use_live().figures);
    view! {
        <Heading text=words.audit></Heading>
        {shown(data, one::<AuditPage>, move |page, _| {
            if page.rows.is_empty() {
                return view! { <Empty text=words.no_audit></Empty> }.into_any();
            }
            let rows = page
                .rows
                .into_iter()
                .map(|row| {
                    let stage = match row.stage.as_str() {
                        "intent" => words.intent.to_owned(),
                        "outcome" => words.outcome.to_owned(),
                        _ => row.stage,
                    };
                    view! {
                        <tr>
                            <td class="num">{row.id}</td>
                            <td><At at=row.wall_millis/></td>
                            <td>{row.actor}</td>
                            <td>{stage}</td>
                            <td class="mono">{row.action}</td>
                            <td class="mono">{row.of}</td>
                            <td class="prose">{row.detail}</td>
                        </tr>
                    }
                })
                .collect_view();
            view! {
                <div class="scroll">
                    <table>
                        <thead>
                            <tr>
                                <th scope="col" class="num">"#"</th>
                                <th scope="col">{words.time}</th>
                                <th scope="col">{words.actor}</th>
                                <th scope="col"></th>
                                <th scope="col">{words.action}</th>
                                <th scope="col">{words.on_of}</th>
                                <th scope="col">{words.reason}</th>
                            </tr>
                        </thead>
                        <tbody>{rows}</tbody>
                    </table>
                </div>
            }
            .into_any()
        })}
    }
    .into_any()
}
