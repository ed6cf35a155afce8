//! How a job is written down.

use std::borrow::Cow;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic::Location;
use std::rc::Rc;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use stateward_model::wire::{EdgeDeclaration, NodeDeclaration, NodeKind, StateDeclaration};
use stateward_model::{DEFAULT_KEY_GROUPS, Name};

use super::exchange::{KeyEncoder, Route};
use super::graph::{EdgeSpec, MakeNode, NodeSpec, Port, ShardBuild, spill_dir};
use super::sink::SinkNode;
use super::source::{SourceNode, Watermarks};
use crate::breaker::Spill;
use crate::codec::Key;
use crate::error::Error;
use crate::operator::{FlatMapNode, KeySelector, KeyedNode, KeyedParts, Open, ProcessFunction};
use crate::sink::{Sink, SinkContext};
use crate::source::{Source, SourceContext};
use crate::state::StateConfig;
use crate::telemetry::site_text;

/// What can travel between operators: anything that clones and goes through serde.
pub trait Record: Clone + Serialize + DeserializeOwned + Send + 'static {}

impl<T: Clone + Serialize + DeserializeOwned + Send + 'static> Record for T {}

#[derive(Default)]
struct Declared {
    nodes: Vec<NodeSpec>,
    edges: Vec<EdgeSpec>,
    failed: Option<Error>,
}

type Shared = Rc<RefCell<Declared>>;

/// Declares a job: sources, operators, sinks.
///
/// Mistakes (bad or repeated names, states that cannot be stored) are told by
/// [`JobBuilder::build`], all in one place.
///
/// # Examples
/// ```
/// use stateward_engine::{CollectSink, Context, JobBuilder, Open, ValueStateDescriptor};
/// use stateward_engine::{MemorySource, Timed, Watermarks};
///
/// let words = ["a", "b", "a"].map(|w| Timed { value: w.to_string(), ts: 0 });
/// let results = CollectSink::new();
/// let mut job = JobBuilder::new("count");
/// job.source("words", MemorySource::new(words), Watermarks::monotonous())
///     .key_by(|word: &String| word.as_str())
///     .process("counter", |open: &mut Open<'_, str>| {
///         let count = open.value_state(ValueStateDescriptor::<u64>::new("count"));
///         Ok(move |_: &String, ctx: &mut Context<'_, str, (String, u64)>| {
///             let next = count.get(ctx)?.unwrap_or(0) + 1;
///             count.put(ctx, &next)?;
///             ctx.emit((ctx.key().to_owned(), next));
///             Ok(())
///         })
///     })
///     .sink("results", results.clone());
/// let job = job.build().unwrap();
/// assert_eq!(job.name(), "count");
/// ```
pub struct JobBuilder {
    name: String,
    namespace: String,
    parallelism: usize,
    key_groups: u16,
    declared: Shared,
}

impl std::fmt::Debug for JobBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}

impl JobBuilder {
    /// Begins a job; its name is its identity and the name of its folder.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            namespace: "default".to_owned(),
            parallelism: 1,
            key_groups: DEFAULT_KEY_GROUPS,
            declared: Shared::default(),
        }
    }

    /// Sets the namespace; default `default`.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        namespace.clone_into(&mut self.namespace);
        self
    }

    /// Sets the number of shards, 1 to the number of key groups; default 1. A job whose folder has
    /// another number is divided anew when it starts.
    #[must_use]
    pub fn parallelism(mut self, shards: usize) -> Self {
        self.parallelism = shards;
        self
    }

    /// Sets the number of key groups, at least the parallelism; default 128. Frozen at the first
    /// start.
    #[must_use]
    pub fn key_groups(mut self, groups: u16) -> Self {
        self.key_groups = groups;
        self
    }

    /// Adds a source.
    #[track_caller]
    pub fn source<T: Record>(
        &mut self,
        uid: &str,
        source: impl Source<T>,
        watermarks: Watermarks,
    ) -> Stream<T> {
        let node = self.declared.borrow().nodes.len();
        let (partitions, detail) = (source.partitions().max(1), source.detail());
        let replay_factor = source.replay_factor();
        let name = uid.to_owned();
        let make: MakeNode = Box::new(move |build| {
            let output = build.output::<T>(node, Port::Main)?;
            let mut made =
                SourceNode::new(name.clone(), watermarks, output, replay_factor, build.first_epoch);
            for partition in 0..partitions {
                if partition as usize % build.shards != build.shard {
                    continue;
                }
                let from = build.source_position(&name, partition);
                let context = SourceContext {
                    uid: name.clone(),
                    partition,
                    job_dir: build.job_dir.clone(),
                    clock: Arc::clone(&build.clock),
                };
                let reader = source.open(context, from.map(|p| p.position.as_slice()))?;
                made.add(partition, reader, from, build.clock.now_millis());
            }
            Ok(Box::new(made))
        });
        let site = site_text(Location::caller());
        self.declared.borrow_mut().nodes.push(NodeSpec {
            uid: uid.to_owned(),
            kind: NodeKind::Source,
            site,
            detail,
            states: Vec::new(),
            partitions,
            replay_factor,
            make,
            settle: None,
        });
        Stream { declared: Rc::clone(&self.declared), node, port: Port::Main, record: PhantomData }
    }

    /// Checks the declaration.
    ///
    /// # Errors
    /// [`Error::Declaration`] naming the first mistake and the rule it breaks.
    pub fn build(self) -> Result<Job, Error> {
        let mut declared = self.declared.take();
        if let Some(failed) = declared.failed.take() {
            return Err(failed);
        }
        let name =
            |name: &str| Name::new(name).map(drop).map_err(|e| Error::Declaration(e.to_string()));
        name(&self.name)?;
        name(&self.namespace)?;
        if !(1..=usize::from(self.key_groups)).contains(&self.parallelism) {
            return Err(Error::Declaration(format!(
                "parallelism {} does not lie between 1 and the {} key groups",
                self.parallelism, self.key_groups
            )));
        }
        let mut states: Vec<StateConfig> = Vec::new();
        for (at, node) in declared.nodes.iter().enumerate() {
            name(&node.uid)?;
            if declared.nodes.iter().skip(at + 1).any(|other| other.uid == node.uid) {
                return Err(Error::Declaration(format!(
                    "two nodes are called {:?}; the uid names a node in metrics and in the job's folder, so it must be unique",
                    node.uid
                )));
            }
            for state in &node.states {
                name(&state.options.name)?;
                let twice = |other: &StateConfig| {
                    other.operator == node.uid && other.options.name == state.options.name
                };
                if states.iter().any(twice) {
                    return Err(Error::Declaration(format!(
                        "operator {} opens two states called {:?}",
                        node.uid, state.options.name
                    )));
                }
                states.push(StateConfig::of(states.len() as u16, &node.uid, state)?);
            }
        }
        Ok(Job {
            name: self.name,
            namespace: self.namespace,
            parallelism: self.parallelism,
            key_groups: self.key_groups,
            nodes: declared.nodes,
            edges: declared.edges,
            states,
        })
    }
}

/// Records on their way from one node to the next.
pub struct Stream<T> {
    declared: Shared,
    node: usize,
    port: Port,
    record: PhantomData<fn() -> T>,
}

impl<T> std::fmt::Debug for Stream<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").field("node", &self.node).finish_non_exhaustive()
    }
}

impl<T> Clone for Stream<T> {
    fn clone(&self) -> Self {
        Self { declared: Rc::clone(&self.declared), record: PhantomData, ..*self }
    }
}

impl<T: Record> Stream<T> {
    /// Adds a node fed by this stream; `make` gets the node's index.
    fn connect(
        &self,
        mut spec: NodeSpec,
        route: Route<T>,
        make: impl FnOnce(usize) -> MakeNode,
    ) -> usize {
        let mut declared = self.declared.borrow_mut();
        let node = declared.nodes.len();
        spec.make = make(node);
        declared.nodes.push(spec);
        declared.edges.push(EdgeSpec::new(self.node, self.port, node, route));
        node
    }

    fn stream<U>(&self, node: usize, port: Port) -> Stream<U> {
        Stream { declared: Rc::clone(&self.declared), node, port, record: PhantomData }
    }

    /// Turns each record into any number of others; event times stay.
    #[track_caller]
    pub fn flat_map<U, I, F>(&self, uid: &str, f: F) -> Stream<U>
    where
        U: Record,
        I: IntoIterator<Item = U>,
        F: Fn(T) -> I + Send + Sync + 'static,
    {
        let spec = node_spec(uid, NodeKind::Operator, "stateless");
        let f = Arc::new(f);
        let node = self.connect(spec, Route::Forward, |node| {
            Box::new(move |build: &mut ShardBuild<'_>| {
                let f = Arc::clone(&f);
                Ok(Box::new(FlatMapNode {
                    input: build.input::<T>(node)?,
                    output: build.output::<U>(node, Port::Main)?,
                    f: move |value: T, emit: &mut dyn FnMut(U)| f(value).into_iter().for_each(emit),
                }))
            })
        });
        self.stream(node, Port::Main)
    }

    /// Turns each record into another.
    #[track_caller]
    pub fn map<U: Record>(
        &self,
        uid: &str,
        f: impl Fn(T) -> U + Send + Sync + 'static,
    ) -> Stream<U> {
        self.flat_map(uid, move |value| Some(f(value)))
    }

    /// Keeps the records for which `keep` holds.
    #[must_use]
    #[track_caller]
    pub fn filter(&self, uid: &str, keep: impl Fn(&T) -> bool + Send + Sync + 'static) -> Self {
        self.flat_map(uid, move |value| if keep(&value) { Some(value) } else { None })
    }

    /// Keys the stream by a part of its records.
    pub fn key_by<K, F>(&self, key: F) -> KeyedStream<K, T>
    where
        K: Key + ?Sized,
        F: for<'a> Fn(&'a T) -> &'a K + Send + Sync + 'static,
    {
        let key_of: KeySelector<T, K> = Arc::new(move |record| Cow::Borrowed(key(record)));
        KeyedStream { stream: self.clone(), key_of }
    }

    /// Keys the stream by something computed from its records.
    pub fn key_by_owned<K, F>(&self, key: F) -> KeyedStream<K, T>
    where
        K: Key + ToOwned<Owned = K> + Clone,
        F: Fn(&T) -> K + Send + Sync + 'static,
    {
        let key_of: KeySelector<T, K> = Arc::new(move |record| Cow::Owned(key(record)));
        KeyedStream { stream: self.clone(), key_of }
    }

    /// Ends the stream in a sink.
    #[track_caller]
    pub fn sink(&self, uid: &str, sink: impl Sink<T>) {
        let mut spec = node_spec(uid, NodeKind::Sink, &sink.detail());
        let name = uid.to_owned();
        let sink = Arc::new(sink);
        let (settled, uid) = (Arc::clone(&sink), uid.to_owned());
        spec.settle = Some(Box::new(move |shard, job_dir, position| {
            let context = SinkContext { uid: uid.clone(), shard, job_dir: job_dir.to_owned() };
            settled.open(context, Some(position))?.close()
        }));
        self.connect(spec, Route::Forward, |node| {
            Box::new(move |build: &mut ShardBuild<'_>| {
                let input = build.input::<T>(node)?;
                let position = build.meta.sinks.iter().find(|(uid, _)| *uid == name);
                let context = SinkContext {
                    uid: name.clone(),
                    shard: build.shard,
                    job_dir: build.job_dir.clone(),
                };
                let writer = sink.open(context, position.map(|(_, p)| p.as_slice()))?;
                Ok(Box::new(SinkNode { uid: name.clone(), input, writer }))
            })
        });
    }
}

#[track_caller]
fn node_spec(uid: &str, kind: NodeKind, detail: &str) -> NodeSpec {
    NodeSpec {
        uid: uid.to_owned(),
        kind,
        site: site_text(Location::caller()),
        detail: detail.to_owned(),
        states: Vec::new(),
        partitions: 0,
        replay_factor: 1.0,
        make: Box::new(|_| Err(Error::Declaration("a node without a body".into()))),
        settle: None,
    }
}

/// A stream whose records have keys: each goes to the shard that owns its key.
pub struct KeyedStream<K: Key + ?Sized, T> {
    stream: Stream<T>,
    key_of: KeySelector<T, K>,
}

impl<K: Key + ?Sized, T> std::fmt::Debug for KeyedStream<K, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyedStream").field("stream", &self.stream).finish_non_exhaustive()
    }
}

impl<K: Key + ?Sized, T: Record> KeyedStream<K, T> {
    /// Processes each record with the states of its key.
    #[track_caller]
    pub fn process<O, P, F>(&self, uid: &str, open: F) -> Stream<O>
    where
        O: Record,
        P: ProcessFunction<K, T, O>,
        F: Fn(&mut Open<'_, K>) -> Result<P, Error> + Send + Sync + 'static,
    {
        self.process_with_late(uid, open).0
    }

    /// As [`KeyedStream::process`]; the second stream gets, once each, the records of which a write
    /// was dropped because its stamp had expired on arrival.
    #[track_caller]
    pub fn process_with_late<O, P, F>(&self, uid: &str, open: F) -> (Stream<O>, Stream<T>)
    where
        O: Record,
        P: ProcessFunction<K, T, O>,
        F: Fn(&mut Open<'_, K>) -> Result<P, Error> + Send + Sync + 'static,
    {
        let mut spec = node_spec(uid, NodeKind::Operator, "keyed");
        let mut opening = Open::new(&mut spec.states);
        if let Err(e) = open(&mut opening).map(drop).and_then(|()| opening.finish()) {
            self.stream.declared.borrow_mut().failed.get_or_insert(e);
        }
        let key_of = Arc::clone(&self.key_of);
        let encode: KeyEncoder<T> = Arc::new(move |record, out| key_of(record).encode(out));
        let key_of = Arc::clone(&self.key_of);
        let name = uid.to_owned();
        let node = self.stream.connect(spec, Route::ByKey(encode), |node| {
            Box::new(move |build: &mut ShardBuild<'_>| {
                let mut states = Vec::new();
                let function = open(&mut Open::new(&mut states))?;
                let meta = build.operator_meta(&name);
                let dir = spill_dir(&build.job_dir, build.shard, &name);
                let parts = KeyedParts {
                    operator: name.clone(),
                    input: build.input::<T>(node)?,
                    output: build.output::<O>(node, Port::Main)?,
                    late: build.output::<T>(node, Port::Late)?,
                    key_of: Arc::clone(&key_of),
                    function: Box::new(function),
                    tables: build.tables(&name)?,
                    timers: build.timers(&name, &meta)?,
                    spill: Spill::open(&dir, meta.spill)?,
                    groups: build.groups,
                    first_epoch: build.first_epoch,
                    meta,
                    upstream: build.upstream(node),
                };
                Ok(Box::new(KeyedNode::new(parts)))
            })
        });
        (self.stream.stream(node, Port::Main), self.stream.stream(node, Port::Late))
    }
}

/// A checked declaration, ready to run.
pub struct Job {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) parallelism: usize,
    pub(crate) key_groups: u16,
    pub(crate) nodes: Vec<NodeSpec>,
    pub(crate) edges: Vec<EdgeSpec>,
    pub(crate) states: Vec<StateConfig>,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Job {
    /// The job's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The job's namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(crate) fn node_declarations(&self) -> Vec<NodeDeclaration> {
        let declare = |node: &NodeSpec| {
            Some(NodeDeclaration {
                uid: Name::new(&node.uid).ok()?,
                kind: node.kind,
                site: node.site.clone(),
                detail: node.detail.clone(),
            })
        };
        self.nodes.iter().filter_map(declare).collect()
    }

    pub(crate) fn edge_declarations(&self) -> Vec<EdgeDeclaration> {
        let uid = |node: usize| self.nodes.get(node).and_then(|node| Name::new(&node.uid).ok());
        let declare = |edge: &EdgeSpec| {
            let (from, to) = (uid(edge.from)?, uid(edge.to)?);
            Some(EdgeDeclaration { from, to, exchange: edge.exchange })
        };
        self.edges.iter().filter_map(declare).collect()
    }

    pub(crate) fn state_declarations(&self) -> Vec<StateDeclaration> {
        let declare = |state: &StateConfig| {
            Some(StateDeclaration {
                operator: Name::new(&state.operator).ok()?,
                state: Name::new(&state.options.name).ok()?,
                kind: state.kind.as_str().into(),
                backend: state.options.backend.as_str().into(),
                ttl_millis: state.ttl_millis(),
                update_type: state.update(),
                visibility: state.visibility(),
                clock: state.options.clock,
                breaker: state.options.breaker.clone(),
                site: site_text(state.options.site),
            })
        };
        self.states.iter().filter_map(declare).collect()
    }
}
