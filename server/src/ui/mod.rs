//! The web pages: rendered here, taken over by the browser where its part was built.
//!
//! In: the server as [`App`]. Out: a router with the pages, what they load from `/pkg`, the icon and
//! the ranking as CSV. Who may call is decided before a request comes here.

mod asset;
mod backend;
mod page;

use std::sync::Arc;

use axum::Router;

use crate::app::App;

/// Serves the pages of a server. Everything that is no page answers "no such page".
pub fn router(app: App) -> Router {
    page::router(Arc::new(backend::InServer(app)))
}
