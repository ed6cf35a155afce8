//! Taking telemetry in. In come the bytes of an agent, over HTTP or from this process, by one path;
//! out goes an acknowledgement, after everything is stored.
//!
//! ```text
//! bytes ─▶ decode (bounded) ─▶ control.db: run, events, command steps ─▶ series.db: samples ─▶ memory ─▶ ack
//! ```
//!
//! Both files have their own (run, seq) watermark. A crash between the two commits leaves control
//! ahead; the agent, which has no acknowledgement, sends again, control says "stored before" and
//! series stores it. So a resend is harmless and completes what was cut short.

mod decode;
mod bounds;
mod hello;
mod report;
mod samples;
mod in_process;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use decode::{TEXT_BYTES_MAX, decode_stored};
pub(crate) use hello::hello;
pub use in_process::InProcess;
pub(crate) use report::report;
pub(crate) use samples::{
    JOB_HISTOGRAM_OWNER, OPERATOR_HISTOGRAM_OWNER, STATE_HISTOGRAM_OWNER, all_labels, extra_label,
    label, source_figures,
};
