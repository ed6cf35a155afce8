//! A job with two exchanges, every kind of state and every cause of removal.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use stateward_engine::{
    Context, Error, FileSink, FileSource, Job, JobBuilder, MapStateDescriptor, Open, RunOptions,
    Timed, Ttl, UpdateType, ValueStateDescriptor, Watermarks,
};

use super::event::{BOUND_MILLIS, Deed, Event, FLOOD_ENTRIES, TTL_MILLIS_MAX, TTL_MILLIS_MIN};

/// Name of the job.
pub const FLOW: &str = "flow";
/// The operator keyed by `a`.
pub const ENRICH: &str = "enrich";
/// The operator keyed by `b`.
pub const MERGE: &str = "merge";

/// The states with a TTL, in ms.
pub(super) const TTLS: [((&str, &str), i64); 7] = [
    ((ENRICH, "session"), 12_000),
    ((ENRICH, "profile"), TTL_MILLIS_MIN),
    ((ENRICH, "recent"), TTL_MILLIS_MAX),
    ((ENRICH, "first"), 15_000),
    ((ENRICH, "flood"), TTL_MILLIS_MAX),
    ((MERGE, "origin"), 13_000),
    ((MERGE, "seen"), 14_000),
];

fn ttl(operator: &str, state: &str) -> Ttl {
    let found = TTLS.iter().find(|(place, _)| *place == (operator, state));
    Ttl::new(Duration::from_millis(found.map_or(0, |(_, ttl)| *ttl as u64)))
}

/// What the first operator makes of an event.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Enriched {
    event: Event,
    session: Option<(u64, u64)>,
    profile: Option<u64>,
    recent: Vec<(u32, u64)>,
    first: Option<u64>,
    count: u64,
}

/// What the second operator makes of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Merged {
    enriched: Enriched,
    origin: Option<(u64, u64)>,
    seen: Option<u64>,
}

/// Short epochs and checkpoints; a write cache that holds less than the larger states and that
/// every flood overflows. (A cache that the epochs' everyday changes overflow would spend all time
/// on making and removing scratch databases.)
pub fn flow_options(data_dir: &Path) -> RunOptions {
    RunOptions::new(data_dir)
        .commit_interval(Duration::from_millis(8))
        .checkpoint_interval(Duration::from_millis(100))
        .cache_bytes(96 << 10)
        .store_bytes(8 << 20, 256 << 10)
}

/// Names the environment variable with the number of shards of a life; 2 without it.
pub const SHARDS_VARIABLE: &str = "STATEWARD_CRASH_SHARDS";

/// Builds the job that reads `input`; everything it writes is below its own folder.
///
/// # Errors
/// Where the declaration is wrong.
pub fn flow_job(input: &Path, shards: usize) -> Result<Job, Error> {
    let mut job = JobBuilder::new(FLOW).parallelism(shards);
    let source = FileSource::ndjson(input, |event: Event| {
        let ts = event.ts;
        [Timed { value: event, ts }]
    });
    let bound = Duration::from_millis(BOUND_MILLIS as u64);
    let (enriched, late) = job
        .source("events", source, Watermarks::bounded_out_of_orderness(bound))
        .key_by(|event: &Event| event.a.as_str())
        .process_with_late(ENRICH, enrich);
    late.sink("late-events", FileSink::ndjson("results/late-events").roll_bytes(2 << 10));
    let (merged, late) = enriched
        .key_by(|enriched: &Enriched| enriched.event.b.as_str())
        .process_with_late(MERGE, merge);
    late.sink("late-enriched", FileSink::ndjson("results/late-enriched").roll_bytes(8 << 10));
    merged.sink("merged", FileSink::ndjson("results/merged").roll_bytes(64 << 10));
    job.build()
}

type Enriching<'a, 'b> = &'a mut Context<'b, str, Enriched>;

#[expect(
    clippy::unnecessary_wraps,
    reason = "opening an operator may fail, so its closure says so"
)]
fn enrich(
    open: &mut Open<'_, str>,
) -> Result<impl Fn(&Event, Enriching<'_, '_>) -> Result<(), Error> + use<>, Error> {
    let session = open.value_state(
        ValueStateDescriptor::<(u64, u64)>::new("session").ttl(ttl(ENRICH, "session")),
    );
    let on_read = ttl(ENRICH, "profile").update(UpdateType::OnReadAndWrite);
    let profile = open.value_state(ValueStateDescriptor::<u64>::new("profile").ttl(on_read));
    let recent =
        open.map_state(MapStateDescriptor::<u32, u64>::new("recent").ttl(ttl(ENRICH, "recent")));
    let on_create = ttl(ENRICH, "first").update(UpdateType::OnCreate);
    let first = open.value_state(ValueStateDescriptor::<u64>::new("first").ttl(on_create).heap());
    let count = open.value_state(ValueStateDescriptor::<u64>::new("count"));
    let flood =
        open.map_state(MapStateDescriptor::<u32, u64>::new("flood").ttl(ttl(ENRICH, "flood")));
    Ok(move |event: &Event, ctx: Enriching<'_, '_>| {
        let slot = (event.amount % 5) as u32;
        let mut made = Enriched {
            event: event.clone(),
            session: None,
            profile: None,
            recent: Vec::new(),
            first: None,
            count: count.get(ctx)?.unwrap_or(0) + 1,
        };
        count.put(ctx, &made.count)?;
        match event.deed {
            Deed::Write => {
                let (times, sum) = session.get(ctx)?.unwrap_or_default();
                made.session = Some((times + 1, sum + event.amount));
                session.put(ctx, &(times + 1, sum + event.amount))?;
                made.profile = profile.get(ctx)?;
                if event.amount.is_multiple_of(4) {
                    profile.put(ctx, &event.n)?;
                }
                recent.put(ctx, &slot, &event.amount)?;
                made.recent = recent.entries(ctx)?;
                made.first = first.get(ctx)?;
                first.put(ctx, &made.first.unwrap_or(event.n))?;
            }
            Deed::Overwrite => {
                session.put(ctx, &(1, event.amount))?;
                profile.put(ctx, &event.n)?;
                recent.put(ctx, &slot, &event.amount)?;
                first.put(ctx, &event.n)?;
            }
            Deed::Read => {
                made.session = session.get(ctx)?;
                made.profile = profile.get(ctx)?;
                made.recent = recent.entries(ctx)?;
                made.first = first.get(ctx)?;
            }
            Deed::Delete => {
                session.delete(ctx)?;
                recent.remove(ctx, &slot)?;
                first.delete(ctx)?;
                if event.amount.is_multiple_of(2) {
                    profile.delete(ctx)?;
                }
            }
            Deed::Flood => {
                for entry in 0..FLOOD_ENTRIES {
                    flood.put(ctx, &entry, &event.n)?;
                    if entry % 3 == 0 {
                        flood.remove(ctx, &(entry / 2))?;
                    }
                }
                made.session = Some((flood.entries(ctx)?.len() as u64, 0));
            }
        }
        ctx.emit(made);
        Ok(())
    })
}

type Merging<'a, 'b> = &'a mut Context<'b, str, Merged>;

#[expect(
    clippy::unnecessary_wraps,
    reason = "opening an operator may fail, so its closure says so"
)]
fn merge(
    open: &mut Open<'_, str>,
) -> Result<impl Fn(&Enriched, Merging<'_, '_>) -> Result<(), Error> + use<>, Error> {
    let origin = open.map_state(
        MapStateDescriptor::<String, (u64, u64)>::new("origin").ttl(ttl(MERGE, "origin")),
    );
    let on_read = ttl(MERGE, "seen").update(UpdateType::OnReadAndWrite);
    let seen = open.map_state(MapStateDescriptor::<String, u64>::new("seen").ttl(on_read).heap());
    // (events, sum, newest event time): the order of events makes no difference
    let total = open.value_state(ValueStateDescriptor::<(u64, u64, i64)>::new("total"));
    Ok(move |enriched: &Enriched, ctx: Merging<'_, '_>| {
        let (a, event) = (&enriched.event.a, &enriched.event);
        let (events, sum, newest) = total.get(ctx)?.unwrap_or((0, 0, i64::MIN));
        let weight = event.amount + enriched.session.map_or(0, |(_, sum)| sum);
        total.put(ctx, &(events + 1, sum + weight, newest.max(ctx.event_time())))?;
        let mut made = Merged { enriched: enriched.clone(), origin: None, seen: None };
        match event.deed {
            Deed::Write => {
                let (times, sum) = origin.get(ctx, a)?.unwrap_or_default();
                made.origin = Some((times + 1, sum + weight));
                origin.put(ctx, a, &(times + 1, sum + weight))?;
                made.seen = seen.get(ctx, a)?;
                seen.put(ctx, a, &event.n)?;
                if event.n % 16 == 0 {
                    // what other origins have here depends on the order; the removals may not
                    origin.entries(ctx)?;
                }
            }
            Deed::Overwrite | Deed::Flood => {
                origin.put(ctx, a, &(1, weight))?;
                seen.put(ctx, a, &event.n)?;
            }
            Deed::Read => {
                made.origin = origin.get(ctx, a)?;
                made.seen = seen.get(ctx, a)?;
            }
            Deed::Delete => {
                origin.remove(ctx, a)?;
                seen.remove(ctx, a)?;
            }
        }
        ctx.emit(made);
        Ok(())
    })
}
