//! The ranking as CSV, with plain numbers in base units.

use serde::Serialize;
use stateward_model::view::{StateRow, StatesPage};

/// Renders the API's page of states with a header line; unknown is an empty field. What is no such
/// page has no rows.
pub fn states_csv(page: &str) -> String {
    rows_csv(&serde_json::from_str::<StatesPage>(page).unwrap_or_default().states)
}

fn rows_csv(rows: &[StateRow]) -> String {
    let mut out = String::from(
        "namespace,job_name,operator,state,verdict,logical_bytes,disk_bytes,entries,bytes_per_entry,\
         growth_ratio_per_day,miss_ratio,oldest_age_millis,writes_per_second,reads_per_second,\
         ttl_millis,breaker,replay_factor,wall_millis\r\n",
    );
    for row in rows {
        let fields = [
            quoted(&row.namespace),
            quoted(&row.job_name),
            quoted(&row.operator),
            quoted(&row.state),
            word(row.verdict.kind),
            row.logical_bytes.to_string(),
            row.disk_bytes.to_string(),
            row.entries.to_string(),
            plain(row.bytes_per_entry),
            plain(row.growth_per_day),
            plain(row.miss_ratio),
            plain(row.oldest_age_millis),
            plain(row.writes_per_second),
            plain(row.reads_per_second),
            plain(row.ttl_millis),
            word(row.breaker.phase),
            row.replay_factor.to_string(),
            row.wall_millis.to_string(),
        ];
        out.push_str(&fields.join(","));
        out.push_str("\r\n");
    }
    out
}

/// The API's word for an enum.
fn word(value: impl Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|value| value.as_str().map(str::to_owned))
        .unwrap_or_default()
}

fn plain<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// Quotes what needs it, and keeps spreadsheets from taking a name for a formula.
fn quoted(text: &str) -> String {
    let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    if guard.is_empty() && !text.contains(['"', ',', '\n', '\r']) {
        return text.to_owned();
    }
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::sample;

    #[test]
    fn names_cannot_break_out_and_unknown_is_empty() {
        let mut row = sample::row("a,\"b\"");
        row.job_name = "=1+1".into();
        row.miss_ratio = None;
        let csv = rows_csv(&[row]);
        let line = csv.lines().nth(1).unwrap();
        assert!(line.contains("\"'=1+1\",") && line.contains("\"a,\"\"b\"\"\",working,"), "{line}");
        let header = csv.lines().next().unwrap();
        assert_eq!(header.split(',').count(), 18);
    }
}
