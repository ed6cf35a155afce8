//! Every figure of a state that a running job reports, against a scan of its rows and a plain model.
#![expect(clippy::indexing_slicing, reason = "helpers of tests fail the test")]
#![expect(clippy::print_stdout, reason = "a run tells its seed and what it met")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use stateward_engine::inspect::{Inspected, inspect};
use stateward_model::bucket_of;
use stateward_model::wire::{Report, StateFlow, StateSample, StateStock};
use stateward_tests::crash::wait_for;
use stateward_tests::exact::{
    Books, Expected, LEFT, Listener, RIGHT, bucket_millis, exact_job, exact_options, write_numbers,
};

const SEED: u64 = 51;

/// Runs the job until so many events have arrived, or to its end; returns the last report.
fn live(dir: &Path, input: &Path, books: &Books, until: Option<u64>) -> Report {
    let listener = Arc::new(Listener::default());
    let options = exact_options(dir).transport(listener.clone());
    let handle = exact_job(input, books).unwrap().start(options).unwrap();
    let arrived = || books.with(RIGHT, |book| book.arrived).unwrap();
    wait_for("events", || {
        let enough = until.is_some_and(|until| arrived() >= until);
        Ok((enough || handle.has_ended()).then_some(()))
    })
    .unwrap();
    if until.is_some() {
        assert!(!handle.has_ended(), "it ended before it was stopped");
        handle.stop();
    }
    handle.wait().unwrap();
    let report = listener.last().unwrap();
    assert!(report.job.ended.is_some(), "the last report of a run says that it ended");
    report
}

/// The watermark that every shard of an operator has at the end of a run.
fn watermark(inspected: &Inspected, operator: &str) -> Option<i64> {
    let of = inspected.operators.iter().filter(|sample| sample.operator == operator);
    let watermarks: Vec<_> = of.map(|sample| sample.watermark_millis).collect();
    assert_eq!(watermarks.len(), 2);
    assert_eq!(watermarks[0], watermarks[1], "the shards of {operator} end apart");
    watermarks[0]
}

/// §9, debt, sizes and age: stocks against a scan of the rows.
fn check_stock(of: &str, sample: &StateSample, ttl: i64, rows: &[(i64, u64)], now: i64) -> u64 {
    let StateStock { bucket_millis: width, .. } = sample.stock;
    assert_eq!(width as i64, bucket_millis(ttl), "{of}: the ledger has widened; the model has not");
    let bytes = |rows: &[(i64, u64)]| rows.iter().map(|(_, bytes)| bytes).sum::<u64>();
    assert_eq!(sample.stock.entries, rows.len() as u64, "{of}: entries");
    assert_eq!(sample.stock.logical_bytes, bytes(rows), "{of}: logical bytes");
    assert_eq!(sample.stock.clock_millis, Some(now), "{of}: clock");
    // the error is what the limit's bucket holds
    let (limit, width) = (now - ttl, width as i64);
    let expired: Vec<_> = rows.iter().copied().filter(|(ts, _)| *ts <= limit).collect();
    let at_limit: Vec<_> = rows
        .iter()
        .copied()
        .filter(|(ts, _)| ts.div_euclid(width) == limit.div_euclid(width))
        .collect();
    assert_eq!(sample.stock.error_entries, at_limit.len() as u64, "{of}: the error");
    let debt = sample.stock.expired_entries;
    assert!((expired.len()..=expired.len() + at_limit.len()).contains(&(debt as usize)), "{of}");
    let debt = sample.stock.expired_bytes;
    assert!((bytes(&expired)..=bytes(&expired) + bytes(&at_limit)).contains(&debt), "{of}");
    check_ages(of, sample, rows, now, width);
    expired.len() as u64
}

/// Ages of the residents and the oldest, exact to one bucket of the ledger.
fn check_ages(of: &str, sample: &StateSample, rows: &[(i64, u64)], now: i64, width: i64) {
    let mut ages: Vec<i64> = rows.iter().map(|(ts, _)| now - ts).collect();
    ages.sort_unstable();
    let buckets = sample.age_resident.buckets.iter();
    let reported: Vec<usize> = buckets
        .flat_map(|(bucket, count)| std::iter::repeat_n(usize::from(*bucket), *count as usize))
        .collect();
    assert_eq!(reported.len(), ages.len(), "{of}: residents with an age");
    for (age, bucket) in ages.iter().zip(reported) {
        let within = |age: i64| bucket_of(age.max(0).unsigned_abs());
        let nearest = within(age - width)..=within(age + width);
        assert!(nearest.contains(&bucket), "{of}: an entry of {age} ms is in bucket {bucket}");
    }
    let oldest = sample.stock.oldest_age_millis.map_or(0, u64::cast_signed);
    let truth = ages.last().copied().unwrap_or(0);
    assert!((truth..truth + width).contains(&oldest), "{of}: oldest is {truth}, not {oldest} ms");
}

/// §9, flows, writers and readers: counts against the model's own.
fn check_flow(of: &str, sample: &StateSample, expected: &Expected) {
    let flow = StateFlow {
        // approximate (§1.6): it must not exceed what there was to be found
        misses_absent: 0,
        // no rule of a model: whether a clock was behind, and when RocksDB compacts
        negative_ages: 0,
        reclaimed_bytes: 0,
        ..sample.flow
    };
    assert_eq!(flow, expected.flow, "{of}: flows");
    let absent = sample.flow.misses_absent;
    assert!(absent <= expected.gone_reads, "{of}: {absent} > {}", expected.gone_reads);
    let mut sites = BTreeMap::new();
    for site in &sample.sites {
        let name = site.name.as_deref().unwrap_or_default();
        sites.insert((name, site.kind.as_str()), (site.count, site.bytes));
    }
    assert!(sites.keys().eq(expected.sites.keys()), "{of}: writers and readers");
    for (site, (count, bytes)) in &expected.sites {
        let found = sites[site];
        assert_eq!(found, (*count, *bytes), "{of}, {site:?}");
    }
    let flow = &sample.flow;
    let removed = flow.removed_delete + flow.removed_read;
    let removed = removed + flow.removed_overwrite + flow.removed_sweep;
    assert_eq!(sample.age_at_drop.count(), removed, "{of}: ages at drop");
}

/// What the runs met, by cause.
#[derive(Debug, Default)]
struct Met {
    flow: StateFlow,
    expired: u64,
    late: u64,
    gone_reads: u64,
}

fn check_run(dir: &Path, report: &Report, books: &Books, met: &mut Met) {
    let inspected = inspect(&dir.join("jobs/exact")).unwrap();
    for operator in [LEFT, RIGHT] {
        let now = watermark(&inspected, operator).unwrap();
        let sample = report.operators.iter().find(|sample| sample.operator == operator).unwrap();
        books.with(operator, |book| {
            assert_eq!((sample.arrived, sample.late), (book.arrived, book.late), "{operator}");
            assert_eq!(sample.arrived, sample.applied + sample.late, "{operator}: §7.7");
            met.late += book.late;
            for (name, (ttl, model)) in &mut book.states {
                let of = format!("{operator}/{name}");
                let place = |o: &str, s: &str| o == operator && s == *name;
                let sample = report.states.iter().find(|s| place(&s.operator, &s.state)).unwrap();
                let scanned =
                    inspected.states.iter().find(|s| place(&s.operator, &s.state)).unwrap();
                // key without group (§9)
                let size =
                    |row: &stateward_engine::inspect::Row| row.key.len() - 2 + row.value.len();
                let mut rows: Vec<(i64, u64)> =
                    scanned.rows.iter().map(|row| (row.ts, size(row) as u64)).collect();
                met.expired += check_stock(&of, sample, *ttl, &rows, now);
                let mut expected = model.close(Some(now));
                rows.sort_unstable();
                expected.entries.sort_unstable();
                assert!(rows == expected.entries, "{of}: the rows are not those of the model");
                check_flow(&of, sample, &expected);
                let flow = &sample.flow;
                met.gone_reads += expected.gone_reads;
                met.flow.removed_delete += flow.removed_delete;
                met.flow.removed_read += flow.removed_read;
                met.flow.removed_overwrite += flow.removed_overwrite;
                met.flow.removed_sweep += flow.removed_sweep;
                met.flow.refreshes += flow.refreshes;
                met.flow.misses_present += flow.misses_present;
                met.flow.misses_absent += flow.misses_absent;
            }
        });
    }
}

/// §1.11, §9: over two restarts every stock is that of an exact scan and every flow that of a second
/// count, on both backends, with late events and every cause of removal.
#[test]
fn soak_every_figure_is_that_of_an_exact_scan_and_count() {
    let records = if std::env::var_os("STATEWARD_SOAK").is_some() { 400_000 } else { 21_000 };
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("numbers.ndjson");
    println!("seed {SEED}");
    write_numbers(&input, SEED, records).unwrap();
    let (data_dir, books) = (dir.path().join("data"), Books::default());
    let mut met = Met::default();
    for until in [Some(records / 3), Some(records * 2 / 3), None] {
        let report = live(&data_dir, &input, &books, until);
        check_run(&data_dir, &report, &books, &mut met);
    }
    println!("{met:?}");
    assert_eq!(books.with(RIGHT, |book| book.arrived), Some(records));
    let flow = &met.flow;
    let causes =
        [flow.removed_delete, flow.removed_read, flow.removed_overwrite, flow.removed_sweep];
    assert!(causes.iter().all(|count| *count > 0), "a cause of removal was never met");
    // the stated error of §1.6: keys that are gone are remembered by hash, and within a bound
    assert!(flow.misses_absent * 10 >= met.gone_reads * 8, "most TTL misses are not counted");
    let others = [flow.refreshes, flow.misses_present, flow.misses_absent, met.expired, met.late];
    assert!(others.iter().all(|count| *count > 0), "a branch was never met");
}
