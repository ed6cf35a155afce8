//! `GET /api/v1/overview`.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use stateward_model::view::Overview;

use crate::app::App;
use crate::error::ApiError;

pub(super) fn routes() -> Router<App> {
    Router::new().route("/api/v1/overview", get(overview))
}

async fn overview(State(app): State<App>) -> Result<Json<Overview>, ApiError> {
    app.overview().await.map(Json)
}
