//! TTLs that change while a state lives, against a model of SEMANTICS §1.1 and §1.14.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stateward_model::{TtlOverride, TtlPolicy, UNDO_WINDOW_MILLIS};

use super::{Now, Turn, World, assert_all_taken, here, histories, rule, turn};
use crate::state::table::RowAddress;
use crate::state::table::tests::value::row_key;
use crate::state::{Lookup, StateKind};

#[derive(Clone, Debug)]
enum Step {
    Read(u8),
    Write(u8, u64),
    Set(Option<i64>),
    Revert,
    ReclaimNow,
    /// So many tenths of the undo window pass.
    Wait(i64),
    Turn(Turn),
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0_u8..6;
    prop_oneof![
        6 => key.clone().prop_map(Step::Read),
        6 => (key, any::<u64>()).prop_map(|(k, v)| Step::Write(k, v)),
        2 => prop::option::weighted(0.8, 1_i64..80).prop_map(Step::Set),
        1 => Just(Step::Revert),
        1 => Just(Step::ReclaimNow),
        2 => (1_i64..8).prop_map(Step::Wait),
        8 => turn().prop_map(Step::Turn),
    ]
}

/// How often each branch was taken.
#[derive(Default)]
struct Taken {
    hidden: u64,
    brought_back: u64,
    gone: u64,
    final_overwrites: u64,
    spared_by_adoption: u64,
    reclaimed: u64,
}

/// One state as the rule says it, with TTLs that change.
struct Model {
    policy: TtlPolicy,
    /// As of the last sweep, which takes up what was decided.
    ttl: Option<i64>,
    kept: Option<i64>,
    /// `None`: not since the beginning, and no clock yet.
    adopted: Option<i64>,
    rows: BTreeMap<u8, (i64, u64)>,
    /// Keys that a read has found hidden.
    hidden: Vec<u8>,
}

impl Model {
    fn dead(&self, ts: i64, ttl: Option<i64>, now: Option<i64>) -> bool {
        let (Some(ttl), Some(now), Some(adopted)) = (ttl, now, self.adopted) else { return false };
        ts.max(adopted) + ttl <= now
    }

    fn take_up(&mut self, clock: Option<i64>) {
        let (ttl, kept) = (self.policy.effective_millis(), self.policy.kept_millis());
        if self.ttl.is_none() && ttl.is_some() {
            self.adopted = None;
        }
        (self.ttl, self.kept) = (ttl, kept);
        self.adopted = self.adopted.or(clock);
    }

    /// A sweep that came to this cut-off: all that it took has to be dead, and where the ledger has
    /// always known a TTL, and so has buckets of a ms, all that is dead has to be taken.
    fn sweep(&mut self, clock: Option<i64>, cut_off: i64, exact: bool, taken: &mut Taken) {
        let before = self.ttl;
        self.take_up(clock);
        let is_dead = |ts: i64| self.dead(ts, self.kept, clock);
        assert!(self.rows.values().all(|(ts, _)| *ts > cut_off || is_dead(*ts)));
        assert!(!exact || self.rows.values().all(|(ts, _)| *ts <= cut_off || !is_dead(*ts)));
        let count = self.rows.len();
        self.rows.retain(|_, (ts, _)| *ts > cut_off);
        taken.gone += (count - self.rows.len()) as u64;
        let at_once = |(ts, _): &&(i64, u64)| {
            self.ttl.is_some_and(|ttl| clock.is_some_and(|now| ts + ttl <= now))
        };
        if before.is_none() {
            taken.spared_by_adoption += self.rows.values().filter(at_once).count() as u64;
        }
    }

    fn read(&mut self, key: u8, now: Now, relaxed: bool, taken: &mut Taken) -> Option<u64> {
        let (ts, value) = *self.rows.get(&key)?;
        if !self.dead(ts, self.ttl, now.seen) {
            taken.brought_back += u64::from(self.hidden.contains(&key));
            self.hidden.retain(|hidden| *hidden != key);
            return Some(value);
        }
        if self.dead(ts, self.kept, now.clock) {
            self.rows.remove(&key);
        } else {
            taken.hidden += 1;
            self.hidden.push(key);
        }
        relaxed.then_some(value)
    }

    fn write(&mut self, key: u8, value: u64, now: Now, keeps_first: bool, taken: &mut Taken) {
        let old = self.rows.get(&key).copied();
        let live = old.filter(|(ts, _)| !self.dead(*ts, self.ttl, now.seen));
        let ts = match live {
            Some((ts, _)) if keeps_first => ts,
            Some((ts, _)) => ts.max(now.stamp),
            None => now.stamp,
        };
        if self.dead(ts, self.ttl, now.clock) {
            return;
        }
        taken.final_overwrites += u64::from(self.hidden.contains(&key));
        self.hidden.retain(|hidden| *hidden != key);
        self.rows.insert(key, (ts, value));
    }
}

/// §1.1, §1.5, §1.14: entries that a shortened TTL hides are neither seen nor removed within the undo
/// window, come back with the longer one, and are gone after "reclaim now" or the window; a TTL that
/// is switched on counts from then; across commits and restarts.
#[test]
fn soak_a_changed_ttl_agrees_with_the_model() {
    let mut taken = Taken::default();
    histories(rule(StateKind::Value), step(), |rule, steps| {
        // reads that stamp are the subject of another test
        let rule = super::Rule { update: super::write_update(rule.update), ..rule };
        let mut world = World::new(rule);
        let mut model = Model {
            policy: TtlPolicy::new(rule.ttl),
            ttl: rule.ttl,
            kept: rule.ttl,
            adopted: Some(i64::MIN),
            rows: BTreeMap::new(),
            hidden: Vec::new(),
        };
        let mut wall = 0;
        for step in steps {
            let now = world.event(0);
            let key_of = |key: u8| row_key(key);
            match *step {
                Step::Read(key) => {
                    let bytes = key_of(key);
                    let at = RowAddress::of(&bytes);
                    let found = world.table.read::<u64>(at, &world.moment, here()).unwrap();
                    let expected = model.read(key, now, rule.relaxed, &mut taken);
                    assert_eq!(found.live(), expected);
                }
                Step::Write(key, value) => {
                    let bytes = key_of(key);
                    let at = RowAddress::of(&bytes);
                    world.table.write(at, &value, &world.moment, here()).unwrap();
                    // what is written off for good is no stamp to write with
                    let keeps_first = rule.update == stateward_model::UpdateType::OnCreate;
                    if now.stamp > world.table.cut_off {
                        model.write(key, value, now, keeps_first, &mut taken);
                    }
                }
                Step::Set(ttl_millis) => model.policy.set(TtlOverride {
                    ttl_millis,
                    until_millis: None,
                    since_millis: wall,
                    actor: "a".into(),
                    reason: "r".into(),
                }),
                Step::Revert => model.policy.revert(wall),
                Step::ReclaimNow => {
                    taken.reclaimed += u64::from(model.policy.undo_until_millis().is_some());
                    model.policy.reclaim_now();
                }
                Step::Wait(tenths) => {
                    wall += tenths * UNDO_WINDOW_MILLIS / 10;
                    model.policy.tick(wall);
                }
                Step::Turn(turn) => {
                    world.turn(turn);
                    let clock = world.event(0).clock;
                    match turn {
                        Turn::Clock(_, true) => {
                            let cut_off = world.table.cut_off;
                            model.sweep(clock, cut_off, rule.ttl.is_some(), &mut taken);
                        }
                        Turn::Restart => {
                            // a start goes by what was decided; the clock counts from the next sweep
                            let adopted = model.adopted;
                            model.take_up(None);
                            let switched = adopted.is_some() && model.adopted.is_none();
                            assert!(!switched || model.ttl.is_some());
                        }
                        _ => {}
                    }
                }
            }
            let (ttl, kept) = (model.policy.effective_millis(), model.policy.kept_millis());
            if world.ttl.get().1 != ttl || world.ttl.get().2 != kept {
                world.ttl.set(ttl, kept);
            }
            let stock = world.table.stock(&world.moment);
            assert_eq!(stock.entries, model.rows.len() as u64);
            let clock = world.event(0).clock;
            let dead =
                |ttl| model.rows.values().filter(|(ts, _)| model.dead(*ts, ttl, clock)).count();
            let beyond = |figure: u64, truth: usize| figure.abs_diff(truth as u64);
            let error = if rule.ttl.is_some() { 0 } else { stock.entries };
            assert!(beyond(stock.expired_entries, dead(model.kept)) <= error);
            assert!(beyond(stock.hidden_entries, dead(model.ttl) - dead(model.kept)) <= error);
        }
        let stamps_left = model.rows.len();
        for key in 0..6 {
            let bytes = row_key(key);
            let found = world.table.read::<u64>(RowAddress::of(&bytes), &world.moment, here());
            assert!(stamps_left > 0 || !matches!(found.unwrap(), Lookup::Live(_)));
        }
    });
    assert_all_taken(&[
        ("hidden", taken.hidden),
        ("brought back", taken.brought_back),
        ("gone", taken.gone),
        ("overwritten while hidden", taken.final_overwrites),
        ("spared because the TTL is younger", taken.spared_by_adoption),
        ("reclaimed at once", taken.reclaimed),
    ]);
}
