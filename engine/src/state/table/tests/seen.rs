//! What a state tells of its keys, its values and its removals.

use std::time::Duration;

use stateward_model::wire::CanaryPhase;
use stateward_model::{ClockKind, Histogram, UpdateType, bucket_of};

use super::{Rule, Turn, World, here};
use crate::state::invariant::Invariant;
use crate::state::table::RowAddress;
use crate::state::{Backend, GateMode, StateKind, StateOptions};

fn rule(backend: Backend, kind: StateKind) -> Rule {
    Rule {
        ttl: Some(100),
        update: UpdateType::OnCreateAndWrite,
        relaxed: false,
        clock: ClockKind::EventTime,
        backend,
        kind,
        cache_bytes: 1 << 20,
    }
}

fn world(backend: Backend, kind: StateKind) -> World {
    World::new(rule(backend, kind))
}

fn write(world: &mut World, key: &[u8], offset: i64) {
    world.event(offset);
    world.table.write(RowAddress::of(key), &7_u64, &world.moment, here()).unwrap();
}

fn count(histogram: &Histogram, value: u64) -> u64 {
    let found =
        histogram.buckets.iter().find(|(bucket, _)| usize::from(*bucket) == bucket_of(value));
    found.map_or(0, |(_, count)| *count)
}

/// §9, overshoot: removal by a read, by a write over it, and of the bytes, minus the expiry.
#[test]
fn removals_are_measured_from_the_expiry() {
    for backend in [Backend::Rocks, Backend::Heap] {
        let mut world = world(backend, StateKind::Value);
        world.turn(Turn::Clock(1, true));
        for key in [b"..a", b"..b", b"..c"] {
            write(&mut world, key, 0);
        }
        world.turn(Turn::Clock(107, false));
        world.event(0);
        let site = here();
        world.table.read::<u64>(RowAddress::of(b"..a"), &world.moment, site).unwrap();
        write(&mut world, b"..b", 0);
        let late = world.table.overshoot().late;
        assert_eq!((late.count(), count(&late, 7)), (2, 2), "{backend:?}");
        if backend == Backend::Heap {
            // what is left is written off, and then its bytes go
            world.turn(Turn::Clock(2_000, true));
            world.turn(Turn::Barrier);
            world.turn(Turn::Commit);
            world.turn(Turn::Evict);
            let late = world.table.overshoot().late;
            // one was written again at 108
            assert_eq!((late.count(), late.sum), (4, 7 + 7 + 1_900 + 2_007), "{late:?}");
        }
        assert_eq!(world.table.overshoot().early.count(), 0);
    }
}

/// §9, hot keys and value sizes: by the stream's key, counted once the changelog has them, and without
/// what a breaker refused.
#[test]
fn changes_are_counted_by_the_streams_key() {
    for kind in [StateKind::Value, StateKind::Map] {
        let mut world = world(Backend::Rocks, kind);
        let row_key = |key: &[u8], part: &[u8]| match kind {
            StateKind::Map => {
                let length = (key.len() as u32).to_be_bytes();
                [b"..", length.as_slice(), key, part].concat()
            }
            _ => [b"..", key].concat(),
        };
        for _ in 0..3 {
            write(&mut world, &row_key(b"hot", b"1"), 0);
            write(&mut world, &row_key(b"hot", b"2"), 0);
        }
        write(&mut world, &row_key(b"cold", b"1"), 0);
        world.event(0);
        let (hot, cold) = (row_key(b"hot", b"1"), row_key(b"cold", b"1"));
        world.refused(|table, moment| {
            table.write(RowAddress::of(&cold), &8_u64, moment, here()).unwrap();
            table.gate().mode = GateMode::Refuse;
            table.gate().next_event();
            assert!(table.write(RowAddress::of(&hot), &8_u64, moment, here()).is_err());
        });
        world.turn(Turn::Barrier);
        let listed = world.table.recorder().hot_keys(0).by_changes;
        let amounts: Vec<u64> = listed.keys.iter().map(|key| key.amount).collect();
        assert_eq!((amounts, listed.total, listed.error), (vec![6, 1], 7, 0), "{kind:?}");
        if kind == StateKind::Map {
            let hash = stateward_model::key_hash(b"hot");
            assert_eq!(listed.keys.first().map(|key| key.hash), Some(hash));
        }
        let rows = if kind == StateKind::Map { 3 } else { 2 };
        assert_eq!(world.table.recorder().value_bytes().count(), rows);
        assert_eq!(world.table.recorder().hot_keys(0).by_bytes.keys.len(), 2);
    }
}

/// §9: a key that changes more often in one epoch than its slot can count is counted in full.
#[test]
fn very_many_changes_of_a_key_are_counted() {
    let mut world = world(Backend::Heap, StateKind::Value);
    for _ in 0..150_000 {
        write(&mut world, b"..k", 0);
    }
    world.turn(Turn::Barrier);
    assert_eq!(world.table.recorder().hot_keys(0).by_changes.total, 150_000);
}

/// A job's own demands: judged by value and age where an entry is read or written, counted by name,
/// and not for what a breaker refused.
#[test]
fn what_does_not_hold_is_counted() {
    let mut world = World::with_options(rule(Backend::Heap, StateKind::Value), |options| {
        let young = |_: &u64, age: Duration| age <= Duration::from_millis(50);
        options.invariants.push(Invariant::new("young", young));
        options.invariants.push(Invariant::new("small", |value: &u64, _| *value < 10));
    });
    let counts = |world: &World| -> Vec<(u64, u64)> {
        let all = world.table.invariants();
        all.iter().map(|one| (one.checked, one.violations)).collect()
    };
    world.turn(Turn::Clock(1, true));
    write(&mut world, b"..a", 0);
    assert_eq!(counts(&world), [(1, 0), (1, 0)]);
    world.turn(Turn::Clock(60, true));
    world.event(0);
    world.table.read::<u64>(RowAddress::of(b"..a"), &world.moment, here()).unwrap();
    assert_eq!(counts(&world), [(2, 1), (2, 0)]);
    world.table.write(RowAddress::of(b"..b"), &10_u64, &world.moment, here()).unwrap();
    assert_eq!(counts(&world), [(3, 1), (3, 1)]);
    let last = world.table.invariants().pop().unwrap();
    assert_eq!((last.name.as_str(), last.last_millis), ("small", Some(world.moment.wall)));
    assert_eq!(last.last_hash, Some(stateward_model::key_hash(b"..b")));
    world.refused(|table, moment| {
        table.write(RowAddress::of(b"..b"), &11_u64, moment, here()).unwrap();
    });
    assert_eq!(counts(&world), [(3, 1), (3, 1)]);
    // the expired are not judged
    world.turn(Turn::Clock(200, false));
    world.event(0);
    world.table.read::<u64>(RowAddress::of(b"..a"), &world.moment, here()).unwrap();
    assert_eq!(counts(&world), [(3, 1), (3, 1)]);
}

/// §9, canaries: invisible to counts, followed through expiry, write-off (also of a state in which
/// nothing else is old) and the removal of its bytes; an overdue one is told once.
#[test]
fn a_canary_is_followed_to_its_end() {
    let canary = |options: &mut StateOptions| options.canary_life = Some(Duration::from_millis(20));
    let mut world = World::with_options(rule(Backend::Heap, StateKind::Value), canary);
    let follow = |world: &mut World| world.table.follow_canary(&world.moment).unwrap();
    world.turn(Turn::Clock(1_000, true));
    write(&mut world, b"..a", 0);
    assert_eq!(follow(&mut world), None);
    world.turn(Turn::Barrier);
    world.turn(Turn::Commit);
    let phase = |world: &World| world.table.canary().and_then(|canary| canary.phase);
    assert_eq!(phase(&world), Some(CanaryPhase::Written));
    let stock = world.table.stock(&world.moment);
    assert_eq!((stock.entries, stock.expired_entries, stock.unreclaimed_bytes), (1, 0, 0));
    assert_eq!(world.table.recorder().hot_keys(0).by_changes.total, 1);
    world.turn(Turn::Clock(20, true));
    assert_eq!(follow(&mut world), None);
    assert_eq!(phase(&world), Some(CanaryPhase::Expired));
    world.turn(Turn::Clock(1, true));
    assert_eq!(follow(&mut world), None);
    assert_eq!(phase(&world), Some(CanaryPhase::WrittenOff));
    // its bytes are there until the cut-off is committed and a pass comes by
    assert_eq!(follow(&mut world), None);
    assert_eq!(world.table.canary().unwrap().removed, 0);
    world.turn(Turn::Barrier);
    world.turn(Turn::Commit);
    world.turn(Turn::Evict);
    assert_eq!(follow(&mut world), None);
    let sample = world.table.canary().unwrap();
    assert_eq!((sample.written, sample.expired, sample.written_off, sample.removed), (1, 1, 1, 1));
    let stock = world.table.stock(&world.moment);
    assert_eq!((stock.entries, stock.unreclaimed_bytes), (1, 0));
    follow(&mut world);
    assert_eq!(world.table.canary().unwrap().written, 2, "the next one");
}

/// §9, canaries: where the sweep does not come by, it is overdue, and told once.
#[test]
fn an_overdue_canary_is_told_once() {
    let canary = |options: &mut StateOptions| options.canary_life = Some(Duration::from_millis(20));
    let mut world = World::with_options(rule(Backend::Heap, StateKind::Value), canary);
    let follow = |world: &mut World| world.table.follow_canary(&world.moment).unwrap();
    world.turn(Turn::Clock(1_000, false));
    follow(&mut world);
    world.turn(Turn::Clock(50, false));
    assert_eq!(follow(&mut world), None);
    world.turn(Turn::Clock(200_000, false));
    let told = follow(&mut world).unwrap();
    assert!(told.contains("to be written off") && told.contains("op/s"), "{told}");
    assert_eq!(follow(&mut world), None);
    let sample = world.table.canary().unwrap();
    assert_eq!((sample.overdue, sample.overdue_total), (true, 1));
}
