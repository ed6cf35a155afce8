//! Alerts and their rules.

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post, put};
use axum::{Json, Router};
use stateward_model::alert::Rule;
use stateward_model::view::AlertsPage;

use super::extract::{Json as Body, Segments};
use crate::app::App;
use crate::auth::Actor;
use crate::error::ApiError;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/alerts", get(alerts))
        .route("/api/v1/alerts/presets", get(presets))
        .route("/api/v1/alerts/rules", post(create))
        .route("/api/v1/alerts/rules/{id}", put(update).delete(delete))
}

async fn alerts(State(app): State<App>) -> Result<Json<AlertsPage>, ApiError> {
    app.alerts().await.map(Json)
}

async fn presets(State(app): State<App>) -> Result<Json<Vec<Rule>>, ApiError> {
    app.presets().await.map(Json)
}

async fn create(
    State(app): State<App>,
    actor: Actor,
    Body(rule): Body<Rule>,
) -> Result<(StatusCode, Json<Rule>), ApiError> {
    let rule = app.create_rule(rule, actor.name()).await?;
    Ok((StatusCode::CREATED, Json(rule)))
}

async fn update(
    State(app): State<App>,
    actor: Actor,
    Segments(id): Segments<i64>,
    Body(rule): Body<Rule>,
) -> Result<Json<Rule>, ApiError> {
    app.update_rule(id, rule, actor.name()).await.map(Json)
}

async fn delete(
    State(app): State<App>,
    actor: Actor,
    Segments(id): Segments<i64>,
) -> Result<StatusCode, ApiError> {
    app.delete_rule(id, actor.name()).await?;
    Ok(StatusCode::NO_CONTENT)
}
