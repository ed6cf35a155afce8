//! The breaker of this state: phase, policy, the equation, the backlog, commands.

use leptos::prelude::*;
use stateward_model::view::{SeriesAnswer, StateDetail};

use super::{Acts, Place, charts, use_zoom};
use crate::api::{answer, one};
use crate::component::{Crosshair, Timeline};
use crate::i18n::use_words;
use crate::live::use_live;
use crate::page::breakers::Card;
use crate::page::shown::shown;
use crate::promql::promql;
use crate::route::StateRef;

/// The figure of the backlog.
const FIGURE: &str = "spill_pending";

#[component]
pub(super) fn BreakerTab(
    /// The state.
    detail: StateDetail,
    /// Dialogs.
    acts: Acts,
    /// When the answer was given, ms.
    at: i64,
) -> impl IntoView {
    view! { <Card card=detail.breaker act=acts.breaker at=at/> }.into_any()
}

/// Spilled events over time; drawn outside what the figures redraw.
#[component]
pub(super) fn Backlog(
    /// Where the page is.
    place: Memo<Place>,
    /// Time under the pointer.
    crosshair: Crosshair,
) -> impl IntoView {
    let words = use_words();
    let zoom = use_zoom(place);
    let operator = |at: &StateRef| format!("{}/{}/{}", at.namespace, at.job_name, at.operator);
    let data = answer(
        move || {
            let Place { at, range, .. } = place.get();
            charts::questions(&operator(&at), range, &[FIGURE])
        },
        use_live().charts,
    );
    view! {
        <div class="charts one">
            {shown(data, one::<SeriesAnswer>, move |series, _| {
                let promql = promql(&operator(&place.get_untracked().at), FIGURE);
                view! {
                    <Timeline title=words.backlog answer=series annotations=Vec::new() crosshair=crosshair zoom=zoom promql=promql/>
                }
                .into_any()
            })}
        </div>
    }
    .into_any()
}
