//! The ranking of states: sorted and filtered by links, so that it works with scripts off; live,
//! but never reordered under the pointer.

mod column;
mod arrange;
mod csv;

use std::sync::Arc;

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use stateward_model::view::{StatesPage, StatesQuery};

use self::arrange::{Frozen, arrange};
use self::column::ColumnSet;
use super::shown::{Heading, boundary, report_status};
use crate::api::{Ask, Reply, answer, one};
use crate::component::{Empty, NoJob, ProblemNotice};
use crate::format;
use crate::i18n::{use_lang, use_words};
use crate::live::use_live;
use crate::route::with_query;

pub use csv::states_csv;

/// Rows a page.
const ROWS: u32 = 100;

/// What the URL asks for.
#[derive(Clone, Debug, Default, PartialEq)]
struct Asked {
    sort: String,
    descending: bool,
    filter: String,
    cursor: String,
    columns: String,
}

impl Asked {
    fn query(&self) -> StatesQuery {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        StatesQuery {
            sort: given(&self.sort),
            order: Some(if self.descending { "desc" } else { "asc" }.to_owned()),
            cursor: given(&self.cursor),
            limit: Some(ROWS),
            filter: given(&self.filter),
        }
    }

    fn href(&self, path: &str) -> String {
        let order = if self.descending { "" } else { "asc" };
        with_query(
            path,
            &[
                ("sort", &self.sort),
                ("order", order),
                ("filter", &self.filter),
                ("columns", &self.columns),
                ("cursor", &self.cursor),
            ],
        )
    }

    /// The link of a column's heading: descending first, then the other way round.
    fn sorted_by(&self, sort: &str) -> Self {
        let same = self.sort == sort || (self.sort.is_empty() && sort == "attention");
        let descending = if same { !self.descending } else { true };
        Self { sort: sort.to_owned(), descending, cursor: String::new(), ..self.clone() }
    }

    /// The link of a chip: adds its term to the filter, or takes it away.
    fn toggled(&self, term: &str) -> (Self, bool) {
        let has = self.filter.split_whitespace().any(|word| word == term);
        let mut words: Vec<&str> =
            self.filter.split_whitespace().filter(|word| *word != term).collect();
        if !has {
            words.push(term);
        }
        (Self { filter: words.join(" "), cursor: String::new(), ..self.clone() }, has)
    }
}

/// `/states`.
#[component]
pub fn StatesView() -> impl IntoView {
    let words = use_words();
    let query = use_query_map();
    let asked = Memo::new(move |_| {
        let query = query.read();
        let text = |name: &str| query.get(name).unwrap_or_default();
        Asked {
            sort: text("sort"),
            descending: text("order") != "asc",
            filter: text("filter"),
            cursor: text("cursor"),
            columns: text("columns"),
        }
    });
    let data = answer(move || vec![Ask::States(asked.get().query())], use_live().figures);
    let refreshed = RwSignal::new(0_u32);
    view! {
        <Heading text=words.states>
            <form class="search" method="get" action="/states" role="search">
                <input
                    type="search"
                    id="search"
                    name="filter"
                    value=asked.get_untracked().filter
                    prop:value=move || asked.get().filter
                    placeholder=words.filter_hint
                    aria-label=words.search
                    autocomplete="off"
                />
                {move || {
                    let asked = asked.get();
                    [("sort", asked.sort), ("columns", asked.columns)]
                        .into_iter()
                        .filter(|(_, value)| !value.is_empty())
                        .map(|(name, value)| view! { <input type="hidden" name=name value=value/> })
                        .collect_view()
                }}
                <button type="submit">{words.search}</button>
            </form>
        </Heading>
        {move || view! { <Toolbar asked=asked.get()/> }}
        <Ranking asked=asked data=data refreshed=refreshed/>
    }
    .into_any()
}

/// Chips, column sets, CSV.
#[component]
fn Toolbar(
    /// What the URL asks for.
    asked: Asked,
) -> impl IntoView {
    let words = use_words();
    let chips = [
        ("verdict:no_ttl", words.v_no_ttl),
        ("verdict:refreshed_by_reads", words.v_refreshed),
        ("verdict:cleanup_behind", words.v_behind),
        ("verdict:too_short", words.v_short),
        ("verdict:too_long", words.v_long),
        ("breaker:forced_open", words.p_forced_open),
    ]
    .map(|(term, name)| {
        let (next, has) = asked.toggled(term);
        let class = if has { "chip on" } else { "chip" };
        view! { <a class=class href=next.href("/states") aria-current=has.then_some("true")>{name}</a> }
    })
    .into_iter()
    .collect_view();
    let sets = ColumnSet::ALL
        .map(|set| {
            let on = ColumnSet::parse(&asked.columns) == set;
            let next = Asked { columns: set.code().to_owned(), ..asked.clone() };
            let class = if on { "tab on" } else { "tab" };
            view! { <a class=class href=next.href("/states") aria-current=on.then_some("true")>{set.name(words)}</a> }
        })
        .into_iter()
        .collect_view();
    let csv = Asked { cursor: String::new(), ..asked.clone() }.href("/states.csv");
    view! {
        <div class="toolbar">
            <div class="chips">{chips}</div>
            <span class="grow"></span>
            <span class="quiet">{words.columns}</span>
            <nav class="tabs small" aria-label=words.columns>{sets}</nav>
            <a class="chip" href=csv rel="external" download="states.csv">{words.csv}</a>
        </div>
    }
    .into_any()
}

/// The table, in the order in which it was first seen.
#[component]
fn Ranking(
    /// What the URL asks for.
    asked: Memo<Asked>,
    /// The answers.
    data: Resource<Reply>,
    /// Grows when the reader wants the new order.
    refreshed: RwSignal<u32>,
) -> impl IntoView {
    let (words, lang, live) = (use_words(), use_lang(), use_live());
    let frozen = StoredValue::new(None::<Frozen>);
    let content = move || {
        let (asked, refreshed_now) = (asked.get(), refreshed.get());
        let answer = data.get()?;
        let page = match answer.texts.and_then(|texts| one::<StatesPage>(&texts)) {
            Ok(page) => page,
            Err(problem) => {
                report_status(&problem);
                return Some(vec![view! { <ProblemNotice problem=problem/> }.into_any()]);
            }
        };
        if page.states.is_empty() {
            let filtered = !asked.filter.is_empty();
            return Some(vec![view! { <Nothing filtered=filtered/> }.into_any()]);
        }
        let view = {
            let now = Frozen::new(answer.asked, refreshed_now, &page.states);
            let kept = frozen.get_value().filter(|old| old.same_view(&now)).unwrap_or(now);
            let (rows, changes) = arrange(&kept, page.states);
            frozen.set_value(Some(kept));
            let shown = rows.len();
            let set = ColumnSet::parse(&asked.columns);
            let head = set.columns().iter().map(|column| column.head(&asked, words)).collect_view();
            let body = rows
                .iter()
                .map(|row| {
                    let class = if row.silent_since_millis.is_some() { "silent" } else { "" };
                    let cells = set.columns().iter().map(|column| column.cell(row)).collect_view();
                    view! { <tr class=class>{cells}</tr> }
                })
                .collect_view();
            let at = answer.at_millis;
            let next = page.next.map(|cursor| Asked { cursor, ..asked.clone() }.href("/states"));
            let first = (!asked.cursor.is_empty())
                .then(|| Asked { cursor: String::new(), ..asked.clone() }.href("/states"));
            view! {
                <p class="status" aria-live="polite">
                    <span>{lang.shown_of(shown, page.total)}</span>
                    <span class="quiet">{move || lang.as_of(&live.clock(at))} " " {move || live.zone()}</span>
                    {(changes > 0).then(|| view! {
                        <button class="chip on" type="button" on:click=move |_| refreshed.update(|n| *n += 1)>
                            {lang.changes(changes)}
                        </button>
                    })}
                </p>
                <div class="scroll">
                    <table class="ranking">
                        <thead><tr>{head}</tr></thead>
                        <tbody>{body}</tbody>
                    </table>
                </div>
                <p class="pager">
                    {first.map(|href| view! { <a href=href>{words.first_page}</a> })}
                    {next.map(|href| view! { <a href=href rel="next">{words.next_page}</a> })}
                </p>
            }
            .into_any()
        };
        Some(vec![view])
    };
    boundary(Arc::new(content))
}

/// No row: because of the filter, or because nothing runs.
#[component]
fn Nothing(
    /// Whether a filter is set.
    filtered: bool,
) -> impl IntoView {
    let words = use_words();
    if filtered {
        view! { <Empty text=words.no_match><a href="/states">{words.clear_filter}</a></Empty> }
            .into_any()
    } else {
        view! { <NoJob/> }.into_any()
    }
    .into_any()
}

/// A figure with its exact value on hover.
fn figure(text: String, exact: String) -> impl IntoView {
    view! { <td class="num" title=exact>{text}</td> }
}

/// A figure that may be unknown, with the reason.
fn uncertain<T: Copy + std::fmt::Display>(
    value: Option<T>,
    show: impl FnOnce(T) -> String,
    why: &'static str,
) -> impl IntoView {
    let title = value.map_or_else(|| why.to_owned(), |value| value.to_string());
    figure(format::maybe(value, show), title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_and_chips_are_links() {
        let asked = Asked { descending: true, filter: "made up".into(), ..Asked::default() };
        assert_eq!(asked.sorted_by("ttl").href("/states"), "/states?sort=ttl&filter=made%20up");
        assert_eq!(
            asked.sorted_by("ttl").sorted_by("ttl").href("/states"),
            "/states?sort=ttl&order=asc&filter=made%20up"
        );
        let (on, had) = asked.toggled("verdict:no_ttl");
        assert_eq!((on.filter.as_str(), had), ("made up verdict:no_ttl", false));
        let (off, had) = on.toggled("verdict:no_ttl");
        assert_eq!((off.filter.as_str(), had), ("made up", true));
    }
}
