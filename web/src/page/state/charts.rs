//! Size, miss ratio and write rate over time, with what happened meanwhile.

use leptos::prelude::*;
use stateward_model::Problem;
use stateward_model::view::{SeriesAnswer, SeriesQuery, StateDetail};

use super::Place;
use crate::api::{Ask, answer, nth};
use crate::component::{Crosshair, Timeline, Zoom};
use crate::i18n::use_words;
use crate::live::use_live;
use crate::page::shown::shown;
use crate::promql::promql;
use crate::route::Range;

/// Points a line: as many as a third of a wide page has pixels.
const POINTS: u32 = 480;

/// Questions for several figures over one range.
pub(super) fn questions(of: &str, range: Range, figures: &[&str]) -> Vec<Ask> {
    let ask = |figure: &&str| {
        let query = SeriesQuery {
            of: of.to_owned(),
            figure: (*figure).to_owned(),
            points: Some(POINTS),
            ..SeriesQuery::default()
        };
        Ask::Over(query, range)
    };
    figures.iter().map(ask).collect()
}

const FIGURES: [&str; 3] = ["logical_bytes", "miss_ratio", "writes_per_second"];

/// The three series, and what happened to the state meanwhile.
fn read(texts: &[String]) -> Result<(Vec<SeriesAnswer>, StateDetail), Problem> {
    let series = (0..FIGURES.len()).map(|n| nth(texts, n)).collect::<Result<_, _>>()?;
    Ok((series, nth(texts, FIGURES.len())?))
}

#[component]
pub(super) fn Charts(
    /// Where the page is.
    place: Memo<Place>,
    /// Time under the pointer.
    crosshair: Crosshair,
    /// Where zooming goes.
    zoom: Callback<Zoom>,
) -> impl IntoView {
    let words = use_words();
    let data = answer(
        move || {
            let place = place.get();
            let mut asks = questions(&place.at.of(), place.range, &FIGURES);
            asks.push(Ask::State((&place.at).into()));
            asks
        },
        use_live().charts,
    );
    let titles = [
        (words.logical_size, ""),
        (words.miss_ratio, words.approximate),
        (words.writes_per_second, ""),
    ];
    view! {
        <div class="charts">
            {shown(data, read, move |(series, detail), _| {
                let of = place.get_untracked().at.of();
                series
                    .into_iter()
                    .zip(FIGURES)
                    .zip(titles)
                    .map(|((series, figure), (title, note))| {
                        view! {
                            <Timeline
                                title=title
                                answer=series
                                annotations=detail.events.clone()
                                crosshair=crosshair
                                zoom=zoom
                                note=note
                                promql=promql(&of, figure)
                            />
                        }
                    })
                    .collect_view()
                    .into_any()
            })}
        </div>
    }
    .into_any()
}
