//! How an answer becomes a page: what it says, or what went wrong; the last good answer stays while
//! the server is away.

use std::sync::Arc;

use leptos::prelude::*;
use leptos_meta::Title;
use stateward_model::Problem;
use stateward_model::view::StateRow;

use crate::api::Reply;
use crate::app::Site;
use crate::component::{ProblemNotice, Waiting};
use crate::route::StateRef;

/// The title of a page. It is written into the document as it is, and a name from a URL or a foreign
/// system may hold anything: what could end the element is shown as quotation marks.
#[component]
pub(super) fn PageTitle(
    /// What the page is.
    text: String,
) -> impl IntoView {
    let text = text.replace('<', "‹").replace('>', "›");
    view! { <Title text=format!("{text} · Stateward")/> }.into_any()
}

/// The heading and the title of a page.
#[component]
pub(super) fn Heading(
    /// What the page is.
    #[prop(into)]
    text: String,
    /// What stands beside it.
    #[prop(optional)]
    children: Option<Children>,
) -> impl IntoView {
    view! {
        <PageTitle text=text.clone()/>
        <header class="page-head">
            <h1>{text}</h1>
            {children.map(|children| children())}
        </header>
    }
    .into_any()
}

/// Renders an answer, and again when a new one arrives. `read` makes data of the answer's texts.
pub(super) fn shown<T: 'static>(
    answer: Resource<Reply>,
    read: fn(&[String]) -> Result<T, Problem>,
    render: impl Fn(T, i64) -> AnyView + Send + Sync + 'static,
) -> AnyView {
    shown_texts(answer, Arc::new(move |texts, at| read(texts).map(|data| render(data, at))))
}

type Render = Arc<dyn Fn(&[String], i64) -> Result<AnyView, Problem> + Send + Sync>;

fn shown_texts(answer: Resource<Reply>, render: Render) -> AnyView {
    // what was shown last: the question, the texts, their time
    let last = StoredValue::new(None::<(String, Vec<String>, i64)>);
    let content = move || {
        let Reply { asked, at_millis, texts } = answer.get()?;
        let problem = match texts.and_then(|texts| Ok((render(&texts, at_millis)?, texts))) {
            Ok((view, texts)) => {
                last.set_value(Some((asked, texts, at_millis)));
                return Some(vec![view]);
            }
            Err(problem) => problem,
        };
        report_status(&problem);
        let mut views = vec![view! { <ProblemNotice problem=problem/> }.into_any()];
        let kept = last.get_value().filter(|(before, _, _)| *before == asked);
        let kept = kept.and_then(|(_, texts, at)| render(&texts, at).ok());
        views.extend(kept);
        Some(views)
    };
    boundary(Arc::new(content))
}

/// What is shown while an answer is on its way stays what was there before.
pub(super) fn boundary(content: Arc<dyn Fn() -> Option<Vec<AnyView>> + Send + Sync>) -> AnyView {
    view! { <Transition fallback=|| view! { <Waiting/> }>{move || content()}</Transition> }
        .into_any()
}

/// Answers a page that cannot be shown with the status that says so; does nothing in the browser.
pub(super) fn report_status(problem: &Problem) {
    if let Some(site) = use_context::<Site>()
        && problem.status >= 400
    {
        site.answer_with(problem.status);
    }
}

/// A link to a state's page.
#[component]
pub(super) fn StateLink(
    /// The state's row.
    row: StateRow,
) -> impl IntoView {
    let at = reference(&row);
    view! {
        <a class="row-link" href=at.path() title=at.of()>
            {row.state}
        </a>
    }
    .into_any()
}

/// Where a row's page is.
pub(super) fn reference(row: &StateRow) -> StateRef {
    StateRef {
        namespace: row.namespace.clone(),
        job_name: row.job_name.clone(),
        operator: row.operator.clone(),
        state: row.state.clone(),
    }
}

/// A link to a state by `{namespace}/{job_name}/{operator}/{state}`; plain text where it is not one.
#[component]
pub(super) fn OfLink(
    /// The identity.
    of: String,
) -> impl IntoView {
    match StateRef::parse(&of) {
        Some(at) => {
            let short = format!("{} · {} · {}", at.state, at.operator, at.job_name);
            view! { <a class="row-link" href=at.path() title=of>{short}</a> }.into_any()
        }
        None => view! { <span class="mono">{of}</span> }.into_any(),
    }
    .into_any()
}
