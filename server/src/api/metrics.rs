//! Prometheus text: `/metrics` is the server's own, `/federate` the jobs'.

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use stateward_model::ProblemKind;

use crate::app::App;
use crate::error::ApiError;
use crate::query::federate;

const TEXT: [(header::HeaderName, &str); 1] =
    [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];

pub(super) fn routes() -> Router<App> {
    Router::new().route("/metrics", get(own)).route("/federate", get(jobs))
}

async fn own(State(app): State<App>) -> Result<impl IntoResponse, ApiError> {
    let text = app.core().telemetry.exposition().map_err(|error| {
        ApiError::new(ProblemKind::Internal, format!("the metrics cannot be written: {error}"))
    })?;
    Ok((TEXT, text))
}

async fn jobs(State(app): State<App>) -> impl IntoResponse {
    (TEXT, federate(app.core()))
}
