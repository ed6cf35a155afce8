//! How a state is declared.

use std::marker::PhantomData;
use std::panic::Location;
use std::time::Duration;

use serde::de::DeserializeOwned;

use stateward_model::breaker::Policy;
use stateward_model::{ClockKind, UpdateType, Visibility};

use super::aggregating::AggregateFunction;
use super::family::{FamilyConfig, FamilyDescriptor};
use super::invariant::Invariant;
use super::kind::StateKind;
use crate::error::Error;
use crate::schema::Evolution;
use crate::telemetry::ReadKey;

/// Time to live of a state's entries (SEMANTICS §1).
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use stateward_engine::{Ttl, UpdateType};
/// let ttl = Ttl::new(Duration::from_secs(36 * 3600)).update(UpdateType::OnReadAndWrite);
/// assert_eq!(ttl.millis(), 36 * 3_600_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ttl {
    millis: i64,
    update: UpdateType,
    visibility: Visibility,
}

impl Ttl {
    /// Declares a TTL; below 1 ms it counts as 1 ms.
    pub fn new(ttl: Duration) -> Self {
        let millis = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX).max(1);
        Self { millis, update: UpdateType::default(), visibility: Visibility::default() }
    }

    /// Chooses which accesses stamp; default [`UpdateType::OnCreateAndWrite`].
    #[must_use]
    pub fn update(self, update: UpdateType) -> Self {
        Self { update, ..self }
    }

    /// Chooses whether expired entries may be returned; default
    /// [`Visibility::NeverReturnExpired`].
    #[must_use]
    pub fn visibility(self, visibility: Visibility) -> Self {
        Self { visibility, ..self }
    }

    /// The TTL in ms.
    pub fn millis(self) -> i64 {
        self.millis
    }
}

/// Where a state's rows rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// RocksDB. The default.
    #[default]
    Rocks,
    /// The heap; written out whole at every checkpoint.
    Heap,
}

impl Backend {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Rocks => "rocksdb",
            Self::Heap => "heap",
        }
    }
}

/// The shortest TTL that a state works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TtlMin {
    pub(crate) millis: i64,
    pub(crate) reason: &'static str,
}

/// What the descriptors of all kinds of states share.
#[derive(Clone, Debug)]
pub(crate) struct StateOptions {
    pub(crate) name: String,
    pub(crate) ttl: Option<Ttl>,
    pub(crate) ttl_min: Option<TtlMin>,
    pub(crate) backend: Backend,
    pub(crate) clock: ClockKind,
    pub(crate) breaker: Policy,
    /// How long synthetic rows live; `None` for none.
    pub(crate) canary_life: Option<Duration>,
    /// What the job demands of its entries.
    pub(crate) invariants: Vec<Invariant>,
    /// Keys may leave the engine in readable form; how comes with the operator's key type.
    pub(crate) readable_keys: bool,
    pub(crate) read_key: Option<ReadKey>,
    /// Column families; only a table has any.
    pub(crate) families: Vec<FamilyConfig>,
    pub(crate) site: &'static Location<'static>,
}

impl StateOptions {
    #[track_caller]
    pub(crate) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ttl: None,
            ttl_min: None,
            backend: Backend::default(),
            clock: ClockKind::default(),
            breaker: Policy::default(),
            canary_life: None,
            invariants: Vec::new(),
            readable_keys: false,
            read_key: None,
            families: Vec::new(),
            site: Location::caller(),
        }
    }
}

/// A state as an operator declared it.
#[derive(Clone, Debug)]
pub(crate) struct StateDeclared {
    pub(crate) kind: StateKind,
    pub(crate) options: StateOptions,
    pub(crate) schema: String,
}

/// A state as the job knows it.
#[derive(Clone, Debug)]
pub(crate) struct StateConfig {
    /// Index within the job: the state's id in changelog and manifest.
    pub(crate) id: u16,
    pub(crate) operator: String,
    pub(crate) kind: StateKind,
    pub(crate) options: StateOptions,
    /// Trace of the value's type.
    pub(crate) schema: String,
    /// Version of that trace in the manifest.
    pub(crate) schema_id: u16,
    /// By how much its processing clock goes after the wall clock (SEMANTICS §1.13).
    pub(crate) clock_shift_millis: i64,
    /// Every entry with a stamp up to this one was dead when the state was restored.
    pub(crate) dead_on_arrival_millis: Option<i64>,
    /// How rows of each other version are read.
    pub(crate) evolutions: Vec<Option<Evolution>>,
}

impl StateConfig {
    /// Takes a declaration in.
    pub(crate) fn of(id: u16, operator: &str, declared: &StateDeclared) -> Result<Self, Error> {
        let config = Self {
            id,
            operator: operator.to_owned(),
            kind: declared.kind,
            options: declared.options.clone(),
            schema: declared.schema.clone(),
            schema_id: 0,
            clock_shift_millis: 0,
            dead_on_arrival_millis: None,
            evolutions: Vec::new(),
        };
        let mistake = config.ttl_millis().and_then(|ttl| config.objection(Some(ttl)));
        mistake.map_or(Ok(config), |why| Err(Error::Declaration(why)))
    }

    pub(crate) fn ttl_millis(&self) -> Option<i64> {
        self.options.ttl.filter(|ttl| ttl.update != UpdateType::Disabled).map(|ttl| ttl.millis)
    }

    /// Says why this TTL cannot be, if it cannot.
    pub(crate) fn objection(&self, ttl_millis: Option<i64>) -> Option<String> {
        let place = self.place();
        match (ttl_millis, self.options.ttl_min) {
            _ if matches!(self.kind, StateKind::Table | StateKind::Timer) => Some(format!(
                "state {place} is a {}, which has no TTL of its own; what its families keep is declared in code",
                self.kind.as_str()
            )),
            (Some(ttl), _) if ttl < 1 => {
                Some(format!("a TTL is at least 1 ms, not {ttl}; to switch it off, give none"))
            }
            (Some(ttl), Some(min)) if ttl < min.millis => Some(format!(
                "the TTL of state {place} may not be below {} ms, it is {ttl} ms: {}",
                min.millis, min.reason
            )),
            _ => None,
        }
    }

    pub(crate) fn update(&self) -> UpdateType {
        self.options.ttl.map_or(UpdateType::Disabled, |ttl| ttl.update)
    }

    pub(crate) fn visibility(&self) -> Visibility {
        self.options.ttl.map(|ttl| ttl.visibility).unwrap_or_default()
    }

    /// `operator/state`: the name in errors, files and column families.
    pub(crate) fn place(&self) -> String {
        format!("{}/{}", self.operator, self.options.name)
    }

    /// Name of its column family and files: the id keeps it short and unambiguous.
    pub(crate) fn file_name(&self) -> String {
        format!("state-{:03}", self.id)
    }
}

/// Gives a descriptor what all kinds of states can be told.
macro_rules! settings {
    ($name:ident<$($p:ident),+>) => {
        impl<$($p),+> $name<$($p),+> {
            /// Keeps the rows on the heap instead of in RocksDB.
            #[must_use]
            pub fn heap(mut self) -> Self {
                self.options.backend = Backend::Heap;
                self
            }

            /// Judges entries by the wall clock instead of the watermark.
            #[must_use]
            pub fn processing_time(mut self) -> Self {
                self.options.clock = ClockKind::ProcessingTime;
                self
            }

            /// Shows the hottest keys as they are. Without this only their hashes leave the engine,
            /// for keys are often personal data.
            #[must_use]
            pub fn readable_keys(mut self) -> Self {
                self.options.readable_keys = true;
                self
            }

            /// Gives the state's write breaker an automatic policy.
            #[must_use]
            pub fn breaker(mut self, policy: Policy) -> Self {
                self.options.breaker = policy;
                self
            }
        }
    };
}

/// Gives a descriptor one TTL for all entries.
macro_rules! ttl_setting {
    ($name:ident<$($p:ident),+>) => {
        impl<$($p),+> $name<$($p),+> {
            /// Gives entries a TTL; without one they never expire.
            #[must_use]
            pub fn ttl(mut self, ttl: Ttl) -> Self {
                self.options.ttl = Some(ttl);
                self
            }

            /// Keeps a synthetic row in the state, one after another, that expires after `life`, on the
            /// state's clock, or after the TTL where that is shorter. Users' code and counts never see
            /// it; it is followed through expiry, write-off and the removal of its bytes, and one that
            /// is overdue raises an event.
            #[must_use]
            pub fn canary(mut self, life: Duration) -> Self {
                self.options.canary_life = Some(life);
                self
            }

            /// Refuses a TTL below `min`, in whole ms, whoever asks for it, and says why: a window's
            /// size with its grace, the bound of a join (SEMANTICS §1.14). Checked when the job is
            /// built, and at each later change.
            #[must_use]
            pub fn min_ttl(mut self, min: Duration, reason: &'static str) -> Self {
                let millis = i64::try_from(min.as_millis()).unwrap_or(i64::MAX);
                self.options.ttl_min = Some(TtlMin { millis, reason });
                self
            }
        }
    };
}

/// Lets a descriptor demand something of its values.
macro_rules! invariant_setting {
    ($name:ident<$($p:ident),+>, $value:ty $(, $bound:ident: $trait:ident)?) => {
        impl<$($p),+> $name<$($p),+> $(where $bound: $trait)? {
            /// Demands something of every live entry: `holds` gets its value and its age on the state's
            /// clock. An entry that is read or written and does not fulfil it is counted as a semantic
            /// error under `name`, with the hash of its key; nothing else happens. The value is decoded
            /// once more for this.
            #[must_use]
            pub fn invariant(
                mut self,
                name: &'static str,
                holds: impl Fn(&$value, Duration) -> bool + Send + Sync + 'static,
            ) -> Self
            where
                $value: DeserializeOwned,
            {
                self.options.invariants.push(Invariant::new(name, holds));
                self
            }
        }
    };
}

/// A descriptor that needs nothing but a name and types.
macro_rules! descriptor {
    ($(#[$doc:meta])* $name:ident<$($p:ident),+>) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $name<$($p),+> {
            pub(crate) options: StateOptions,
            types: PhantomData<fn() -> ($($p,)+)>,
        }

        impl<$($p),+> $name<$($p),+> {
            /// Names the state: `[A-Za-z0-9_.-]{1,128}`, unique within its operator. Checked when
            /// the job is built.
            #[track_caller]
            pub fn new(name: &str) -> Self {
                Self { options: StateOptions::new(name), types: PhantomData }
            }
        }

        settings!($name<$($p),+>);
        ttl_setting!($name<$($p),+>);
        invariant_setting!($name<$($p),+>, V);
    };
}

descriptor! {
    /// Declares a [`ValueState`](crate::ValueState): one value per key.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use stateward_engine::{Ttl, ValueStateDescriptor};
    /// let sessions = ValueStateDescriptor::<u64>::new("sessions")
    ///     .ttl(Ttl::new(Duration::from_secs(1800)))
    ///     .invariant("never older than 30 min + 5 s", |_, age| age.as_secs() <= 1805);
    /// # let _ = sessions;
    /// ```
    ValueStateDescriptor<V>
}

descriptor! {
    /// Declares a [`ListState`](crate::ListState): many elements per key, each with its own TTL.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use stateward_engine::{ListStateDescriptor, Ttl};
    /// let recent = ListStateDescriptor::<String>::new("recent_logins")
    ///     .ttl(Ttl::new(Duration::from_secs(600)));
    /// # let _ = recent;
    /// ```
    ListStateDescriptor<V>
}

descriptor! {
    /// Declares a [`MapState`](crate::MapState): many entries per key, each with its own TTL.
    ///
    /// # Examples
    /// ```
    /// use stateward_engine::MapStateDescriptor;
    /// let due = MapStateDescriptor::<String, i64>::new("departures_due").heap();
    /// # let _ = due;
    /// ```
    MapStateDescriptor<M, V>
}

/// Declares a [`ReducingState`](crate::ReducingState): one value per key, into which others are
/// merged.
///
/// # Examples
/// ```
/// use stateward_engine::ReducingStateDescriptor;
/// let highest = ReducingStateDescriptor::<i64>::new("highest", i64::max);
/// # let _ = highest;
/// ```
#[derive(Clone, Debug)]
pub struct ReducingStateDescriptor<V> {
    pub(crate) options: StateOptions,
    pub(crate) reduce: fn(V, V) -> V,
}

impl<V> ReducingStateDescriptor<V> {
    /// Names the state (`[A-Za-z0-9_.-]{1,128}`, unique within its operator; checked when the job
    /// is built) and gives the function that merges the current value with an added one, in this
    /// order.
    ///
    /// The function captures nothing, so that it is the same on every shard and in every run.
    #[track_caller]
    pub fn new(name: &str, reduce: fn(V, V) -> V) -> Self {
        Self { options: StateOptions::new(name), reduce }
    }
}

settings!(ReducingStateDescriptor<V>);
ttl_setting!(ReducingStateDescriptor<V>);
invariant_setting!(ReducingStateDescriptor<V>, V);

/// Declares an [`AggregatingState`](crate::AggregatingState): one accumulator per key.
///
/// # Examples
/// See [`AggregateFunction`](crate::AggregateFunction).
#[derive(Clone, Debug)]
pub struct AggregatingStateDescriptor<A> {
    pub(crate) options: StateOptions,
    pub(crate) function: A,
}

impl<A> AggregatingStateDescriptor<A> {
    /// Names the state (`[A-Za-z0-9_.-]{1,128}`, unique within its operator; checked when the job
    /// is built) and gives the function that fills the accumulator.
    #[track_caller]
    pub fn new(name: &str, function: A) -> Self {
        Self { options: StateOptions::new(name), function }
    }
}

settings!(AggregatingStateDescriptor<A>);
ttl_setting!(AggregatingStateDescriptor<A>);
invariant_setting!(AggregatingStateDescriptor<A>, A::Acc, A: AggregateFunction);

/// Declares a [`TableState`](crate::TableState): a row of versioned cells per key, in families that
/// each have their own TTL and number of versions.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use stateward_engine::{FamilyDescriptor, TableStateDescriptor};
/// let quotes = TableStateDescriptor::<String, f64>::new("quotes")
///     .family(FamilyDescriptor::new("bid").ttl(Duration::from_secs(3600)).max_versions(100))
///     .family(FamilyDescriptor::new("close").max_versions(30).min_versions(1));
/// # let _ = quotes;
/// ```
#[derive(Clone, Debug)]
pub struct TableStateDescriptor<Q, V> {
    pub(crate) options: StateOptions,
    types: PhantomData<fn() -> (Q, V)>,
}

impl<Q, V> TableStateDescriptor<Q, V> {
    /// Names the state: `[A-Za-z0-9_.-]{1,128}`, unique within its operator. Checked when the job is
    /// built.
    #[track_caller]
    pub fn new(name: &str) -> Self {
        Self { options: StateOptions::new(name), types: PhantomData }
    }

    /// Adds a column family; a table has at least one. The families of a state are known by their
    /// names: their order may change, and others may be added later.
    #[must_use]
    pub fn family(mut self, family: FamilyDescriptor) -> Self {
        self.options.families.push(FamilyConfig::of(family));
        self
    }
}

settings!(TableStateDescriptor<Q, V>);
