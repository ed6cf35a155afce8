//! Opening the start URL once makes a session; the token then leaves the address bar.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::random_hex;
use crate::core::Core;
use crate::db::control::session;
use crate::error::ApiError;

/// A session lasts a year in the browser, or until the data folder forgets it.
const MAX_AGE_SECONDS: u32 = 365 * 86_400;

/// Name of the cookie: browsers do not tell ports apart, so the name does.
fn cookie_name(port: u16) -> String {
    format!("stateward_session_{port}")
}

/// Finds the session of a request.
pub(super) fn cookie(headers: &HeaderMap, port: u16) -> Option<&str> {
    let name = cookie_name(port);
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    all.flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(known, _)| *known == name)
        .map(|(_, id)| id)
}

/// A page that was asked for with the right token.
#[derive(Debug)]
pub(super) struct Start {
    path: String,
    query: String,
}

/// Tells whether a request opens the start URL: a page with the right `?token=`.
pub(super) fn start_of(core: &Core, request: &Request) -> Option<Start> {
    let path = request.uri().path();
    if request.method() != Method::GET || path.starts_with("/api/") {
        return None;
    }
    let query = request.uri().query()?;
    let token = query.split('&').find_map(|pair| pair.strip_prefix("token="))?;
    let right = core.auth.is_token(token);
    right.then(|| Start { path: path.to_owned(), query: query.to_owned() })
}

/// Answers with a cookie, and the same page without the token.
pub(super) async fn open(core: &Core, start: Start) -> Response {
    make(core, &start).await.unwrap_or_else(IntoResponse::into_response)
}

async fn make(core: &Core, start: &Start) -> Result<Response, ApiError> {
    let id = random_hex().map_err(|error| {
        tracing::error!(%error, "the operating system gave no random bytes");
        ApiError::new(stateward_model::ProblemKind::Internal, "no session could be made")
    })?;
    let (stored, now_millis) = (id.clone(), core.clock.now_millis());
    core.control
        .writer
        .run(move |connection| {
            Box::pin(async move { session::insert(connection, &stored, now_millis).await })
        })
        .await?;
    let name = cookie_name(core.auth.hosts.port());
    let cookie =
        format!("{name}={id}; HttpOnly; SameSite=Strict; Path=/; Max-Age={MAX_AGE_SECONDS}");
    core.auth.add_session(id);
    let mut response = StatusCode::SEE_OTHER.into_response();
    let headers = response.headers_mut();
    let invalid = |_| ApiError::bad_request("the URL cannot be redirected to; open / instead");
    headers.insert(header::SET_COOKIE, HeaderValue::from_str(&cookie).map_err(invalid)?);
    let target = without_token(&start.path, &start.query);
    headers.insert(header::LOCATION, HeaderValue::from_str(&target).map_err(invalid)?);
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// One slash at the start: two would lead to another host.
fn without_token(path: &str, query: &str) -> String {
    let rest: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("token=")).collect();
    let path = format!("/{}", path.trim_start_matches(['/', '\\']));
    if rest.is_empty() { path } else { format!("{path}?{}", rest.join("&")) }
}
