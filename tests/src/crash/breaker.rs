//! A job whose operator writes A, emits, then writes B, which has a breaker.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use stateward_engine::{
    Context, Error, FileSink, FileSource, Job, JobBuilder, Open, RunOptions, Timed,
    ValueStateDescriptor, Watermarks,
};

use super::event::{BOUND_MILLIS, Event};

/// The operator.
pub const WRITER: &str = "writer";

/// An event with how many its key had up to it.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Counted {
    n: u64,
    a: String,
    count: u64,
}

/// Short epochs and checkpoints, and a spill that never stops the sources.
pub fn breaker_options(data_dir: &Path) -> RunOptions {
    RunOptions::new(data_dir)
        .commit_interval(Duration::from_millis(8))
        .checkpoint_interval(Duration::from_millis(60))
        .cache_bytes(48 << 10)
        .store_bytes(8 << 20, 256 << 10)
}

/// Builds the job. Neither state has a TTL: an expired event would be late on replay, by the clock
/// that has gone on, and the run could not equal the one without a breaker.
///
/// # Errors
/// Where the declaration is wrong.
pub fn breaker_job(input: &Path) -> Result<Job, Error> {
    let mut job = JobBuilder::new("ab").parallelism(2);
    let source = FileSource::ndjson(input, |event: Event| {
        let ts = event.ts;
        [Timed { value: event, ts }]
    });
    let bound = Duration::from_millis(BOUND_MILLIS as u64);
    job.source("events", source, Watermarks::bounded_out_of_orderness(bound))
        .key_by(|event: &Event| event.a.as_str())
        .process(WRITER, |open: &mut Open<'_, str>| {
            let a = open.value_state(ValueStateDescriptor::<u64>::new("a"));
            let b = open.value_state(ValueStateDescriptor::<u64>::new("b").heap());
            Ok(move |event: &Event, ctx: &mut Context<'_, str, Counted>| {
                let count = a.get(ctx)?.unwrap_or(0) + 1;
                a.put(ctx, &count)?;
                ctx.emit(Counted { n: event.n, a: event.a.clone(), count });
                b.put(ctx, &count)
            })
        })
        .sink("counted", FileSink::ndjson("results/counted").roll_bytes(16 << 10));
    job.build()
}
