//! Value states against a model of SEMANTICS §1, with every branch of the model counted.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stateward_model::wire::StateFlow;
use stateward_model::{ClockKind, UpdateType, expired};

use super::{Now, Rule, Turn, World, assert_all_taken, here, histories, rule, turn};
use crate::state::table::{Moment, RowAddress, Table};
use crate::state::{Backend, GateMode, Lookup, StateKind};
use crate::telemetry::Counters;

#[derive(Clone, Debug)]
enum Step {
    Read(u8),
    Write(u8, u64),
    Delete(u8),
    /// A write that a breaker refuses after another one of the same event was applied.
    Refused(u8, u64),
    Turn(Turn),
}

fn step() -> impl Strategy<Value = (Step, i64)> {
    let key = 0_u8..6;
    let kind = prop_oneof![
        6 => key.clone().prop_map(Step::Read),
        6 => (key.clone(), any::<u64>()).prop_map(|(k, v)| Step::Write(k, v)),
        2 => key.clone().prop_map(Step::Delete),
        1 => (key, any::<u64>()).prop_map(|(k, v)| Step::Refused(k, v)),
        10 => turn().prop_map(Step::Turn),
    ];
    (kind, -40_i64..40)
}

/// SEMANTICS §1 for one state, written as plainly as possible.
#[derive(Clone, Default)]
pub(super) struct Model {
    rows: BTreeMap<u8, (i64, u64)>,
    pub(super) flow: StateFlow,
}

impl Model {
    /// What is written off is gone; the model drops at the same instants as the ledger's buckets,
    /// so it is told the cut-off.
    pub(super) fn sweep(&mut self, cut_off: i64) {
        let before = self.rows.len();
        self.rows.retain(|_, (ts, _)| *ts > cut_off);
        self.flow.removed_sweep += (before - self.rows.len()) as u64;
    }

    pub(super) fn read(&mut self, key: u8, now: Now, rule: Rule) -> Option<u64> {
        self.flow.reads += 1;
        let (ts, value) = *self.rows.get(&key)?;
        if expired(ts, rule.ttl, now.seen) {
            self.flow.misses_present += 1;
            if expired(ts, rule.ttl, now.clock) {
                self.rows.remove(&key);
                self.flow.removed_read += 1;
            }
            self.flow.stale_returned += u64::from(rule.relaxed);
            return rule.relaxed.then_some(value);
        }
        if rule.update == UpdateType::OnReadAndWrite {
            self.flow.refreshes += 1;
            self.rows.insert(key, (ts.max(now.stamp), value));
        }
        Some(value)
    }

    /// The value that is there and has not expired, whatever may be returned of an expired one.
    pub(super) fn live(&self, key: u8, now: Now, rule: Rule) -> Option<u64> {
        let (ts, value) = *self.rows.get(&key)?;
        (!expired(ts, rule.ttl, now.seen)).then_some(value)
    }

    /// Tells whether there is a row.
    pub(super) fn holds(&self, key: u8) -> bool {
        self.rows.contains_key(&key)
    }

    pub(super) fn write(&mut self, key: u8, value: u64, now: Now, rule: Rule, cut_off: i64) {
        let old = self.rows.get(&key).copied();
        let live = old.filter(|(ts, _)| !expired(*ts, rule.ttl, now.seen));
        let ts = match live {
            Some((ts, _)) if rule.update == UpdateType::OnCreate => ts,
            Some((ts, _)) => ts.max(now.stamp),
            None => now.stamp,
        };
        if ts <= cut_off || expired(ts, rule.ttl, now.clock) {
            self.flow.late_writes += 1;
            return;
        }
        self.flow.writes += 1;
        self.flow.created += u64::from(live.is_none());
        self.flow.removed_overwrite += u64::from(live.is_none() && old.is_some());
        self.rows.insert(key, (ts, value));
    }

    pub(super) fn delete(&mut self, key: u8, now: Now, rule: Rule) {
        self.flow.deletes += 1;
        if let Some((ts, _)) = self.rows.remove(&key) {
            if expired(ts, rule.ttl, now.seen) {
                self.flow.removed_read += 1;
            } else {
                self.flow.removed_delete += 1;
            }
        }
    }

    /// Fails where counts or stocks of the table are others.
    pub(super) fn compare(&self, world: &mut World, rule: Rule) {
        let flow = world.table.recorder().flow_so_far();
        let comparable = StateFlow {
            misses_absent: 0,
            written_bytes: 0,
            offered: 0,
            diverted: 0,
            negative_ages: 0,
            reclaimed_bytes: 0,
            ..flow
        };
        assert_eq!(comparable, self.flow);
        let stock = world.table.stock(&world.moment);
        assert_eq!(stock.entries, self.rows.len() as u64);
        let clock = world.event(0).clock;
        let dead = self.rows.values().filter(|(ts, _)| expired(*ts, rule.ttl, clock)).count();
        assert!(stock.expired_entries >= dead as u64);
        assert!(stock.expired_entries - dead as u64 <= stock.error_entries);
    }
}

pub(super) fn row_key(key: u8) -> Vec<u8> {
    vec![0, 0, key]
}

/// Runs the steps on both and compares results, counts and stocks after each.
fn check(rule: Rule, steps: &[(Step, i64)]) -> StateFlow {
    let mut world = World::new(rule);
    let mut model = Model::default();
    for (step, offset) in steps {
        let now = world.event(*offset);
        let (table, moment) = (&mut world.table, &world.moment);
        match *step {
            Step::Read(key) => {
                let bytes = row_key(key);
                let found = table.read::<u64>(RowAddress::of(&bytes), moment, here()).unwrap();
                assert_eq!(found.live(), model.read(key, now, rule));
            }
            Step::Write(key, value) => {
                let bytes = row_key(key);
                table.write(RowAddress::of(&bytes), &value, moment, here()).unwrap();
                model.write(key, value, now, rule, table.cut_off);
            }
            Step::Delete(key) => {
                let bytes = row_key(key);
                table.delete(RowAddress::of(&bytes), moment, here()).unwrap();
                model.delete(key, now, rule);
            }
            Step::Refused(key, value) => world.refused(|table, moment| {
                let bytes = row_key(key);
                let at = RowAddress::of(&bytes);
                table.read::<u64>(at, moment, here()).unwrap();
                table.write(at, &value, moment, here()).unwrap();
                table.gate().mode = GateMode::Refuse;
                assert!(table.write(at, &value, moment, here()).is_err());
            }),
            Step::Turn(turn) => {
                world.turn(turn);
                model.sweep(world.table.cut_off);
            }
        }
        model.compare(&mut world, rule);
    }
    model.flow
}

/// §1.2 to §1.6, §1.8, §1.11, §7.3: random histories, both backends, small and large caches; the
/// run fails if a branch of the model was never taken.
#[test]
fn soak_value_states_agree_with_the_model() {
    let mut taken = StateFlow::default();
    histories(rule(StateKind::Value), step(), |rule, steps| {
        let flow = check(rule, steps);
        taken.misses_present += flow.misses_present;
        taken.refreshes += flow.refreshes;
        taken.removed_delete += flow.removed_delete;
        taken.removed_read += flow.removed_read;
        taken.removed_overwrite += flow.removed_overwrite;
        taken.removed_sweep += flow.removed_sweep;
        taken.late_writes += flow.late_writes;
        taken.stale_returned += flow.stale_returned;
    });
    assert_all_taken(&[
        ("misses", taken.misses_present),
        ("refreshes", taken.refreshes),
        ("deletes", taken.removed_delete),
        ("removed by read", taken.removed_read),
        ("overwritten expired", taken.removed_overwrite),
        ("swept", taken.removed_sweep),
        ("late", taken.late_writes),
        ("stale", taken.stale_returned),
    ]);
}

/// §1.6: absent is not expired, while the row is there and for a while after it is gone.
#[test]
fn lookup_tells_expired_from_absent() {
    let mut world = World::new(Rule {
        kind: StateKind::Value,
        ttl: Some(100),
        update: UpdateType::OnCreateAndWrite,
        relaxed: false,
        clock: ClockKind::EventTime,
        backend: Backend::Heap,
        cache_bytes: 1 << 20,
    });
    let table = &mut world.table;
    let key = row_key(1);
    let at =
        |event_ts| Moment { watermark: Some(event_ts), event_ts, epoch: 1, ..Moment::default() };
    let look = |table: &mut Table<Counters>, moment: &Moment| {
        table.read::<u64>(RowAddress::of(&key), moment, here()).unwrap()
    };
    assert_eq!(look(table, &at(0)), Lookup::Absent);
    table.write(RowAddress::of(&key), &7_u64, &at(10), here()).unwrap();
    assert_eq!(look(table, &at(109)), Lookup::Live(7));
    assert_eq!(look(table, &at(110)), Lookup::Expired { ts: 10 });
    assert_eq!(look(table, &at(111)), Lookup::Expired { ts: 10 });
    let flow = table.recorder().flow_so_far();
    assert_eq!((flow.misses_present, flow.misses_absent, flow.removed_read), (1, 1, 1));
    let beyond_the_horizon = 10 + 100 + 3_600_001;
    assert_eq!(look(table, &at(beyond_the_horizon)), Lookup::Absent);
}
