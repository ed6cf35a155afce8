//! What stands where nothing else can: an empty state, an error, a wait. Each says what to do.

use leptos::prelude::*;
use stateward_model::Problem;

use crate::i18n::use_words;

/// What would be here, and how to bring it.
#[component]
pub fn Empty(
    /// One sentence.
    text: &'static str,
    /// A command or a link.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    view! {
        <div class="empty">
            <p>{text}</p>
            {children.map(|children| view! { <p>{children()}</p> })}
        </div>
    }
    .into_any()
}

/// Nothing runs yet.
#[component]
pub fn NoJob() -> impl IntoView {
    let words = use_words();
    view! {
        <Empty text=words.no_job>
            {words.no_job_do} " " <code>"stateward demo"</code>
        </Empty>
    }
    .into_any()
}

/// What happened, where, what to do, and a detail to copy.
#[component]
pub fn ProblemNotice(
    /// The problem.
    problem: Problem,
) -> impl IntoView {
    let words = use_words();
    let title = match problem.title.as_str() {
        "network" => words.network.to_owned(),
        "unreadable" => words.unreadable.to_owned(),
        title => title.to_owned(),
    };
    let detail = format!("{} {}", problem.status, problem.uri);
    view! {
        <div class="problem" role="alert">
            <p><strong>{words.failed}</strong> " " {title}</p>
            <p>{problem.detail}</p>
            <p>{words.failed_do}</p>
            <p class="quiet">{words.copy_detail} ": " <code>{detail}</code></p>
        </div>
    }
    .into_any()
}

/// Said beside what acts, to readers without scripts. The text is set as a whole: with scripts on, a
/// browser does not parse what stands in `noscript`.
#[component]
pub fn NeedsScripts() -> impl IntoView {
    view! { <noscript class="quiet" inner_html=use_words().needs_scripts></noscript> }.into_any()
}

/// Shown between a click and its answer.
#[component]
pub fn Waiting() -> impl IntoView {
    view! { <p class="waiting" role="status">{use_words().loading} "…"</p> }.into_any()
}
