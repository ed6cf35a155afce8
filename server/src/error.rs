//! One error for everything that can answer a request: it chooses the status, and private causes are
//! logged and never sent out.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use stateward_model::{Problem, ProblemKind};

use crate::db::DbError;

/// Longest detail: it may quote what was sent.
const DETAIL_BYTES_MAX: usize = 1_024;

/// Why a request was not carried out: an RFC 9457 problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct ApiError {
    kind: ProblemKind,
    detail: String,
}

impl ApiError {
    /// Makes an error of a kind; `detail` tells what happened, where, and what to do.
    pub fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        let mut detail = detail.into();
        detail.truncate(detail.floor_char_boundary(DETAIL_BYTES_MAX));
        Self { kind, detail }
    }

    /// Makes the error for a parameter or body that cannot be used.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::BadRequest, detail)
    }

    /// Makes the error for something that is not here.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::NotFound, detail)
    }

    /// Makes the error for a request that contradicts what is stored.
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::Conflict, detail)
    }

    /// Which kind of problem it is.
    pub fn kind(&self) -> ProblemKind {
        self.kind
    }

    /// The body that the API answers with.
    pub fn problem(&self) -> Problem {
        Problem::new(self.kind, self.detail.clone())
    }
}

impl From<DbError> for ApiError {
    fn from(error: DbError) -> Self {
        match error {
            DbError::Full { .. } => {
                tracing::error!(%error, "the disk is full, nothing was acknowledged");
                Self::new(
                    ProblemKind::Storage,
                    "the disk of the data folder is full, and this request was not acknowledged; \
                     free some space and send it again",
                )
            }
            DbError::Closed => Self::new(
                ProblemKind::Busy,
                "the server is stopping; send the request again when it is back",
            ),
            DbError::Sql(_) | DbError::Damaged { .. } => {
                tracing::error!(%error, "the database refused");
                Self::new(
                    ProblemKind::Internal,
                    "the database refused the request; the server's log has the cause",
                )
            }
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let status =
            StatusCode::from_u16(self.kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(self.problem())).into_response();
        let json = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        response
    }
}
