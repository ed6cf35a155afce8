//! How records get from one node to the next, on the same shard or by key to another.
//!
//! 1. There is one bounded channel per edge and pair of shards; a forward edge has one per shard.
//! 2. Nobody ever blocks on a channel: a message that does not fit waits in the sender's `pending`,
//!    and a node with pending messages is not polled. Nodes downstream are polled first, so that
//!    all-to-all edges cannot deadlock.
//! 3. A channel whose barrier has come is not read until all channels of the node have theirs.

use std::collections::VecDeque;
use std::sync::Arc;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use stateward_model::{key_group, key_hash};

use super::control::Wakers;
use super::shard::Barrier;

/// Messages a channel holds.
const CHANNEL_MESSAGES: usize = 16;
/// Records a message holds.
pub(crate) const BATCH_RECORDS: usize = 256;

/// A record between nodes, with the hash of its key where it was routed by key.
#[derive(Clone, Debug)]
pub(crate) struct Routed<T> {
    pub(crate) value: T,
    pub(crate) ts: i64,
    pub(crate) hash: u64,
}

/// What a sender has said of its watermark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Said {
    /// Nothing yet: it holds everything back.
    #[default]
    Nothing,
    /// It is idle and holds nothing back.
    Idle,
    At(i64),
}

impl From<Option<i64>> for Said {
    fn from(watermark: Option<i64>) -> Self {
        watermark.map_or(Self::Idle, Self::At)
    }
}

/// What flows along an edge.
#[derive(Debug)]
pub(crate) enum Message<T> {
    Batch(Vec<Routed<T>>),
    /// `None`: the sender is idle and holds nothing back.
    Watermark(Option<i64>),
    /// The sender is idle, and for TTL alone its clock goes on.
    TtlClock(i64),
    Barrier(Barrier),
}

/// Encodes the key of a record.
pub(crate) type KeyEncoder<T> = Arc<dyn Fn(&T, &mut Vec<u8>) + Send + Sync>;

/// How an edge picks the shard.
pub(crate) enum Route<T> {
    Forward,
    ByKey(KeyEncoder<T>),
}

impl<T> Clone for Route<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Forward => Self::Forward,
            Self::ByKey(key) => Self::ByKey(Arc::clone(key)),
        }
    }
}

/// Both ends of all channels of an edge, until the shards take theirs.
pub(crate) struct EdgeChannels<T> {
    pub(crate) senders: Vec<Vec<(usize, Sender<Message<T>>)>>,
    pub(crate) receivers: Vec<Vec<Receiver<Message<T>>>>,
}

impl<T> EdgeChannels<T> {
    /// Makes the channels of an edge between `shards` shards.
    pub(crate) fn new(route: &Route<T>, shards: usize) -> Self {
        let mut senders: Vec<Vec<_>> = (0..shards).map(|_| Vec::new()).collect();
        let mut receivers: Vec<Vec<_>> = (0..shards).map(|_| Vec::new()).collect();
        for (from, senders) in senders.iter_mut().enumerate() {
            for (to, receivers) in receivers.iter_mut().enumerate() {
                if from == to || matches!(route, Route::ByKey(_)) {
                    let (sender, receiver) = bounded(CHANNEL_MESSAGES);
                    senders.push((to, sender));
                    receivers.push(receiver);
                }
            }
        }
        Self { senders, receivers }
    }
}

struct Target<T> {
    shard: usize,
    sender: Sender<Message<T>>,
    buffer: Vec<Routed<T>>,
    pending: VecDeque<Message<T>>,
}

struct OutEdge<T> {
    index: usize,
    route: Route<T>,
    targets: Vec<Target<T>>,
    records: u64,
}

/// All edges that leave a node on one shard.
pub(crate) struct Output<T> {
    edges: Vec<OutEdge<T>>,
    shards: usize,
    groups: u16,
    wakers: Arc<Wakers>,
    key: Vec<u8>,
    watermark: Said,
    /// What was said of it since.
    ttl_clock: Option<i64>,
}

impl<T: Clone> Output<T> {
    pub(crate) fn new(shards: usize, groups: u16, wakers: Arc<Wakers>) -> Self {
        Self {
            edges: Vec::new(),
            shards,
            groups,
            wakers,
            key: Vec::new(),
            watermark: Said::Nothing,
            ttl_clock: None,
        }
    }

    /// Adds an edge; `index` is its place in the job's list of edges.
    pub(crate) fn add(
        &mut self,
        index: usize,
        route: Route<T>,
        senders: Vec<(usize, Sender<Message<T>>)>,
    ) {
        let targets = senders.into_iter().map(|(shard, sender)| Target {
            shard,
            sender,
            buffer: Vec::new(),
            pending: VecDeque::new(),
        });
        self.edges.push(OutEdge { index, route, targets: targets.collect(), records: 0 });
    }

    pub(crate) fn emit(&mut self, value: T, ts: i64) {
        let Some((last, others)) = self.edges.split_last_mut() else { return };
        for edge in others {
            edge.push(value.clone(), ts, self.shards, self.groups, &mut self.key);
        }
        last.push(value, ts, self.shards, self.groups, &mut self.key);
    }

    /// Puts a message behind everything emitted, on every channel.
    fn broadcast(&mut self, make: impl Fn() -> Message<T>) {
        for target in self.edges.iter_mut().flat_map(|edge| &mut edge.targets) {
            target.seal();
            target.pending.push_back(make());
        }
    }

    /// Announces a watermark, if it is news.
    pub(crate) fn watermark(&mut self, watermark: Option<i64>) {
        if self.watermark != watermark.into() {
            self.watermark = watermark.into();
            self.ttl_clock = None;
            self.broadcast(|| Message::Watermark(watermark));
        }
    }

    /// Announces the clock for TTL of an idle sender (SEMANTICS §1.8), if it moves; `i64::MAX` of one
    /// that holds nobody back, ever.
    pub(crate) fn ttl_clock(&mut self, clock: i64) {
        if self.ttl_clock < Some(clock) {
            self.ttl_clock = Some(clock);
            self.broadcast(|| Message::TtlClock(clock));
        }
    }

    pub(crate) fn barrier(&mut self, barrier: Barrier) {
        self.broadcast(|| Message::Barrier(barrier));
    }

    /// Sends what fits; `true` when nothing is left.
    pub(crate) fn flush(&mut self) -> bool {
        let mut all = true;
        for target in self.edges.iter_mut().flat_map(|edge| &mut edge.targets) {
            target.seal();
            let before = target.pending.len();
            while let Some(message) = target.pending.pop_front() {
                if let Err(TrySendError::Full(message) | TrySendError::Disconnected(message)) =
                    target.sender.try_send(message)
                {
                    target.pending.push_front(message);
                    all = false;
                    break;
                }
            }
            if target.pending.len() < before {
                self.wakers.wake(target.shard);
            }
        }
        all
    }

    /// Adds the records sent along each edge to the job's list.
    pub(crate) fn add_counts_to(&self, edges: &mut [u64]) {
        for edge in &self.edges {
            if let Some(count) = edges.get_mut(edge.index) {
                *count += edge.records;
            }
        }
    }
}

impl<T> OutEdge<T> {
    fn push(&mut self, value: T, ts: i64, shards: usize, groups: u16, key: &mut Vec<u8>) {
        self.records += 1;
        let (hash, target) = match &self.route {
            Route::Forward => (0, 0),
            Route::ByKey(encode) => {
                key.clear();
                encode(&value, key);
                let hash = key_hash(key);
                (hash, shard_of(hash, groups, shards))
            }
        };
        if let Some(target) = self.targets.get_mut(target) {
            target.buffer.push(Routed { value, ts, hash });
            if target.buffer.len() >= BATCH_RECORDS {
                target.seal();
            }
        }
    }
}

impl<T> Target<T> {
    fn seal(&mut self) {
        if !self.buffer.is_empty() {
            let full = std::mem::replace(&mut self.buffer, Vec::with_capacity(BATCH_RECORDS));
            self.pending.push_back(Message::Batch(full));
        }
    }
}

/// The shard that owns the key group of a hash.
pub(crate) fn shard_of(hash: u64, groups: u16, shards: usize) -> usize {
    shard_of_group(key_group(hash, groups), groups, shards)
}

/// The shard that owns a key group: ranges of equal size.
pub(crate) fn shard_of_group(group: u16, groups: u16, shards: usize) -> usize {
    usize::from(group) * shards / usize::from(groups.max(1))
}

struct Channel<T> {
    receiver: Receiver<Message<T>>,
    watermark: Said,
    /// Said since the watermark was.
    ttl_clock: Option<i64>,
    aligned: bool,
}

/// What a node reads on one shard: the channels of all its edges.
pub(crate) struct Input<T> {
    channels: Vec<Channel<T>>,
    next: usize,
    barrier: Option<Barrier>,
}

/// What an input has for its node.
pub(crate) enum Arrived<T> {
    Nothing,
    Batch(Vec<Routed<T>>),
    /// The minimum over the channels may have changed.
    Watermark,
    /// So may the one of their clocks for TTL.
    TtlClock,
    /// All channels have this barrier.
    Barrier(Barrier),
}

impl<T> Input<T> {
    pub(crate) fn new(receivers: Vec<Receiver<Message<T>>>) -> Self {
        let channels = receivers
            .into_iter()
            .map(|receiver| Channel {
                receiver,
                watermark: Said::Nothing,
                ttl_clock: None,
                aligned: false,
            })
            .collect();
        Self { channels, next: 0, barrier: None }
    }

    /// Takes the next message of a channel that is not held back.
    pub(crate) fn poll(&mut self) -> Arrived<T> {
        for _ in 0..self.channels.len() {
            self.next = (self.next + 1) % self.channels.len();
            let Some(channel) = self.channels.get_mut(self.next) else { break };
            if channel.aligned {
                continue;
            }
            match channel.receiver.try_recv() {
                Ok(Message::Batch(batch)) => return Arrived::Batch(batch),
                Ok(Message::Watermark(watermark)) => {
                    channel.watermark = watermark.into();
                    channel.ttl_clock = None;
                    return Arrived::Watermark;
                }
                Ok(Message::TtlClock(clock)) => {
                    channel.ttl_clock = Some(clock);
                    return Arrived::TtlClock;
                }
                Ok(Message::Barrier(barrier)) => {
                    channel.aligned = true;
                    self.barrier = Some(barrier);
                    if self.channels.iter().all(|channel| channel.aligned) {
                        self.channels.iter_mut().for_each(|channel| channel.aligned = false);
                        return Arrived::Barrier(barrier);
                    }
                }
                Err(_) => {}
            }
        }
        Arrived::Nothing
    }

    /// Minimum watermark over the channels that are not idle; `None` while one has not spoken, or
    /// all are idle.
    pub(crate) fn watermark(&self) -> Option<i64> {
        let mut minimum = None;
        for channel in &self.channels {
            match channel.watermark {
                Said::Nothing => return None,
                Said::Idle => {}
                Said::At(at) => minimum = Some(minimum.map_or(at, |m: i64| m.min(at))),
            }
        }
        minimum
    }

    /// Minimum clock for TTL: of a channel whose sender is idle the one that it lets go on, if it does;
    /// `None` while one holds it.
    pub(crate) fn ttl_clock(&self) -> Option<i64> {
        let of = |channel: &Channel<T>| match (channel.ttl_clock, channel.watermark) {
            (Some(clock), _) | (None, Said::At(clock)) => Some(clock),
            (None, Said::Nothing | Said::Idle) => None,
        };
        // an unknown one is less than any
        self.channels.iter().map(of).min().flatten()
    }
}
