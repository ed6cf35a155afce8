//! The catalogue of metrics against the documents and dashboards.

use std::fmt::Write;

use stateward_model::metric::{self, Kind, Metric, Quality, Scope};

use super::tree::Tree;

const HEADER: &str = "# Metrics

Written from the catalogue in `engine/model/src/metric.rs`; a test compares. To write it anew: `STATEWARD_BLESS=1 cargo test -p stateward-tests the_metrics_page`.

Names, base units and the ending `_total` follow Prometheus. *Exact* figures are counted one by one; *estimates* are measured with an error or derived, and shown with ≈. A histogram has the series `_bucket` (label `le`), `_sum` and `_count`.
";

/// `docs/metrics.md` as the catalogue wants it.
pub fn metrics_page() -> String {
    let mut page = HEADER.to_owned();
    for (scope, title) in [
        (Scope::State, "Of a state"),
        (Scope::Operator, "Of an operator"),
        (Scope::Job, "Of a job"),
        (Scope::Server, "Of the server"),
    ] {
        let identity = scope.labels().iter().map(|label| format!("`{label}`"));
        let identity = identity.collect::<Vec<_>>().join(", ");
        let labels = if identity.is_empty() {
            "No identity labels".to_owned()
        } else {
            format!("Labels {identity}")
        };
        let rows = metric::ALL.iter().filter(|metric| metric.scope == scope).map(row);
        let rows: String = rows.collect();
        // Writing to a string cannot fail.
        write!(
            page,
            "\n## {title}\n\n{labels}, and those in the table.\n\n| metric | kind | unit | labels | quality | meaning |\n| --- | --- | --- | --- | --- | --- |\n{rows}"
        )
        .ok();
    }
    page
}

fn row(metric: &Metric) -> String {
    let kind = match metric.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    };
    let quality = match metric.quality {
        Quality::Exact => "exact",
        Quality::Estimate => "estimate",
    };
    let labels: Vec<_> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
    let help = metric.help.replace('|', "\\|");
    format!(
        "| `{}` | {kind} | {} | {} | {quality} | {help} |\n",
        metric.name,
        metric.unit,
        labels.join(", ")
    )
}

/// Names in documents and dashboards that look like metrics and are not in the catalogue.
pub fn unknown_metrics(tree: &Tree) -> Vec<String> {
    let files = tree.files("docs/", ".md").chain(tree.files("dashboards/", ""));
    let mut complaints = Vec::new();
    for file in files {
        for (number, line) in (1..).zip(file.text.lines()) {
            let unknown = names(line).filter(|name| !is_known(name));
            complaints.extend(
                unknown
                    .map(|name| format!("{}:{number}: {name} is not in the catalogue", file.path)),
            );
        }
    }
    complaints
}

fn names(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("stateward_"))
        // `stateward_state_*` stands for all that begin so.
        .filter(|word| !word.ends_with('_'))
}

fn is_known(name: &str) -> bool {
    const CRATES: &[&str] = &[
        "stateward_engine",
        "stateward_jobs",
        "stateward_model",
        "stateward_tests",
        "stateward_web",
    ];
    let series_of_histogram = ["_bucket", "_sum", "_count"].iter().any(|ending| {
        name.strip_suffix(ending)
            .and_then(metric::by_name)
            .is_some_and(|metric| metric.kind == Kind::Histogram)
    });
    series_of_histogram || metric::by_name(name).is_some() || CRATES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_one_row() {
        let page = metrics_page();
        for metric in metric::ALL {
            assert_eq!(
                page.matches(&format!("| `{}` |", metric.name)).count(),
                1,
                "{}",
                metric.name
            );
        }
    }

    #[test]
    fn names_are_known_with_their_series() {
        let text = "`stateward_state_reads_total` stateward_state_age_seconds_bucket{le=\"1\"} \
                    stateward_state_reads_total_bucket stateward_state_colour stateward_state_*";
        let tree = Tree::of(&[("docs/a.md", text)]);
        assert_eq!(
            unknown_metrics(&tree),
            [
                "docs/a.md:1: stateward_state_reads_total_bucket is not in the catalogue",
                "docs/a.md:1: stateward_state_colour is not in the catalogue"
            ]
        );
    }
}
