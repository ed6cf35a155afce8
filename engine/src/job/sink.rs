//! Sinks on a shard.

use super::exchange::{Arrived, Input};
use super::node::{Node, NodeEnv, Polled};
use crate::error::Error;
use crate::sink::SinkWriter;

/// A sink on one shard.
pub(crate) struct SinkNode<T> {
    pub(crate) uid: String,
    pub(crate) input: Input<T>,
    pub(crate) writer: Box<dyn SinkWriter<T>>,
}

impl<T> Node for SinkNode<T> {
    fn poll(&mut self, env: &mut NodeEnv<'_>) -> Result<Polled, Error> {
        match self.input.poll() {
            Arrived::Nothing => return Ok(Polled::Idle),
            Arrived::Watermark | Arrived::TtlClock => {}
            Arrived::Batch(batch) => {
                for record in &batch {
                    self.writer.write(&record.value, record.ts)?;
                }
            }
            Arrived::Barrier(barrier) => {
                let prepared = self.writer.prepare()?;
                env.meta.sinks.push((self.uid.clone(), prepared.position));
                env.sync.extend(prepared.sync);
                env.passed(barrier);
            }
        }
        Ok(Polled::Progress)
    }

    fn committed(&mut self, _epoch: u64) -> Result<(), Error> {
        self.writer.committed()
    }

    fn close(&mut self) -> Result<(), Error> {
        self.writer.close()
    }
}
