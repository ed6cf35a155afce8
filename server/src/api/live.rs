//! `GET /api/v1/live`: server-sent events for open pages.

use std::convert::Infallible;

use axum::Router;
use axum::extract::State;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use axum::routing::get;
use futures_util::Stream;
use futures_util::stream::unfold;
use tokio::sync::broadcast::error::RecvError;

use crate::app::App;
use crate::live::LiveEvent;

pub(super) fn routes() -> Router<App> {
    Router::new().route("/api/v1/live", get(live))
}

async fn live(State(app): State<App>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let start = (app.live(), app.core().stopping.subscribe());
    let events = unfold(start, |(mut events, mut stopping)| async move {
        loop {
            let event = tokio::select! {
                event = events.recv() => event,
                _ = stopping.wait_for(|stopping| *stopping) => return None,
            };
            match event {
                Ok(event) => return Some((Ok(to_sse(&event)), (events, stopping))),
                // the page missed some; the next one brings it up to date
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

fn to_sse(event: &LiveEvent) -> Event {
    let data = serde_json::to_string(event).unwrap_or_default();
    Event::default().event(event.name()).data(data)
}
