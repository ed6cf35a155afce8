//! When a job calls its sources and sinks: never for an epoch that is not committed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use stateward_engine::{
    Clock, Context, Error, JobBuilder, JobHandle, Open, Poll, Prepared, RunOptions, Sink,
    SinkContext, SinkWriter, Source, SourceContext, SourceReader, SystemClock, Timed, Watermarks,
};
use stateward_tests::crash::wait_for;

/// Records of the source, each of which takes the operator a while.
const RECORDS: u64 = 300;
const WORK_MICROS: u64 = 4_000;

/// What the job did to its source and its sink; clones share it.
#[derive(Clone, Debug, Default)]
struct Watch {
    handle: Arc<OnceLock<JobHandle>>,
    /// Times that a source was told that its last position is committed.
    source_told: Arc<AtomicU64>,
    /// The same for the sink.
    sink_told: Arc<AtomicU64>,
    closed: Arc<AtomicU64>,
    /// The first thing that was wrong.
    wrong: Arc<OnceLock<String>>,
}

impl Watch {
    /// Epochs count from 1 and each asks once, so the `asked`th time belongs to epoch `asked`.
    fn check(&self, what: &str, asked: u64) {
        let epoch = self.handle.wait().epoch();
        self.expect(epoch >= asked, || format!("{what}: {epoch} is committed, not {asked}"));
    }

    fn expect(&self, holds: bool, text: impl FnOnce() -> String) {
        if !holds {
            // only the first one counts
            drop(self.wrong.set(text()));
        }
    }
}

impl Source<u64> for Watch {
    fn open(
        &self,
        _context: SourceContext,
        _position: Option<&[u8]>,
    ) -> Result<Box<dyn SourceReader<u64>>, Error> {
        Ok(Box::new(Reader { watch: self.clone(), next: 0, asked: 0 }))
    }

    fn detail(&self) -> String {
        "numbers".to_owned()
    }
}

struct Reader {
    watch: Watch,
    next: u64,
    asked: u64,
}

impl SourceReader<u64> for Reader {
    fn poll(&mut self, out: &mut Vec<Timed<u64>>, _max: usize) -> Result<Poll, Error> {
        if self.next == RECORDS {
            return Ok(Poll::Finished);
        }
        out.push(Timed { value: self.next, ts: self.next as i64 });
        self.next += 1;
        Ok(Poll::Ready)
    }

    fn position(&mut self) -> Result<Vec<u8>, Error> {
        self.asked += 1;
        Ok(self.next.to_be_bytes().to_vec())
    }

    fn position_text(&self) -> String {
        format!("number {}", self.next)
    }

    fn committed(&mut self) {
        self.watch.source_told.fetch_add(1, Ordering::AcqRel);
        self.watch.check("a source is told of a commit", self.asked);
    }
}

impl Sink<u64> for Watch {
    fn open(
        &self,
        _context: SinkContext,
        _position: Option<&[u8]>,
    ) -> Result<Box<dyn SinkWriter<u64>>, Error> {
        Ok(Box::new(Writer { watch: self.clone(), written: 0, prepared: 0, asked: 0, told: 0 }))
    }

    fn detail(&self) -> String {
        "a count".to_owned()
    }
}

struct Writer {
    watch: Watch,
    written: u64,
    prepared: u64,
    asked: u64,
    /// The epoch that the writer was last told of.
    told: u64,
}

impl SinkWriter<u64> for Writer {
    fn write(&mut self, _value: &u64, _ts: i64) -> Result<(), Error> {
        self.written += 1;
        Ok(())
    }

    fn prepare(&mut self) -> Result<Prepared, Error> {
        (self.asked, self.prepared) = (self.asked + 1, self.written);
        Ok(Prepared { position: self.written.to_be_bytes().to_vec(), sync: Vec::new() })
    }

    fn committed(&mut self) -> Result<(), Error> {
        self.watch.sink_told.fetch_add(1, Ordering::AcqRel);
        self.told = self.asked;
        self.watch.check("a sink is told of a commit", self.asked);
        Ok(())
    }

    fn close(&mut self) -> Result<(), Error> {
        let (all, told) = (self.written == self.prepared, self.told == self.asked);
        self.watch.expect(all && told, || {
            let (written, prepared, asked) = (self.written, self.prepared, self.asked);
            format!("closed with {prepared} of {written} records prepared, epoch {asked}: {told}")
        });
        self.watch.check("a sink is closed", self.asked);
        self.watch.closed.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }
}

/// §4.1: a source is told of a commit, and a sink publishes and closes, only once the epoch of the
/// position that it gave last is committed, however slow the shard between them is.
#[test]
fn sources_and_sinks_hear_of_committed_epochs_only() {
    let dir = tempfile::tempdir().unwrap();
    let watch = Watch::default();
    let mut job = JobBuilder::new("watched");
    job.source("numbers", watch.clone(), Watermarks::monotonous())
        .key_by_owned(|n: &u64| n % 7)
        .process("slow", |_: &mut Open<'_, u64>| {
            Ok(|n: &u64, ctx: &mut Context<'_, u64, u64>| {
                // so that a commit and the next barrier both come while the shard is busy
                let (clock, mut spent) = (SystemClock::new(), 0);
                while spent < WORK_MICROS {
                    std::thread::park_timeout(Duration::from_micros(WORK_MICROS - spent));
                    spent = clock.monotonic_micros();
                }
                ctx.emit(*n);
                Ok(())
            })
        })
        .sink("count", watch.clone());
    let options = RunOptions::new(dir.path()).commit_interval(Duration::from_micros(200));
    let handle = job.build().unwrap().start(options).unwrap();
    let handle = watch.handle.get_or_init(|| handle);
    wait_for("the end", || Ok(handle.has_ended().then_some(()))).unwrap();
    wait_for("the close", || Ok((watch.closed.load(Ordering::Acquire) > 0).then_some(()))).unwrap();
    assert_eq!(watch.wrong.get(), None);
    assert_eq!(watch.closed.load(Ordering::Acquire), 1, "a sink is closed once");
    let told = [&watch.source_told, &watch.sink_told].map(|told| told.load(Ordering::Acquire));
    assert!(told.iter().all(|told| *told > 3), "hardly ever told: {told:?}");
}
