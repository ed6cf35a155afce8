//! `GET /api/v1/breakers`.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use stateward_model::view::BreakerCard;

use crate::app::App;
use crate::error::ApiError;

pub(super) fn routes() -> Router<App> {
    Router::new().route("/api/v1/breakers", get(breakers))
}

async fn breakers(State(app): State<App>) -> Result<Json<Vec<BreakerCard>>, ApiError> {
    app.breakers().await.map(Json)
}
