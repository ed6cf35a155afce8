//! The declared topology, typed parts hidden behind closures, and how a shard instantiates it.

use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender};
use stateward_model::ClockKind;
use stateward_model::wire::NodeKind;

use super::control::Wakers;
use super::exchange::{EdgeChannels, Input, Message, Output, Route};
use super::node::Node;
use crate::breaker::Spill;
use crate::changelog::{OperatorMeta, ShardMeta, SourcePosition};
use crate::clock::Clock;
use crate::error::Error;
use crate::operator::OperatorTimers;
use crate::state::{
    Gate, SharedGate, SharedTtl, StateConfig, StateDeclared, StateKind, Table, TimerParts,
    TimerTable,
};

use crate::store::{
    CACHE_BYTES_MIN, CachePool, HeapStore, Overflow, RocksOptions, RocksStore, ShardDb,
    SharedCutOff, WriteCache,
};
use crate::telemetry::Counters;

/// Makes a node's instance on a shard.
pub(crate) type MakeNode =
    Box<dyn Fn(&mut ShardBuild<'_>) -> Result<Box<dyn Node>, Error> + Send + Sync>;

/// Publishes what a sink of a shard that is no more had committed: shard, job's folder, position.
pub(crate) type SettleSink = Box<dyn Fn(usize, &Path, &[u8]) -> Result<(), Error> + Send + Sync>;

/// Where an operator's diverted events wait.
pub(crate) fn spill_dir(job_dir: &Path, shard: usize, operator: &str) -> PathBuf {
    job_dir.join(format!("spill/shard-{shard}/{operator}"))
}

/// Where the records wait that a barrier overtook.
pub(crate) fn held_dir(job_dir: &Path, shard: usize, operator: &str) -> PathBuf {
    job_dir.join(format!("held/shard-{shard}/{operator}"))
}

/// A node as declared.
pub(crate) struct NodeSpec {
    pub(crate) uid: String,
    pub(crate) kind: NodeKind,
    pub(crate) site: String,
    pub(crate) detail: String,
    pub(crate) states: Vec<StateDeclared>,
    pub(crate) partitions: u32,
    pub(crate) replay_factor: f64,
    pub(crate) make: MakeNode,
    /// Of a sink.
    pub(crate) settle: Option<SettleSink>,
}

/// Which of a node's outputs an edge leaves from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    Main,
    Late,
}

/// An edge as declared; the type of its records is in the closures.
pub(crate) struct EdgeSpec {
    pub(crate) from: usize,
    pub(crate) port: Port,
    pub(crate) to: usize,
    pub(crate) exchange: bool,
    /// A [`Route`] of the edge's records.
    route: Box<dyn Any + Send + Sync>,
    /// Makes [`EdgeEnds`], one per shard.
    channels: Box<dyn Fn(usize) -> Vec<Box<dyn Any + Send>> + Send + Sync>,
}

impl EdgeSpec {
    pub(crate) fn new<T: Send + 'static>(
        from: usize,
        port: Port,
        to: usize,
        route: Route<T>,
    ) -> Self {
        let exchange = matches!(route, Route::ByKey(_));
        let shape = route.clone();
        let channels = move |shards: usize| {
            let all = EdgeChannels::new(&shape, shards);
            let ends = all.senders.into_iter().zip(all.receivers).map(|(senders, receivers)| {
                Box::new(EdgeEnds { senders, receivers }) as Box<dyn Any + Send>
            });
            ends.collect()
        };
        let route: Box<dyn Any + Send + Sync> = Box::new(route);
        Self { from, port, to, exchange, route, channels: Box::new(channels) }
    }

    pub(crate) fn channels(&self, shards: usize) -> Vec<Box<dyn Any + Send>> {
        (self.channels)(shards)
    }
}

/// A shard's ends of an edge's channels.
struct EdgeEnds<T> {
    senders: Vec<(usize, Sender<Message<T>>)>,
    receivers: Vec<Receiver<Message<T>>>,
}

/// Memory and stores of a run.
#[derive(Clone)]
pub(crate) struct StoreSettings {
    pub(crate) rocks: RocksOptions,
    pub(crate) caches: CachePool,
}

/// What nodes are made from on one shard.
pub(crate) struct ShardBuild<'a> {
    pub(crate) shard: usize,
    pub(crate) shards: usize,
    pub(crate) groups: u16,
    pub(crate) job_dir: PathBuf,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) wakers: Arc<Wakers>,
    pub(crate) first_epoch: u64,
    pub(crate) nodes: &'a [NodeSpec],
    pub(crate) edges: &'a [EdgeSpec],
    pub(crate) ends: Vec<Box<dyn Any + Send>>,
    pub(crate) states: &'a [StateConfig],
    pub(crate) gates: &'a [Arc<SharedGate>],
    pub(crate) ttls: &'a [Arc<SharedTtl>],
    pub(crate) cut_offs: &'a [SharedCutOff],
    pub(crate) stores: StoreSettings,
    pub(crate) db: Arc<ShardDb>,
    pub(crate) heaps: Vec<(u16, HeapStore)>,
    pub(crate) meta: &'a ShardMeta,
}

/// The builder connects equal types only, so this is a bug of the builder.
fn mismatch(edge: usize) -> Error {
    Error::Declaration(format!(
        "edge {edge} carries records of another type than its nodes expect; this is a bug of the job builder"
    ))
}

impl ShardBuild<'_> {
    /// Takes the receiving ends of all edges into `node`.
    pub(crate) fn input<T: 'static>(&mut self, node: usize) -> Result<Input<T>, Error> {
        let mut receivers = Vec::new();
        for (index, _) in self.edges.iter().enumerate().filter(|(_, edge)| edge.to == node) {
            let ends = self.ends.get_mut(index).and_then(|e| e.downcast_mut::<EdgeEnds<T>>());
            let Some(ends) = ends else { return Err(mismatch(index)) };
            receivers.append(&mut ends.receivers);
        }
        Ok(Input::new(receivers))
    }

    /// Takes the sending ends of all edges that leave `node` from `port`.
    pub(crate) fn output<T: Clone + 'static>(
        &mut self,
        node: usize,
        port: Port,
    ) -> Result<Output<T>, Error> {
        let mut output = Output::new(self.shards, self.groups, Arc::clone(&self.wakers));
        let leaving = |edge: &&EdgeSpec| edge.from == node && edge.port == port;
        for (index, edge) in self.edges.iter().enumerate().filter(|(_, edge)| leaving(edge)) {
            let ends = self.ends.get_mut(index).and_then(|e| e.downcast_mut::<EdgeEnds<T>>());
            let route = edge.route.downcast_ref::<Route<T>>();
            let (Some(ends), Some(route)) = (ends, route) else { return Err(mismatch(index)) };
            output.add(index, route.clone(), std::mem::take(&mut ends.senders));
        }
        Ok(output)
    }

    /// Opens the tables of an operator, as recovered.
    pub(crate) fn tables(&mut self, operator: &str) -> Result<Vec<Table<Counters>>, Error> {
        let states = self.states;
        let of_operator = states.iter().enumerate().filter(|(_, s)| s.operator == operator);
        let with_handles = of_operator.filter(|(_, s)| s.kind != StateKind::Timer);
        with_handles.map(|(index, config)| self.table(index, config)).collect()
    }

    /// Opens the timers of an operator, as recovered, and what was held for them.
    pub(crate) fn timers(
        &mut self,
        operator: &str,
        meta: &OperatorMeta,
    ) -> Result<OperatorTimers, Error> {
        let of_operator = self.states.iter().enumerate().filter(|(_, s)| s.operator == operator);
        let mut tables = Vec::new();
        for (index, config) in of_operator.filter(|(_, s)| s.kind == StateKind::Timer) {
            let (cut_off, gate) = self.shared(index, config)?;
            let mut table = TimerTable::new(TimerParts {
                config: config.clone(),
                store: RocksStore::new(Arc::clone(&self.db), config.file_name()),
                overflow: self.overflow(config)?,
                cut_off,
                gate,
                groups: self.groups,
                overlay_bytes: CACHE_BYTES_MIN,
                share: Some(self.stores.caches.join(false)),
            });
            let recovered = self.meta.states.iter().find(|(id, _)| *id == config.id);
            table.restore(self.first_epoch.saturating_sub(1), recovered.map(|(_, meta)| meta))?;
            tables.push(table);
        }
        let waits = tables.iter().any(|table| table.clock() == ClockKind::EventTime);
        let dir = held_dir(&self.job_dir, self.shard, operator);
        let held = waits.then(|| Spill::open(&dir, meta.held)).transpose()?;
        Ok(OperatorTimers::new(tables, held))
    }

    /// What a state shares with its compactions, and with its breaker.
    fn shared(&self, index: usize, config: &StateConfig) -> Result<(SharedCutOff, Gate), Error> {
        let missing = || Error::Declaration(format!("state {} is not registered", config.place()));
        let cut_off = self.cut_offs.get(index).ok_or_else(missing)?;
        let gate = self.gates.get(index).ok_or_else(missing)?;
        let gate = Gate { shared: Arc::clone(gate), ..Gate::default() };
        Ok((Arc::clone(cut_off), gate))
    }

    fn overflow(&self, config: &StateConfig) -> Result<Overflow, Error> {
        let scratch = format!("state/shard-{}/overflow-{}", self.shard, config.file_name());
        Overflow::new(self.job_dir.join(scratch), self.stores.rocks.clone())
    }

    fn table(&mut self, index: usize, config: &StateConfig) -> Result<Table<Counters>, Error> {
        let (cut_off, gate) = self.shared(index, config)?;
        let sorted = config.kind.is_sorted();
        let heap = self.heaps.iter().position(|(id, _)| *id == config.id);
        let cache = if let Some(at) = heap {
            let hash_of = |key: &[u8]| cut_off.hash_of(key);
            WriteCache::resident(self.heaps.swap_remove(at).1, hash_of, sorted)
        } else {
            let store = Box::new(RocksStore::new(Arc::clone(&self.db), config.file_name()));
            WriteCache::new(store, self.overflow(config)?, CACHE_BYTES_MIN, sorted)
        };
        let ttl = self.ttls.get(index).map(Arc::clone);
        let ttl = ttl.unwrap_or_else(|| Arc::new(SharedTtl::new(config.ttl_millis())));
        let mut table: Table<Counters> = Table::new(config.clone(), cache, cut_off, gate, ttl);
        table.share(self.stores.caches.join(heap.is_some()));
        if let Some(read_key) = config.options.read_key {
            table.recorder().show_keys(read_key);
        }
        table.set_committed(self.first_epoch.saturating_sub(1));
        if let Some((_, meta)) = self.meta.states.iter().find(|(id, _)| *id == config.id) {
            table.restore(meta);
        }
        Ok(table)
    }

    /// Where the last committed epoch left a partition of a source.
    pub(crate) fn source_position(&self, source: &str, partition: u32) -> Option<&SourcePosition> {
        self.meta.sources.iter().find(|at| at.source == source && at.partition == partition)
    }

    /// What the last committed epoch said about an operator.
    pub(crate) fn operator_meta(&self, operator: &str) -> OperatorMeta {
        let found = self.meta.operators.iter().find(|meta| meta.sample.operator == operator);
        found.cloned().unwrap_or_default()
    }

    /// Uids of the nodes that feed `node`.
    pub(crate) fn upstream(&self, node: usize) -> String {
        let feeding = self.edges.iter().filter(|edge| edge.to == node);
        let uids = feeding.filter_map(|edge| self.nodes.get(edge.from)).map(|n| n.uid.as_str());
        uids.collect::<Vec<_>>().join(", ")
    }
}
