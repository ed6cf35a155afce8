//! What travels between an engine's agent and the server, protocol 1: compressed JSON, unknown
//! fields ignored. Counters are cumulative over the run; gauges are values at `wall_millis`.
//!
//! `POST /api/v1/agent/hello` takes a [`Hello`], `POST /api/v1/agent/report` a [`Report`],
//! `GET /api/v1/agent/commands?run=R&after=V&wait=30` answers [`Commands`]. Bodies are zstd frames
//! (`content-encoding: zstd`); the in-process transport carries the same bytes.

mod hello;
mod report;
mod command;
mod figure;

pub use command::{BreakerCommand, BreakerOrder, CommandPhase, CommandProgress, Commands};
pub use figure::Figure;
pub use hello::{EdgeDeclaration, Hello, HelloReply, NodeDeclaration, NodeKind, StateDeclaration};
pub use report::{
    AccessKind, JobEvent, JobSample, OperatorSample, Report, ReportReply, SiteSample, SourceSample,
    StateFlow, StateSample, StateStock, TimerSample,
};

/// The protocol this build speaks.
pub const PROTOCOL: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    /// DESIGN, Wire: unknown fields are ignored, missing ones have defaults.
    #[test]
    fn newer_and_older_peers_are_understood() {
        let sample: StateSample =
            serde_json::from_str(r#"{"operator":"a","state":"b","from_the_future":1}"#).unwrap();
        assert_eq!((sample.operator.as_str(), sample.flow.reads), ("a", 0));
    }

    #[test]
    fn figures_use_the_labels_of_the_catalogue() {
        let figures = StateSample::default().figures();
        for (metric, label, _) in figures {
            let labels: Vec<&str> = label.iter().map(|(name, _)| *name).collect();
            assert_eq!(labels, metric.labels, "{}", metric.name);
        }
    }
}
