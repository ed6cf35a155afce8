//! Orders by the forms of pages, which work with scripts off: the answer is the page again.

use axum::Router;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Redirect;
use axum::routing::post;
use stateward_model::view::OrderRequest;
use stateward_model::wire::Order;
use stateward_model::{parse_duration, parse_ttl};

use super::extract::{Form, Segments};
use crate::app::App;
use crate::auth::Actor;
use crate::error::ApiError;

type Of = (String, String, String, String);

pub(super) fn routes() -> Router<App> {
    Router::new().route("/ui/orders/{namespace}/{job}/{operator}/{state}", post(order))
}

async fn order(
    State(app): State<App>,
    actor: Actor,
    uri: Uri,
    Segments((namespace, job, operator, state)): Segments<Of>,
    Form(fields): Form,
) -> Redirect {
    let field = |name: &str| fields.get(name).map_or("", |text| text.trim());
    let order = order_of(field, app.core().clock.now_millis());
    let outcome = match order {
        Ok(order) => {
            let request = OrderRequest { order, reason: field("reason").to_owned() };
            app.order(&namespace, &job, &operator, &state, request, actor.name()).await.map(drop)
        }
        Err(error) => Err(error),
    };
    let page = uri.path().replacen("/ui/orders/", "/states/", 1);
    let refused = match outcome {
        Ok(()) => String::new(),
        Err(error) => {
            let text = error.problem().detail;
            let encoded: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
            format!("&refused={encoded}")
        }
    };
    Redirect::to(&format!("{page}?tab=ttl{refused}"))
}

/// Reads the fields: `order`, `ttl` where there is one, and `for`, after which what is ordered ends by
/// itself.
fn order_of<'a>(field: impl Fn(&str) -> &'a str, now_millis: i64) -> Result<Order, ApiError> {
    let mistyped = |field: &str, text: &str| {
        ApiError::bad_request(format!(
            "{field} is {text:?}; write a number with ms, s, m, h or d, such as 30m or 36h"
        ))
    };
    let until_millis = match field("for") {
        "" => None,
        text => {
            let lasts = parse_duration(text).ok_or_else(|| mistyped("the duration", text))?;
            Some(now_millis.saturating_add(lasts))
        }
    };
    match field("order") {
        "ttl" => {
            let ttl_millis = parse_ttl(field("ttl"));
            let ttl_millis =
                ttl_millis.map_err(|error| ApiError::bad_request(error.to_string()))?;
            Ok(Order::Ttl { ttl_millis, until_millis })
        }
        "ttl_revert" => Ok(Order::TtlRevert),
        "reclaim_now" => Ok(Order::ReclaimNow),
        "dry_run" => Ok(Order::Clean { dry_run: true }),
        "clean" => Ok(Order::Clean { dry_run: false }),
        "pause_cleanup" => Ok(Order::PauseCleanup { until_millis }),
        "resume_cleanup" => Ok(Order::ResumeCleanup),
        other => Err(ApiError::bad_request(format!("there is no order {other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fields: &[(&str, &str)]) -> Result<Order, ApiError> {
        let fields: std::collections::BTreeMap<_, _> = fields.iter().copied().collect();
        order_of(|name| fields.get(name).copied().unwrap_or(""), 1_000)
    }

    /// §1.14: a TTL is typed with its unit, or as none; it may end by itself.
    #[test]
    fn forms_become_orders() {
        let ttl = |ttl_millis, until_millis| Order::Ttl { ttl_millis, until_millis };
        let form = [("order", "ttl"), ("ttl", "30m"), ("for", "2h")];
        assert_eq!(read(&form).unwrap(), ttl(Some(1_800_000), Some(7_201_000)));
        assert_eq!(read(&[("order", "ttl"), ("ttl", "none")]).unwrap(), ttl(None, None));
        assert_eq!(read(&[("order", "dry_run")]).unwrap(), Order::Clean { dry_run: true });
        let until_millis = Some(61_000);
        let form = [("order", "pause_cleanup"), ("for", "1m")];
        assert_eq!(read(&form).unwrap(), Order::PauseCleanup { until_millis });
    }

    #[test]
    fn what_is_mistyped_is_named() {
        for (form, part) in [
            (vec![("order", "ttl"), ("ttl", "30")], "\"30\" is no TTL"),
            (vec![("order", "ttl")], "\"\" is no TTL"),
            (vec![("order", "ttl"), ("ttl", "1h"), ("for", "soon")], "the duration is \"soon\""),
            (vec![("order", "explode")], "there is no order \"explode\""),
        ] {
            let error = read(&form).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
