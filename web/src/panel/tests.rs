//! The panels of a made-up state.

use stateward_model::view::{StateDetail, StateFacts};
use stateward_model::wire::{
    CanarySample, CheckpointFailure, CheckpointKind, CheckpointRun, CheckpointSample, CleanupRuns,
    CleanupSample, CleanupStrategy, ExpirySample, FolderSample, HotKey, HotKeys, HotList,
    InvariantSample, JobSample, MemorySample, OvershootSample, StateSample,
};
use stateward_model::{Histogram, TtlOverride, TtlPolicy};

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
    let sample = StateSample {
        ttl,
        expiry,
        cleanup,
        hot: hot(),
        overshoot: overshoot(),
        invariants: invariants(),
        canary: Some(CanarySample { written: 12, removed: 11, ..CanarySample::default() }),
        ..StateSample::default()
    };
    StateFacts { detail, sample, job: job(), job_disk_bytes: 30_000_000, at_millis: NOW }
}

fn hot() -> HotKeys {
    let keys = [("user <1>", 900), ("", 60)];
    let keys = keys.into_iter().map(|(key, amount)| HotKey {
        hash: amount,
        key: (!key.is_empty()).then(|| key.to_owned()),
        amount,
    });
    let list = HotList { keys: keys.collect(), total: 1_000, error: 7 };
    HotKeys { by_changes: list, since_millis: Some(NOW - 420_000), ..HotKeys::default() }
}

fn invariants() -> Vec<InvariantSample> {
    vec![InvariantSample {
        name: "age < 30 min".to_owned(),
        checked: 5_000,
        violations: 3,
        last_hash: Some(0xab),
        last_millis: Some(NOW - 60_000),
    }]
}

fn overshoot() -> OvershootSample {
    OvershootSample {
        late: Histogram { buckets: vec![(20, 5), (40, 1)], sum: 3_000 },
        early: Histogram { buckets: vec![(1, 2)], sum: 2 },
    }
}

fn job() -> JobSample {
    let mut checkpoints = CheckpointSample { retained: vec![12, 9], ..CheckpointSample::default() };
    let run = CheckpointRun { epoch: 9, wall_millis: NOW - 60_000, ..CheckpointRun::default() };
    let kind = CheckpointKind::Full;
    checkpoints.add(CheckpointRun { kind, copied_bytes: 40_000_000, ..run.clone() });
    let failure = Some(CheckpointFailure::DiskFull);
    let detail = Some("no space <left>".to_owned());
    checkpoints.add(CheckpointRun { epoch: 12, failure, detail, ..run });
    let memory = MemorySample {
        budget_bytes: 256 << 20,
        write_cache_bytes: 64 << 20,
        ..MemorySample::default()
    };
    let folder = FolderSample {
        state_bytes: 31_000_000,
        changelog_bytes: 5_000_000,
        checkpoint_bytes: 2_000_000,
        other_bytes: 0,
    };
    JobSample { checkpoints, memory, folder, ..JobSample::default() }
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

/// §9: hot keys with their error, keys only where they may be shown; what they are made of is text.
#[test]
fn hot_keys_have_an_error() {
    let query = PanelQuery { tab: "sites".to_owned(), ..PanelQuery::default() };
    let html = state_panel(&facts(detail()), &query, Lang::En);
    for part in ["user &lt;1&gt;", "000000000000003c", "90", "at least", "7"] {
        assert!(html.contains(part), "{part} in {html}");
    }
}

/// §9: sizes lead from one to the next, memory is set against its budget, a failed checkpoint says why.
#[test]
fn sizes_add_up_and_checkpoints_are_listed() {
    let query = PanelQuery { tab: "storage".to_owned(), ..PanelQuery::default() };
    let html = state_panel(&facts(detail()), &query, Lang::En);
    for part in ["full", "incremental", "the disk was full", "no space &lt;left&gt;", "64 MiB"] {
        assert!(
            html.contains(part) || html.contains(&part.replace(' ', "\u{202f}")),
            "{part} in {html}"
        );
    }
    let ttl = state_panel(&facts(detail()), &PanelQuery::default(), Lang::En);
    assert!(ttl.contains("age &lt; 30 min") && ttl.contains("00000000000000ab"), "{ttl}");
    assert!(ttl.contains("12 / 0 / 0 / 11"), "{ttl}");
    assert!(ttl.contains("Overshoot") && ttl.contains("Before their expiry"), "{ttl}");
}
