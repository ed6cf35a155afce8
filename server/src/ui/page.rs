//! Pages, with a content security policy that lets nothing else run.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, RawQuery, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use leptos::prelude::{provide_context, use_context};
use leptos_axum::ResponseOptions;
use stateward_model::view::StatesQuery;
use stateward_model::{Problem, ProblemKind};
use stateward_web::{Ask, Backend, Preferences, Site};

use super::asset;

/// Most rows of the CSV.
const CSV_ROWS_MAX: u32 = 1_000;

/// Paths that belong to programs: what is missing there is a problem in JSON, not a page.
const NOT_PAGES: [&str; 4] = ["/api/", "/prometheus/", "/pkg/", "/ui/"];

/// Serves pages from a backend.
pub(super) fn router(backend: Arc<dyn Backend>) -> Router {
    // it is set already where a second server starts in the same process
    drop(any_spawner::Executor::init_tokio());
    Router::new()
        .route("/pkg/{name}", get(file))
        .route("/favicon.svg", get(icon))
        .route("/favicon.ico", get(icon))
        .route("/states.csv", get(csv))
        .route("/ui/panels/{namespace}/{job}/{operator}/{state}", get(panel))
        .fallback(page)
        .with_state(backend)
}

async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    match asset::find(&name) {
        Some(asset) => asset.answer(&headers),
        None => missing("/pkg"),
    }
}

async fn icon(headers: HeaderMap) -> Response {
    asset::find("favicon.svg")
        .map_or_else(|| missing("/favicon.svg"), |asset| asset.answer(&headers))
}

async fn csv(
    State(backend): State<Arc<dyn Backend>>,
    Query(mut query): Query<StatesQuery>,
) -> Response {
    query.limit = Some(CSV_ROWS_MAX);
    let rows = match backend.read(Ask::States(query)).await {
        Ok(text) => stateward_web::states_csv(&text),
        Err(problem) => return refused(&problem),
    };
    let kind = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"states.csv\""),
    ];
    (kind, rows).into_response()
}

/// A part of a page, for the browser to put in.
async fn panel(
    State(backend): State<Arc<dyn Backend>>,
    Path((namespace, job, operator, state)): Path<(String, String, String, String)>,
    RawQuery(query): RawQuery,
) -> Response {
    let of = [namespace, job, operator, state];
    match backend.read(Ask::Panel(of, query.unwrap_or_default())).await {
        Ok(html) => ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response(),
        Err(problem) => refused(&problem),
    }
}

fn missing(path: &str) -> Response {
    refused(&Problem::new(ProblemKind::NotFound, format!("there is nothing at {path}")))
}

fn refused(problem: &Problem) -> Response {
    let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind = [(header::CONTENT_TYPE, "application/problem+json")];
    (status, kind, serde_json::to_string(problem).unwrap_or_default()).into_response()
}

/// Renders whatever page stands at a path, in the reader's language and colours.
async fn page(State(backend): State<Arc<dyn Backend>>, request: Request<Body>) -> Response {
    let path = request.uri().path();
    if NOT_PAGES.iter().any(|prefix| path.starts_with(prefix)) {
        return missing(path);
    }
    if !matches!(request.method().as_str(), "GET" | "HEAD") {
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET, HEAD")]).into_response();
    }
    let query = request.uri().query().unwrap_or_default();
    let preferences = {
        let text = |name: HeaderName| {
            request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
        };
        Preferences::from_request(query, text(header::COOKIE), text(header::ACCEPT_LANGUAGE))
    };
    let cookies = preferences.cookies(query);
    let context = move || {
        provide_context(Arc::clone(&backend));
        provide_context(preferences);
        let options = use_context::<ResponseOptions>().unwrap_or_default();
        write_headers(&options, &cookies);
        let set_status = move |status| {
            options.set_status(
                StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            );
        };
        provide_context(Site { hydrated: asset::is_bundled(), set_status: Arc::new(set_status) });
    };
    leptos_axum::render_app_async_with_context(context, stateward_web::shell)(request).await
}

/// The policy, and what the reader chose.
fn write_headers(options: &ResponseOptions, cookies: &[String]) {
    if leptos::nonce::use_nonce().is_none() {
        leptos::nonce::provide_nonce();
    }
    let nonce = leptos::nonce::use_nonce().map(|nonce| nonce.to_string()).unwrap_or_default();
    let policy = format!(
        "default-src 'none'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; style-src 'self'; \
         img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; \
         frame-ancestors 'none'"
    );
    let fixed = [
        (header::CONTENT_SECURITY_POLICY, policy.as_str()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
        (header::VARY, "cookie, accept-language"),
    ];
    for (name, value) in fixed {
        if let Ok(value) = HeaderValue::from_str(value) {
            options.insert_header(name, value);
        }
    }
    for cookie in cookies {
        if let Ok(value) = HeaderValue::from_str(cookie) {
            options.append_header(header::SET_COOKIE, value);
        }
    }
}
