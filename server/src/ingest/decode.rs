//! From bytes to messages: bounded, validated, capped.
//!
//! A body is one zstd frame of JSON. Neither the body nor what it unpacks to may exceed the limit; a
//! bomb costs no more memory than that. Text that people wrote (paths, sentences) is cut to a length
//! and otherwise taken as it is: whoever shows it escapes it. Names are checked by their type or
//! against what the hello declared.

use std::collections::BTreeSet;
use std::io::Read;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use stateward_model::ProblemKind;
use stateward_model::wire::{Hello, PROTOCOL, Report};

use super::bounds::{ITEMS_MAX, check_report, check_time};
use crate::db::DbError;
use crate::error::ApiError;

/// Longest text of a message, in bytes; the rest is cut off.
pub(crate) const TEXT_BYTES_MAX: usize = 2_048;
/// Longest id of a run.
const RUN_LEN_MAX: usize = 64;
/// Largest window of a frame: 2^27 bytes is zstd's own default limit.
const WINDOW_LOG_MAX: u32 = 27;

#[derive(Deserialize)]
struct Spoken {
    protocol: u32,
}

/// Unpacks a body, up to `limit` bytes.
pub(crate) fn unpack(body: &[u8], limit: usize) -> Result<Vec<u8>, ApiError> {
    let too_large = |what: &str| {
        ApiError::new(
            ProblemKind::TooLarge,
            format!(
                "the body {what} more than {limit} bytes; send smaller reports or raise \
                 server.body_bytes_max"
            ),
        )
    };
    if body.len() > limit {
        return Err(too_large("has"));
    }
    let unreadable = |error: std::io::Error| {
        ApiError::bad_request(format!("the body is not a whole zstd frame of JSON: {error}"))
    };
    let mut decoder = zstd::stream::read::Decoder::new(body).map_err(unreadable)?;
    decoder.window_log_max(WINDOW_LOG_MAX).map_err(unreadable)?;
    let mut plain = Vec::new();
    decoder.take(limit as u64 + 1).read_to_end(&mut plain).map_err(unreadable)?;
    if plain.len() > limit {
        return Err(too_large("unpacks to"));
    }
    Ok(plain)
}

/// Decodes a message of this protocol.
fn decode<T: DeserializeOwned>(what: &str, body: &[u8], limit: usize) -> Result<T, ApiError> {
    let plain = unpack(body, limit)?;
    let unreadable =
        |error: serde_json::Error| ApiError::bad_request(format!("not a {what}: {error}"));
    let spoken: Spoken = serde_json::from_slice(&plain).map_err(unreadable)?;
    if spoken.protocol != PROTOCOL {
        return Err(ApiError::new(
            ProblemKind::ProtocolMismatch,
            format!(
                "the agent speaks protocol {}, this server speaks {PROTOCOL}; update the older of \
                 the two",
                spoken.protocol
            ),
        ));
    }
    serde_json::from_slice(&plain).map_err(unreadable)
}

/// Decodes a report that this server stored.
pub(crate) fn decode_stored(body: &[u8], limit: usize) -> Result<Report, DbError> {
    let damaged = |error: ApiError| DbError::damaged("run.report", error);
    let mut report: Report = decode("report", body, limit.max(body.len())).map_err(damaged)?;
    check_report(&mut report).map_err(damaged)?;
    Ok(report)
}

/// Decodes and checks a hello.
pub(crate) fn decode_hello(body: &[u8], limit: usize) -> Result<Hello, ApiError> {
    let mut hello: Hello = decode("hello", body, limit)?;
    check_run(&hello.run)?;
    check_time("started_millis", hello.started_millis)?;
    check_time("wall_millis", hello.wall_millis)?;
    let most = hello.nodes.len().max(hello.edges.len()).max(hello.states.len());
    if most > ITEMS_MAX {
        return Err(ApiError::bad_request(format!(
            "the hello declares {most} nodes, edges or states; a job has at most {ITEMS_MAX}"
        )));
    }
    let mut seen = BTreeSet::new();
    for state in &hello.states {
        if !seen.insert((&state.operator, &state.state)) {
            let (operator, state) = (&state.operator, &state.state);
            return Err(ApiError::bad_request(format!("{operator}/{state} is declared twice")));
        }
    }
    cut(&mut hello.build_id);
    cut(&mut hello.engine_version);
    hello.commit.iter_mut().for_each(cut);
    for node in &mut hello.nodes {
        cut(&mut node.site);
        cut(&mut node.detail);
    }
    for state in &mut hello.states {
        cut(&mut state.site);
        cut(&mut state.kind);
        cut(&mut state.backend);
    }
    Ok(hello)
}

/// Decodes and checks a report, as far as that goes without knowing its run.
pub(crate) fn decode_report(body: &[u8], limit: usize) -> Result<Report, ApiError> {
    let mut report: Report = decode("report", body, limit)?;
    check_run(&report.run)?;
    if report.seq == 0 || i64::try_from(report.seq).is_err() {
        return Err(ApiError::bad_request(format!(
            "seq is {}; a run numbers its reports from 1",
            report.seq
        )));
    }
    check_report(&mut report)?;
    Ok(report)
}

fn check_run(run: &str) -> Result<(), ApiError> {
    let clean = run.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if clean && (1..=RUN_LEN_MAX).contains(&run.len()) {
        return Ok(());
    }
    let mut run = run.to_owned();
    cut(&mut run);
    Err(ApiError::bad_request(format!("{run:?} is not the id of a run; use a UUIDv7")))
}

/// Refuses samples, events and sources of things that the run did not declare.
pub(crate) fn check_declared(hello: &Hello, report: &Report) -> Result<(), ApiError> {
    let nodes: BTreeSet<&str> = hello.nodes.iter().map(|node| node.uid.as_str()).collect();
    let states: BTreeSet<(&str, &str)> =
        hello.states.iter().map(|s| (s.operator.as_str(), s.state.as_str())).collect();
    let undeclared = |what: &str, name: String| {
        Err(ApiError::conflict(format!(
            "the report has figures of the {what} {name:?}, which the run's hello did not declare; \
             send a hello that does"
        )))
    };
    let known_operator = |uid: &str| nodes.contains(uid) || states.iter().any(|(o, _)| *o == uid);
    for state in &report.states {
        if !states.contains(&(state.operator.as_str(), state.state.as_str())) {
            return undeclared("state", format!("{}/{}", state.operator, state.state));
        }
    }
    if let Some(operator) = report.operators.iter().find(|o| !known_operator(&o.operator)) {
        return undeclared("operator", operator.operator.clone());
    }
    let source = report.job.sources.iter().find(|s| !nodes.contains(s.source.as_str()));
    if let Some(source) = source {
        return undeclared("source", source.source.clone());
    }
    for event in &report.events {
        if let Some(operator) = event.operator.as_ref().filter(|uid| !known_operator(uid)) {
            return undeclared("operator", operator.clone());
        }
        let state = event.state.as_ref();
        if let Some(state) = state.filter(|name| !states.iter().any(|(_, s)| s == name)) {
            return undeclared("state", state.clone());
        }
    }
    Ok(())
}

/// Cuts text at a character boundary.
pub(super) fn cut(text: &mut String) {
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
}
