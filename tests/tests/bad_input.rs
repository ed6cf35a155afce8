//! What the program answers to what cannot be used: a defined text that names the place and the way
//! out, and it goes on.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use stateward_engine::{Clock, SystemClock};
use stateward_model::{Problem, ProblemKind};
use stateward_tests::serve::{Answer, Door, MadeUpJob, Serve, frame, hello_of, refused, report_of};

const HELLO: &str = "/api/v1/agent/hello";
const REPORT: &str = "/api/v1/agent/report";

fn said(answer: &Answer, kind: ProblemKind, parts: &[&str]) {
    let problem: Problem = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((answer.status, problem.uri.as_str()), (kind.status(), kind.uri()), "{problem:?}");
    assert!(parts.iter().all(|part| problem.detail.contains(part)), "{parts:?}: {problem:?}");
}

/// A start that cannot be is refused with exit code 3, by what is in the way and what to do.
#[test]
fn a_start_that_cannot_be_names_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let data_dir = dir.path().join("data");
    let place = data_dir.display().to_string();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let check = |port: u16, parts: &[&str]| {
        let exit = refused(&data_dir, port).unwrap();
        assert_eq!(exit.status.code(), Some(3), "{exit:?}");
        assert!(parts.iter().all(|part| exit.said.contains(part)), "{parts:?}: {exit:?}");
    };
    check(port, &[&format!("cannot listen on 127.0.0.1:{port}"), "give another --port"]);
    let server = Serve::start(&data_dir).unwrap();
    check(0, &["another stateward uses the data folder", &place, "give another --data-dir"]);
    server.kill().unwrap();
    std::fs::write(data_dir.join("version"), "7\n").unwrap();
    check(0, &[&place, "is of version \"7\"", "use the stateward that wrote it"]);
    std::fs::write(data_dir.join("version"), "1\n").unwrap();
    Serve::start(&data_dir).unwrap();
}

/// Posts `length` bytes of nothing, a piece at a time.
fn post_large(door: &Door, path: &str, length: usize) -> String {
    let mut stream = TcpStream::connect(door.addr).unwrap();
    let token = door.token();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\n\
         Connection: close\r\nContent-Length: {length}\r\n\r\n",
        door.addr
    );
    stream.write_all(head.as_bytes()).unwrap();
    let piece = vec![0; 1 << 20];
    for _ in 0..length / piece.len() {
        stream.write_all(&piece).unwrap();
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// DESIGN, Wire: what an agent must not send is refused, by its kind and with the way out, and
/// nothing of it is kept.
#[test]
fn reports_that_cannot_be_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let server = Serve::start(&dir.path().join("data")).unwrap();
    let (door, now_millis) = (server.door(), SystemClock::new().now_millis());
    let send = |path: &str, body: &[u8]| door.post(path, body).unwrap();

    let report = frame(&report_of("nobody", 1, now_millis)).unwrap();
    said(&send(REPORT, &report), ProblemKind::NotFound, &["run nobody is not known", "send hello"]);
    let whole = "not a whole zstd frame";
    said(&send(REPORT, &report[..report.len() / 2]), ProblemKind::BadRequest, &[whole]);

    let hello = serde_json::to_value(hello_of("job", "run-job", now_millis).unwrap()).unwrap();
    for bad in ["<script>alert(1)</script>", "two\nlines", "", "x\u{0}"] {
        for key in ["namespace", "job_name"] {
            let mut hello = hello.clone();
            hello[key] = bad.into();
            said(&send(HELLO, &frame(&hello).unwrap()), ProblemKind::BadRequest, &["not a hello"]);
        }
    }
    let jobs = door.get("/api/v1/jobs").unwrap();
    assert_eq!((jobs.status, jobs.text().as_str()), (200, "[]"), "something of it was kept");

    let answer = post_large(&door, REPORT, 100 << 20);
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("the body has more than 16777216 bytes"), "{answer}");

    let job = MadeUpJob::new("after", now_millis - 3_600_000);
    job.hello(&door).unwrap();
    assert!(!job.send(&door, 1).unwrap().unwrap().duplicate);
    assert!(job.send(&door, 1).unwrap().unwrap().duplicate, "a batch sent twice");
}
