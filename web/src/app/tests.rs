//! Every page as the server sends it: readable with scripts off, in both languages.
#![expect(
    clippy::similar_names,
    clippy::unwrap_used,
    reason = "helpers of tests; the exception for tests covers only the functions marked as such"
)]

use std::sync::{Arc, Mutex};

use axum::body::{Body, to_bytes};
use axum::http::Request;
use leptos::prelude::provide_context;

use super::{Site, shell};
use crate::api::Backend;
use crate::api::sample::Sample;
use crate::i18n::Preferences;

/// Renders a page; returns the status it asks for and the HTML.
async fn page(states: u32, url: &str) -> (u16, String) {
    // every test of the process sets the same executor
    drop(any_spawner::Executor::init_tokio());
    let status = Arc::new(Mutex::new(200));
    let asked = Arc::clone(&status);
    let query = url.split_once('?').map(|(_, query)| query.to_owned()).unwrap_or_default();
    let context = move || {
        provide_context::<Arc<dyn Backend>>(Arc::new(Sample { states }));
        provide_context(Preferences::from_request(&query, "", ""));
        let asked = Arc::clone(&asked);
        let set_status = move |code| *asked.lock().unwrap() = code;
        provide_context(Site { hydrated: false, set_status: Arc::new(set_status) });
    };
    let request = Request::get(url).body(Body::empty()).unwrap();
    let response = leptos_axum::render_app_async_with_context(context, shell)(request).await;
    let html = String::from_utf8(to_bytes(response.into_body(), 1 << 24).await.unwrap().to_vec());
    let code = *status.lock().unwrap();
    (code, html.unwrap())
}

const STATE: &str = "/states/default/made_up/rotate/peeked_carts";

#[tokio::test]
async fn every_page_says_what_it_must_without_scripts() {
    let cases: [(&str, &[&str]); 14] = [
        (
            "/",
            &["Needs attention", "Kept alive by reads", "41.2\u{202f}GiB", "Breakers not closed"],
        ),
        (
            "/states",
            &["parcel_trail", "No TTL", "+15.3\u{202f}%/d", "aria-sort=\"descending\"", "silent"],
        ),
        ("/states?columns=writes", &["Writes", "Reads"]),
        (
            STATE,
            &[
                "97\u{202f}% of refreshes are reads from src/peek.rs:88:21",
                "Reset breaker on peeked_carts",
                "TTL-miss ratio",
                "TTL 36\u{202f}h",
                "class=\"line s0\"",
            ],
        ),
        (&format!("{STATE}?tab=sites"), &["src/fold.rs:41:17", "4f2a90cc17be", "1b2c3d4"]),
        (&format!("{STATE}?tab=storage"), &["On disk", "90", "estimate"]),
        (
            &format!("{STATE}?tab=breaker"),
            &["1\u{202f}300\u{202f}412", "holds", "divert", "Backlog"],
        ),
        (&format!("{STATE}?tab=alerts"), &["parcel trail too large", "firing"]),
        (&format!("{STATE}?tab=history"), &["checkpoint 41 done"]),
        (
            "/lineage/default/made_up",
            &["parcels", "12.4\u{202f}k/s", "peeked_carts", "class=\"cylinder wants\""],
        ),
        ("/jobs", &["default/made_up", "12.4\u{202f}ms", "parcels-07.csv:123456"]),
        ("/alerts", &["parcel trail too large", "every state", "Active"]),
        ("/breakers", &["tripped by hand", "82\u{202f}000", "pending"]),
        ("/audit", &["breaker.trip", "intent"]),
    ];
    for (url, expected) in cases {
        let (status, html) = page(12, url).await;
        assert_eq!(status, 200, "{url}");
        for text in expected {
            assert!(html.contains(text), "{url} does not say {text:?}\n{html}");
        }
    }
}

#[tokio::test]
async fn chinese_pages_speak_chinese() {
    for (url, expected) in [
        ("/?lang=zh", "需要关注"),
        ("/states?lang=zh", "被读取续命"),
        (&*format!("{STATE}?lang=zh"), "97\u{202f}% 的续命来自 src/peek.rs:88:21 的读取"),
        ("/breakers?lang=zh", "人工熔断"),
        ("/alerts?lang=zh", "TTL 未命中率 &gt; 20\u{202f}%"),
    ] {
        let (_, html) = page(12, url).await;
        assert!(html.contains("<html lang=\"zh-CN\""), "{url}");
        assert!(html.contains(expected), "{url} does not say {expected:?}\n{html}");
    }
}

#[tokio::test]
async fn nothing_there_says_what_to_do() {
    for url in ["/", "/states", "/jobs", "/lineage"] {
        let (status, html) = page(0, url).await;
        assert_eq!(status, 200);
        assert!(
            html.contains("No job has reported yet.") && html.contains("stateward demo"),
            "{url}"
        );
    }
    for (url, text) in [
        ("/alerts", "There is no rule yet."),
        ("/breakers", "Every breaker is closed."),
        ("/audit", "Nobody has acted yet."),
    ] {
        assert!(page(0, url).await.1.contains(text), "{url}");
    }
}

#[tokio::test]
async fn what_is_missing_is_404_and_names_cannot_break_out() {
    let (status, html) = page(12, "/nowhere").await;
    assert_eq!(status, 404);
    assert!(html.contains("There is no such page."));
    let (status, html) =
        page(12, "/states/default/j/o/%3C%2Ftitle%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E").await;
    assert_eq!(status, 404);
    assert!(html.contains("there is no state") && !html.contains("<script>alert"), "{html}");
}

#[tokio::test]
async fn a_thousand_states_are_paged() {
    let (_, html) = page(1_000, "/states").await;
    assert_eq!(html.matches("class=\"row-link\"").count(), 100);
    assert!(html.contains("cursor=next"));
}
