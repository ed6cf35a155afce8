//! The pages' questions, answered by the server itself without a detour by HTTP.

use serde::Serialize;
use stateward_model::{Problem, ProblemKind};
use stateward_web::{Act, Ask, Backend, Fetched, Lang, PanelQuery};

use crate::app::App;
use crate::clock::Clock;
use crate::error::ApiError;

/// Rows of the audit page.
const AUDIT_ROWS: u32 = 200;

/// Who acts where a page acts while it is rendered; none does, the browser calls the API.
const ACTOR: &str = "page";

/// Answers from the running server.
#[derive(Clone, Debug)]
pub(super) struct InServer(pub(super) App);

/// The answer as the API writes it.
fn json<T: Serialize>(answer: Result<T, ApiError>) -> Result<String, Problem> {
    let answer = answer.map_err(|error| error.problem())?;
    serde_json::to_string(&answer).map_err(|error| {
        Problem::new(ProblemKind::Internal, format!("an answer is not JSON: {error}"))
    })
}

/// Renders the tab of a state's TTL and cleanup.
async fn panel(app: &App, of: &[String; 4], query: &str) -> Result<String, Problem> {
    let facts = app.facts(of).await.map_err(|error| error.problem())?;
    let (mut asked, mut lang) = (PanelQuery::default(), Lang::default());
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match &*name {
            "lang" => lang = Lang::parse(&value).unwrap_or(lang),
            "tab" => asked.tab = value.into_owned(),
            "ttl" => asked.preview = value.into_owned(),
            "refused" => asked.refused = value.into_owned(),
            _ => {}
        }
    }
    Ok(stateward_web::state_panel(&facts, &asked, lang))
}

impl Backend for InServer {
    fn now_millis(&self) -> i64 {
        Clock::System.now_millis()
    }

    fn read(&self, ask: Ask) -> Fetched<String> {
        let app = self.0.clone();
        Box::pin(async move {
            match ask {
                Ask::Overview => json(app.overview().await),
                Ask::States(query) => json(app.states(query).await),
                Ask::State([namespace, job, operator, state]) => {
                    json(app.state(&namespace, &job, &operator, &state).await)
                }
                Ask::Panel(of, query) => panel(&app, &of, &query).await,
                Ask::Series(query) | Ask::Over(query, _) => json(app.series(query).await),
                Ask::Lineage(namespace, job) => json(app.lineage(&namespace, &job).await),
                Ask::Jobs => json(app.jobs().await),
                Ask::Alerts => json(app.alerts().await),
                Ask::Presets => json(app.presets().await),
                Ask::Breakers => json(app.breakers().await),
                Ask::Audit => json(app.audit(None, AUDIT_ROWS).await),
            }
        })
    }

    fn act(&self, act: Act) -> Fetched<String> {
        let app = self.0.clone();
        Box::pin(async move {
            match act {
                Act::SaveRule(rule) if rule.id == 0 => json(app.create_rule(rule, ACTOR).await),
                Act::SaveRule(rule) => json(app.update_rule(rule.id, rule, ACTOR).await),
                Act::DeleteRule(id) => json(app.delete_rule(id, ACTOR).await),
                Act::Breaker([namespace, job, operator, state], request) => {
                    json(app.order(&namespace, &job, &operator, &state, request, ACTOR).await)
                }
            }
        })
    }
}
