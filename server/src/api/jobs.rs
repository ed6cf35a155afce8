//! Jobs and their lineage.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use stateward_model::view::{JobRow, LineageGraph};

use super::extract::Segments;
use crate::app::App;
use crate::error::ApiError;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/jobs", get(jobs))
        .route("/api/v1/lineage/{namespace}/{job}", get(lineage))
}

async fn jobs(State(app): State<App>) -> Result<Json<Vec<JobRow>>, ApiError> {
    app.jobs().await.map(Json)
}

async fn lineage(
    State(app): State<App>,
    Segments((namespace, job)): Segments<(String, String)>,
) -> Result<Json<LineageGraph>, ApiError> {
    app.lineage(&namespace, &job).await.map(Json)
}
