//! What agents call: hello, report, commands.

use std::time::Duration;

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use stateward_model::wire::{Commands, HelloReply, ReportReply};

use super::extract::{Frame, Params};
use crate::app::App;
use crate::error::ApiError;
use crate::{control, ingest};

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/agent/hello", post(hello))
        .route("/api/v1/agent/report", post(report))
        .route("/api/v1/agent/commands", get(commands))
}

async fn hello(State(app): State<App>, Frame(body): Frame) -> Result<Json<HelloReply>, ApiError> {
    ingest::hello(app.core(), &body).await.map(Json)
}

async fn report(State(app): State<App>, Frame(body): Frame) -> Result<Json<ReportReply>, ApiError> {
    ingest::report(app.core(), &body).await.map(Json)
}

#[derive(Debug, Deserialize)]
struct Poll {
    run: String,
    #[serde(default)]
    after: u64,
    /// Seconds.
    #[serde(default)]
    wait: u64,
}

async fn commands(
    State(app): State<App>,
    Params(poll): Params<Poll>,
) -> Result<Json<Commands>, ApiError> {
    let wait = Duration::from_secs(poll.wait);
    control::poll(app.core(), &poll.run, poll.after, wait).await.map(Json)
}
