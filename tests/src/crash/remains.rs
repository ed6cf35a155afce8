//! What a job leaves behind, in a form that does not depend on order.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::Context;
use stateward_engine::inspect::{Inspected, Row, StateRows, inspect};
use stateward_model::wire::OperatorSample;

use super::flow::TTLS;

/// Operator and state.
pub type StateKey = (String, String);

/// Outputs and states of a job that has ended.
#[derive(Clone, Debug)]
pub struct Remains {
    /// Lines of each sink's published files, sorted.
    pub outputs: BTreeMap<String, Vec<String>>,
    /// Live rows of each state: key in hex → (time, value in hex). What has expired by the
    /// operator's watermark and is not written off yet is debt, not state.
    pub states: BTreeMap<StateKey, BTreeMap<String, (i64, String)>>,
    /// Figures per operator, over all shards.
    pub operators: BTreeMap<String, OperatorSample>,
}

impl Remains {
    /// Reads what the job in `data_dir` left.
    ///
    /// # Errors
    /// Where it cannot be read, or contradicts itself: a hidden file of results is left, or a ledger
    /// counts other entries than there are.
    pub fn read(data_dir: &Path, job: &str) -> anyhow::Result<Self> {
        let job_dir = data_dir.join("jobs").join(job);
        let inspected = inspect(&job_dir)?;
        for state in &inspected.states {
            anyhow::ensure!(
                state.ledger_entries == state.rows.len() as u64,
                "the ledger of {}/{} counts {} entries, there are {}",
                state.operator,
                state.state,
                state.ledger_entries,
                state.rows.len()
            );
        }
        Ok(Self {
            outputs: read_outputs(&job_dir.join("results"))?,
            states: live_states(&inspected),
            operators: add_up(inspected.operators),
        })
    }

    /// How the remains of a run that was killed differ from these; empty if they do not.
    pub fn differences(&self, killed: &Self) -> String {
        let mut text = String::new();
        for (sink, lines) in &self.outputs {
            let others = killed.outputs.get(sink).map_or(&[][..], Vec::as_slice);
            differ(&mut text, &format!("output {sink}"), lines, others);
        }
        let rows = |rows: Option<&BTreeMap<String, (i64, String)>>| -> Vec<String> {
            let rows = rows.into_iter().flatten();
            rows.map(|(key, (ts, value))| format!("{key} @{ts} = {value}")).collect()
        };
        for (state, expected) in &self.states {
            let (expected, found) = (rows(Some(expected)), rows(killed.states.get(state)));
            differ(&mut text, &format!("state {state:?}"), &expected, &found);
        }
        if self.outputs.len() != killed.outputs.len() || self.states.len() != killed.states.len() {
            text.push_str("other sinks or states are there\n");
        }
        for (operator, sample) in &self.operators {
            let count = |sample: &OperatorSample| {
                (sample.arrived, sample.applied + sample.replayed, sample.late, sample.emitted)
            };
            let (expected, found) = (count(sample), killed.operators.get(operator).map(count));
            if Some(expected) != found {
                let line = "(arrived, applied, late, emitted)";
                text.extend([format!("{operator} {line}: {expected:?}, found {found:?}\n")]);
            }
        }
        text
    }
}

/// Adds the first few lines that are in one of two sorted lists only.
fn differ(text: &mut String, what: &str, expected: &[String], found: &[String]) {
    const LINES_MAX: usize = 5;
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for line in expected {
        *counts.entry(line).or_default() -= 1;
    }
    for line in found {
        *counts.entry(line).or_default() += 1;
    }
    let odd: Vec<_> = counts.into_iter().filter(|(_, count)| *count != 0).collect();
    for (line, count) in odd.iter().take(LINES_MAX) {
        let sign = if *count > 0 { "too much" } else { "missing" };
        text.extend([format!("{what}, {sign} {}×: {line}\n", count.abs())]);
    }
    if odd.len() > LINES_MAX {
        text.extend([format!("{what}: {} more\n", odd.len() - LINES_MAX)]);
    }
}

fn read_outputs(dir: &Path) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let mut outputs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in fs::read_dir(dir).with_context(|| format!("{}", dir.display()))? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        anyhow::ensure!(!name.starts_with('.'), "{name} is left of a job that has ended");
        // <sink>-<shard>-<part>.ndjson
        let sink = name.rsplitn(3, '-').nth(2).context("a file that no sink made")?;
        let text = fs::read_to_string(&path)?;
        anyhow::ensure!(text.ends_with('\n'), "{name} ends within a line");
        outputs.entry(sink.to_owned()).or_default().extend(text.lines().map(str::to_owned));
    }
    for lines in outputs.values_mut() {
        lines.sort_unstable();
    }
    Ok(outputs)
}

fn live_states(inspected: &Inspected) -> BTreeMap<StateKey, BTreeMap<String, (i64, String)>> {
    let live = |state: &StateRows| {
        let place = (state.operator.as_str(), state.state.as_str());
        let ttl = TTLS.iter().find(|(other, _)| *other == place).map(|(_, ttl)| *ttl);
        // shards may end at different watermarks only if one of them never got any
        let watermarks = inspected.operators.iter().filter(|o| o.operator == state.operator);
        let now = watermarks.filter_map(|operator| operator.watermark_millis).max();
        let is_live = |row: &&Row| !stateward_model::expired(row.ts, ttl, now);
        let rows = state.rows.iter().filter(is_live);
        rows.map(|row| (hex(&row.key), (row.ts, hex(&row.value)))).collect()
    };
    let key = |state: &StateRows| (state.operator.clone(), state.state.clone());
    inspected.states.iter().map(|state| (key(state), live(state))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // writing to a string cannot fail
        write!(text, "{byte:02x}").unwrap_or_default();
        text
    })
}

fn add_up(samples: Vec<OperatorSample>) -> BTreeMap<String, OperatorSample> {
    let mut operators: BTreeMap<String, OperatorSample> = BTreeMap::new();
    for sample in samples {
        let sum = operators.entry(sample.operator.clone()).or_default();
        sum.operator = sample.operator;
        sum.arrived += sample.arrived;
        sum.applied += sample.applied;
        sum.spilled += sample.spilled;
        sum.late += sample.late;
        sum.dead_lettered += sample.dead_lettered;
        sum.replayed += sample.replayed;
        sum.discarded += sample.discarded;
        sum.pending += sample.pending;
        sum.emitted += sample.emitted;
    }
    operators
}
