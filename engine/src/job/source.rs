//! Sources on a shard: partitions, their watermarks, the future guard, barriers.

use std::time::Duration;

use stateward_model::wire::SourceSample;

use super::exchange::{BATCH_RECORDS, Output};
use super::node::{Node, NodeEnv, Polled};
use super::shard::Barrier;
use crate::changelog::SourcePosition;
use crate::error::Error;
use crate::source::{Poll, SourceReader, Timed};
use crate::telemetry::ShardBoard;

/// What happens to a record from too far in the future (SEMANTICS §1.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FuturePolicy {
    /// Its time is set to the source's clock plus the skew allowed.
    #[default]
    Clamp,
    /// It is dropped.
    Reject,
}

/// How a source's partitions tell the time (SEMANTICS §1.8, §1.9).
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use stateward_engine::Watermarks;
/// let hours = |n: u64| Duration::from_secs(n * 3600);
/// let watermarks = Watermarks::bounded_out_of_orderness(hours(22)).max_future_skew(hours(24));
/// # let _ = watermarks;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Watermarks {
    out_of_orderness_millis: i64,
    future_skew_millis: Option<i64>,
    future_policy: FuturePolicy,
    idle_timeout_millis: Option<i64>,
    advances_when_idle: bool,
}

impl Watermarks {
    /// The watermark follows the newest event time at this distance.
    pub fn bounded_out_of_orderness(bound: Duration) -> Self {
        Self {
            out_of_orderness_millis: millis(bound),
            future_skew_millis: None,
            future_policy: FuturePolicy::default(),
            idle_timeout_millis: None,
            advances_when_idle: false,
        }
    }

    /// Records come in order of event time.
    pub fn monotonous() -> Self {
        Self::bounded_out_of_orderness(Duration::ZERO)
    }

    /// Guards against records from further ahead of the source's clock than this; default: none.
    #[must_use]
    pub fn max_future_skew(self, skew: Duration) -> Self {
        Self { future_skew_millis: Some(millis(skew)), ..self }
    }

    /// What the guard does; default [`FuturePolicy::Clamp`].
    #[must_use]
    pub fn on_future(self, future_policy: FuturePolicy) -> Self {
        Self { future_policy, ..self }
    }

    /// A partition without a record for this long holds nobody back; default: never.
    #[must_use]
    pub fn idle_timeout(self, timeout: Duration) -> Self {
        Self { idle_timeout_millis: Some(millis(timeout)), ..self }
    }

    /// While all partitions are idle ([`Watermarks::idle_timeout`]) and have read all that there is,
    /// entries expire as if the watermark went on with the time since its last step, times the factor
    /// of a replaying source. Nothing else moves: no timer fires for it, and no window closes. Events
    /// that come late by that clock are written only where they are not expired on arrival. Default:
    /// when all are idle, nothing moves.
    #[must_use]
    pub fn advance_when_idle(self) -> Self {
        Self { advances_when_idle: true, ..self }
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

struct Partition<T> {
    number: u32,
    reader: Box<dyn SourceReader<T>>,
    newest_ts: Option<i64>,
    records: u64,
    future: u64,
    finished: bool,
    idle: bool,
    last_record_millis: i64,
    poll_after_micros: u64,
    loops: u64,
}

/// A source on one shard, with the partitions that are this shard's.
pub(crate) struct SourceNode<T> {
    uid: String,
    watermarks: Watermarks,
    partitions: Vec<Partition<T>>,
    output: Output<T>,
    batch: Vec<Timed<T>>,
    epoch: u64,
    replay_factor: f64,
    /// The last watermark and when it was announced, on the clock that idleness is measured by.
    last: Option<(i64, i64)>,
}

impl<T: Clone> SourceNode<T> {
    pub(crate) fn new(
        uid: String,
        watermarks: Watermarks,
        output: Output<T>,
        replay_factor: f64,
        first_epoch: u64,
    ) -> Self {
        Self {
            uid,
            watermarks,
            partitions: Vec::new(),
            output,
            batch: Vec::with_capacity(BATCH_RECORDS),
            epoch: first_epoch,
            replay_factor,
            last: None,
        }
    }

    pub(crate) fn add(
        &mut self,
        number: u32,
        reader: Box<dyn SourceReader<T>>,
        from: Option<&SourcePosition>,
        wall: i64,
    ) {
        let loops = reader.loops();
        self.partitions.push(Partition {
            number,
            reader,
            newest_ts: from.and_then(|p| p.newest_ts),
            records: from.map_or(0, |p| p.records),
            future: from.map_or(0, |p| p.future),
            finished: false,
            idle: false,
            last_record_millis: wall,
            poll_after_micros: 0,
            loops,
        });
    }

    fn read(&mut self, env: &mut NodeEnv<'_>) -> Result<bool, Error> {
        let mut progress = false;
        for partition in &mut self.partitions {
            if partition.finished || partition.poll_after_micros > env.micros() {
                continue;
            }
            let poll = partition.reader.poll(&mut self.batch, BATCH_RECORDS)?;
            match poll {
                Poll::Ready => {}
                Poll::Wait(wait) => {
                    partition.poll_after_micros = env.micros() + wait.as_micros() as u64;
                }
                Poll::Finished => {
                    partition.finished = true;
                    env.control.partition_finished();
                }
            }
            if !self.batch.is_empty() {
                partition.last_record_millis = env.processing.awake;
                partition.idle = false;
                progress = true;
            }
            partition.take_in(&mut self.batch, &self.watermarks, env.wall, &mut self.output);
            if partition.reader.loops() > partition.loops {
                partition.loops = partition.reader.loops();
                let text =
                    format!("source {} began its input again: loop {}", self.uid, partition.loops);
                env.control.log.note(env.clock, "loop", text);
            }
        }
        Ok(progress)
    }

    /// Minimum over the partitions that are neither idle nor finished; at the end, the last one.
    fn announce(&mut self, awake: i64) {
        let bound = self.watermarks.out_of_orderness_millis;
        let timeout = self.watermarks.idle_timeout_millis;
        let mut minimum: Option<i64> = None;
        let mut silent = false;
        for partition in &mut self.partitions {
            let quiet = awake.saturating_sub(partition.last_record_millis);
            partition.idle = timeout.is_some_and(|timeout| quiet >= timeout);
            if partition.idle {
                continue;
            }
            match partition.watermark(bound) {
                Some(watermark) => {
                    minimum = Some(minimum.map_or(watermark, |m| m.min(watermark)));
                }
                None => silent |= !partition.finished,
            }
        }
        if silent {
            return;
        }
        if let Some(watermark) = minimum
            && self.last.is_none_or(|(last, _)| last != watermark)
        {
            self.last = Some((watermark, awake));
        }
        self.output.watermark(minimum);
    }

    /// §1.8: the clock for TTL of a source that has nothing more to read, and lets it go on.
    fn idle_clock(&self, awake: i64) -> Option<i64> {
        let mut running = self.partitions.iter().filter(|partition| !partition.finished).peekable();
        if running.peek().is_none() {
            return Some(i64::MAX);
        }
        let (watermark, announced) = self.last.filter(|_| self.watermarks.advances_when_idle)?;
        if !running.all(|partition| partition.idle && partition.reader.caught_up()) {
            return None;
        }
        let elapsed = awake.saturating_sub(announced).max(0);
        let passed = (elapsed as f64 * self.replay_factor) as i64;
        Some(watermark.saturating_add(passed))
    }

    fn barrier(&mut self, barrier: Barrier, env: &mut NodeEnv<'_>) -> Result<(), Error> {
        for partition in &mut self.partitions {
            env.meta.sources.push(SourcePosition {
                source: self.uid.clone(),
                partition: partition.number,
                position: partition.reader.position()?,
                newest_ts: partition.newest_ts,
                records: partition.records,
                future: partition.future,
            });
        }
        self.output.barrier(barrier);
        self.epoch = barrier.epoch + 1;
        env.passed(barrier);
        Ok(())
    }
}

impl<T> Partition<T> {
    /// What its records' times say at this distance, or the input itself.
    fn watermark(&self, bound_millis: i64) -> Option<i64> {
        let of_records = self.newest_ts.map(|ts| ts.saturating_sub(bound_millis).saturating_sub(1));
        of_records.max(self.reader.watermark_millis())
    }

    /// Guards and emits what was read.
    fn take_in(
        &mut self,
        batch: &mut Vec<Timed<T>>,
        watermarks: &Watermarks,
        wall: i64,
        output: &mut Output<T>,
    ) where
        T: Clone,
    {
        let clock = self.reader.clock_millis().unwrap_or(wall);
        let limit = watermarks.future_skew_millis.map(|skew| clock.saturating_add(skew));
        for mut record in batch.drain(..) {
            self.records += 1;
            if let Some(limit) = limit.filter(|limit| record.ts > *limit) {
                self.future += 1;
                if watermarks.future_policy == FuturePolicy::Reject {
                    continue;
                }
                record.ts = limit;
            }
            self.newest_ts = self.newest_ts.max(Some(record.ts));
            output.emit(record.value, record.ts);
        }
    }
}

impl<T: Clone> Node for SourceNode<T> {
    fn poll(&mut self, env: &mut NodeEnv<'_>) -> Result<Polled, Error> {
        // the barrier goes even where records have to wait: it must pass whatever is full
        let (requested, checkpoint) = env.requested;
        let due = requested >= self.epoch;
        if due {
            self.barrier(Barrier { epoch: requested, checkpoint }, env)?;
        }
        if !self.output.flush() {
            return Ok(if due { Polled::Progress } else { Polled::Blocked });
        }
        let mut progress = due;
        if !env.control.sources_paused() && !env.control.stopping() {
            progress |= self.read(env)?;
        }
        self.announce(env.processing.awake);
        self.output.flush();
        Ok(if progress { Polled::Progress } else { Polled::Idle })
    }

    fn flush(&mut self) -> bool {
        self.output.flush()
    }

    fn tick(&mut self, env: &mut NodeEnv<'_>) -> Result<(), Error> {
        if let Some(clock) = self.idle_clock(env.processing.awake) {
            self.output.ttl_clock(clock);
        }
        Ok(())
    }

    fn committed(&mut self, epoch: u64) -> Result<(), Error> {
        // a source may have passed the next barrier already; then its position is not this epoch's
        if epoch + 1 == self.epoch {
            self.partitions.iter_mut().for_each(|partition| partition.reader.committed());
        }
        Ok(())
    }

    fn report(&mut self, board: &mut ShardBoard) {
        self.output.add_counts_to(&mut board.edges);
        let bound = self.watermarks.out_of_orderness_millis;
        for partition in &self.partitions {
            board.sources.push(SourceSample {
                source: self.uid.clone(),
                records: partition.records,
                rejected: partition.reader.rejected(),
                future: partition.future,
                watermark_millis: partition.watermark(bound),
                idle: partition.idle,
                finished: partition.finished,
                position: partition.reader.position_text(),
            });
        }
    }
}
