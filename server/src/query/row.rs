//! One row of the ranking, made from what is in memory.

use std::collections::BTreeMap;

use stateward_model::view::StateRow;
use stateward_model::wire::{AccessKind, SiteSample};
use stateward_model::{Evidence, UpdateType, Verdict, VerdictKind, judge};

use crate::catalog::{Job, JobState, Jobs};

/// Window of the miss ratio.
pub(crate) const MISS_WINDOW_MILLIS: i64 = 300_000;
/// Window of rates.
pub(crate) const RATE_WINDOW_MILLIS: i64 = 60_000;

/// Firing alerts by `namespace/job_name/operator/state`.
pub(crate) type Firing = BTreeMap<String, u32>;

/// Makes the rows of all states of all jobs.
pub(crate) fn rows(jobs: &Jobs, firing: &Firing, now_millis: i64) -> Vec<StateRow> {
    jobs.values()
        .flat_map(|job| job.states().map(|state| row(job, state, firing, now_millis)))
        .collect()
}

/// Makes the row of one state.
pub(crate) fn row(job: &Job, of: JobState<'_>, firing: &Firing, now_millis: i64) -> StateRow {
    let (namespace, job_name) = &job.run.job;
    let (sample, stock) = (of.sample, &of.sample.stock);
    let minute = of.recent.increase(RATE_WINDOW_MILLIS);
    let per_second = |grown: u64, seconds: f64| grown as f64 / seconds;
    let misses = of.recent.increase(MISS_WINDOW_MILLIS).filter(|window| window.reads > 0);
    let identity = format!("{namespace}/{job_name}/{}/{}", sample.operator, sample.state);
    let report = job.report.as_deref();
    StateRow {
        namespace: namespace.clone(),
        job_name: job_name.clone(),
        operator: sample.operator.clone(),
        state: sample.state.clone(),
        verdict: verdict(job, of),
        entries: stock.entries,
        logical_bytes: stock.logical_bytes,
        disk_bytes: stock.disk_bytes,
        bytes_per_entry: (stock.entries > 0)
            .then(|| stock.logical_bytes as f64 / stock.entries as f64),
        growth_per_day: of.recent.growth_per_day(),
        miss_ratio: misses.map(|window| window.misses as f64 / window.reads as f64),
        oldest_age_millis: stock.oldest_age_millis,
        writes_per_second: minute.map(|window| per_second(window.writes, window.seconds)),
        reads_per_second: minute.map(|window| per_second(window.reads, window.seconds)),
        ttl_millis: stock.ttl_millis,
        breaker: sample.breaker.clone(),
        sparkline: of.recent.sparkline(),
        replay_factor: report.map_or(1.0, |report| report.job.replay_factor),
        wall_millis: report.map_or(0, |report| report.wall_millis),
        silent_since_millis: job.silent_since_millis(now_millis),
        firing: firing.get(&identity).copied().unwrap_or(0),
    }
}

/// Collects what was seen of a state since its run was first seen.
fn verdict(job: &Job, of: JobState<'_>) -> Verdict {
    let verdict = judge(evidence(job, of));
    // a table's TTLs are those of its families, which no figure tells
    if of.declaration.kind == "table" {
        return Verdict { kind: VerdictKind::CannotTell, ..verdict };
    }
    verdict
}

fn evidence(job: &Job, of: JobState<'_>) -> Evidence {
    let (stock, sample) = (&of.sample.stock, of.sample);
    let baseline = job.baselines.get(&format!("{}/{}", sample.operator, sample.state));
    let base = baseline.copied().unwrap_or_default().flow;
    let flow = &sample.flow;
    let watched = baseline.zip(stock.clock_millis);
    let update_type = of.declaration.update_type;
    let expired = |f: &stateward_model::wire::StateFlow| {
        f.removed_read + f.removed_overwrite + f.removed_sweep
    };
    let misses = |f: &stateward_model::wire::StateFlow| f.misses_present + f.misses_absent;
    Evidence {
        ttl_millis: stock.ttl_millis,
        update_type,
        watched_millis: watched.map_or(0, |(base, clock)| clock - base.clock_millis),
        entries: stock.entries,
        reads: flow.reads.saturating_sub(base.reads),
        misses: misses(flow).saturating_sub(misses(&base)),
        write_stamps: match update_type {
            UpdateType::OnCreateAndWrite | UpdateType::OnReadAndWrite => {
                flow.writes.saturating_sub(base.writes)
            }
            UpdateType::OnCreate => flow.created.saturating_sub(base.created),
            UpdateType::Disabled => 0,
        },
        read_stamps: flow.refreshes.saturating_sub(base.refreshes),
        created: flow.created.saturating_sub(base.created),
        expired: expired(flow).saturating_sub(expired(&base)),
        debt_bytes: stock.expired_bytes + stock.unreclaimed_bytes,
        total_bytes: stock.logical_bytes + stock.unreclaimed_bytes,
        read_age_p99_millis: sample.age_at_read.quantile(0.99),
        top_refresher: top(&sample.sites, AccessKind::Refresh),
        top_writer: top(&sample.sites, AccessKind::Write),
    }
}

/// Finds the line with most accesses of a kind, and its share of them.
fn top(sites: &[SiteSample], kind: AccessKind) -> Option<(String, f64)> {
    let of_kind = || sites.iter().filter(|site| site.kind == kind);
    let all: u64 = of_kind().map(|site| site.count).sum();
    let most = of_kind().max_by_key(|site| site.count).filter(|site| site.count > 0)?;
    let name = match &most.name {
        Some(name) => format!("{} ({name})", most.site),
        None => most.site.clone(),
    };
    Some((name, most.count as f64 / all as f64))
}

/// How much a state needs someone to look at it: what fires first, then breakers, then bad verdicts.
/// Among these a doubling of the size weighs as much as one step of the verdict's severity, so that
/// a large state without TTL comes before a small one whose cleanup is behind.
pub(crate) fn attention(row: &StateRow) -> f64 {
    use stateward_model::VerdictKind as V;
    let severity = match row.verdict.kind {
        V::CleanupBehind => Some(8.0),
        V::TooShort => Some(7.0),
        V::NoTtl if row.growth_per_day.is_some_and(|growth| growth > 0.0) => Some(6.0),
        V::RefreshedByReads => Some(5.0),
        V::NoTtl => Some(4.0),
        V::TooLong => Some(3.0),
        V::CannotTell | V::Working => None,
    };
    let doublings = ((row.logical_bytes + 1) as f64).log2();
    let verdict = severity.map_or(doublings / 64.0, |severity| 100.0 + severity + doublings);
    let breaker = if row.breaker.is_closed() { 0.0 } else { 200.0 };
    let firing = if row.firing > 0 { 400.0 + f64::from(row.firing) } else { 0.0 };
    firing + breaker + verdict
}

/// Tells whether a state belongs into "needs attention".
pub(crate) fn needs_attention(row: &StateRow) -> bool {
    row.firing > 0 || !row.breaker.is_closed() || row.verdict.kind.needs_attention()
}
