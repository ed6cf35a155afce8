//! The panels of a made-up state.

use stateward_model::view::{StateDetail, StateFacts};
use stateward_model::wire::{CleanupRuns, CleanupSample, CleanupStrategy, ExpirySample};
use stateward_model::{TtlOverride, TtlPolicy};

use super::{PanelQuery, state_panel};
use crate::api::sample::{NOW, Sample};
use crate::i18n::Lang;

/// The panel of a state that has a TTL overridden and hides something.
pub(crate) fn sample(detail: StateDetail, query: &str) -> String {
    let lang = if query.contains("lang=zh") { Lang::Zh } else { Lang::En };
    let tab = ["sites", "storage"].into_iter().find(|tab| query.contains(&format!("tab={tab}")));
    let query = PanelQuery { tab: tab.unwrap_or_default().to_owned(), ..PanelQuery::default() };
    state_panel(&facts(detail), &query, lang)
}

fn facts(detail: StateDetail) -> StateFacts {
    let mut ttl = TtlPolicy::new(Some(36 * 3_600_000));
    ttl.set(TtlOverride {
        ttl_millis: Some(3_600_000),
        until_millis: Some(NOW + 7_200_000),
        since_millis: NOW - 600_000,
        actor: "ann".to_owned(),
        reason: "the disk <fills>".to_owned(),
    });
    let runs = CleanupStrategy::ALL.map(|strategy| CleanupRuns {
        strategy,
        runs: 3,
        rows: 1_200,
        bytes: 96_000,
        read_bytes: 4 << 20,
        micros: 180_000,
    });
    let cleanup = CleanupSample {
        runs: runs.to_vec(),
        l0_files: 4,
        compacted_millis: Some(NOW - 90_000),
        paused: true,
        paused_until_millis: None,
    };
    let mut expiry = ExpirySample::empty();
    expiry.count(120_000, 700, 70_000);
    expiry.count(-30_000, 3, 300);
    StateFacts { detail, ttl, expiry, cleanup, at_millis: NOW }
}

fn detail() -> StateDetail {
    let sample = Sample { states: 2 };
    let name = sample.first_name();
    sample.state(["default", "flights", "op", &name].map(str::to_owned)).unwrap()
}

/// §1.14: says which TTL is in force, why and until when, and what can be brought back; what people
/// typed is text.
#[test]
fn says_what_is_in_force_and_why() {
    let html = state_panel(&facts(detail()), &PanelQuery::default(), Lang::En);
    for part in [
        "set by ann",
        "ends in",
        "36",
        "can be brought back for",
        "Reclaim now",
        "<form method=\"post\"",
    ] {
        assert!(html.contains(part), "{part} in {html}");
    }
    assert!(html.contains("the disk &lt;fills&gt;") && !html.contains("<fills>"), "{html}");
    assert!(html.contains("Will expire") && html.contains("700"), "{html}");
    assert!(html.contains("until it is resumed") && html.contains("the scheduler"), "{html}");
}

/// A preview says what a TTL hides and brings back, or that it is none; a refusal says why.
#[test]
fn previews_and_refusals_are_said() {
    let panel = |preview: &str, refused: &str, lang| {
        let query = PanelQuery {
            preview: preview.to_owned(),
            refused: refused.to_owned(),
            ..PanelQuery::default()
        };
        state_panel(&facts(detail()), &query, lang)
    };
    let soon = panel("soon", "", Lang::En);
    assert!(soon.contains("That is no TTL") && !soon.contains("Entries hidden at once"));
    assert!(panel("1ms", "", Lang::En).contains("Entries hidden at once"));
    let refused = panel("", "below <50> ms", Lang::Zh);
    assert!(refused.contains("被拒绝") && refused.contains("below &lt;50&gt; ms"), "{refused}");
}
