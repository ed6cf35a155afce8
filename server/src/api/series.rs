//! `GET /api/v1/series`.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use stateward_model::view::{SeriesAnswer, SeriesQuery};

use super::extract::Params;
use crate::app::App;
use crate::error::ApiError;

pub(super) fn routes() -> Router<App> {
    Router::new().route("/api/v1/series", get(series))
}

async fn series(
    State(app): State<App>,
    Params(query): Params<SeriesQuery>,
) -> Result<Json<SeriesAnswer>, ApiError> {
    app.series(query).await.map(Json)
}
