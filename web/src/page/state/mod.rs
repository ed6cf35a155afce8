//! The page of one state: verdict and action first, three charts that prove it, then the detail in
//! tabs. Tabs are links, so that they work with scripts off.

mod head;
mod charts;
mod life;
mod breaker;
mod alerts;
mod history;

use leptos::prelude::*;
use leptos_router::NavigateOptions;
use leptos_router::hooks::{use_navigate, use_params_map, use_query_map};
use stateward_model::Problem;
use stateward_model::alert::{Rule, Subject};
use stateward_model::view::StateDetail;

use self::charts::Charts;
use self::head::Head;
use super::act::{breaker_sender, clock, presets_for, rule_sender};
use super::shown::{PageTitle, shown};
use crate::api::{Ask, answer, local, one};
use crate::component::{BreakerAct, BreakerDialog, Crosshair, RuleAct, RuleDialog, Zoom};
use crate::i18n::{Words, use_lang, use_words};
use crate::live::{Tick, use_live};
use crate::route::{RANGES, Range, StateRef, with_query};

/// What a reader may do on this page: the acts open dialogs.
#[derive(Clone, Copy, Debug)]
struct Acts {
    breaker: RwSignal<Option<BreakerAct>>,
    rule: RwSignal<Option<RuleAct>>,
}

/// Which histogram is under the pointer, and where.
type Under = RwSignal<Option<(&'static str, f64)>>;

/// A tab, as it stands in `?tab=`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tab {
    #[default]
    Life,
    Sites,
    Storage,
    Ttl,
    Breaker,
    Alerts,
    History,
}

impl Tab {
    const ALL: [Self; 7] = [
        Self::Life,
        Self::Sites,
        Self::Storage,
        Self::Ttl,
        Self::Breaker,
        Self::Alerts,
        Self::History,
    ];

    fn code(self) -> &'static str {
        match self {
            Self::Life => "life",
            Self::Sites => "sites",
            Self::Storage => "storage",
            Self::Ttl => "ttl",
            Self::Breaker => "breaker",
            Self::Alerts => "alerts",
            Self::History => "history",
        }
    }

    /// Whether the server makes it.
    fn is_panel(self) -> bool {
        matches!(self, Self::Sites | Self::Storage | Self::Ttl)
    }

    fn name(self, words: &Words) -> &'static str {
        match self {
            Self::Life => words.tab_life,
            Self::Sites => words.tab_sites,
            Self::Storage => words.tab_storage,
            Self::Ttl => words.tab_ttl,
            Self::Breaker => words.tab_breaker,
            Self::Alerts => words.tab_alerts,
            Self::History => words.tab_history,
        }
    }
}

/// Where the page is: the state, the range, the tab.
#[derive(Clone, Debug, PartialEq)]
struct Place {
    at: StateRef,
    range: Range,
    tab: Tab,
}

impl Place {
    fn href(&self) -> String {
        let (from, to) = self.range.query();
        let from = if self.range == Range::default() { String::new() } else { from };
        let tab = if self.tab == Tab::default() { "" } else { self.tab.code() };
        with_query(&self.at.path(), &[("from", &from), ("to", &to), ("tab", tab)])
    }
}

fn use_place() -> Memo<Place> {
    let (params, query) = (use_params_map(), use_query_map());
    Memo::new(move |_| {
        let (params, query) = (params.read(), query.read());
        let part = |name: &str| params.get(name).unwrap_or_default();
        let at = StateRef {
            namespace: part("namespace"),
            job_name: part("job"),
            operator: part("operator"),
            state: part("state"),
        };
        let range = Range::parse(query.get("from").as_deref(), query.get("to").as_deref());
        let tab = query.get("tab").unwrap_or_default();
        let tab = Tab::ALL.into_iter().find(|known| known.code() == tab).unwrap_or_default();
        Place { at, range, tab }
    })
}

/// `/states/{namespace}/{job}/{operator}/{state}`.
#[component]
pub fn StateView() -> impl IntoView {
    let place = use_place();
    let acts = Acts { breaker: RwSignal::new(None), rule: RwSignal::new(None) };
    let live = use_live();
    let data = answer(move || vec![Ask::State((&place.get().at).into())], live.figures);
    let (crosshair, under) = (Crosshair::new(), Under::new(None));
    let presets = presets_for(acts.rule);
    view! {
        {move || view! { <PageTitle text=place.get().at.state/> }}
        {shown(data, one::<StateDetail>, move |detail, at| {
            view! {
                <Head detail=detail.clone() acts=acts at=at/>
            }
            .into_any()
        })}
        <Ranges place=place/>
        <Charts place=place crosshair=crosshair zoom=use_zoom(place)/>
        <Tabs place=place/>
        {shown(data, one::<StateDetail>, move |detail, at| {
            tab(place.get().tab, detail, acts, under, at)
        })}
        {move || place.get().tab.is_panel().then(|| view! { <Panel place=place/> })}
        {move || {
            (place.get().tab == Tab::Breaker).then(|| view! { <breaker::Backlog place=place crosshair=crosshair/> })
        }}
        <BreakerDialog act=acts.breaker send=breaker_sender() now=clock()/>
        <RuleDialog act=acts.rule send=rule_sender() presets=presets/>
    }
    .into_any()
}

fn tab(tab: Tab, detail: StateDetail, acts: Acts, under: Under, at: i64) -> AnyView {
    match tab {
        Tab::Life => view! { <life::Life detail=detail under=under/> }.into_any(),
        // the server makes them, see `Panel`
        Tab::Sites | Tab::Storage | Tab::Ttl => ().into_any(),
        Tab::Breaker => view! { <breaker::BreakerTab detail=detail acts=acts at=at/> }.into_any(),
        Tab::Alerts => view! { <alerts::AlertsTab detail=detail acts=acts at=at/> }.into_any(),
        Tab::History => view! { <history::History events=detail.events/> }.into_any(),
    }
}

fn use_zoom(place: Memo<Place>) -> Callback<Zoom> {
    let navigate = use_navigate();
    Callback::new(move |zoom| {
        let range = match zoom {
            Zoom::To(from, to) => Range::Between(from, to),
            Zoom::Back => Range::default(),
        };
        let href = Place { range, ..place.get_untracked() }.href();
        navigate(&href, NavigateOptions { scroll: false, ..NavigateOptions::default() });
    })
}

/// A tab that the server makes. One with forms does not follow what happens: a reader may be filling
/// one in.
#[component]
fn Panel(
    /// Where the page is.
    place: Memo<Place>,
) -> impl IntoView {
    let (query, lang, live) = (use_query_map(), use_lang(), use_live());
    let follows = place.get_untracked().tab != Tab::Ttl;
    let ask = move || {
        let query = query.get_untracked().to_query_string();
        let query = query.trim_start_matches('?');
        vec![Ask::Panel((&place.get().at).into(), format!("lang={}&{query}", lang.code()))]
    };
    let data = answer(ask, if follows { live.figures } else { Tick::never() });
    shown(data, html, |html, _| view! { <div inner_html=html></div> }.into_any())
}

fn html(texts: &[String]) -> Result<String, Problem> {
    texts.first().cloned().ok_or_else(|| local("unreadable", String::new()))
}

/// Ranges one click away.
#[component]
fn Ranges(
    /// Where the page is.
    place: Memo<Place>,
) -> impl IntoView {
    let (words, live) = (use_words(), use_live());
    let names = [words.range_15m, words.range_1h, words.range_6h, words.range_24h, words.range_7d];
    let links = move || {
        let place = place.get();
        RANGES
            .into_iter()
            .zip(names)
            .map(|((_, millis), name)| {
                let on = place.range == Range::Last(millis);
                let href = Place { range: Range::Last(millis), ..place.clone() }.href();
                let class = if on { "tab on" } else { "tab" };
                view! { <a class=class href=href aria-current=on.then_some("true")>{name}</a> }
            })
            .collect_view()
    };
    let fixed = move || match place.get().range {
        Range::Between(from, to) => {
            Some(format!("{} – {}", live.date_time(from), live.date_time(to)))
        }
        Range::Last(_) => None,
    };
    view! {
        <div class="toolbar ranges">
            <nav class="tabs small" aria-label=words.time_range>{move || links()}</nav>
            <span class="quiet">{move || fixed()}</span>
            <span class="grow"></span>
            <span class="quiet">{move || live.zone()}</span>
        </div>
    }
    .into_any()
}

/// The tabs.
#[component]
fn Tabs(
    /// Where the page is.
    place: Memo<Place>,
) -> impl IntoView {
    let words = use_words();
    let links = move || {
        let place = place.get();
        Tab::ALL
            .map(|tab| {
                let on = place.tab == tab;
                let href = Place { tab, ..place.clone() }.href();
                let class = if on { "tab on" } else { "tab" };
                view! {
                    <a class=class href=href aria-current=on.then_some("page")>{tab.name(words)}</a>
                }
            })
            .into_iter()
            .collect_view()
    };
    view! { <nav class="tabs" aria-label=words.tabs>{move || links()}</nav> }.into_any()
}

/// A rule on this state to start from.
fn rule_for(detail: &StateDetail) -> Rule {
    let row = &detail.row;
    Rule {
        id: 0,
        name: format!("{} size", row.state),
        job: format!("{}/{}", row.namespace, row.job_name),
        operator: row.operator.clone(),
        state: row.state.clone(),
        subject: Subject::LogicalBytes,
        above: (row.logical_bytes as f64 * 1.5 / 1_048_576.0).ceil().max(1.0) * 1_048_576.0,
        traffic_per_second_min: 0.0,
        for_millis: 60_000,
        keep_firing_millis: 0,
        severity: "warning".to_owned(),
        enabled: true,
    }
}
