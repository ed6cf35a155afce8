//! What a made-up job reports: every figure follows from the number of the report.

use anyhow::Result;
use serde::Serialize;
use stateward_model::breaker::Policy;
use stateward_model::wire::{
    Hello, JobEvent, JobSample, NodeDeclaration, NodeKind, OperatorSample, PROTOCOL, Report,
    StateDeclaration, StateSample,
};
use stateward_model::{ClockKind, Name, UpdateType, Visibility};

/// Operator of the made-up job.
pub const OPERATOR: &str = "keep";
/// Its state.
pub const STATE: &str = "last";

/// Encodes a message as agents do.
///
/// # Errors
/// Where it is not JSON.
pub fn frame<T: Serialize>(message: &T) -> Result<Vec<u8>> {
    Ok(zstd::bulk::compress(&serde_json::to_vec(message)?, 1)?)
}

/// Declares the job `test/{job}` with one operator and one state.
///
/// # Errors
/// Where `job` is not a name.
pub fn hello_of(job: &str, run: &str, started_millis: i64) -> Result<Hello> {
    hello_with(job, run, started_millis, [STATE.to_owned()])
}

/// Declares the job `test/{job}` with one operator and these states.
///
/// # Errors
/// Where `job` or a state is not a name.
pub fn hello_with(
    job: &str,
    run: &str,
    started_millis: i64,
    states: impl IntoIterator<Item = String>,
) -> Result<Hello> {
    let state = |name: String| -> Result<StateDeclaration> {
        Ok(StateDeclaration {
            operator: Name::new(OPERATOR)?,
            state: Name::new(name)?,
            kind: "value".to_owned(),
            backend: "rocksdb".to_owned(),
            ttl_millis: Some(60_000),
            update_type: UpdateType::default(),
            visibility: Visibility::default(),
            clock: ClockKind::EventTime,
            breaker: Policy::default(),
            site: "job.rs:2:1".to_owned(),
        })
    };
    Ok(Hello {
        protocol: PROTOCOL,
        run: run.to_owned(),
        namespace: Name::new("test")?,
        job_name: Name::new(job)?,
        build_id: "b1".to_owned(),
        commit: None,
        engine_version: "0.1.0".to_owned(),
        started_millis,
        wall_millis: started_millis,
        parallelism: 2,
        key_groups: 128,
        replay_factor: 1.0,
        nodes: vec![NodeDeclaration {
            uid: Name::new(OPERATOR)?,
            kind: NodeKind::Operator,
            site: "job.rs:1:1".to_owned(),
            detail: String::new(),
        }],
        edges: Vec::new(),
        states: states.into_iter().map(state).collect::<Result<_>>()?,
    })
}

/// The text of the event that the `seq`th report carries.
pub(super) fn event_text(seq: u64) -> String {
    format!("event {seq}")
}

/// The `seq`th report, `seq` seconds after the start: `seq` entries, and an event of its own.
pub fn report_of(run: &str, seq: u64, started_millis: i64) -> Report {
    let wall_millis = started_millis + seq as i64 * 1_000;
    let mut state = StateSample {
        operator: OPERATOR.to_owned(),
        state: STATE.to_owned(),
        ..StateSample::default()
    };
    state.flow.writes = seq * 10 + seq * seq % 7;
    state.flow.reads = seq * 20;
    state.flow.misses_present = seq * 5 + seq % 3;
    state.stock.entries = seq;
    state.stock.logical_bytes = 1_000 + seq * seq % 101;
    state.stock.clock_millis = Some(wall_millis);
    state.age_at_read.buckets = vec![(9, seq / 2), (30, seq - seq / 2)];
    Report {
        protocol: PROTOCOL,
        run: run.to_owned(),
        seq,
        wall_millis,
        job: JobSample { replay_factor: 1.0, ..JobSample::default() },
        operators: vec![OperatorSample {
            operator: OPERATOR.to_owned(),
            watermark_millis: Some(wall_millis),
            ..OperatorSample::default()
        }],
        states: vec![state],
        events: vec![JobEvent {
            wall_millis,
            kind: "started".to_owned(),
            operator: Some(OPERATOR.to_owned()),
            state: Some(STATE.to_owned()),
            text: event_text(seq),
        }],
        commands: Vec::new(),
    }
}
