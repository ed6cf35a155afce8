//! Who may call: every request passes [`guard`], pages and reads too.
//!
//! 1. The Host must be this server's (a foreign page that rebinds a name to 127.0.0.1 sends its own).
//! 2. An Origin, where there is one, must be this server's.
//! 3. `/healthz` and `/readyz` are open; everything else needs the start token, as Bearer, as the
//!    password of Basic, or as a session cookie that opening the start URL gave.
//! 4. What changes something and comes with a cookie needs an Origin: the browser's word that the
//!    request was made by a page of this server.

mod host;
mod session;
mod refusal;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, PoisonError, RwLock};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stateward_model::ProblemKind;

use crate::core::Core;
use crate::error::ApiError;

pub(crate) use host::Hosts;

/// Paths that need no token.
const OPEN: [&str; 2] = ["/healthz", "/readyz"];

/// Token, sessions and names.
#[derive(Debug)]
pub(crate) struct Auth {
    /// The start token.
    pub(crate) token: String,
    /// Names this server answers to.
    pub(crate) hosts: Hosts,
    sessions: RwLock<BTreeSet<String>>,
}

/// Who a request comes from, for the audit log; users come later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    /// A browser with a session.
    Browser,
    /// A caller with the token.
    Token,
}

impl Actor {
    /// Name in the audit log.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Browser => "browser",
            Self::Token => "token",
        }
    }
}

impl Auth {
    /// Makes the guard of a server.
    pub(crate) fn new(token: String, hosts: Hosts, sessions: Vec<String>) -> Self {
        Self { token, hosts, sessions: RwLock::new(sessions.into_iter().collect()) }
    }

    fn is_token(&self, given: &str) -> bool {
        equal(given.as_bytes(), self.token.as_bytes())
    }

    fn is_session(&self, id: &str) -> bool {
        self.sessions.read().unwrap_or_else(PoisonError::into_inner).contains(id)
    }

    fn add_session(&self, id: String) {
        self.sessions.write().unwrap_or_else(PoisonError::into_inner).insert(id);
    }

    fn authenticate(&self, headers: &HeaderMap) -> Option<Actor> {
        if headers.get(header::AUTHORIZATION).is_some() {
            let given = given_token(headers)?;
            return self.is_token(&given).then_some(Actor::Token);
        }
        let cookie = session::cookie(headers, self.hosts.port())?;
        self.is_session(cookie).then_some(Actor::Browser)
    }
}

/// Checks a request, and lets it through or answers itself.
pub(crate) async fn guard(
    State(core): State<Arc<Core>>,
    mut request: Request,
    next: Next,
) -> Response {
    let mut response = match check(&core, &mut request).await {
        Ok(()) => next.run(request).await,
        Err(refusal) => *refusal,
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

async fn check(core: &Core, request: &mut Request) -> Result<(), Box<Response>> {
    let auth = &core.auth;
    let refuse = |error: ApiError| Box::new(error.into_response());
    let host = auth.hosts.check_host(request.uri(), request.headers()).map_err(refuse)?;
    auth.hosts.check_origin(request.headers()).map_err(refuse)?;
    if OPEN.contains(&request.uri().path()) {
        return Ok(());
    }
    if let Some(start) = session::start_of(core, request) {
        let answer = session::open(core, start).await;
        return Err(Box::new(answer));
    }
    let Some(actor) = auth.authenticate(request.headers()) else {
        return Err(Box::new(refusal::unauthorized(request)));
    };
    if actor == Actor::Browser && !is_read(request.method()) {
        check_same_origin(request.headers(), &host).map_err(refuse)?;
    }
    request.extensions_mut().insert(actor);
    Ok(())
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

fn check_same_origin(headers: &HeaderMap, host: &str) -> Result<(), ApiError> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let origin = text("origin").and_then(|origin| origin.split_once("://"));
    let same = origin.is_some_and(|(_, authority)| authority.eq_ignore_ascii_case(host));
    let site = text("sec-fetch-site").is_none_or(|site| site == "same-origin");
    if same && site {
        return Ok(());
    }
    Err(ApiError::new(
        ProblemKind::Forbidden,
        "a change with a session cookie must come from a page of this server (Origin equal to \
         Host); scripts use `Authorization: Bearer` instead",
    ))
}

/// The token as Bearer, or as the password of Basic.
fn given_token(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.trim().to_owned());
    }
    if scheme.eq_ignore_ascii_case("basic") {
        let plain = String::from_utf8(STANDARD.decode(rest.trim()).ok()?).ok()?;
        return plain.split_once(':').map(|(_, password)| password.to_owned());
    }
    None
}

/// Compares in a time that depends on the lengths only.
fn equal(a: &[u8], b: &[u8]) -> bool {
    let different = a.iter().zip(b).fold(0, |seen, (a, b)| std::hint::black_box(seen | (a ^ b)));
    a.len() == b.len() && different == 0
}

/// Makes 64 random hex digits.
pub(crate) fn random_hex() -> io::Result<String> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    Ok(digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect())
}
