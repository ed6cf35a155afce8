//! What pages load: the style sheet, the icon, and the browser's part where it was built.
//!
//! The build script embeds the bundle of `cargo xtask web`; without it pages are served unhydrated.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// A file of the bundle, plain and compressed by brotli.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asset {
    mime: &'static str,
    plain: &'static [u8],
    brotli: Option<&'static [u8]>,
}

/// The browser's part.
#[derive(Clone, Copy, Debug)]
struct Bundle {
    js: &'static [u8],
    js_br: Option<&'static [u8]>,
    wasm: &'static [u8],
    wasm_br: Option<&'static [u8]>,
}

include!(concat!(env!("OUT_DIR"), "/bundle.rs"));

/// Whether the browser's part is here.
pub(super) fn is_bundled() -> bool {
    BUNDLE.is_some()
}

/// Finds a file of `/pkg`, or the icon.
pub(super) fn find(name: &str) -> Option<Asset> {
    let style = stateward_web::STYLE.as_bytes();
    Some(match name {
        "main.css" => Asset { mime: "text/css; charset=utf-8", plain: style, brotli: None },
        "favicon.svg" => {
            Asset { mime: "image/svg+xml", plain: stateward_web::FAVICON.as_bytes(), brotli: None }
        }
        "web.js" => {
            let Bundle { js, js_br, .. } = BUNDLE?;
            Asset { mime: "text/javascript; charset=utf-8", plain: js, brotli: js_br }
        }
        "web_bg.wasm" => {
            let Bundle { wasm, wasm_br, .. } = BUNDLE?;
            Asset { mime: "application/wasm", plain: wasm, brotli: wasm_br }
        }
        _ => return None,
    })
}

impl Asset {
    /// Names the content, so that a browser asks whether it changed and is told in a line.
    fn etag(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.plain.hash(&mut hasher);
        format!("\"{:016x}\"", hasher.finish())
    }

    /// Answers a request for the file.
    pub(super) fn answer(&self, asked: &HeaderMap) -> Response {
        let etag = self.etag();
        let has = |name, text: &str| {
            asked.get_all(name).iter().any(|value| value.to_str().is_ok_and(|v| v.contains(text)))
        };
        let common = [
            (header::CONTENT_TYPE, self.mime),
            (header::ETAG, etag.as_str()),
            (header::CACHE_CONTROL, "no-cache"),
            (header::VARY, "accept-encoding"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        ];
        if has(header::IF_NONE_MATCH, &etag) {
            return (StatusCode::NOT_MODIFIED, common).into_response();
        }
        match self.brotli {
            Some(brotli) if has(header::ACCEPT_ENCODING, "br") => {
                (common, [(header::CONTENT_ENCODING, "br")], brotli).into_response()
            }
            _ => (common, self.plain).into_response(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_did_not_change_is_not_sent_again() {
        let style = find("main.css").unwrap();
        let first = style.answer(&HeaderMap::new());
        assert_eq!(first.status(), StatusCode::OK);
        let mut again = HeaderMap::new();
        again.insert(header::IF_NONE_MATCH, first.headers()[header::ETAG].clone());
        assert_eq!(style.answer(&again).status(), StatusCode::NOT_MODIFIED);
        assert!(find("../Cargo.toml").is_none());
    }
}
