//! The server is killed while reports come in: what it acknowledged is there afterwards, once.
#![expect(clippy::indexing_slicing, reason = "helpers of tests fail the test")]
#![expect(clippy::print_stdout, reason = "a run tells what it met")]

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use stateward_engine::{Clock, SystemClock};
use stateward_model::metric;
use stateward_model::view::SeriesAnswer;
use stateward_tests::crash::{Random, TURN, wait_for};
use stateward_tests::serve::{Door, MadeUpJob, Serve};

const SEED: u64 = 907;
const HOUR_MILLIS: i64 = 3_600_000;
/// Lines that a chart drew before a kill and must draw after it.
const FIGURES: [&str; 5] =
    ["entries", "writes_per_second", "miss_ratio", "logical_bytes", metric::STATE_AGE.name];

/// More where a soak is asked for; DESIGN asks for 20.
fn kills() -> u64 {
    if std::env::var_os("STATEWARD_SOAK").is_some() { 300 } else { 24 }
}

/// A made-up job that reports without a pause, and what became of its reports.
#[derive(Debug)]
struct Reporter {
    job: MadeUpJob,
    /// Reports whose answer never came.
    unanswered: AtomicU64,
    /// Reports without an answer that had been stored all the same.
    found_stored: AtomicU64,
    /// Acknowledged reports that were sent again.
    sent_twice: AtomicU64,
}

impl Reporter {
    fn new(name: &'static str, started_millis: i64) -> Self {
        let job = MadeUpJob::new(name, started_millis);
        let [unanswered, found_stored, sent_twice] = Default::default();
        Self { job, unanswered, found_stored, sent_twice }
    }

    /// Reports until it is told to end.
    fn report(&self, doors: &Doors, ends: &AtomicBool) {
        let count = |counter: &AtomicU64| counter.fetch_add(1, Ordering::AcqRel);
        let (mut seq, mut may_be_stored) = (1, false);
        while !ends.load(Ordering::Acquire) {
            let Some(door) = doors.door() else {
                std::thread::park_timeout(TURN);
                continue;
            };
            if seq % 5 == 0 {
                may_be_stored |= self.job.send_and_hang_up(&door, seq).is_ok();
            }
            let Some(reply) = self.job.send(&door, seq).unwrap() else {
                count(&self.unanswered);
                may_be_stored = true;
                // the same door will not open again
                let same = || doors.door().is_some_and(|now| now.addr == door.addr);
                while !ends.load(Ordering::Acquire) && same() {
                    std::thread::park_timeout(TURN);
                }
                continue;
            };
            assert!(!reply.duplicate || may_be_stored, "{seq} was stored before it was sent");
            if reply.duplicate {
                count(&self.found_stored);
            }
            if seq % 3 == 0
                && let Some(again) = self.job.send(&door, seq).unwrap()
            {
                assert!(again.duplicate, "{seq} was stored twice");
                count(&self.sent_twice);
            }
            (seq, may_be_stored) = (seq + 1, false);
        }
    }
}

/// Where the server is; nowhere while it is dead.
#[derive(Debug, Default)]
struct Doors(Mutex<Option<Door>>);

impl Doors {
    fn open(&self, door: Option<Door>) {
        *self.0.lock().unwrap() = door;
    }

    fn door(&self) -> Option<Door> {
        self.0.lock().unwrap().clone()
    }
}

/// The jobs.
type Reporters = [Arc<Reporter>; 3];
/// Charts as they were drawn.
type Drawn = Vec<(usize, &'static str, u64, SeriesAnswer)>;

fn draw(reporters: &Reporters, door: &Door) -> Drawn {
    let mut drawn = Vec::new();
    for (at, reporter) in reporters.iter().enumerate() {
        let acked = reporter.job.acked();
        for figure in FIGURES.iter().filter(|_| acked > 2) {
            let chart = reporter.job.chart(door, figure, acked).unwrap();
            drawn.push((at, *figure, acked, chart));
        }
    }
    drawn
}

fn compare(reporters: &Reporters, door: &Door, drawn: &Drawn) {
    for (at, figure, acked, before) in drawn {
        let job = &reporters[*at].job;
        let after = job.chart(door, figure, *acked).unwrap();
        assert_eq!(after, *before, "{figure} of {} is drawn otherwise", job.name);
    }
}

fn run(dir: &Path, kills: u64) -> Reporters {
    let mut random = Random::new(SEED);
    let (doors, ends) = (Arc::new(Doors::default()), Arc::new(AtomicBool::new(false)));
    let now_millis = SystemClock::new().now_millis();
    // of the last one every row is old enough to be sealed, which happens at every start
    let reporters = [("busy", 1), ("steady", 1), ("aged", 3)]
        .map(|(name, hours)| Arc::new(Reporter::new(name, now_millis - hours * HOUR_MILLIS)));
    let mut server = Serve::start(dir).unwrap();
    for reporter in &reporters {
        assert_eq!(reporter.job.hello(&server.door()).unwrap().stored_seq, None);
    }
    let reporting = reporters.clone().map(|reporter| {
        let (doors, ends) = (Arc::clone(&doors), Arc::clone(&ends));
        let thread = std::thread::Builder::new().name(reporter.job.name.to_owned());
        thread.spawn(move || reporter.report(&doors, &ends)).unwrap()
    });
    let going = || reporting.iter().all(|thread| !thread.is_finished());
    let wait = |what: &str, came: &dyn Fn() -> bool| {
        let look = || {
            anyhow::ensure!(going(), "a job has given up");
            Ok(came().then_some(()))
        };
        wait_for(what, look).unwrap();
    };
    let any = || reporters.iter().any(|reporter| reporter.job.acked() > 2);
    let all = || reporters.iter().map(|reporter| reporter.job.acked()).sum::<u64>();
    let mut charts = 0;
    for kill in 0..kills {
        let door = server.door();
        doors.open(Some(door.clone()));
        wait("a first report", &any);
        let drawn = draw(&reporters, &door);
        charts += drawn.len();
        let wanted = all() + 1 + random.below(30);
        wait("acknowledgements", &|| all() >= wanted);
        server.kill().unwrap();
        doors.open(None);
        if kill % 4 == 3 {
            Serve::start_and_kill(dir, random.below(60)).unwrap();
        }
        server = Serve::start(dir).unwrap();
        for reporter in &reporters {
            reporter.job.check(&server.door()).unwrap();
        }
        compare(&reporters, &server.door(), &drawn);
    }
    ends.store(true, Ordering::Release);
    for thread in reporting {
        thread.join().unwrap();
    }
    assert!(charts > 0, "no chart was compared");
    reporters
}

/// DESIGN, Server and Wire: an acknowledged report survives `kill -9`, a batch sent twice is stored
/// once, and charts after a restart show what was before it.
#[test]
fn soak_a_killed_server_has_all_it_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let kills = kills();
    println!("seed {SEED}");
    let reporters = run(&dir.path().join("data"), kills);
    let sum = |count: fn(&Reporter) -> &AtomicU64| {
        reporters.iter().map(|reporter| count(reporter).load(Ordering::Acquire)).sum::<u64>()
    };
    let unanswered = sum(|reporter| &reporter.unanswered);
    let found = sum(|reporter| &reporter.found_stored);
    let twice = sum(|reporter| &reporter.sent_twice);
    let acked = reporters.each_ref().map(|reporter| reporter.job.acked());
    println!(
        "{kills} kills; reports acknowledged: {acked:?}; unanswered: {unanswered}; stored without \
         an answer: {found}; sent again after the answer: {twice}"
    );
    assert!(unanswered > 0 && found > 0 && twice > 0, "a branch was never met");
    assert!(acked.iter().all(|acked| *acked > 0), "a job never got through");
}
