//! Life: how old entries are, when read, when dropped; what removed them; how cleanup runs.

use leptos::prelude::*;
use stateward_model::Histogram;
use stateward_model::view::StateDetail;

use crate::component::Ages;
use crate::format;
use crate::i18n::use_words;

#[component]
pub(super) fn Life(
    /// The state.
    detail: StateDetail,
    /// What is under the pointer.
    under: super::Under,
) -> impl IntoView {
    let words = use_words();
    let ttl_millis = detail.row.ttl_millis;
    let flow = detail.flow;
    let removed = [
        (words.created, flow.created),
        (words.removed_delete, flow.removed_delete),
        (words.removed_read, flow.removed_read),
        (words.removed_overwrite, flow.removed_overwrite),
        (words.removed_sweep, flow.removed_sweep),
        (words.refreshes, flow.refreshes),
        (words.late_writes, flow.late_writes),
        (words.stale_returned, flow.stale_returned),
    ]
    .map(|(name, count)| {
        view! { <tr><th scope="row">{name}</th><td class="num">{format::exact(count)}</td></tr> }
    })
    .into_iter()
    .collect_view();
    view! {
        <div class="charts">
            <Ages title=words.age_resident histogram=detail.age_resident ttl_millis=ttl_millis under=under empty=words.no_ages/>
            <Ages title=words.age_read histogram=detail.age_at_read ttl_millis=ttl_millis under=under empty=words.no_reads_yet/>
            <Ages title=words.age_drop histogram=detail.age_at_drop ttl_millis=ttl_millis under=under empty=words.no_drops_yet/>
        </div>
        <p class="quiet small">
            {words.resolution} ": " {format::duration(detail.stock.bucket_millis as i64)}
        </p>
        <div class="columns">
            <section>
                <h2>{words.cleanup} " " <small class="quiet">{words.this_run}</small></h2>
                <div class="scroll">
                    <table>
                        <thead>
                            <tr>
                                <th scope="col">{words.what}</th>
                                <th scope="col" class="num">{words.runs}</th>
                                <th scope="col" class="num">{words.median}</th>
                                <th scope="col" class="num">{words.p99}</th>
                                <th scope="col" class="num">{words.total}</th>
                            </tr>
                        </thead>
                        <tbody>
                            <Timing name=words.sweep micros=detail.sweep_micros/>
                            <Timing name=words.reclaim micros=detail.reclaim_micros/>
                        </tbody>
                    </table>
                </div>
                <p class="quiet small">
                    {words.reclaimed} ": " {format::bytes(flow.reclaimed_bytes as f64)}
                </p>
            </section>
            <section>
                <h2>{words.removed} " " <small class="quiet">{words.this_run}</small></h2>
                <table><tbody>{removed}</tbody></table>
            </section>
        </div>
    }
    .into_any()
}

/// Durations of one kind of cleanup.
#[component]
fn Timing(
    /// Which.
    name: &'static str,
    /// Durations, microseconds.
    micros: Histogram,
) -> impl IntoView {
    let words = use_words();
    if micros.count() == 0 {
        return view! {
            <tr><th scope="row">{name}</th><td colspan="4" class="quiet">{words.not_run_yet}</td></tr>
        }
        .into_any();
    }
    let quantile =
        |q: f64| format!("≈\u{202f}{}", format::maybe(micros.quantile(q), format::micros));
    view! {
        <tr>
            <th scope="row">{name}</th>
            <td class="num">{format::exact(micros.count())}</td>
            <td class="num">{quantile(0.5)}</td>
            <td class="num">{quantile(0.99)}</td>
            <td class="num">{format::micros(micros.sum)}</td>
        </tr>
    }
    .into_any()
}
