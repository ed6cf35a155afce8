//! What travels between an engine's agent and the server, protocol 1: compressed JSON, unknown
//! fields ignored. Counters are cumulative over the run; gauges are values at `wall_millis`.
//!
//! `POST /api/v1/agent/hello` takes a [`Hello`], `POST /api/v1/agent/report` a [`Report`],
//! `GET /api/v1/agent/commands?run=R&after=V&wait=30` answers [`Commands`]. Bodies are zstd frames
//! (`content-encoding: zstd`); the in-process transport carries the same bytes.

mod hello;
mod canary;
mod cleanup;
mod clock;
mod expiry;
mod checkpoint;
mod hot;
mod folder;
mod invariant;
mod memory;
mod overshoot;
mod report;
mod command;
mod figure;

pub use canary::{CanaryPhase, CanarySample};
pub use checkpoint::{CheckpointFailure, CheckpointKind, CheckpointRun, CheckpointSample};
pub use cleanup::{CleanupRuns, CleanupSample, CleanupStrategy};
pub use clock::ClockSample;
pub use command::{Command, CommandPhase, CommandProgress, Commands, Order, OrderClass};
pub use expiry::{EXPIRY_EDGES_MILLIS, ExpiryPart, ExpirySample};
pub use figure::{
    Figure, HistogramName, JOB_HISTOGRAMS, LabelledFigure, OPERATOR_HISTOGRAMS, STATE_HISTOGRAMS,
};
pub use folder::FolderSample;
pub use hello::{EdgeDeclaration, Hello, HelloReply, NodeDeclaration, NodeKind, StateDeclaration};
pub use hot::{HotKey, HotKeys, HotList};
pub use invariant::InvariantSample;
pub use memory::MemorySample;
pub use overshoot::OvershootSample;
pub use report::{
    AccessKind, JobEvent, JobSample, OperatorSample, Report, ReportReply, SiteSample, SourceSample,
    StateFlow, StateSample, StateStock, TimerSample,
};

/// The protocol this build speaks.
pub const PROTOCOL: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ttl::ClockKind;

    /// DESIGN, Wire: unknown fields are ignored, missing ones have defaults.
    #[test]
    fn newer_and_older_peers_are_understood() {
        let sample: StateSample =
            serde_json::from_str(r#"{"operator":"a","state":"b","from_the_future":1}"#).unwrap();
        assert_eq!((sample.operator.as_str(), sample.flow.reads), ("a", 0));
    }

    /// An engine carries out what it understands of what a newer server says.
    #[test]
    fn an_unknown_order_does_not_hide_the_others() {
        let command = |version: u64, order: &str| {
            format!(
                r#"{{"version":{version},"operator":"a","state":"b","order":{order},"actor":"c","reason":"d"}}"#
            )
        };
        let text = [
            command(1, r#"{"order":"from_the_future","x":[1]}"#),
            command(2, r#"{"order":"ttl","ttl_millis":7,"until_millis":null}"#),
        ];
        let text = format!(r#"{{"version":2,"commands":[{}]}}"#, text.join(","));
        let commands: Commands = serde_json::from_str(&text).unwrap();
        let order = Order::Ttl { ttl_millis: Some(7), until_millis: None };
        assert_eq!(commands.commands.iter().map(|c| &c.order).collect::<Vec<_>>(), [&order]);
    }

    #[test]
    fn figures_use_the_labels_of_the_catalogue() {
        let timers = vec![TimerSample { next_due_millis: Some(7), ..TimerSample::default() }];
        let operator = OperatorSample { timers, ..OperatorSample::default() };
        let figures = StateSample::default().figures().into_iter().chain(operator.figures());
        for (metric, label, _) in figures {
            let labels: Vec<&str> = label.iter().map(|(name, _)| *name).collect();
            assert_eq!(labels, metric.labels, "{}", metric.name);
        }
    }

    /// A timer at the end of time is pending, but no date that a server would take.
    #[test]
    fn a_timer_that_never_comes_due_has_no_date() {
        let never = TimerSample {
            clock: ClockKind::ProcessingTime,
            next_due_millis: Some(i64::MAX),
            ..TimerSample::default()
        };
        let operator = OperatorSample { timers: vec![never], ..OperatorSample::default() };
        let timers =
            operator.figures().into_iter().filter(|(metric, ..)| metric.name.contains("timers"));
        let labels: Vec<_> = timers.map(|(metric, label, _)| (metric.name, label)).collect();
        assert!(labels.iter().all(|(_, label)| *label == Some(("clock", "processing"))));
        assert!(labels.iter().all(|(name, _)| !name.contains("next_due")) && labels.len() == 5);
    }
}
