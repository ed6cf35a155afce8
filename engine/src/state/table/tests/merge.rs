//! Reducing and aggregating states against the model of a value that is read, merged and written.

use proptest::prelude::*;
use stateward_model::expired;

use super::value::{Model, row_key};
use super::{Now, Rule, Turn, World, assert_all_taken, here, histories, rule, turn};
use crate::state::table::RowAddress;
use crate::state::{GateMode, Lookup, StateKind};

#[derive(Clone, Debug)]
enum Step {
    Add(u8, u64),
    Get(u8),
    Clear(u8),
    /// A second addition that a breaker refuses after the first one of the same event.
    Refused(u8, u64),
    Turn(Turn),
}

fn step() -> impl Strategy<Value = (Step, i64)> {
    let key = 0_u8..6;
    let kind = prop_oneof![
        8 => (key.clone(), 1_u64..1_000).prop_map(|(k, v)| Step::Add(k, v)),
        4 => key.clone().prop_map(Step::Get),
        1 => key.clone().prop_map(Step::Clear),
        1 => (key, 1_u64..1_000).prop_map(|(k, v)| Step::Refused(k, v)),
        9 => turn().prop_map(Step::Turn),
    ];
    (kind, -40_i64..40)
}

/// Not commutative, so that an order mixed up is seen.
fn reduce(current: u64, added: u64) -> u64 {
    current.wrapping_mul(31).wrapping_add(added)
}

fn merged(current: Option<u64>, added: u64) -> u64 {
    current.map_or(added, |current| reduce(current, added))
}

#[derive(Default)]
struct Taken {
    merged: u64,
    begun: u64,
    begun_anew: u64,
    late: u64,
    missed: u64,
    refused: u64,
}

/// §1.7: merge with the unexpired current value, else start fresh.
fn add(model: &mut Model, key: u8, value: u64, now: Now, rule: Rule, cut_off: i64) {
    let current = model.live(key, now, rule);
    model.flow.reads += 1;
    model.flow.misses_present += u64::from(model.holds(key) && current.is_none());
    model.write(key, merged(current, value), now, rule, cut_off);
}

fn check(rule: Rule, steps: &[(Step, i64)], taken: &mut Taken) {
    let mut world = World::new(rule);
    let mut model = Model::default();
    for (step, offset) in steps {
        let now = world.event(*offset);
        let (table, moment) = (&mut world.table, &world.moment);
        match *step {
            Step::Add(key, value) => {
                let bytes = row_key(key);
                let at = RowAddress::of(&bytes);
                table.merge(at, moment, here(), |current| merged(current, value)).unwrap();
                let late = model.flow.late_writes;
                let (live, held) = (model.live(key, now, rule), model.holds(key));
                add(&mut model, key, value, now, rule, table.cut_off);
                match (model.flow.late_writes > late, live, held) {
                    (true, ..) => taken.late += 1,
                    (_, Some(_), _) => taken.merged += 1,
                    (_, None, true) => taken.begun_anew += 1,
                    (_, None, false) => taken.begun += 1,
                }
            }
            Step::Get(key) => {
                let bytes = row_key(key);
                let found = table.read::<u64>(RowAddress::of(&bytes), moment, here()).unwrap();
                taken.missed += u64::from(matches!(found, Lookup::Expired { .. }));
                assert_eq!(found.live(), model.read(key, now, rule));
            }
            Step::Clear(key) => {
                let bytes = row_key(key);
                table.delete(RowAddress::of(&bytes), moment, here()).unwrap();
                model.delete(key, now, rule);
            }
            Step::Refused(key, value) => world.refused(|table, moment| {
                let bytes = row_key(key);
                let at = RowAddress::of(&bytes);
                table.merge(at, moment, here(), |current| merged(current, value)).unwrap();
                table.gate().mode = GateMode::Refuse;
                let refused = table.merge(at, moment, here(), |current: Option<u64>| {
                    panic!("a refused event merged into {current:?}")
                });
                assert!(refused.is_err());
                taken.refused += 1;
            }),
            Step::Turn(turn) => {
                world.turn(turn);
                model.sweep(world.table.cut_off);
            }
        }
        model.compare(&mut world, rule);
    }
}

/// §1.7, §1.8, §1.11, §7.3: an addition is merged with the unexpired current value, else it starts
/// fresh; random histories, both backends, both clocks, every branch taken.
#[test]
fn soak_reducing_and_aggregating_states_agree_with_the_model() {
    let mut taken = Taken::default();
    let kinds = prop_oneof![rule(StateKind::Reducing), rule(StateKind::Aggregating)];
    histories(kinds, step(), |rule, steps| check(rule, steps, &mut taken));
    assert_all_taken(&[
        ("merged", taken.merged),
        ("begun", taken.begun),
        ("begun anew over an expired value", taken.begun_anew),
        ("late", taken.late),
        ("missed", taken.missed),
        ("refused", taken.refused),
    ]);
}

/// §1.2, §1.7: at `ts + ttl` exactly the current value has expired, so an addition starts fresh.
#[test]
fn an_addition_at_the_instant_of_expiry_starts_fresh() {
    use crate::state::Backend;
    use stateward_model::{ClockKind, UpdateType};
    for (instant, expected) in [(109, reduce(7, 5)), (110, 5)] {
        assert_eq!(expired(10, Some(100), Some(instant)), expected == 5);
        let mut world = World::new(Rule {
            kind: StateKind::Reducing,
            ttl: Some(100),
            update: UpdateType::OnCreateAndWrite,
            relaxed: true,
            clock: ClockKind::EventTime,
            backend: Backend::Heap,
            cache_bytes: 1 << 20,
        });
        let key = row_key(1);
        let at = RowAddress::of(&key);
        for (ts, value) in [(10, 7), (instant, 5)] {
            world.moment.event_ts = ts;
            let moment = world.moment;
            let sum = |current| merged(current, value);
            world.table.merge(at, &moment, here(), sum).unwrap();
        }
        let moment = world.moment;
        let found = world.table.read::<u64>(at, &moment, here()).unwrap();
        assert_eq!(found, Lookup::Live(expected));
    }
}
