//! The JSON API, fetched.

use stateward_model::Problem;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;

use super::{Act, Ask, Backend, Fetched, local};

/// Asks the server that the page came from.
#[derive(Debug)]
pub(super) struct Browser;

const JSON: &str = "application/json";

fn send(method: &'static str, path: String, body: Option<String>) -> Fetched<String> {
    Box::pin(send_wrapper::SendWrapper::new(call(method, path, body)))
}

/// Sends a request and returns the body of a good answer.
async fn call(method: &str, path: String, body: Option<String>) -> Result<String, Problem> {
    let lost = |error: JsValue| local("network", format!("{method} {path}: {error:?}"));
    let init = web_sys::RequestInit::new();
    init.set_method(method);
    let headers = web_sys::Headers::new().map_err(lost)?;
    headers.set("accept", JSON).map_err(lost)?;
    if let Some(body) = &body {
        headers.set("content-type", JSON).map_err(lost)?;
        init.set_body(&JsValue::from_str(body));
    }
    init.set_headers(&headers);
    let window = web_sys::window().ok_or_else(|| lost(JsValue::NULL))?;
    let response =
        JsFuture::from(window.fetch_with_str_and_init(&path, &init)).await.map_err(lost)?;
    let response: web_sys::Response = response.dyn_into().map_err(lost)?;
    let text = JsFuture::from(response.text().map_err(lost)?).await.map_err(lost)?;
    let text = text.as_string().unwrap_or_default();
    if response.ok() {
        return Ok(text);
    }
    Err(serde_json::from_str(&text).unwrap_or_else(|_| Problem {
        uri: "about:blank".into(),
        title: response.status_text(),
        status: response.status(),
        detail: format!("{method} {path}"),
    }))
}

impl Backend for Browser {
    fn now_millis(&self) -> i64 {
        js_sys::Date::now() as i64
    }

    fn read(&self, ask: Ask) -> Fetched<String> {
        send("GET", ask.path(), None)
    }

    fn act(&self, act: Act) -> Fetched<String> {
        let (method, path, body) = act.request();
        send(method, path, (!body.is_empty()).then_some(body))
    }
}
