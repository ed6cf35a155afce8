//! List states against a model: a vector of stamped elements per key.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stateward_model::wire::StateFlow;
use stateward_model::{ClockKind, UpdateType, expired};

use super::{Now, Rule, Turn, World, assert_all_taken, here, histories, rule, turn};
use crate::state::table::{Moment, Table};
use crate::state::{Backend, GateMode, StateKind};
use crate::telemetry::Counters;

#[derive(Clone, Debug)]
enum Step {
    AddAll(u8, Vec<u64>),
    Get(u8),
    Update(u8, Vec<u64>),
    Clear(u8),
    /// Every change to a list, and then an addition that a breaker refuses.
    Refused(u8, u64),
    Turn(Turn),
}

fn step() -> impl Strategy<Value = (Step, i64)> {
    let key = 0_u8..4;
    let some = prop::collection::vec(any::<u64>(), 1..4);
    let any_number = prop::collection::vec(any::<u64>(), 0..4);
    let kind = prop_oneof![
        8 => (key.clone(), some).prop_map(|(k, v)| Step::AddAll(k, v)),
        4 => key.clone().prop_map(Step::Get),
        2 => (key.clone(), any_number).prop_map(|(k, v)| Step::Update(k, v)),
        1 => key.clone().prop_map(Step::Clear),
        1 => (key, any::<u64>()).prop_map(|(k, v)| Step::Refused(k, v)),
        10 => turn().prop_map(Step::Turn),
    ];
    (kind, -40_i64..40)
}

/// SEMANTICS §1.7 for lists.
#[derive(Default)]
struct Model {
    lists: BTreeMap<u8, Vec<(i64, u64)>>,
    flow: StateFlow,
    /// Lists that a read found all expired, and left no row of.
    emptied: u64,
    /// Reads that returned some elements and removed others.
    thinned: u64,
    kept_by_late_update: u64,
}

impl Model {
    fn sweep(&mut self, cut_off: i64) {
        for list in self.lists.values_mut() {
            let before = list.len();
            list.retain(|(ts, _)| *ts > cut_off);
            self.flow.removed_sweep += (before - list.len()) as u64;
        }
    }

    fn add(&mut self, key: u8, value: u64, now: Now, rule: Rule, cut_off: i64) {
        if now.stamp <= cut_off || expired(now.stamp, rule.ttl, now.clock) {
            self.flow.late_writes += 1;
            return;
        }
        self.flow.writes += 1;
        self.flow.created += 1;
        self.lists.entry(key).or_default().push((now.stamp, value));
    }

    fn get(&mut self, key: u8, now: Now, rule: Rule) -> Vec<u64> {
        let list = self.lists.entry(key).or_default();
        let mut found = Vec::new();
        let before = list.len();
        let flow = &mut self.flow;
        list.retain_mut(|(ts, value)| {
            flow.reads += 1;
            if !expired(*ts, rule.ttl, now.seen) {
                found.push(*value);
                if rule.update == UpdateType::OnReadAndWrite {
                    flow.refreshes += 1;
                    *ts = now.stamp.max(*ts);
                }
                return true;
            }
            flow.misses_present += 1;
            if rule.relaxed {
                flow.stale_returned += 1;
                found.push(*value);
            }
            let removed = expired(*ts, rule.ttl, now.clock);
            flow.removed_read += u64::from(removed);
            !removed
        });
        self.emptied += u64::from(before > 0 && list.is_empty());
        self.thinned += u64::from(!list.is_empty() && list.len() < before);
        found
    }

    fn clear(&mut self, key: u8, now: Now, rule: Rule) {
        for (ts, _) in self.lists.remove(&key).unwrap_or_default() {
            self.flow.deletes += 1;
            if expired(ts, rule.ttl, now.seen) {
                self.flow.removed_read += 1;
            } else {
                self.flow.removed_delete += 1;
            }
        }
    }

    fn update(&mut self, key: u8, values: &[u64], now: Now, rule: Rule, cut_off: i64) {
        if now.stamp > cut_off && !expired(now.stamp, rule.ttl, now.clock) {
            self.clear(key, now, rule);
        } else {
            self.kept_by_late_update +=
                u64::from(self.lists.get(&key).is_some_and(|l| !l.is_empty()));
        }
        for value in values {
            self.add(key, *value, now, rule, cut_off);
        }
    }

    fn compare(&self, world: &mut World) {
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
        let rows: usize = self.lists.values().map(Vec::len).sum();
        assert_eq!(world.table.stock(&world.moment).entries, rows as u64);
    }
}

/// Key group, length of the key, key.
fn prefix(key: u8) -> Vec<u8> {
    vec![0, 0, 0, 0, 0, 1, key]
}

fn add(table: &mut Table<Counters>, key: u8, value: u64, moment: &Moment) {
    table.append(&mut prefix(key), &value, moment, here()).unwrap();
}

fn get(table: &mut Table<Counters>, key: u8, moment: &Moment) -> Vec<u64> {
    let rows = table.read_prefix::<u64>(&prefix(key), moment, here()).unwrap();
    rows.into_iter().map(|(_, value)| value).collect()
}

fn check(rule: Rule, steps: &[(Step, i64)]) -> Model {
    let mut world = World::new(rule);
    let mut model = Model::default();
    for (step, offset) in steps {
        let now = world.event(*offset);
        let (table, moment) = (&mut world.table, &world.moment);
        match step {
            Step::AddAll(key, values) => {
                for value in values {
                    add(table, *key, *value, moment);
                    model.add(*key, *value, now, rule, table.cut_off);
                }
            }
            Step::Get(key) => {
                assert_eq!(get(table, *key, moment), model.get(*key, now, rule));
            }
            Step::Update(key, values) => {
                if !table.is_late(moment) {
                    table.delete_prefix(&prefix(*key), moment, here()).unwrap();
                }
                for value in values {
                    add(table, *key, *value, moment);
                }
                model.update(*key, values, now, rule, table.cut_off);
            }
            Step::Clear(key) => {
                table.delete_prefix(&prefix(*key), moment, here()).unwrap();
                model.clear(*key, now, rule);
            }
            Step::Refused(key, value) => world.refused(|table, moment| {
                get(table, *key, moment);
                add(table, *key, *value, moment);
                table.delete_prefix(&prefix(*key), moment, here()).unwrap();
                add(table, *key, *value, moment);
                table.gate().mode = GateMode::Refuse;
                assert!(table.append(&mut prefix(*key), value, moment, here()).is_err());
            }),
            Step::Turn(turn) => {
                world.turn(*turn);
                model.sweep(world.table.cut_off);
            }
        }
        model.compare(&mut world);
    }
    model
}

/// §1.7, §1.8, §1.11, §7.3: elements expire one by one and keep their order through commits,
/// overflows and restarts; random histories, both backends, both clocks, every branch taken.
#[test]
fn soak_list_states_agree_with_the_model() {
    let (mut taken, mut emptied, mut thinned, mut kept) = (StateFlow::default(), 0, 0, 0);
    histories(rule(StateKind::List), step(), |rule, steps| {
        let model = check(rule, steps);
        taken.misses_present += model.flow.misses_present;
        taken.refreshes += model.flow.refreshes;
        taken.removed_delete += model.flow.removed_delete;
        taken.removed_sweep += model.flow.removed_sweep;
        taken.late_writes += model.flow.late_writes;
        taken.stale_returned += model.flow.stale_returned;
        emptied += model.emptied;
        thinned += model.thinned;
        kept += model.kept_by_late_update;
    });
    assert_all_taken(&[
        ("misses", taken.misses_present),
        ("refreshes", taken.refreshes),
        ("deletes", taken.removed_delete),
        ("swept", taken.removed_sweep),
        ("late", taken.late_writes),
        ("stale", taken.stale_returned),
        ("all expired", emptied),
        ("some expired", thinned),
        ("kept by a late update", kept),
    ]);
}

/// §1.7: an all-expired list is empty and leaves no row, neither counted nor in the store.
#[test]
fn an_all_expired_list_leaves_no_row() {
    for backend in [Backend::Heap, Backend::Rocks] {
        let mut world = World::new(Rule {
            kind: StateKind::List,
            ttl: Some(100),
            update: UpdateType::OnCreateAndWrite,
            relaxed: false,
            clock: ClockKind::EventTime,
            backend,
            cache_bytes: 1 << 20,
        });
        for (ts, value) in [(10, 1), (20, 2)] {
            world.moment.event_ts = ts;
            let moment = world.moment;
            add(&mut world.table, 7, value, &moment);
        }
        world.restart();
        let at = |now| Moment { watermark: Some(now), event_ts: now, ..world.moment };
        let [before, between, after] = [109, 110, 120].map(at);
        assert_eq!(get(&mut world.table, 7, &before), [1, 2]);
        assert_eq!(get(&mut world.table, 7, &between), [2]);
        assert_eq!(get(&mut world.table, 7, &after), [] as [u64; 0]);
        assert_eq!(world.table.stock(&after).entries, 0);
        world.restart();
        assert!(world.table.cache().prefix(&[]).unwrap().is_empty(), "{backend:?} keeps a row");
    }
}
