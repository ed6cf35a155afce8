//! Five minutes in the debugger expired everything: how that comes about, and what the guard of the
//! processing clock makes of it.
//!
//! ```sh
//! cargo run -p stateward-engine --example debugger
//! ```
#![expect(clippy::print_stdout, reason = "an example that is run to be read")]

use std::time::Duration;

use stateward_engine::testkit::{FeedSource, TestJob};
use stateward_engine::{
    CollectSink, Context, Error, JobBuilder, Open, Ttl, ValueStateDescriptor, Watermarks,
};

const TTL: Duration = Duration::from_mins(3);
const BREAK: Duration = Duration::from_mins(5);

/// Counts the clicks of each session; a session is forgotten three minutes after its last click.
fn sessions(clicks: &FeedSource<String>, counts: &CollectSink<(String, u64)>) -> TestJob {
    let (source, sink) = (clicks.clone(), counts.clone());
    let job = TestJob::new(move || {
        let mut job = JobBuilder::new("sessions");
        job.source("clicks", source.clone(), Watermarks::monotonous())
            .key_by(|user: &String| user.as_str())
            .process("count", |open: &mut Open<'_, str>| {
                let count = ValueStateDescriptor::<u64>::new("count");
                let count = open.value_state(count.ttl(Ttl::new(TTL)).processing_time());
                Ok(move |_: &String, ctx: &mut Context<'_, str, (String, u64)>| {
                    let next = count.get(ctx)?.unwrap_or(0) + 1;
                    count.put(ctx, &next)?;
                    ctx.emit((ctx.key().to_owned(), next));
                    Ok(())
                })
            })
            .sink("counts", sink.clone());
        job.build()
    });
    job.fed_by(clicks)
}

/// The count of a user after one more click.
fn click(
    job: &mut TestJob,
    clicks: &FeedSource<String>,
    counts: &CollectSink<(String, u64)>,
    user: &str,
) -> Result<u64, Error> {
    clicks.push(user.to_owned(), 0);
    job.settle()?;
    Ok(counts.records().last().map_or(0, |((_, count), _)| *count))
}

/// Without the guard: a breakpoint that is looked at for five minutes costs all sessions.
fn unguarded() -> Result<(), Error> {
    let (clicks, counts) = (FeedSource::new(), CollectSink::new());
    let mut job =
        sessions(&clicks, &counts).options(|options| options.max_clock_jump(Duration::MAX));
    job.start()?;
    click(&mut job, &clicks, &counts, "ann")?;
    job.suspend(BREAK)?;
    let count = click(&mut job, &clicks, &counts, "ann")?;
    println!("without the guard, after the break ann's count is {count}");
    assert_eq!(count, 1, "her session is gone");
    Ok(())
}

/// With it: expiry stands, somebody decides, and every session goes on where it was.
fn guarded() -> Result<(), Error> {
    let (clicks, counts) = (FeedSource::new(), CollectSink::new());
    let mut job = sessions(&clicks, &counts);
    job.start()?;
    click(&mut job, &clicks, &counts, "ann")?;
    job.suspend(BREAK)?;
    for event in job.events().iter().filter(|event| event.kind == "clock_jump") {
        println!("the log says: {}", event.text);
    }
    let count = click(&mut job, &clicks, &counts, "ann")?;
    println!("with the guard, after the break ann's count is {count}");
    assert_eq!(count, 2, "her session is still there");

    job.handle().compensate_clock_jump("bob", "a breakpoint in on_click")?;
    job.advance(Duration::from_secs(179))?;
    assert_eq!(click(&mut job, &clicks, &counts, "ann")?, 3, "the break has not been");
    job.advance(TTL)?;
    assert_eq!(click(&mut job, &clicks, &counts, "ann")?, 1, "real time has");
    println!("compensated, she is forgotten {} s after her last click", TTL.as_secs());
    Ok(())
}

/// Runs both.
///
/// # Errors
/// What a job failed with.
pub(crate) fn main() -> Result<(), Error> {
    unguarded()?;
    guarded()
}
