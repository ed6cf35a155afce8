//! Who the state is, the verdict in a sentence, and what can be done about it.

use leptos::prelude::*;
use stateward_model::view::StateDetail;
use stateward_model::{ClockKind, UpdateType, Visibility};

use super::{Acts, rule_for};
use crate::component::{BreakerAct, BreakerBadge, Freshness, NeedsScripts, RuleAct, VerdictBadge};
use crate::format;
use crate::i18n::{Words, use_lang, use_words};
use crate::route::{self, with_query};

fn declared(words: &Words, detail: &StateDetail) -> String {
    let kind = match detail.kind.as_str() {
        "value" => words.kind_value,
        "reducing" => words.kind_reducing,
        "aggregating" => words.kind_aggregating,
        "list" => words.kind_list,
        "map" => words.kind_map,
        "table" => words.kind_table,
        "timer" => words.kind_timer,
        other => other,
    };
    let clock = match detail.clock {
        ClockKind::EventTime => words.event_time,
        ClockKind::ProcessingTime => words.processing_time,
    };
    let ttl = match (detail.row.ttl_millis, detail.update_type) {
        (Some(ttl), update) if update != UpdateType::Disabled => {
            let stamp = match update {
                UpdateType::OnReadAndWrite => words.update_read,
                UpdateType::OnCreate => words.update_create,
                UpdateType::OnCreateAndWrite | UpdateType::Disabled => words.update_write,
            };
            let returned = match detail.visibility {
                Visibility::NeverReturnExpired => words.hides_expired,
                Visibility::ReturnExpiredIfNotCleanedUp => words.returns_expired,
            };
            let set = detail.ttl_set_by.as_deref().unwrap_or(words.set_in_code);
            format!("TTL {} ({set}) · {stamp} · {returned}", format::duration(ttl))
        }
        _ if detail.kind == "table" => words.ttl_per_family.to_owned(),
        _ => words.update_disabled.to_owned(),
    };
    format!("{kind} · {clock} · {ttl}")
}

#[component]
pub(super) fn Head(
    /// The state.
    detail: StateDetail,
    /// Dialogs.
    acts: Acts,
    /// When the answer was given, ms.
    at: i64,
) -> impl IntoView {
    let (words, lang) = (use_words(), use_lang());
    let row = detail.row.clone();
    let verdict = lang.verdict(&row.verdict, row.growth_per_day);
    let remedy = lang.remedy(row.verdict.kind);
    let lineage = route::lineage(&row.namespace, &row.job_name);
    let job = with_query("/states", &[("filter", &format!("job:{}", row.job_name))]);
    let facts = declared(words, &detail);
    let class = if row.silent_since_millis.is_some() { "silent" } else { "" };
    let tone = if row.verdict.kind.needs_attention() { "verdict wants" } else { "verdict" };
    let trip_label = lang.trip_on(&row.state);
    let reset_label = lang.reset_on(&row.state);
    let open = !row.breaker.is_closed();
    let card = detail.breaker.clone();
    let act = move |_| {
        let act =
            if open { BreakerAct::Reset(card.clone()) } else { BreakerAct::Trip(card.clone()) };
        acts.breaker.set(Some(act));
    };
    let rule = rule_for(&detail);
    view! {
        <header class="page-head">
            <nav class="crumbs" aria-label=words.navigation>
                <a href=job>{format!("{}/{}", row.namespace, row.job_name)}</a>
                " / " <a href=lineage.clone()>{row.operator.clone()}</a>
            </nav>
            <h1>{row.state.clone()}</h1>
            <span class="grow"></span>
            <BreakerBadge breaker=row.breaker.clone()/>
            <Freshness at=row.wall_millis silent_since=row.silent_since_millis answered=at/>
        </header>
        <p class="quiet facts-line">
            {facts} " · " {words.declared} " " <code>{detail.site.clone()}</code>
        </p>
        <div class=tone>
            <VerdictBadge verdict=row.verdict.clone() growth_per_day=row.growth_per_day/>
            <div>
                <p class="sentence">{verdict}</p>
                {(!remedy.is_empty()).then(|| view! { <p class="quiet">{remedy}</p> })}
            </div>
            <div class="acts">
                <button type="button" class="danger" data-act="breaker" on:click=act>
                    {if open { reset_label } else { trip_label }}
                </button>
                <button type="button" data-act="rule" on:click=move |_| acts.rule.set(Some(RuleAct::Save(rule.clone())))>
                    {words.alert_on_this}
                </button>
                <a class="button" href=lineage>{words.show_lineage}</a>
                <NeedsScripts/>
            </div>
        </div>
        <Figures detail=detail class=class/>
    }
    .into_any()
}

/// The row's figures once more, large enough to read from afar.
#[component]
fn Figures(
    /// The state.
    detail: StateDetail,
    /// Greys the figures out.
    class: &'static str,
) -> impl IntoView {
    let (words, lang) = (use_words(), use_lang());
    let row = detail.row;
    let growth = lang.growth_label(row.replay_factor);
    let debt = detail.stock.expired_bytes + detail.stock.unreclaimed_bytes;
    let figures = [
        (words.size, format::bytes(row.logical_bytes as f64), row.logical_bytes.to_string()),
        (
            words.growth,
            format::maybe(row.growth_per_day, format::growth),
            if row.growth_per_day.is_some() {
                growth.clone()
            } else {
                words.unknown_growth.to_owned()
            },
        ),
        (words.entries, format::count(row.entries as f64), format::exact(row.entries)),
        (
            words.bytes_per_entry,
            format::maybe(row.bytes_per_entry, format::bytes),
            words.unknown_entry.to_owned(),
        ),
        (
            words.miss_ratio,
            format::maybe(row.miss_ratio, |r| {
                if r == 0.0 {
                    format::percent(r)
                } else {
                    format!("≈\u{202f}{}", format::percent(r))
                }
            }),
            words.unknown_misses.to_owned(),
        ),
        (
            words.oldest_age,
            format::maybe(row.oldest_age_millis, |a| format::duration(a as i64)),
            words.unknown_entry.to_owned(),
        ),
        (
            words.writes,
            format::maybe(row.writes_per_second, format::rate),
            words.unknown_rate.to_owned(),
        ),
        (
            words.reads,
            format::maybe(row.reads_per_second, format::rate),
            words.unknown_rate.to_owned(),
        ),
        (
            words.debt,
            format!("≈\u{202f}{}", format::bytes(debt as f64)),
            words.approximate.to_owned(),
        ),
    ];
    let shown = figures
        .into_iter()
        .map(|(name, figure, title)| view! { <div title=title><dt>{name}</dt><dd>{figure}</dd></div> })
        .collect_view();
    let replayed = ((row.replay_factor - 1.0).abs() > 0.01)
        .then(|| view! { <p class="quiet small">{words.growth} ": " {growth}</p> });
    view! { <dl class=format!("figures {class}")>{shown}</dl> {replayed} }.into_any()
}
