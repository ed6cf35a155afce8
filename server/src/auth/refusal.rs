//! What a caller without a token is told.

use axum::extract::Request;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use stateward_model::ProblemKind;

use crate::error::ApiError;

/// A page for people: static, so that nothing of the request can end up in it.
const PAGE: &str = "<!doctype html>
<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Stateward</title>
<meta name=\"viewport\" content=\"width=device-width\">
<style>body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem;color-scheme:light dark}</style>
</head><body><h1>Stateward</h1>
<p>This browser has not been let in yet, or its start token has changed.</p>
<p>Open the URL that Stateward printed when it started: it ends in <code>?token=…</code>. The token is
also in the file <code>token</code> of the data folder; add it to this address as
<code>?token=…</code>.</p>
<p lang=\"zh-CN\">此浏览器尚未获准访问，或启动令牌已更改。请打开 Stateward 启动时输出的网址（以
<code>?token=…</code> 结尾）；令牌也保存在数据目录的 <code>token</code> 文件中。</p>
</body></html>
";

/// Paths that programs call.
const FOR_PROGRAMS: [&str; 3] = ["/api/", "/metrics", "/federate"];

/// Answers 401: a page to browsers, a problem to programs.
pub(super) fn unauthorized(request: &Request) -> Response {
    let path = request.uri().path();
    let accepts = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let page = request.method() == Method::GET
        && !FOR_PROGRAMS.iter().any(|prefix| path.starts_with(prefix))
        && accepts.is_some_and(|accepts| accepts.contains("text/html"));
    let mut response = if page {
        (StatusCode::UNAUTHORIZED, Html(PAGE)).into_response()
    } else {
        ApiError::new(
            ProblemKind::Unauthorized,
            "send the start token as `Authorization: Bearer TOKEN`, or as the password of Basic; it \
             is in the file `token` of the data folder",
        )
        .into_response()
    };
    let headers = response.headers_mut();
    headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
