//! Operators without keys and states: map, filter, flat map.

use crate::error::Error;
use crate::job::{Arrived, Input, Node, NodeEnv, Output, Polled};

/// Turns each record into any number of others.
pub(crate) struct FlatMapNode<T, U, F> {
    pub(crate) input: Input<T>,
    pub(crate) output: Output<U>,
    pub(crate) f: F,
}

impl<T, U, F> Node for FlatMapNode<T, U, F>
where
    U: Clone,
    F: FnMut(T, &mut dyn FnMut(U)),
{
    fn poll(&mut self, env: &mut NodeEnv<'_>) -> Result<Polled, Error> {
        if !self.output.flush() {
            return Ok(Polled::Blocked);
        }
        match self.input.poll() {
            Arrived::Nothing => return Ok(Polled::Idle),
            Arrived::Batch(batch) => {
                let output = &mut self.output;
                for record in batch {
                    (self.f)(record.value, &mut |value| output.emit(value, record.ts));
                }
            }
            Arrived::Watermark => self.output.watermark(self.input.watermark()),
            Arrived::TtlClock => {
                if let Some(clock) = self.input.ttl_clock() {
                    self.output.ttl_clock(clock);
                }
            }
            Arrived::Barrier(barrier) => {
                self.output.barrier(barrier);
                env.passed(barrier);
            }
        }
        self.output.flush();
        Ok(Polled::Progress)
    }

    fn flush(&mut self) -> bool {
        self.output.flush()
    }

    fn report(&mut self, board: &mut crate::telemetry::ShardBoard) {
        self.output.add_counts_to(&mut board.edges);
    }
}
