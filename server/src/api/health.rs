//! `/healthz`: the process answers. `/readyz`: it can work, too.

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use stateward_model::ProblemKind;

use crate::app::App;
use crate::error::ApiError;

pub(super) fn routes() -> Router<App> {
    Router::new().route("/healthz", get(async || "ok\n")).route("/readyz", get(ready))
}

async fn ready(State(app): State<App>) -> Result<&'static str, ApiError> {
    let core = app.core();
    if *core.stopping.borrow() {
        return Err(ApiError::new(ProblemKind::Busy, "the server is stopping"));
    }
    core.control.ping().await?;
    core.series.database().ping().await?;
    Ok("ready\n")
}
