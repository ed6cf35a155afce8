//! A job that is asked through its folder.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use stateward_model::breaker::{Action, Phase};

use super::{ControlClient, list_jobs};
use crate::error::Error;
use crate::job::{Job, JobBuilder, JobHandle, RunOptions, Watermarks};
use crate::operator::{Context, Open};
use crate::savepoint::Savepoint;
use crate::sink::CollectSink;
use crate::source::{Poll, Source, SourceContext, SourceReader, Timed};
use crate::state::ValueStateDescriptor;

/// Counts up for ever.
#[derive(Debug)]
struct Numbers;

struct Reader(u64);

impl Source<u64> for Numbers {
    fn open(
        &self,
        _: SourceContext,
        at: Option<&[u8]>,
    ) -> Result<Box<dyn SourceReader<u64>>, Error> {
        let at = at.map_or(0, |bytes| u64::from_be_bytes(bytes.try_into().unwrap()));
        Ok(Box::new(Reader(at)))
    }
    fn detail(&self) -> String {
        "numbers".into()
    }
}

impl SourceReader<u64> for Reader {
    fn poll(&mut self, out: &mut Vec<Timed<u64>>, max: usize) -> Result<Poll, Error> {
        // not as fast as it can: the test waits for nothing that is many
        let next = self.0 + max.min(10) as u64;
        out.extend((self.0..next).map(|n| Timed { value: n, ts: n as i64 }));
        self.0 = next;
        Ok(Poll::Wait(Duration::from_millis(1)))
    }
    fn position(&mut self) -> Result<Vec<u8>, Error> {
        Ok(self.0.to_be_bytes().to_vec())
    }
    fn position_text(&self) -> String {
        format!("number {}", self.0)
    }
}

fn job(shards: usize) -> Job {
    let mut job = JobBuilder::new("count").parallelism(shards);
    job.source("numbers", Numbers, Watermarks::monotonous())
        .key_by_owned(|n: &u64| n % 10)
        .process("counter", |open: &mut Open<'_, u64>| {
            let count = open.value_state(ValueStateDescriptor::<u64>::new("count"));
            Ok(move |_: &u64, ctx: &mut Context<'_, u64, u64>| {
                let next = count.get(ctx)?.unwrap_or(0) + 1;
                count.put(ctx, &next)?;
                Ok(())
            })
        })
        .sink("results", CollectSink::<u64>::new());
    job.build().unwrap()
}

fn start(dir: &Path) -> (JobHandle, ControlClient) {
    let options = RunOptions::new(dir).commit_interval(Duration::from_millis(5));
    let handle = job(2).start(options).unwrap();
    let client = ControlClient::new(dir, "count");
    for _ in 0..2_000 {
        if client.status().is_ok_and(|status| status.entries == 10) {
            return (handle, client);
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
    panic!("it never counts: {:?}", client.status());
}

/// §7.8; DESIGN: a running job makes checkpoints and savepoints for whoever may write to its folder,
/// and ends with one; the list says what there is before, then and after.
#[test]
fn a_running_job_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let (handle, client) = start(dir.path());
    let socket = dir.path().join("jobs/count/control.sock");
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let status = client.status().unwrap();
    assert_eq!((status.shards, status.states, status.entries), (2, 1, 10));
    let epoch = client.checkpoint().unwrap();
    assert!(epoch >= status.epoch, "{epoch} after {}", status.epoch);
    let made = client.savepoint(None).unwrap();
    assert_eq!((made.entries, made.job_name.as_str()), (10, "count"));
    assert!(made.epoch > epoch);
    let again = client.savepoint(Some(&made.path)).unwrap_err().to_string();
    assert!(again.contains("never overwrites"), "{again}");
    let found = list_jobs(dir.path()).unwrap();
    assert_eq!((found.len(), found[0].running, found[0].entries), (1, true, Some(10)));
    assert_eq!(found[0].savepoints, std::slice::from_ref(&made));
    assert!(found[0].checkpoint_epoch.unwrap() >= made.epoch, "{found:?}");

    let last = dir.path().join("last.savepoint");
    let last = client.stop_with_savepoint(Some(&last)).unwrap();
    handle.wait().unwrap();
    assert!(!socket.exists());
    assert!(matches!(client.status().unwrap_err(), Error::NotRunning { .. }));
    let found = list_jobs(dir.path()).unwrap();
    let summary = &found[0];
    assert_eq!((summary.running, summary.epoch), (false, Some(last.epoch)));
    assert_eq!((summary.entries, summary.shards, summary.unread.len()), (Some(10), 2, 0));
    let offline = Savepoint::of_stopped_job(dir.path(), "count", None).unwrap();
    let same = Savepoint { path: last.path.clone(), file_bytes: last.file_bytes, ..offline };
    assert_eq!(same, Savepoint { wall_millis: same.wall_millis, ..last });
}

/// §7.8: a breaker is tripped and reset without a server, with actor and reason in the journal; what
/// has none is refused.
#[test]
fn a_breaker_is_tripped_without_a_server() {
    let dir = tempfile::tempdir().unwrap();
    let (handle, client) = start(dir.path());
    let of = ("counter", "count");
    let text = client.trip(of, Action::Divert, "ann", " ").unwrap_err().to_string();
    assert!(text.contains("needs an actor and a reason"), "{text}");
    client.trip(of, Action::Divert, "ann", "it grows").unwrap();
    let phase = || handle.figures().states.first().unwrap().breaker.phase;
    assert_eq!(phase(), Phase::ForcedOpen);
    let journal = std::fs::read_to_string(dir.path().join("jobs/count/breakers.json")).unwrap();
    assert!(journal.contains("it grows") && journal.contains("\"ann\""), "{journal}");
    client.reset(of, "ann", "it is mended").unwrap();
    assert_ne!(phase(), Phase::ForcedOpen);
    let text = client.reset(("counter", "nothing"), "ann", "why not").unwrap_err().to_string();
    assert!(text.contains("no state counter/nothing"), "{text}");
    client.stop().unwrap();
    handle.wait().unwrap();
}

/// What is no request gets an answer that says so, and does no harm; a folder with a long name has a
/// socket too, and what a killed job left is in nobody's way.
#[test]
fn nonsense_is_answered() {
    let dir = tempfile::tempdir().unwrap();
    let deep = dir.path().join("d".repeat(120));
    std::fs::create_dir_all(deep.join("jobs/count")).unwrap();
    let left = deep.join("jobs/count/control.sock");
    std::fs::write(&left, "left by a killed one").unwrap();
    let (handle, client) = start(&deep);
    let folder = std::fs::File::open(deep.join("jobs/count")).unwrap();
    let ask = |text: &[u8]| {
        let fd = std::os::fd::AsRawFd::as_raw_fd(&folder);
        let mut stream = UnixStream::connect(format!("/proc/self/fd/{fd}/control.sock")).unwrap();
        stream.write_all(text).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let long = vec![b'x'; 70_000];
    for (text, why) in [
        (&b"{}\n"[..], "cannot be read"),
        (b"{\"protocol\":1,\"command\":\"dance\"}\n", "unknown variant"),
        (b"{\"protocol\":2,\"command\":\"status\"}\n", "of protocol 2, this job speaks 1"),
        (b"{\"protocol\":1,\"command\":\"status\"}", "one line"),
        (b"", "one line"),
    ] {
        let answer = ask(text);
        assert!(answer.contains("refused") && answer.contains(why), "{answer}");
    }
    let mut stream = {
        let fd = std::os::fd::AsRawFd::as_raw_fd(&folder);
        UnixStream::connect(format!("/proc/self/fd/{fd}/control.sock")).unwrap()
    };
    // it does not read on for ever: the write fails, or the answer is a refusal
    drop(stream.write_all(&long));
    let mut answer = String::new();
    drop(stream.read_to_string(&mut answer));
    assert!(answer.is_empty() || answer.contains("one line"), "{answer}");
    assert_eq!(client.status().unwrap().entries, 10);
    drop(handle);
    assert!(!left.exists());
}
