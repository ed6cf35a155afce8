//! The figures of charts as Prometheus queries, by the names of the metric catalogue.

/// Labels that tell a series of jobs, operators or states apart, in the order of its name.
const LABELS: [&str; 4] = ["namespace", "job_name", "operator", "state"];

/// Writes the query that draws a figure of a state or an operator; empty where there is none.
pub fn promql(of: &str, figure: &str) -> String {
    let matchers: Vec<String> = LABELS
        .into_iter()
        .zip(of.splitn(LABELS.len(), '/'))
        .map(|(label, value)| {
            format!("{label}=\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
        })
        .collect();
    let matchers = format!("{{{}}}", matchers.join(","));
    let rate = |name: &str| format!("sum(rate({name}{matchers}[1m]))");
    match figure {
        "logical_bytes" => format!("stateward_state_logical_bytes{matchers}"),
        "spill_pending" => format!("stateward_operator_spill_pending{matchers}"),
        "writes_per_second" => rate("stateward_state_writes_total"),
        "miss_ratio" => {
            let [misses, reads] =
                ["stateward_state_ttl_misses_total", "stateward_state_reads_total"].map(rate);
            format!("{misses} / {reads}")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted() {
        assert_eq!(
            promql("default/j/o/a\"\\b/c", "logical_bytes"),
            r#"stateward_state_logical_bytes{namespace="default",job_name="j",operator="o",state="a\"\\b/c"}"#
        );
        assert_eq!(promql("n/j/o/s", "nothing"), "");
    }

    #[test]
    fn every_metric_is_in_the_catalogue() {
        for figure in ["logical_bytes", "spill_pending", "writes_per_second", "miss_ratio"] {
            let query = promql("n/j/o/s", figure);
            let names = query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let names: Vec<_> = names.filter(|word| word.starts_with("stateward_")).collect();
            assert!(!names.is_empty(), "{figure}");
            for name in names {
                assert!(stateward_model::metric::by_name(name).is_some(), "{name}");
            }
        }
    }
}
