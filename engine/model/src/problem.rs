//! Errors of the HTTP API, RFC 9457: every `type` the API can answer with is listed here.

use serde::{Deserialize, Serialize};

/// The kinds of problems; each has one `type` URI and one status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// A parameter or body that cannot be used.
    BadRequest,
    /// No token, or a wrong one.
    Unauthorized,
    /// A Host or Origin that is not this server's.
    Forbidden,
    /// No such job, state, rule or page.
    NotFound,
    /// The request contradicts what is stored.
    Conflict,
    /// The body is over the limit.
    TooLarge,
    /// The state's origin cannot do this.
    NotAvailable,
    /// The wire protocol of the agent is not spoken here.
    ProtocolMismatch,
    /// The server is over a limit; try again.
    Busy,
    /// The disk is full, or refuses.
    Storage,
    /// A bug or an outage of the server itself.
    Internal,
}

impl ProblemKind {
    /// HTTP status.
    pub fn status(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::Conflict | Self::NotAvailable => 409,
            Self::TooLarge => 413,
            Self::ProtocolMismatch => 426,
            Self::Busy => 503,
            Self::Storage => 507,
            Self::Internal => 500,
        }
    }

    /// The `type` member: a relative URI that the documentation explains.
    pub fn uri(self) -> &'static str {
        match self {
            Self::BadRequest => "/problems/bad-request",
            Self::Unauthorized => "/problems/unauthorized",
            Self::Forbidden => "/problems/forbidden",
            Self::NotFound => "/problems/not-found",
            Self::Conflict => "/problems/conflict",
            Self::TooLarge => "/problems/too-large",
            Self::NotAvailable => "/problems/not-available",
            Self::ProtocolMismatch => "/problems/protocol-mismatch",
            Self::Busy => "/problems/busy",
            Self::Storage => "/problems/storage",
            Self::Internal => "/problems/internal",
        }
    }

    /// The `title` member.
    pub fn title(self) -> &'static str {
        match self {
            Self::BadRequest => "The request cannot be used",
            Self::Unauthorized => "The start token is missing or wrong",
            Self::Forbidden => "This host or origin may not call the server",
            Self::NotFound => "Not found",
            Self::Conflict => "The request contradicts what is stored",
            Self::TooLarge => "The body is too large",
            Self::NotAvailable => "Not available for this state",
            Self::ProtocolMismatch => "The agent speaks another protocol",
            Self::Busy => "The server is busy",
            Self::Storage => "The server cannot write",
            Self::Internal => "The server failed",
        }
    }
}

/// The body of an error answer, `application/problem+json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Which kind, as a URI.
    #[serde(rename = "type")]
    pub uri: String,
    /// The kind in words.
    pub title: String,
    /// HTTP status.
    pub status: u16,
    /// What happened, where, and what to do.
    pub detail: String,
}

impl Problem {
    /// Makes the body for one occurrence.
    pub fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self {
            uri: kind.uri().into(),
            title: kind.title().into(),
            status: kind.status(),
            detail: detail.into(),
        }
    }
}
