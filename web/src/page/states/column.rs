//! The columns of the ranking and the sets they come in.

use leptos::prelude::*;
use stateward_model::view::StateRow;

use super::{Asked, figure, uncertain};
use crate::chart::sparkline;
use crate::component::{BreakerBadge, VerdictBadge};
use crate::format;
use crate::i18n::{Words, use_lang, use_words};
use crate::page::shown::StateLink;

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Verdict,
    State,
    Operator,
    Size,
    Disk,
    Growth,
    Entries,
    BytesPerEntry,
    MissRatio,
    OldestAge,
    Writes,
    Reads,
    Ttl,
    Breaker,
    Hour,
}

/// Columns that are shown together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnSet {
    Attention,
    Size,
    Ttl,
    Writes,
    Restore,
}

impl ColumnSet {
    pub(super) const ALL: [Self; 5] =
        [Self::Attention, Self::Size, Self::Ttl, Self::Writes, Self::Restore];

    /// The value of `?columns=`.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Attention => "",
            Self::Size => "size",
            Self::Ttl => "ttl",
            Self::Writes => "writes",
            Self::Restore => "restore",
        }
    }

    pub(super) fn parse(code: &str) -> Self {
        Self::ALL.into_iter().find(|set| set.code() == code).unwrap_or(Self::Attention)
    }

    pub(super) fn name(self, words: &Words) -> &'static str {
        match self {
            Self::Attention => words.columns_attention,
            Self::Size => words.columns_size,
            Self::Ttl => words.columns_ttl,
            Self::Writes => words.columns_writes,
            Self::Restore => words.columns_restore,
        }
    }

    pub(super) fn columns(self) -> &'static [Column] {
        use Column as C;
        match self {
            Self::Attention => &[
                C::Verdict,
                C::State,
                C::Operator,
                C::Size,
                C::Growth,
                C::Entries,
                C::BytesPerEntry,
                C::MissRatio,
                C::OldestAge,
                C::Writes,
                C::Ttl,
                C::Breaker,
                C::Hour,
            ],
            Self::Size => &[
                C::State,
                C::Operator,
                C::Size,
                C::Disk,
                C::Growth,
                C::Entries,
                C::BytesPerEntry,
                C::Hour,
                C::Verdict,
            ],
            Self::Ttl => &[
                C::Verdict,
                C::State,
                C::Operator,
                C::Ttl,
                C::OldestAge,
                C::MissRatio,
                C::Entries,
                C::Growth,
                C::Hour,
            ],
            Self::Writes => &[
                C::State,
                C::Operator,
                C::Writes,
                C::Reads,
                C::Breaker,
                C::Growth,
                C::Size,
                C::Hour,
                C::Verdict,
            ],
            Self::Restore => &[
                C::State,
                C::Operator,
                C::Disk,
                C::Size,
                C::Entries,
                C::BytesPerEntry,
                C::OldestAge,
                C::Ttl,
            ],
        }
    }
}

impl Column {
    fn name(self, words: &Words) -> &'static str {
        match self {
            Self::Verdict => words.verdict,
            Self::State => words.state,
            Self::Operator => words.operator,
            Self::Size => words.size,
            Self::Disk => words.disk_size,
            Self::Growth => words.growth,
            Self::Entries => words.entries,
            Self::BytesPerEntry => words.bytes_per_entry,
            Self::MissRatio => words.miss_ratio,
            Self::OldestAge => words.oldest_age,
            Self::Writes => words.writes,
            Self::Reads => words.reads,
            Self::Ttl => words.ttl,
            Self::Breaker => words.breaker,
            Self::Hour => words.last_hour,
        }
    }

    /// The API's name for sorting by this column.
    fn sort(self) -> Option<&'static str> {
        Some(match self {
            Self::Verdict => "attention",
            Self::State => "state",
            Self::Operator => "operator",
            Self::Size => "logical_bytes",
            Self::Disk => "disk_bytes",
            Self::Growth => "growth_per_day",
            Self::Entries => "entries",
            Self::BytesPerEntry => "bytes_per_entry",
            Self::MissRatio => "miss_ratio",
            Self::OldestAge => "oldest_age",
            Self::Writes => "writes_per_second",
            Self::Ttl => "ttl",
            Self::Breaker => "breaker",
            Self::Reads | Self::Hour => return None,
        })
    }

    fn is_text(self) -> bool {
        matches!(self, Self::Verdict | Self::State | Self::Operator | Self::Breaker | Self::Hour)
    }

    /// The heading: a link that sorts.
    pub(super) fn head(self, asked: &Asked, words: &'static Words) -> impl IntoView + use<> {
        let name = self.name(words);
        let class = if self.is_text() { "" } else { "num" };
        let Some(sort) = self.sort() else {
            return view! { <th scope="col" class=class>{name}</th> }.into_any();
        };
        let on = asked.sort == sort || (asked.sort.is_empty() && sort == "attention");
        let (arrow, order) = match (on, asked.descending) {
            (false, _) => ("", None),
            (true, true) => ("\u{202f}▼", Some("descending")),
            (true, false) => ("\u{202f}▲", Some("ascending")),
        };
        let href = asked.sorted_by(sort).href("/states");
        view! {
            <th scope="col" class=class aria-sort=order>
                <a href=href>{name}<span aria-hidden="true">{arrow}</span></a>
            </th>
        }
        .into_any()
    }

    /// The cell of a row.
    pub(super) fn cell(self, row: &StateRow) -> AnyView {
        let words = use_words();
        match self {
            Self::Verdict => view! {
                <td><VerdictBadge verdict=row.verdict.clone() growth_per_day=row.growth_per_day/></td>
            }
            .into_any(),
            Self::State => {
                let firing = (row.firing > 0).then(|| {
                    view! { <span class="firing" title=words.firing_alerts>"▲\u{202f}" {row.firing}</span> }
                });
                view! { <td><StateLink row=row.clone()/> {firing}</td> }.into_any()
            }
            Self::Operator => {
                let place = format!("{} · {}", row.operator, row.job_name);
                let title = place.clone();
                view! { <td class="quiet cut" title=title>{place}</td> }.into_any()
            }
            Self::Size => figure(format::bytes(row.logical_bytes as f64), row.logical_bytes.to_string()).into_any(),
            Self::Disk => figure(format::bytes(row.disk_bytes as f64), row.disk_bytes.to_string()).into_any(),
            Self::Growth => growth_cell(row).into_any(),
            Self::Entries => figure(format::count(row.entries as f64), row.entries.to_string()).into_any(),
            Self::BytesPerEntry => {
                uncertain(row.bytes_per_entry, format::bytes, words.unknown_entry).into_any()
            }
            Self::MissRatio => {
                let approximate = |ratio| {
                    if ratio == 0.0 { format::percent(ratio) } else { format!("≈\u{202f}{}", format::percent(ratio)) }
                };
                uncertain(row.miss_ratio, approximate, words.unknown_misses).into_any()
            }
            Self::OldestAge => {
                let show = |age: u64| format::duration(age as i64);
                uncertain(row.oldest_age_millis, show, words.unknown_entry).into_any()
            }
            Self::Writes => uncertain(row.writes_per_second, format::rate, words.unknown_rate).into_any(),
            Self::Reads => uncertain(row.reads_per_second, format::rate, words.unknown_rate).into_any(),
            Self::Ttl => {
                let text = row.ttl_millis.map_or_else(|| words.no_ttl.to_owned(), format::duration);
                view! { <td class="num">{text}</td> }.into_any()
            }
            Self::Breaker => view! { <td><BreakerBadge breaker=row.breaker.clone()/></td> }.into_any(),
            Self::Hour => view! {
                <td class="spark">
                    <svg viewBox="0 0 100 20" preserveAspectRatio="none" aria-hidden="true">
                        <path class="line s0" d=sparkline(&row.sparkline)></path>
                    </svg>
                </td>
            }
            .into_any(),
        }
    }
}

fn growth_cell(row: &StateRow) -> impl IntoView + use<> {
    let label = use_lang().growth_label(row.replay_factor);
    let title = match row.growth_per_day {
        Some(growth) => format!("{growth} {label}"),
        None => use_words().unknown_growth.to_owned(),
    };
    let replayed = (row.growth_per_day.is_some() && (row.replay_factor - 1.0).abs() > 0.01)
        .then(|| view! { <small class="quiet">" " {format::factor(row.replay_factor)}</small> });
    view! { <td class="num" title=title>{format::maybe(row.growth_per_day, format::growth)} {replayed}</td> }
}
