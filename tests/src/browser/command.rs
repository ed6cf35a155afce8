//! Commands of `chromedriver` that the `WebDriver` standard does not have.

use fantoccini::wd::WebDriverCompatibleCommand;
use http::Method;
use serde_json::Value;
use url::{ParseError, Url};

/// A POST below the session.
#[derive(Debug)]
pub(super) struct DriverCommand {
    path: &'static str,
    body: Value,
}

impl DriverCommand {
    /// `path` is relative to the session.
    pub(super) fn new(path: &'static str, body: Value) -> Self {
        Self { path, body }
    }
}

impl WebDriverCompatibleCommand for DriverCommand {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _url: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.body.to_string()))
    }
}
