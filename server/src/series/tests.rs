//! The store against a plain `Vec`, whatever is sealed, merged or reopened in between.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use stateward_model::Histogram;
use tempfile::TempDir;

use super::codec::{decode_chunk, decode_histograms, encode_chunk, encode_histograms};
use super::head::merge;
use super::seal::DAY_MILLIS;
use super::*;
use crate::config::Retention;

const DAY: i64 = 19_675;

fn key(metric: &str) -> SeriesKey {
    SeriesKey {
        metric: metric.into(),
        namespace: "n".into(),
        job_name: "j".into(),
        operator: "o".into(),
        state: "s".into(),
        labels: String::new(),
    }
}

fn batch(seq: i64, wall_millis: i64, value: f64) -> Batch {
    Batch {
        job: ("n".into(), "j".into()),
        run: "r".into(),
        seq,
        wall_millis,
        stored_millis: wall_millis,
        samples: vec![(key("stateward_state_entries"), value)],
        histograms: Vec::new(),
    }
}

async fn open(dir: &TempDir) -> SeriesStore {
    let db = Database::open_series(dir.path()).await.unwrap();
    let retention = Retention { raw_days: 7, downsampled_days: 40 };
    SeriesStore::open(db, retention).await.unwrap()
}

async fn seal_all(store: &SeriesStore) {
    let job = ("n".to_owned(), "j".to_owned());
    let last = store.inner().jobs.get(&job).and_then(|rows| rows.rows.last().copied());
    if let Some((id, _)) = last {
        store.seal(&job, id).await.unwrap();
    }
}

async fn read(store: &SeriesStore, from: i64, to: i64, coarse: bool) -> Vec<Sample> {
    let id = store.select("stateward_state_entries", |_| true)[0].0;
    store.read(id, from, to, coarse).await.unwrap()
}

#[derive(Clone, Debug)]
enum Step {
    Append { gap_millis: i64, value: f64 },
    Seal,
    Reopen,
    Compact,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => (-5_000_i64..9_000_000, -1e12..1e12).prop_map(|(gap_millis, value)| Step::Append {
            gap_millis,
            value
        }),
        3 => Just(Step::Seal),
        1 => Just(Step::Reopen),
        1 => Just(Step::Compact),
    ]
}

async fn check(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let dir = tempfile::tempdir().unwrap();
    let mut store = open(&dir).await;
    let mut model: BTreeMap<i64, f64> = BTreeMap::new();
    let (mut wall, mut seq) = (DAY * DAY_MILLIS, 0);
    for step in steps {
        match step {
            Step::Append { gap_millis, value } => {
                wall = (wall + gap_millis).max(DAY * DAY_MILLIS);
                seq += 1;
                prop_assert_eq!(store.append(batch(seq, wall, value)).await.unwrap(), Stored::New);
                model.insert(wall, value);
            }
            Step::Seal => seal_all(&store).await,
            Step::Reopen => {
                store.database().close().await;
                store = open(&dir).await;
            }
            // far enough that days are over, not so far that raw samples are dropped
            Step::Compact => {
                store.compact((DAY + 6) * DAY_MILLIS).await.unwrap();
            }
        }
    }
    if seq > 0 {
        prop_assert_eq!(store.append(batch(seq, wall, -1.0)).await.unwrap(), Stored::Duplicate);
        let expected: Vec<Sample> =
            model.iter().map(|(&millis, &value)| Sample { millis, value }).collect();
        prop_assert_eq!(read(&store, 0, i64::MAX, false).await, expected.clone());
        let middle = expected[expected.len() / 2].millis;
        let tail: Vec<Sample> = expected.into_iter().filter(|s| s.millis >= middle).collect();
        prop_assert_eq!(read(&store, middle, i64::MAX, false).await, tail);
    }
    store.database().close().await;
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_store_equals_a_vec(steps in prop::collection::vec(step(), 0..60)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(check(steps))?;
    }
}

proptest! {
    #[test]
    fn chunks_come_back(samples in prop::collection::btree_map(any::<i64>(), any::<f64>(), 1..300)) {
        let samples: Vec<Sample> =
            samples.into_iter().map(|(millis, value)| Sample { millis, value }).collect();
        let back = decode_chunk(&encode_chunk(&samples).unwrap()).unwrap();
        let bits = |all: &[Sample]| -> Vec<(i64, u64)> {
            all.iter().map(|s| (s.millis, s.value.to_bits())).collect()
        };
        prop_assert_eq!(bits(&back), bits(&samples));
    }

    #[test]
    fn histograms_come_back(
        all in prop::collection::vec(
            (prop::collection::btree_map(0_u16..168, any::<u64>(), 0..40), any::<u64>()), 0..5)
    ) {
        let all: Vec<Histogram> = all
            .into_iter()
            .map(|(buckets, sum)| Histogram { buckets: buckets.into_iter().collect(), sum })
            .collect();
        prop_assert_eq!(decode_histograms(&encode_histograms(&all)).unwrap(), all);
    }

    #[test]
    fn damaged_bytes_are_refused_not_trusted(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut body = vec![1];
        body.extend(bytes);
        drop((decode_chunk(&body), decode_histograms(&body), codec::decode_report(&body)));
    }
}

#[test]
fn the_newer_source_wins_in_a_merge() {
    let sample = |millis, value| Sample { millis, value };
    let older = vec![sample(1, 1.0), sample(3, 3.0)];
    let newer = [sample(2, 2.0), sample(3, 9.0)];
    assert_eq!(merge(older, &newer), [sample(1, 1.0), sample(2, 2.0), sample(3, 9.0)]);
}

/// DESIGN, Series: down-sampled, and dropped by retention.
#[tokio::test]
async fn old_days_become_averages_and_then_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(&dir).await;
    let start = DAY * DAY_MILLIS;
    for at in 0..20_i64 {
        store.append(batch(at + 1, start + at * 60_000, at as f64)).await.unwrap();
    }
    seal_all(&store).await;
    while store.compact((DAY + 2) * DAY_MILLIS).await.unwrap() > 0 {}
    let whole = read(&store, start, start + DAY_MILLIS, false).await;
    let averages = read(&store, start, start + DAY_MILLIS, true).await;
    assert_eq!((whole.len(), averages.len()), (20, 4));
    assert_eq!(averages[0], Sample { millis: start + 240_000, value: 2.0 });
    while store.compact((DAY + 9) * DAY_MILLIS).await.unwrap() > 0 {}
    assert_eq!(read(&store, start, start + DAY_MILLIS, false).await, averages);
    while store.compact((DAY + 42) * DAY_MILLIS).await.unwrap() > 0 {}
    assert_eq!(read(&store, start, start + DAY_MILLIS, true).await, []);
    store.database().close().await;
}
