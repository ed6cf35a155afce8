//! The HTTP transport.

use std::fmt;
use std::time::Duration;

use ureq::Agent;

use super::transport::{Transport, TransportError};

/// Longest wait for an answer beside a long poll's own.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Sends telemetry to a Stateward server over HTTP.
pub struct HttpTransport {
    base: String,
    token: String,
    agent: Agent,
}

impl fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpTransport").field("base", &self.base).finish_non_exhaustive()
    }
}

impl HttpTransport {
    /// Names the server, `http://127.0.0.1:7077`, and its token. A URL that a server printed, with
    /// `?token=…` at its end, gives both.
    pub fn new(url: &str, token: Option<&str>) -> Self {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let in_url = query.split('&').find_map(|part| part.strip_prefix("token="));
        Self {
            base: base.trim_end_matches('/').to_owned(),
            token: token.or(in_url).unwrap_or_default().to_owned(),
            agent: Agent::new_with_config(
                Agent::config_builder().http_status_as_error(false).build(),
            ),
        }
    }

    fn post(&self, path: &str, body: &[u8]) -> Result<Vec<u8>, TransportError> {
        let sent = self
            .agent
            .post(format!("{}/api/v1/agent/{path}", self.base))
            .config()
            .timeout_global(Some(TIMEOUT))
            .build()
            .header("content-type", "application/json")
            .header("content-encoding", "zstd")
            .header("authorization", format!("Bearer {}", self.token))
            .send(body);
        answer(sent)
    }
}

fn answer(
    sent: Result<ureq::http::Response<ureq::Body>, ureq::Error>,
) -> Result<Vec<u8>, TransportError> {
    let unavailable = |e: ureq::Error| TransportError::Unavailable(e.to_string());
    let mut response = sent.map_err(unavailable)?;
    let body = response.body_mut().read_to_vec().map_err(unavailable)?;
    let status = response.status();
    if status.is_success() {
        return Ok(body);
    }
    let detail = format!("{status}: {}", String::from_utf8_lossy(&body));
    Err(match status.as_u16() {
        404 => TransportError::UnknownRun(detail),
        429 | 500..=599 => TransportError::Unavailable(detail),
        _ => TransportError::Refused(detail),
    })
}

impl Transport for HttpTransport {
    fn hello(&self, body: &[u8]) -> Result<Vec<u8>, TransportError> {
        self.post("hello", body)
    }

    fn report(&self, body: &[u8]) -> Result<Vec<u8>, TransportError> {
        self.post("report", body)
    }

    fn commands(&self, run: &str, after: u64, wait: Duration) -> Result<Vec<u8>, TransportError> {
        let url = format!(
            "{}/api/v1/agent/commands?run={run}&after={after}&wait={}",
            self.base,
            wait.as_secs()
        );
        let sent = self
            .agent
            .get(url)
            .config()
            .timeout_global(Some(wait + TIMEOUT))
            .build()
            .header("authorization", format!("Bearer {}", self.token))
            .call();
        answer(sent)
    }
}
