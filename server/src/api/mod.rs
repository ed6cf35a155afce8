//! The HTTP API: one short file an endpoint group. A handler extracts, calls one function, answers.

mod extract;
mod agent;
mod overview;
mod states;
mod forms;
mod series;
mod jobs;
mod alerts;
mod breakers;
mod audit;
mod live;
mod metrics;
mod health;

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::Uri;
use axum::middleware::from_fn_with_state;
use axum::routing::any;

use crate::app::App;
use crate::auth::guard;
use crate::core::Core;
use crate::error::ApiError;

/// Makes the whole router: the API, `ui` for everything else, and the guard around both.
pub(crate) fn router(core: Arc<Core>, app: App, ui: Router) -> Router {
    Router::new()
        .merge(agent::routes())
        .merge(overview::routes())
        .merge(states::routes())
        .merge(forms::routes())
        .merge(series::routes())
        .merge(jobs::routes())
        .merge(alerts::routes())
        .merge(breakers::routes())
        .merge(audit::routes())
        .merge(live::routes())
        .merge(metrics::routes())
        .merge(health::routes())
        .route("/api/{*rest}", any(not_found))
        .with_state(app)
        .fallback_service(ui)
        // bodies are read, and bounded, by `extract::body`
        .layer(DefaultBodyLimit::disable())
        .layer(from_fn_with_state(core, guard))
}

/// Answers what does not exist.
pub(crate) async fn not_found(uri: Uri) -> ApiError {
    ApiError::not_found(format!("there is nothing at {}", uri.path()))
}
