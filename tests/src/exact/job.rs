//! Two operators behind two exchanges, each with states of both kinds on both backends.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use stateward_engine::{
    Context, Error, FileSource, Job, JobBuilder, MapState, MapStateDescriptor, Open, RunOptions,
    Timed, Ttl, UpdateType, ValueState, ValueStateDescriptor, Watermarks,
};

use super::input::{BOUND_MILLIS, Event};
use super::model::{Model, Now};

/// The operator keyed by `left`.
pub const LEFT: &str = "left";
/// The operator keyed by `right`.
pub const RIGHT: &str = "right";

/// States of each operator: name, TTL, what stamps.
const STATES: [(&str, i64, UpdateType); 5] = [
    ("plain", 3_000, UpdateType::OnCreateAndWrite),
    ("touched", 2_000, UpdateType::OnReadAndWrite),
    ("first", 2_500, UpdateType::OnCreate),
    ("map", 4_000, UpdateType::OnCreateAndWrite),
    ("heap-map", 3_500, UpdateType::OnReadAndWrite),
];

/// The models of one operator.
#[derive(Debug)]
pub struct Book {
    /// By name of the state, with its TTL in ms.
    pub states: BTreeMap<&'static str, (i64, Model)>,
    /// Events that came.
    pub arrived: u64,
    /// Events that lost a write because they came too late.
    pub late: u64,
}

/// The models of both operators; clones share them.
#[derive(Clone, Debug)]
pub struct Books(BTreeMap<&'static str, Arc<Mutex<Book>>>);

impl Default for Books {
    fn default() -> Self {
        Self([LEFT, RIGHT].map(|operator| (operator, new_book())).into())
    }
}

fn new_book() -> Arc<Mutex<Book>> {
    let states =
        STATES.iter().map(|(name, ttl, update)| (*name, (*ttl, Model::new(*ttl, *update))));
    Arc::new(Mutex::new(Book { states: states.collect(), arrived: 0, late: 0 }))
}

impl Books {
    /// Runs `f` on the models of an operator.
    pub fn with<T>(&self, operator: &str, f: impl FnOnce(&mut Book) -> T) -> Option<T> {
        self.0.get(operator).map(|book| f(&mut lock(book)))
    }
}

fn lock(book: &Mutex<Book>) -> MutexGuard<'_, Book> {
    book.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Short epochs and checkpoints; a write cache far smaller than the states.
pub fn exact_options(data_dir: &Path) -> RunOptions {
    RunOptions::new(data_dir)
        .commit_interval(Duration::from_millis(10))
        .checkpoint_interval(Duration::from_millis(120))
        .cache_bytes(160 << 10)
        .store_bytes(8 << 20, 256 << 10)
}

/// Builds the job that reads `input` and keeps the models in `books`.
///
/// # Errors
/// Where the declaration is wrong.
pub fn exact_job(input: &Path, books: &Books) -> Result<Job, Error> {
    let mut job = JobBuilder::new("exact").parallelism(2);
    let source = FileSource::ndjson(input, |event: Event| {
        let ts = event.ts;
        [Timed { value: event, ts }]
    });
    let bound = Duration::from_millis(BOUND_MILLIS as u64);
    let book = |operator| books.0.get(operator).cloned().unwrap_or_else(new_book);
    let (left, right) = (book(LEFT), book(RIGHT));
    job.source("events", source, Watermarks::bounded_out_of_orderness(bound))
        .key_by_owned(|event: &Event| event.left)
        .process(LEFT, move |open: &mut Open<'_, u64>| watched(open, Arc::clone(&left)))
        .key_by_owned(|event: &Event| event.right)
        .process(RIGHT, move |open: &mut Open<'_, u64>| watched(open, Arc::clone(&right)));
    job.build()
}

type Processing<'a, 'b> = &'a mut Context<'b, u64, Event>;

#[expect(
    clippy::unnecessary_wraps,
    reason = "opening an operator may fail, so its closure says so"
)]
fn watched(
    open: &mut Open<'_, u64>,
    book: Arc<Mutex<Book>>,
) -> Result<impl Fn(&Event, Processing<'_, '_>) -> Result<(), Error> + use<>, Error> {
    let [plain, touched, first, map, heap_map] = STATES.map(|(name, ttl, update)| {
        (name, Ttl::new(Duration::from_millis(ttl.unsigned_abs())).update(update))
    });
    let value = |(name, ttl): (&str, Ttl)| ValueStateDescriptor::<String>::new(name).ttl(ttl);
    let entries = |(name, ttl): (&str, Ttl)| MapStateDescriptor::<u32, String>::new(name).ttl(ttl);
    let values = [
        (plain.0, open.value_state(value(plain))),
        (touched.0, open.value_state(value(touched).heap())),
        (first.0, open.value_state(value(first))),
    ];
    let maps = [
        (map.0, open.map_state(entries(map))),
        (heap_map.0, open.map_state(entries(heap_map).heap())),
    ];
    Ok(move |event: &Event, ctx: Processing<'_, '_>| {
        let mut book = lock(&book);
        let now = Now { watermark: ctx.watermark(), event_ts: ctx.event_time() };
        let mut late = false;
        let mut dice = event.dice;
        for (name, state) in values {
            if let Some((_, model)) = book.states.get_mut(name) {
                late |= with_value(state, model, event.n, dice, now, ctx)?;
            }
            dice >>= 6;
        }
        for (name, state) in maps {
            if let Some((_, model)) = book.states.get_mut(name) {
                late |= with_map(state, model, event.n, dice, now, ctx)?;
            }
            dice >>= 6;
        }
        book.arrived += 1;
        book.late += u64::from(late);
        ctx.emit(event.clone());
        Ok(())
    })
}

/// Fails the job where the engine answers otherwise than the model.
fn same<T: PartialEq + std::fmt::Debug>(got: &T, expected: &T, key: u64) -> Result<(), Error> {
    if got == expected {
        return Ok(());
    }
    Err(Error::user(format!("key {key}: the engine read {got:?}, the model {expected:?}")))
}

fn text(n: u64) -> String {
    format!("{n}{}", "x".repeat((n % 23) as usize))
}

fn with_value(
    state: ValueState<u64, String>,
    model: &mut Model,
    n: u64,
    dice: u64,
    now: Now,
    ctx: Processing<'_, '_>,
) -> Result<bool, Error> {
    let key = *ctx.key();
    let at = (key, None);
    let dice = dice % 64;
    if dice < 30 {
        let got = state.named("get").get(ctx)?;
        same(&got, &model.read(at, now, "get"), key)?;
    }
    if (20..58).contains(&dice) {
        let (name, state) =
            if dice < 40 { ("put", state.named("put")) } else { ("set", state.named("set")) };
        state.put(ctx, &text(n))?;
        return Ok(model.write(at, &text(n), now, n, name));
    }
    if dice >= 58 {
        state.named("delete").delete(ctx)?;
        model.delete(at, now, "delete");
    }
    Ok(false)
}

fn with_map(
    state: MapState<u64, u32, String>,
    model: &mut Model,
    n: u64,
    dice: u64,
    now: Now,
    ctx: Processing<'_, '_>,
) -> Result<bool, Error> {
    let key = *ctx.key();
    let (entry, dice) = ((n % 5) as u32, dice % 64);
    let at = (key, Some(entry));
    if dice < 8 {
        let got = state.named("entries").entries(ctx)?;
        same(&got, &model.read_all(key, now, "entries"), key)?;
    }
    if dice < 24 {
        let got = state.named("get").get(ctx, &entry)?;
        same(&got, &model.read(at, now, "get"), key)?;
    }
    if (4..56).contains(&dice) {
        state.named("put").put(ctx, &entry, &text(n))?;
        return Ok(model.write(at, &text(n), now, n, "put"));
    }
    if dice >= 56 {
        state.named("remove").remove(ctx, &entry)?;
        model.delete(at, now, "remove");
    }
    Ok(false)
}
