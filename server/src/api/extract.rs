//! Getting parameters and bodies out of requests, with problems instead of plain text on failure.

use std::collections::BTreeMap;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;
use stateward_model::ProblemKind;

use crate::app::App;
use crate::auth::Actor;
use crate::error::ApiError;

/// Largest JSON body of a person's request.
const JSON_BYTES_MAX: usize = 64 * 1024;
/// What is read of a body beyond its limit before the connection is given up: a client that is still
/// sending would not see the answer.
const DRAIN_BYTES_MAX: usize = 256 << 20;

/// The query string.
#[derive(Debug)]
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Params<T> {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let query = Query::try_from_uri(&parts.uri);
        query.map(|Query(params)| Self(params)).map_err(|error| {
            ApiError::bad_request(format!("the query string cannot be used: {}", error.body_text()))
        })
    }
}

/// The parameters of the path.
#[derive(Debug)]
pub(super) struct Segments<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Segments<T> {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = Path::<T>::from_request_parts(parts, state).await;
        path.map(|Path(segments)| Self(segments)).map_err(|error| {
            ApiError::bad_request(format!("the path cannot be used: {}", error.body_text()))
        })
    }
}

/// Who asks.
impl<S: Sync> FromRequestParts<S> for Actor {
    type Rejection = ApiError;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        parts.extensions.get::<Self>().copied().ok_or_else(|| {
            ApiError::new(ProblemKind::Unauthorized, "the request has not been authenticated")
        })
    }
}

/// A JSON body of a person's request.
#[derive(Debug)]
pub(super) struct Json<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequest<S> for Json<T> {
    type Rejection = ApiError;
    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let bytes = body_of(&parts.headers, body, JSON_BYTES_MAX).await?;
        let value = serde_json::from_slice(&bytes).map_err(|error| {
            ApiError::bad_request(format!("the body is not the JSON expected here: {error}"))
        })?;
        Ok(Self(value))
    }
}

/// The fields of a page's form.
#[derive(Debug)]
pub(super) struct Form(pub(super) BTreeMap<String, String>);

impl<S: Sync> FromRequest<S> for Form {
    type Rejection = ApiError;
    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let bytes = body_of(&parts.headers, body, JSON_BYTES_MAX).await?;
        Ok(Self(url::form_urlencoded::parse(&bytes).into_owned().collect()))
    }
}

/// The zstd frame of an agent.
#[derive(Debug)]
pub(super) struct Frame(pub(super) Bytes);

impl FromRequest<App> for Frame {
    type Rejection = ApiError;
    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let encoding = parts.headers.get(header::CONTENT_ENCODING);
        if encoding.is_some_and(|encoding| encoding != "zstd") {
            return Err(ApiError::bad_request("agents send zstd; say content-encoding: zstd"));
        }
        body_of(&parts.headers, body, app.core().config.body_bytes_max).await.map(Self)
    }
}

/// Reads a body up to `limit`.
async fn body_of(headers: &HeaderMap, body: Body, limit: usize) -> Result<Bytes, ApiError> {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let declared = length.and_then(|length| length.parse::<usize>().ok()).unwrap_or(0);
    let mut over = declared > limit;
    let expects = headers.contains_key(header::EXPECT);
    let mut bytes = Vec::with_capacity(if over { 0 } else { declared });
    let mut read = 0;
    let mut chunks = body.into_data_stream();
    // a client that asks first has sent nothing yet, and needs no draining
    while !(over && (expects || read > DRAIN_BYTES_MAX)) {
        let Some(chunk) = chunks.next().await else { break };
        let chunk =
            chunk.map_err(|error| ApiError::bad_request(format!("the body broke off: {error}")))?;
        read += chunk.len();
        over |= read > limit;
        if over {
            bytes = Vec::new();
        } else {
            bytes.extend_from_slice(&chunk);
        }
    }
    if over {
        return Err(ApiError::new(
            ProblemKind::TooLarge,
            format!("the body has more than {limit} bytes, the most that is taken here"),
        ));
    }
    Ok(bytes.into())
}
