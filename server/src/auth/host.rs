//! Names this server answers to (DNS rebinding).

use axum::http::{HeaderMap, Uri, header};
use stateward_model::ProblemKind;

use crate::error::ApiError;

/// Loopback names, with the bound port, and what the configuration adds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hosts {
    port: u16,
    allowed: Vec<String>,
}

impl Hosts {
    /// Makes the list for a bound port.
    pub(crate) fn new(port: u16, extra: &[String]) -> Self {
        let mut allowed = Vec::new();
        for name in ["127.0.0.1", "localhost", "[::1]"] {
            allowed.push(format!("{name}:{port}"));
            if port == 80 {
                allowed.push(name.to_owned());
            }
        }
        allowed.extend(extra.iter().map(|host| host.to_ascii_lowercase()));
        Self { port, allowed }
    }

    /// The bound port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    fn allows(&self, authority: &str) -> bool {
        let authority = authority.to_ascii_lowercase();
        // an entry without a port stands for any port of that name
        let name = authority.rsplit_once(':').map_or(authority.as_str(), |(name, _)| name);
        self.allowed.iter().any(|allowed| *allowed == authority || *allowed == name)
    }

    /// Checks the Host, and returns it.
    pub(crate) fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<String, ApiError> {
        let header = headers.get(header::HOST).and_then(|value| value.to_str().ok());
        let several = headers.get_all(header::HOST).iter().count() > 1;
        let given = uri.authority().map(axum::http::uri::Authority::as_str).or(header);
        match given {
            Some(host) if self.allows(host) && !several => Ok(host.to_owned()),
            _ => Err(ApiError::new(
                ProblemKind::Forbidden,
                format!(
                    "Host {:?} is not a name of this server; use http://127.0.0.1:{}, or add the name \
                     to server.allowed_hosts",
                    given.unwrap_or_default(),
                    self.port
                ),
            )),
        }
    }

    /// Checks the Origin, where there is one.
    pub(crate) fn check_origin(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
        let text = origin.to_str().unwrap_or_default();
        let authority = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        if authority.is_some_and(|authority| self.allows(authority)) {
            return Ok(());
        }
        Err(ApiError::new(
            ProblemKind::Forbidden,
            format!("Origin {text:?} is not this server; pages of other sites may not call it"),
        ))
    }
}
