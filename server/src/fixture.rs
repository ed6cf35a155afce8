//! What the tests share: a listening server on a clock of its own, a job that reports, a client.

use std::sync::Arc;

use axum::Router;
use serde::Serialize;
use serde::de::DeserializeOwned;
use stateward_model::Name;
use stateward_model::breaker::Policy;
use stateward_model::view::{CommandView, OrderRequest};
use stateward_model::wire::{
    EdgeDeclaration, Hello, JobSample, NodeDeclaration, NodeKind, OperatorSample, Order, PROTOCOL,
    Report, ReportReply, StateDeclaration, StateSample,
};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::clock::Clock;
use crate::core::Core;
use crate::error::ApiError;
use crate::ingest;
use crate::{App, Config, Server};

/// When every test begins: a Friday noon.
pub(crate) const START_MILLIS: i64 = 1_700_222_400_000;

/// A server and its clock.
#[derive(Debug)]
pub(crate) struct Fixture {
    pub(crate) dir: TempDir,
    pub(crate) clock: Clock,
    pub(crate) server: Server,
}

impl Fixture {
    pub(crate) async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Clock::manual(START_MILLIS);
        let server = serve(&dir, &clock).await;
        Self { dir, clock, server }
    }

    /// Stops and starts on the same folder.
    pub(crate) async fn restart(self) -> Self {
        self.server.stop().await;
        let server = serve(&self.dir, &self.clock).await;
        Self { server, ..self }
    }

    pub(crate) fn app(&self) -> App {
        self.server.app()
    }

    pub(crate) fn core(&self) -> Arc<Core> {
        Arc::clone(self.server.app().core())
    }

    pub(crate) fn token(&self) -> String {
        self.core().auth.token.clone()
    }

    pub(crate) async fn hello(&self, hello: &Hello) {
        ingest::hello(&self.core(), &frame(hello)).await.unwrap();
    }

    pub(crate) async fn report(&self, report: &Report) -> Result<ReportReply, ApiError> {
        ingest::report(&self.core(), &frame(report)).await
    }

    /// Orders the breaker of `airports/due`.
    pub(crate) async fn order(&self, order: Order) -> Result<CommandView, ApiError> {
        let request = OrderRequest { order, reason: "too many writes".into() };
        self.app().order("default", "flights", "airports", "due", request, "ada").await
    }
}

async fn serve(dir: &TempDir, clock: &Clock) -> Server {
    let config = Config::for_folder(dir.path(), 0).unwrap();
    let ui = |_| Router::new().fallback(async || axum::response::Html("<p>page</p>"));
    Server::start_at(config, clock.clone(), ui).await.unwrap()
}

/// Encodes a message as agents do.
pub(crate) fn frame<T: Serialize>(message: &T) -> Vec<u8> {
    zstd::bulk::compress(&serde_json::to_vec(message).unwrap(), 1).unwrap()
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// A run of the job `default/flights`: `legs` → `airports` (states `due`, `seen`) → `out`.
pub(crate) fn hello_of(run: &str) -> Hello {
    let node = |uid: &str, kind| NodeDeclaration {
        uid: name(uid),
        kind,
        site: "job.rs:1:1".into(),
        detail: "<script>alert(1)</script>\nx".into(),
    };
    let edge =
        |from: &str, to: &str| EdgeDeclaration { from: name(from), to: name(to), exchange: true };
    let state = |state: &str, ttl_millis| StateDeclaration {
        operator: name("airports"),
        state: name(state),
        kind: "map".into(),
        backend: "rocksdb".into(),
        ttl_millis,
        update_type: stateward_model::UpdateType::default(),
        visibility: stateward_model::Visibility::default(),
        clock: stateward_model::ClockKind::EventTime,
        breaker: Policy::default(),
        site: "job.rs:2:1".into(),
    };
    Hello {
        protocol: PROTOCOL,
        run: run.into(),
        namespace: name("default"),
        job_name: name("flights"),
        build_id: "b1".into(),
        commit: None,
        engine_version: "0.1.0".into(),
        started_millis: START_MILLIS,
        wall_millis: START_MILLIS,
        parallelism: 2,
        key_groups: 128,
        replay_factor: 1.0,
        nodes: vec![
            node("legs", NodeKind::Source),
            node("airports", NodeKind::Operator),
            node("out", NodeKind::Sink),
        ],
        edges: vec![edge("legs", "airports"), edge("airports", "out")],
        states: vec![state("due", Some(21_600_000)), state("seen", None)],
    }
}

/// The `seq`th report of a run, one second after the one before; `due` has had `seq * 10` writes.
pub(crate) fn report_of(run: &str, seq: u64) -> Report {
    let wall_millis = START_MILLIS + seq as i64 * 1_000;
    let sample = |state: &str| {
        let mut sample = StateSample {
            operator: "airports".into(),
            state: state.into(),
            ..StateSample::default()
        };
        sample.flow.writes = seq * 10;
        sample.flow.reads = seq * 20;
        sample.flow.misses_present = seq * 5;
        sample.stock.entries = seq;
        sample.stock.logical_bytes = 1_000 + seq;
        sample.stock.clock_millis = Some(wall_millis);
        sample.age_at_read.buckets = vec![(9, seq)];
        sample
    };
    Report {
        protocol: PROTOCOL,
        run: run.into(),
        seq,
        wall_millis,
        job: JobSample {
            edge_records: vec![seq * 3, seq],
            replay_factor: 1.0,
            ..JobSample::default()
        },
        operators: vec![OperatorSample {
            operator: "airports".into(),
            watermark_millis: Some(wall_millis),
            ..OperatorSample::default()
        }],
        states: vec![sample("due"), sample("seen")],
        events: Vec::new(),
        commands: Vec::new(),
    }
}

/// An answer over HTTP.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn json<T: DeserializeOwned>(&self) -> T {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Fixture {
    /// Sends a request with the right Host and no more than is given.
    pub(crate) async fn send(&self, line: &str, headers: &[&str], body: &[u8]) -> Answer {
        let host = format!("Host: {}", self.server.addr());
        let mut all = vec![host.as_str()];
        all.extend(headers);
        self.send_raw(line, &all, body).await
    }

    /// Sends a request with the token.
    pub(crate) async fn call(&self, line: &str, body: &[u8]) -> Answer {
        let token = format!("Authorization: Bearer {}", self.token());
        self.send(line, &[&token], body).await
    }

    /// Sends exactly these headers, and reads until the server closes.
    pub(crate) async fn send_raw(&self, line: &str, headers: &[&str], body: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.server.addr()).await.unwrap();
        let mut head = format!("{line} HTTP/1.1\r\nConnection: close\r\n");
        for header in headers {
            head.extend([header, "\r\n"]);
        }
        head.extend(["Content-Length: ", &body.len().to_string(), "\r\n\r\n"]);
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(body).await.unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        let at = bytes.windows(4).position(|w| w == b"\r\n\r\n").expect("a whole head");
        let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head, body: bytes[at + 4..].to_vec() }
    }
}
