//! The ranking, one state, and orders about it.

use axum::extract::State;
use axum::routing::{get, post};
use axum::{Json, Router};
use stateward_model::view::{CommandView, OrderRequest, StateDetail, StatesPage, StatesQuery};

use super::extract::{Json as Body, Params, Segments};
use crate::app::App;
use crate::auth::Actor;
use crate::error::ApiError;

type Of = (String, String, String, String);

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/v1/states", get(states))
        .route("/api/v1/states/{namespace}/{job}/{operator}/{state}", get(state))
        .route("/api/v1/states/{namespace}/{job}/{operator}/{state}/orders", post(order))
}

async fn states(
    State(app): State<App>,
    Params(query): Params<StatesQuery>,
) -> Result<Json<StatesPage>, ApiError> {
    app.states(query).await.map(Json)
}

async fn state(
    State(app): State<App>,
    Segments((namespace, job, operator, state)): Segments<Of>,
) -> Result<Json<StateDetail>, ApiError> {
    app.state(&namespace, &job, &operator, &state).await.map(Json)
}

async fn order(
    State(app): State<App>,
    actor: Actor,
    Segments((namespace, job, operator, state)): Segments<Of>,
    Body(request): Body<OrderRequest>,
) -> Result<Json<CommandView>, ApiError> {
    let actor = actor.name();
    app.order(&namespace, &job, &operator, &state, request, actor).await.map(Json)
}
