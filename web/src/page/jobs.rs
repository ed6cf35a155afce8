//! Jobs: what runs, how far it is, how it commits.

use leptos::prelude::*;
use stateward_model::view::JobRow;

use super::shown::{Heading, shown};
use crate::api::{Ask, answer, one};
use crate::component::{Ago, At, Freshness, NoJob};
use crate::format;
use crate::i18n::use_words;
use crate::live::use_live;
use crate::route;

/// `/jobs`.
#[component]
pub fn JobsView() -> impl IntoView {
    let words = use_words();
    let data = answer(|| vec![Ask::Jobs], use_live().figures);
    view! {
        <Heading text=words.jobs></Heading>
        {shown(data, one::<Vec<JobRow>>, |jobs, at| {
            if jobs.is_empty() {
                return view! { <NoJob/> }.into_any();
            }
            let sources = jobs.iter().cloned().map(|job| view! { <Sources job=job/> }).collect_view();
            view! { <JobsTable jobs=jobs at=at/> {sources} }.into_any()
        })}
    }
    .into_any()
}

/// One line a job.
#[component]
pub(super) fn JobsTable(
    /// The jobs.
    jobs: Vec<JobRow>,
    /// When the answer was given, ms.
    at: i64,
) -> impl IntoView {
    let words = use_words();
    let rows = jobs
        .into_iter()
        .map(|job| {
            let class = if job.silent_since_millis.is_some() { "silent" } else { "" };
            let href = route::lineage(&job.namespace, &job.job_name);
            let states = route::with_query("/states", &[("filter", &format!("job:{}", job.job_name))]);
            let checkpoint = job.checkpoint_millis.map_or_else(
                || view! { <span>{format::UNKNOWN}</span> }.into_any(),
                |then| view! { <Ago at=then answered=at/> }.into_any(),
            );
            let report = job.silent_since_millis.unwrap_or(at);
            let health = match &job.ended {
                Some(why) => view! { <span class="badge quiet" title=why.clone()>{words.ended}</span> }.into_any(),
                None if job.silent_since_millis.is_some() => {
                    view! { <Freshness at=report silent_since=job.silent_since_millis answered=at/> }.into_any()
                }
                None => view! { <span class="badge good"><span class="icon" aria-hidden="true">"✓"</span>{words.running}</span> }.into_any(),
            };
            view! {
                <tr class=class>
                    <td><a class="row-link" href=href>{format!("{}/{}", job.namespace, job.job_name)}</a></td>
                    <td>{health}</td>
                    <td class="num"><a href=states>{job.states}</a></td>
                    <td class="num" title=job.logical_bytes.to_string()>{format::bytes(job.logical_bytes as f64)}</td>
                    <td class="num">{format::maybe(job.commit_p99_micros, format::micros)}</td>
                    <td class="num">{checkpoint}</td>
                    <td class="num">{format::bytes(job.changelog_bytes as f64)}</td>
                    <td class="num">{format::bytes(job.folder_bytes as f64)}</td>
                    <td class="num">{format::factor(job.replay_factor)}</td>
                    <td class="num">{job.parallelism}</td>
                    <td class="num"><Ago at=job.started_millis answered=at/></td>
                    <td class="mono quiet">{job.build_id.chars().take(12).collect::<String>()}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <div class="scroll">
            <table>
                <thead>
                    <tr>
                        <th scope="col">{words.job}</th>
                        <th scope="col"></th>
                        <th scope="col" class="num">{words.states}</th>
                        <th scope="col" class="num">{words.size}</th>
                        <th scope="col" class="num">{words.commit_p99}</th>
                        <th scope="col" class="num">{words.checkpoint}</th>
                        <th scope="col" class="num">{words.changelog}</th>
                        <th scope="col" class="num">{words.folder}</th>
                        <th scope="col" class="num">{words.replay_factor}</th>
                        <th scope="col" class="num">{words.shards}</th>
                        <th scope="col" class="num">{words.started}</th>
                        <th scope="col">{words.build}</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </div>
    }
    .into_any()
}

/// Where a job's sources stand.
#[component]
fn Sources(
    /// The job.
    job: JobRow,
) -> impl IntoView {
    let words = use_words();
    if job.sources.is_empty() {
        return ().into_any();
    }
    let rows = job
        .sources
        .into_iter()
        .map(|source| {
            let watermark = source.watermark_millis.map_or_else(
                || view! { <span>{format::UNKNOWN}</span> }.into_any(),
                |at| view! { <At at=at/> }.into_any(),
            );
            let health = if source.finished {
                words.finished
            } else if source.idle {
                words.idle
            } else {
                words.running
            };
            view! {
                <tr>
                    <td>{source.source}</td>
                    <td>{health}</td>
                    <td class="num">{format::exact(source.records)}</td>
                    <td class="num">{format::exact(source.rejected)}</td>
                    <td class="num">{watermark}</td>
                    <td class="mono">{source.position}</td>
                </tr>
            }
        })
        .collect_view();
    view! {
        <section>
            <h2>{job.job_name}</h2>
            <div class="scroll">
                <table>
                    <thead>
                        <tr>
                            <th scope="col">{words.source}</th>
                            <th scope="col"></th>
                            <th scope="col" class="num">{words.records}</th>
                            <th scope="col" class="num">{words.rejected}</th>
                            <th scope="col" class="num">{words.watermark}</th>
                            <th scope="col">{words.position}</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
        </section>
    }
    .into_any()
}
