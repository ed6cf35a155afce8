//! Tables against SEMANTICS §2 written naively over everything that was ever written.

use std::collections::BTreeMap;

use proptest::prelude::*;
use stateward_model::{AsOf, FamilyRule};

use super::{Now, Rule, Turn, World, assert_all_taken, here, histories, rule, turn};
use crate::state::family::FamilyConfig;
use crate::state::table::{ColumnKey, Moment, NewCell, Table};
use crate::state::{GateMode, StateKind};
use crate::telemetry::Counters;

/// One column: key, family, qualifier.
type Place = (u8, usize, u8);

#[derive(Clone, Debug)]
enum Step {
    Put(Place, i64, u32),
    Get(Place),
    AsOf(Place, i64),
    Versions(Place),
    Columns(u8, usize),
    DeleteColumn(Place, i64),
    DeleteFamily(u8, usize),
    /// A put and a delete, and then a put that a breaker refuses.
    Refused(Place, i64),
    /// With so many rows a slice.
    SweepFamilies(usize),
    Turn(Turn),
}

fn step() -> impl Strategy<Value = (Step, i64)> {
    let place = (0_u8..2, 0_usize..4, 0_u8..2);
    let back = prop_oneof![1 => Just(0_i64), 1 => 0_i64..50];
    let kind = prop_oneof![
        12 => (place.clone(), back.clone(), any::<u32>()).prop_map(|(p, b, v)| Step::Put(p, b, v)),
        4 => place.clone().prop_map(Step::Get),
        4 => (place.clone(), 0_i64..80).prop_map(|(p, b)| Step::AsOf(p, b)),
        3 => place.clone().prop_map(Step::Versions),
        2 => (0_u8..2, 0_usize..4).prop_map(|(k, f)| Step::Columns(k, f)),
        2 => (place.clone(), back.clone()).prop_map(|(p, b)| Step::DeleteColumn(p, b)),
        1 => (0_u8..2, 0_usize..4).prop_map(|(k, f)| Step::DeleteFamily(k, f)),
        1 => (place, back).prop_map(|(p, b)| Step::Refused(p, b)),
        4 => (1_usize..12).prop_map(Step::SweepFamilies),
        9 => turn().prop_map(Step::Turn),
    ];
    (kind, -20_i64..20)
}

fn families(ttl: Option<i64>) -> Vec<FamilyConfig> {
    let family = |id: u8, ttl_millis, (max_versions, min_versions), keep_deleted, marker| {
        let marker_ttl_millis = marker;
        let rule =
            FamilyRule { ttl_millis, max_versions, min_versions, keep_deleted, marker_ttl_millis };
        FamilyConfig { name: format!("f{id}"), id, rule }
    };
    vec![
        family(0, Some(40), (3, 1), false, Some(20)),
        family(1, None, (2, 0), true, Some(30)),
        family(2, ttl, (1, 0), false, ttl),
        family(3, Some(25), (4, 2), true, Some(15)),
    ]
}

/// A TTL of its own for some cells; by the timestamp, so that a cell that replaces another one at the
/// same timestamp has the same.
fn own_ttl(ts: i64) -> Option<i64> {
    (ts.rem_euclid(4) == 0).then_some(ts.rem_euclid(7) * 5)
}

#[derive(Clone, Copy, Debug)]
struct Written {
    value: u32,
    seen: i64,
    order: u64,
}

#[derive(Clone, Copy, Debug)]
struct Deleted {
    ts: i64,
    seen: i64,
    order: u64,
}

/// Everything that was ever written.
#[derive(Default)]
struct Model {
    cells: BTreeMap<Place, BTreeMap<i64, Written>>,
    deletes: BTreeMap<Place, Vec<Deleted>>,
    family_deletes: BTreeMap<(u8, usize), Vec<Deleted>>,
    order: u64,
    late: u64,
    masked: u64,
    exempt: u64,
}

impl Model {
    fn deletes_of(&self, place: Place) -> Vec<Deleted> {
        let of_column = self.deletes.get(&place).into_iter().flatten();
        let of_family = self.family_deletes.get(&(place.0, place.1)).into_iter().flatten();
        of_column.chain(of_family).copied().collect()
    }

    fn covers(rule: &FamilyRule, deleted: &Deleted, ts: i64, cell: &Written) -> bool {
        let lives = rule.marker_ttl_millis.is_none_or(|ttl| cell.seen <= deleted.seen + ttl);
        ts <= deleted.ts && (cell.order < deleted.order || lives)
    }

    /// §2.2, §2.3, §2.5: newest first (ts, value, deleted).
    fn kept(&self, place: Place, rule: &FamilyRule, now: Option<i64>) -> Vec<(i64, Written, bool)> {
        let deletes = self.deletes_of(place);
        let mut kept = Vec::new();
        for (ts, cell) in self.cells.get(&place).into_iter().flatten().rev() {
            let gone = deletes.iter().any(|d| Self::covers(rule, d, *ts, cell));
            let ended = own_ttl(*ts).zip(now).is_some_and(|(ttl, now)| ts + ttl < now);
            if ended || (gone && !rule.keep_deleted) {
                continue;
            }
            let count = kept.len() + 1;
            let is_expired = rule.ttl_millis.zip(now).is_some_and(|(ttl, now)| *ts < now - ttl);
            if count > rule.max_versions as usize {
                continue;
            }
            if count > rule.min_versions as usize && is_expired {
                break;
            }
            kept.push((*ts, *cell, gone));
        }
        kept
    }

    fn versions(&self, place: Place, rule: &FamilyRule, now: Option<i64>) -> Vec<(i64, u32)> {
        let kept = self.kept(place, rule, now).into_iter();
        kept.filter(|(_, _, deleted)| !deleted).map(|(ts, cell, _)| (ts, cell.value)).collect()
    }

    /// §2.7.
    fn as_of(
        &self,
        place: Place,
        rule: &FamilyRule,
        as_of: i64,
        now: Option<i64>,
    ) -> AsOf<(i64, u32)> {
        let kept = self.kept(place, rule, now);
        let deletes = self.deletes_of(place);
        let mut gone_by_then = false;
        for (ts, cell, _) in kept.iter().filter(|(ts, _, _)| *ts <= as_of) {
            if !deletes.iter().any(|d| d.ts <= as_of && Self::covers(rule, d, *ts, cell)) {
                return AsOf::Found((*ts, cell.value));
            }
            gone_by_then = true;
        }
        let out = rule.ttl_millis.zip(now).is_some_and(|(ttl, now)| as_of < now - ttl);
        let spent = |d: &Deleted| {
            rule.marker_ttl_millis.zip(now).is_some_and(|(ttl, now)| d.seen + ttl < now)
        };
        let deleted_since = !rule.keep_deleted && deletes.iter().any(|d| as_of < d.ts && !spent(d));
        let surplus = kept.len() >= rule.max_versions as usize;
        if !gone_by_then && (out || deleted_since || surplus) {
            AsOf::NotKept
        } else {
            AsOf::Absent
        }
    }

    fn put(&mut self, place: Place, rule: &FamilyRule, ts: i64, value: u32, now: Now) -> bool {
        let order = self.order;
        self.order += 1;
        let ended = own_ttl(ts).zip(now.clock).is_some_and(|(ttl, now)| ts + ttl < now);
        let expired = rule.ttl_millis.zip(now.clock).is_some_and(|(ttl, now)| ts < now - ttl);
        if ended || (expired && rule.min_versions == 0) {
            self.late += 1;
            return false;
        }
        let cell = Written { value, seen: now.seen.unwrap_or(now.stamp), order };
        for deleted in self.deletes_of(place).into_iter().filter(|d| ts <= d.ts) {
            let covered = Self::covers(rule, &deleted, ts, &cell);
            self.masked += u64::from(covered);
            self.exempt += u64::from(!covered);
        }
        self.cells.entry(place).or_default().insert(ts, cell);
        true
    }

    fn deleted(&mut self, ts: i64, now: Now) -> Deleted {
        self.order += 1;
        Deleted { ts, seen: now.seen.unwrap_or(now.stamp), order: self.order - 1 }
    }
}

fn prefix(key: u8) -> Vec<u8> {
    vec![0, 0, 0, 0, 0, 1, key]
}

fn column(table: &Table<Counters>, (key, family, qualifier): Place) -> Vec<u8> {
    let mut column = prefix(key);
    table.enter_column(&mut column, family, |key| key.push(qualifier)).unwrap();
    column
}

fn put(
    table: &mut Table<Counters>,
    place: Place,
    ts: i64,
    value: u32,
    moment: &Moment,
) -> Result<(), crate::Error> {
    let mut column = column(table, place);
    let cell = NewCell { ts, ttl_millis: own_ttl(ts) };
    table.put_cell(place.1, &mut column, cell, &value, moment, here())
}

fn as_of(table: &mut Table<Counters>, place: Place, at: i64, moment: &Moment) -> AsOf<(i64, u32)> {
    let column = column(table, place);
    let key = ColumnKey { prefix: &column, key_bytes: prefix(place.0).len() };
    table.read_cell(place.1, key, at, moment, here()).unwrap()
}

fn versions(table: &mut Table<Counters>, place: Place, moment: &Moment) -> Vec<(i64, u32)> {
    let column = column(table, place);
    let key = ColumnKey { prefix: &column, key_bytes: prefix(place.0).len() };
    table.read_versions(place.1, key, moment, here()).unwrap()
}

#[derive(Default)]
struct Taken {
    found: u64,
    absent: u64,
    not_kept: u64,
    missed: u64,
    removed_read: u64,
    removed_sweep: u64,
    removed_delete: u64,
    removed_surplus: u64,
    late: u64,
    masked: u64,
    exempt: u64,
    refused: u64,
    cut: u64,
    ended: u64,
}

/// §2: what a table holds is what was created and not removed, whoever removed it.
fn assert_conserved(world: &mut World) {
    let flow = world.table.recorder().flow_so_far();
    let removed =
        flow.removed_read + flow.removed_sweep + flow.removed_delete + flow.removed_overwrite;
    assert_eq!(world.table.stock(&world.moment).entries, flow.created - removed);
}

fn check(rule: Rule, steps: &[(Step, i64)], taken: &mut Taken) {
    let families = families(rule.ttl);
    let mut world = World::with_options(Rule { ttl: None, ..rule }, |options| {
        options.families.clone_from(&families);
    });
    let mut model = Model::default();
    let rule_of = |place: Place| families[place.1].rule;
    for (step, offset) in steps {
        let now = world.event(*offset);
        let (table, moment) = (&mut world.table, &world.moment);
        match *step {
            Step::Put(place, back, value) => {
                let ts = now.stamp - back;
                put(table, place, ts, value, moment).unwrap();
                let kept = model.put(place, &rule_of(place), ts, value, now);
                assert_eq!(table.take_late(), !kept);
            }
            Step::Get(place) => {
                let expected = model.as_of(place, &rule_of(place), i64::MAX, now.seen);
                assert_eq!(as_of(table, place, i64::MAX, moment), expected);
            }
            Step::AsOf(place, back) => {
                let at = now.stamp - back;
                let expected = model.as_of(place, &rule_of(place), at, now.seen);
                match expected {
                    AsOf::Found(_) => taken.found += 1,
                    AsOf::Absent => taken.absent += 1,
                    AsOf::NotKept => taken.not_kept += 1,
                }
                assert_eq!(as_of(table, place, at, moment), expected);
            }
            Step::Versions(place) => {
                let expected = model.versions(place, &rule_of(place), now.seen);
                assert_eq!(versions(table, place, moment), expected);
            }
            Step::Columns(key, family) => {
                let latest =
                    table.read_family::<u32>(family, &prefix(key), moment, here()).unwrap();
                let latest: Vec<(u8, u32)> = latest.into_iter().map(|(q, v)| (q[0], v)).collect();
                let of = |q: u8| {
                    let place = (key, family, q);
                    let found = model.as_of(place, &rule_of(place), i64::MAX, now.seen).found();
                    found.map(|(_, value)| (q, value))
                };
                assert_eq!(latest, (0..2).filter_map(of).collect::<Vec<_>>());
            }
            Step::DeleteColumn(place, back) => {
                let ts = now.stamp - back;
                let mut column = column(table, place);
                table.put_marker(&mut column, ts, moment, here()).unwrap();
                let deleted = model.deleted(ts, now);
                model.deletes.entry(place).or_default().push(deleted);
            }
            Step::DeleteFamily(key, family) => {
                let mut section = prefix(key);
                table.enter_family(&mut section, family).unwrap();
                table.put_marker(&mut section, now.stamp, moment, here()).unwrap();
                let deleted = model.deleted(now.stamp, now);
                model.family_deletes.entry((key, family)).or_default().push(deleted);
            }
            Step::Refused(place, back) => {
                world.refused(|table, moment| {
                    put(table, place, now.stamp - back, 0, moment).unwrap();
                    as_of(table, place, i64::MAX, moment);
                    let mut column = column(table, place);
                    table.put_marker(&mut column, now.stamp, moment, here()).unwrap();
                    versions(table, place, moment);
                    table.gate().mode = GateMode::Refuse;
                    assert!(put(table, place, now.stamp, 1, moment).is_err());
                });
                // numbers that a refused event took are not given again
                model.order = world.table.sequence;
                taken.refused += 1;
            }
            Step::SweepFamilies(slice_rows) => {
                let begun = !table.scan_from.is_empty();
                table.sweep_families(slice_rows, moment, || 0).unwrap();
                taken.cut += u64::from(!table.scan_from.is_empty());
                taken.ended += u64::from(begun && table.scan_from.is_empty());
            }
            Step::Turn(turn) => world.turn(turn),
        }
        assert_conserved(&mut world);
    }
    let flow = world.table.recorder().flow_so_far();
    assert_eq!(flow.late_writes, model.late);
    taken.missed += flow.misses_present;
    taken.removed_read += flow.removed_read;
    taken.removed_sweep += flow.removed_sweep;
    taken.removed_delete += flow.removed_delete;
    taken.removed_surplus += flow.removed_overwrite;
    taken.late += model.late;
    taken.masked += model.masked;
    taken.exempt += model.exempt;
}

/// §2.1 to §2.7, §1.8, §7.3: tables of four families against the rule written naively over everything
/// ever written, while reads and sweeps remove what is gone for good; random histories, both backends,
/// both clocks, every branch taken.
#[test]
fn soak_tables_agree_with_the_naive_rule() {
    let mut taken = Taken::default();
    histories(rule(StateKind::Table), step(), |rule, steps| check(rule, steps, &mut taken));
    assert_all_taken(&[
        ("found as of", taken.found),
        ("absent as of", taken.absent),
        ("not kept as of", taken.not_kept),
        ("missed", taken.missed),
        ("removed by read", taken.removed_read),
        ("removed by sweep", taken.removed_sweep),
        ("deleted and removed", taken.removed_delete),
        ("one version too many and removed", taken.removed_surplus),
        ("late", taken.late),
        ("written under a live marker", taken.masked),
        ("written under a spent marker", taken.exempt),
        ("refused", taken.refused),
        ("a sweep cut into slices", taken.cut),
        ("the last slice of a sweep", taken.ended),
    ]);
}
