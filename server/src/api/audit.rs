//! `GET /api/v1/audit`.

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;
use stateward_model::view::AuditPage;

use super::extract::Params;
use crate::app::App;
use crate::error::ApiError;

const LIMIT_DEFAULT: u32 = 100;

pub(super) fn routes() -> Router<App> {
    Router::new().route("/api/v1/audit", get(audit))
}

#[derive(Debug, Deserialize)]
struct Page {
    cursor: Option<i64>,
    limit: Option<u32>,
}

async fn audit(
    State(app): State<App>,
    Params(page): Params<Page>,
) -> Result<Json<AuditPage>, ApiError> {
    app.audit(page.cursor, page.limit.unwrap_or(LIMIT_DEFAULT)).await.map(Json)
}
