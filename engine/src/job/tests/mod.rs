//! Whole jobs in memory: results, restarts, breakers.

mod checkpoint;
mod damage;
mod rescale;
mod restore;
mod savepoint;
mod timer;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use stateward_model::breaker::{Action, Phase};
use stateward_model::wire::OperatorSample;

use super::{Job, JobBuilder, JobHandle, RunOptions, Watermarks};
use crate::operator::{Context, Open};
use crate::sink::CollectSink;
use crate::source::{MemorySource, Timed};
use crate::state::{
    AggregateFunction, AggregatingStateDescriptor, ListStateDescriptor, MapStateDescriptor,
    ReducingStateDescriptor, Ttl, ValueStateDescriptor,
};

fn options(dir: &Path) -> RunOptions {
    RunOptions::new(dir)
        .commit_interval(Duration::from_millis(5))
        .checkpoint_interval(Duration::from_millis(40))
}

/// Waits for a condition on the job's figures; the deadline only bounds a hanging test.
fn until(handle: &JobHandle, what: &str, holds: impl Fn(&OperatorSample) -> bool) {
    for _ in 0..3_000 {
        if handle.figures().operators.first().is_some_and(&holds) {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    panic!("never came: {what}; {:?}", handle.figures().operators);
}

type Word = (String, u64);

fn counting(words: &[&str], shards: usize, sink: &CollectSink<Word>) -> Job {
    let records = words.iter().zip(0..).map(|(w, ts)| Timed { value: (*w).to_owned(), ts });
    let mut job = JobBuilder::new("count").parallelism(shards);
    job.source("words", MemorySource::new(records), Watermarks::monotonous())
        .key_by(|word: &String| word.as_str())
        .process("counter", |open: &mut Open<'_, str>| {
            let count = open.value_state(ValueStateDescriptor::<u64>::new("count"));
            Ok(move |_: &String, ctx: &mut Context<'_, str, Word>| {
                let next = count.get(ctx)?.unwrap_or(0) + 1;
                count.put(ctx, &next)?;
                ctx.emit((ctx.key().to_owned(), next));
                Ok(())
            })
        })
        .sink("results", sink.clone());
    job.build().unwrap()
}

/// §4.1: state goes on where the last run ended, on RocksDB, over several shards.
#[test]
fn counts_go_on_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let words: Vec<&str> = ["a", "b", "c", "a", "b", "a"].repeat(500);
    let mut all = std::collections::BTreeSet::new();
    let sink = CollectSink::new();
    for run in 1..=2_u64 {
        let job = counting(&words[..1_500 * run as usize], 2, &sink);
        job.start(options(dir.path())).unwrap().wait().unwrap();
        assert_eq!(sink.records().len() as u64, 1_500 * run);
    }
    for ((word, count), _) in sink.records() {
        assert!(all.insert((word, count)), "a result came twice");
    }
    assert!(all.contains(&("a".to_owned(), 1_500)));
}

/// §1.7, §1.11: map entries expire one by one, by the watermark, and the figures stay exact.
#[test]
fn map_entries_expire_one_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let sink = CollectSink::<Vec<u64>>::new();
    let records = (0..1_000_u64).map(|n| Timed { value: n, ts: n as i64 * 10 });
    let mut job = JobBuilder::new("due");
    job.source("numbers", MemorySource::new(records), Watermarks::monotonous())
        .key_by_owned(|_: &u64| 0_u64)
        .process("window", |open: &mut Open<'_, u64>| {
            let ttl = Ttl::new(Duration::from_millis(100));
            let seen = open.map_state(MapStateDescriptor::<u64, u64>::new("seen").ttl(ttl));
            Ok(move |n: &u64, ctx: &mut Context<'_, u64, Vec<u64>>| {
                seen.put(ctx, n, n)?;
                let live = seen.entries(ctx)?.into_iter().map(|(n, _)| n).collect();
                ctx.emit(live);
                Ok(())
            })
        })
        .sink("results", sink.clone());
    let handle = job.build().unwrap().start(options(dir.path())).unwrap();
    handle.wait().unwrap();
    for (live, ts) in sink.records() {
        let newest = ts as u64 / 10;
        let expected: Vec<u64> = (newest.saturating_sub(9)..=newest).collect();
        assert_eq!(live, expected);
    }
}

/// Sum and number of what was added.
#[derive(Clone, Copy)]
struct Mean;

impl AggregateFunction for Mean {
    type In = u64;
    type Acc = (u64, u64);
    type Out = u64;

    fn create_accumulator(&self) -> (u64, u64) {
        (0, 0)
    }
    fn add(&self, value: u64, accumulator: &mut (u64, u64)) {
        *accumulator = self.merge(*accumulator, (value, 1));
    }
    fn get_result(&self, (sum, count): &(u64, u64)) -> u64 {
        sum / count
    }
    fn merge(&self, a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
        (a.0 + b.0, a.1 + b.1)
    }
}

/// Largest, mean and last numbers of a key.
type Collected = (u64, u64, Vec<u64>);

fn collecting(numbers: u64, sink: &CollectSink<Collected>) -> Job {
    let records = (0..numbers).map(|n| Timed { value: n, ts: n as i64 });
    let mut job = JobBuilder::new("collect").parallelism(2);
    job.source("numbers", MemorySource::new(records), Watermarks::monotonous())
        .key_by_owned(|n: &u64| n % 10)
        .process("collector", |open: &mut Open<'_, u64>| {
            let largest = open.reducing_state(ReducingStateDescriptor::new("largest", u64::max));
            let mean = open.aggregating_state(AggregatingStateDescriptor::new("mean", Mean).heap());
            let ttl = Ttl::new(Duration::from_millis(25));
            let last = open.list_state(ListStateDescriptor::<u64>::new("last").ttl(ttl));
            let backwards = open.list_state(ListStateDescriptor::<u64>::new("backwards").heap());
            Ok(move |n: &u64, ctx: &mut Context<'_, u64, Collected>| {
                largest.add(ctx, *n)?;
                if n % 20 < 10 {
                    mean.named("one").add(ctx, *n)?;
                } else {
                    mean.named("partial").merge(ctx, (*n, 1))?;
                }
                last.add(ctx, n)?;
                let last = last.get(ctx)?;
                backwards.update(ctx, last.iter().rev())?;
                assert_eq!(backwards.get(ctx)?.into_iter().rev().collect::<Vec<_>>(), last);
                assert!(!backwards.is_empty(ctx)?);
                let of = |found: Option<u64>| found.unwrap_or_default();
                let collected = (of(largest.get(ctx)?), of(mean.get(ctx)?), last);
                ctx.emit(collected);
                Ok(())
            })
        })
        .sink("results", sink.clone());
    job.build().unwrap()
}

/// §1.7, §4.1: lists, reduced and aggregated values go on where the last run ended, on both backends
/// and several shards, and their accesses are counted by line.
#[test]
fn collections_go_on_after_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let sink = CollectSink::new();
    for numbers in [1_000, 2_000] {
        let handle = collecting(numbers, &sink).start(options(dir.path())).unwrap();
        until(&handle, "all are applied", |op| op.applied == numbers);
        let states = handle.figures().states;
        let of = |name: &str| states.iter().find(|state| state.state == name).unwrap();
        assert_eq!((of("largest").stock.entries, of("backwards").stock.entries), (10, 30));
        let names = ["one", "partial"].map(Some);
        let sites = of("mean").sites.iter().filter(|site| names.contains(&site.name.as_deref()));
        assert_eq!(sites.count(), 4, "two lines, each of which reads and writes");
        handle.wait().unwrap();
    }
    let results = sink.records();
    assert_eq!(results.len(), 2_000);
    for (result, ts) in results {
        let n = ts as u64;
        let first = n % 10;
        let last = [20, 10, 0].iter().filter_map(|back| n.checked_sub(*back)).collect();
        assert_eq!(result, (n, u64::midpoint(first, n), last));
    }
}

fn ab_job(records: Vec<Timed<u64>>, sink: &CollectSink<u64>, forwarded: bool) -> Job {
    let mut job = JobBuilder::new("ab").parallelism(2);
    let stream = job
        .source("numbers", MemorySource::new(records), Watermarks::monotonous())
        .key_by_owned(|n: &u64| n % 10)
        .process("writer", |open: &mut Open<'_, u64>| {
            let a = open.value_state(ValueStateDescriptor::<u64>::new("a"));
            let b = open.value_state(ValueStateDescriptor::<u64>::new("b").heap());
            Ok(move |n: &u64, ctx: &mut Context<'_, u64, u64>| {
                let count = a.get(ctx)?.unwrap_or(0) + 1;
                a.put(ctx, &count)?;
                ctx.emit(*n);
                b.put(ctx, &count)
            })
        });
    if forwarded {
        stream.sink("results", sink.clone());
    }
    job.build().unwrap()
}

/// §7.3, §7.4, §7.7: an event that a breaker refuses leaves nothing behind; after a reset everything
/// is replayed in order per key and the equation holds, across a restart.
#[test]
fn a_refused_event_leaves_nothing_and_is_replayed() {
    let dir = tempfile::tempdir().unwrap();
    let records: Vec<Timed<u64>> = (0..2_000).map(|n| Timed { value: n, ts: n as i64 }).collect();
    let sink = CollectSink::new();
    let handle = ab_job(Vec::new(), &sink, true).start(options(dir.path())).unwrap();
    handle.trip("writer", "b", Action::Divert, "test", "it grows").unwrap();
    handle.wait().unwrap();
    // the trip survives the restart
    let handle = ab_job(records.clone(), &sink, true).start(options(dir.path())).unwrap();
    until(&handle, "all are spilled", |op| op.pending == 2_000);
    let report = handle.figures();
    let a = report.states.iter().find(|s| s.state == "a").unwrap();
    assert_eq!((a.stock.entries, a.flow.writes), (0, 0));
    assert_eq!(report.operators[0].emitted, 0);
    handle.stop();
    handle.wait().unwrap();
    assert_eq!(sink.records().len(), 0);
    let handle = ab_job(records, &sink, true).start(options(dir.path())).unwrap();
    until(&handle, "the spill is found again", |op| op.pending == 2_000);
    assert_eq!(handle.figures().states[1].breaker.phase, Phase::ForcedOpen);
    handle.reset("writer", "b", "test", "it is mended").unwrap();
    until(&handle, "all are replayed", |op| op.replayed == 2_000 && op.pending == 0);
    let operators = handle.figures().operators;
    assert_eq!((operators[0].arrived, operators[0].applied), (2_000, 0));
    handle.wait().unwrap();
    let mut per_key: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (n, _) in sink.records() {
        per_key.entry(n % 10).or_default().push(n);
    }
    assert_eq!(per_key.values().map(Vec::len).sum::<usize>(), 2_000);
    assert!(per_key.values().all(|numbers| numbers.is_sorted()), "order per key holds");
}

/// The value type of two builds of one job.
mod build {
    #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    #[serde(rename = "Tally")]
    pub(super) struct First {
        pub(super) count: u64,
    }

    #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    #[serde(rename = "Tally")]
    pub(super) struct Second {
        pub(super) last: Option<String>,
        pub(super) count: u64,
    }
}

/// A job that counts words in a state of type `V`; `next` makes the next value and its count.
fn tally<V>(words: usize, next: fn(Option<V>, &str) -> (V, u64), sink: &CollectSink<u64>) -> Job
where
    V: serde::Serialize + serde::de::DeserializeOwned + 'static,
{
    let records = (0..words).map(|n| Timed { value: format!("w{}", n % 7), ts: n as i64 });
    let mut job = JobBuilder::new("tally");
    job.source("words", MemorySource::new(records), Watermarks::monotonous())
        .key_by(|word: &String| word.as_str())
        .process("counter", move |open: &mut Open<'_, str>| {
            let state = open.value_state(ValueStateDescriptor::<V>::new("tally"));
            Ok(move |word: &String, ctx: &mut Context<'_, str, u64>| {
                let (value, count) = next(state.get(ctx)?, word);
                state.put(ctx, &value)?;
                ctx.emit(count);
                Ok(())
            })
        })
        .sink("counts", sink.clone());
    job.build().unwrap()
}

/// A build whose value type has one more optional field reads the rows of the one before; the way
/// back, which would lose the field, is refused with both versions.
#[test]
fn rows_of_an_older_build_read_on() {
    use build::{First, Second};
    let dir = tempfile::tempdir().unwrap();
    let first = |was: Option<First>, _: &str| {
        let count = was.map_or(0, |was| was.count) + 1;
        (First { count }, count)
    };
    let second = |was: Option<Second>, word: &str| {
        let count = was.map_or(0, |was| was.count) + 1;
        (Second { last: Some(word.to_owned()), count }, count)
    };
    let sink = CollectSink::new();
    tally(700, first, &sink).start(options(dir.path())).unwrap().wait().unwrap();
    tally(1_400, second, &sink).start(options(dir.path())).unwrap().wait().unwrap();
    let counts: Vec<u64> = sink.records().into_iter().map(|(count, _)| count).collect();
    assert_eq!((counts.len(), counts.iter().max()), (1_400, Some(&200)));
    let error = tally(1_500, first, &sink).start(options(dir.path())).unwrap_err().to_string();
    for part in ["counter/tally", "from version 1", "to version 0", "Tally.last is gone"] {
        assert!(error.contains(part), "{part} in {error}");
    }
}
