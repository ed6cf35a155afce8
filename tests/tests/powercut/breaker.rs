//! A job with a breaker under power cuts: the spill, and what a person did to the breaker.

use std::path::Path;

use stateward_engine::KILL_POINTS;
use stateward_tests::crash::{
    BREAKER_OPEN_FILE, Ended, Random, Remains, TRIPPED_FILE, WRITER, write_input,
};

use super::{Cut, Knife, SEED, is_rare, names_of, program, records, recovered_epoch, soaks};

const JOB: &str = "ab";

/// What the cuts came across; a run that met none of it has proved nothing.
#[derive(Debug, Default)]
struct Met {
    cuts_while_open: u64,
    cuts_while_closed: u64,
    cuts_while_replaying: u64,
    cuts_with_nothing_diverted: u64,
    bytes_lost: u64,
}

/// Goes on to the end from what a cut left; tells whether the breaker was open when it began.
fn go_on(left: &Path, plan: &'static str, input: &Path, promised: u64) -> bool {
    let ended = program(plan, input).start(left, JOB, None).unwrap().wait().unwrap();
    assert_eq!(ended, Ended::Finished);
    let recovered = recovered_epoch(left);
    assert!(recovered >= promised, "of {promised} epochs {recovered} are left");
    left.join(BREAKER_OPEN_FILE).exists()
}

/// §7.6, §7.8, §4.8: with every unsynced byte of spill and journal gone, a breaker that a person had
/// tripped is still open, what it diverted is still there, and after the reset, cut off again while
/// it replays, everything is as if there had been no breaker.
#[test]
fn soak_a_power_cut_loses_nothing_of_a_spill_nor_a_decision() {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("events.ndjson");
    println!("seed {SEED}");
    write_input(&input, SEED, records()).unwrap();
    let whole = dir.path().join("whole");
    let ended = program("plain", &input).start(&whole, JOB, None).unwrap().wait().unwrap();
    assert_eq!(ended, Ended::Finished);
    let expected = Remains::read(&whole, JOB).unwrap();

    let knife = Knife::new(dir.path());
    let (mut random, mut met) = (Random::new(SEED), Met::default());
    let rounds = if soaks() { 10 } else { 1 };
    for (round, point) in (0..rounds).flat_map(|round| KILL_POINTS.map(|at| (round, at))) {
        let root = dir.path().join(format!("{round}-{point}"));
        // the breaker is tripped after four epochs; a sync is met once in each, else both shards do
        let (first, more) = match point {
            _ if is_rare(point) => (2, 2),
            "before-sync" | "after-sync" => (5, 5),
            _ => (10, 10),
        };
        let at = format!("{point}:{}", first + random.below(more));
        let names = names_of(round);
        let first = knife.cut(&program("trip", &input), &root, JOB, &at, names);
        // a quick machine may have come to the end of the input before
        let Some(cut) = first else { continue };
        met.bytes_lost += cut.bytes_lost;
        let tripped = root.join(TRIPPED_FILE).exists();
        let open = go_on(&cut.left, "trip", &input, cut.promised);
        assert!(open || !tripped, "{at}: the trip is lost");
        *if open { &mut met.cuts_while_open } else { &mut met.cuts_while_closed } += 1;
        let sample = &Remains::read(&cut.left, JOB).unwrap().operators[WRITER];
        assert_eq!(sample.arrived, sample.applied + sample.pending, "{at}");
        // a quick machine may have applied the whole input before the breaker was tripped
        met.cuts_with_nothing_diverted += u64::from(sample.pending == 0);

        let at = format!("{point}:{}", 1 + random.below(if is_rare(point) { 1 } else { 6 }));
        let mut left = cut.left.clone();
        if let Some(Cut { left: second, promised, bytes_lost }) =
            knife.cut(&program("reset", &input), &cut.left, JOB, &at, names)
        {
            met.cuts_while_replaying += 1;
            met.bytes_lost += bytes_lost;
            let _ = go_on(&second, "reset", &input, promised);
            left = second;
        }
        let differences = expected.differences(&Remains::read(&left, JOB).unwrap());
        assert!(differences.is_empty(), "{at} differs:\n{differences}");
    }
    println!("{met:?}");
    let Met { cuts_while_open, cuts_while_closed, cuts_while_replaying, .. } = met;
    let cuts = cuts_while_open + cuts_while_closed;
    assert!(met.cuts_with_nothing_diverted < cuts / 2, "the breaker hardly ever diverts");
    assert!(cuts_while_open > 0 && cuts_while_closed > 0 && cuts_while_replaying > 0);
    assert!(met.bytes_lost > 0, "nothing was ever lost");
}
