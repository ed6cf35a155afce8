//! The benches run; what they come to is not looked at here.

use std::process::Command;

/// `cargo xtask bench --quick`, much reduced where the build is not optimized: every case prints its
/// figure, with what the table asks of it. `memory` has a test of its own, `page` wants a browser.
#[test]
fn every_bench_runs() {
    let mut bench = Command::new(env!("CARGO_BIN_EXE_stateward-bench"));
    bench.args(["--quick", "--json"]);
    bench.args(["breaker", "changelog", "checkpoint", "keyed", "state", "timer", "ttl"]);
    let output = bench.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let cases: Vec<String> = lines
        .map(|line| {
            assert!(line["value"].as_f64().is_some_and(|value| value > 0.0), "{line}");
            format!("{}/{}", line["bench"], line["case"]).replace('"', "")
        })
        .collect();
    for case in [
        "breaker/closed_check",
        "changelog/replay",
        "checkpoint/throughput",
        "keyed/rocksdb_8",
        "state/instrumentation",
        "timer/fires",
        "ttl/on",
    ] {
        assert!(cases.iter().any(|known| known == case), "{case} is not among {cases:?}");
    }
}
