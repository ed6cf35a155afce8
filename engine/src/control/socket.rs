//! The job's side: a thread that listens, and one for each of a few connections.

use std::convert::Infallible;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};

use super::place::{SOCKET, ShortPath};
use super::protocol::{Answer, LINE_BYTES_MAX, Outcome, PROTOCOL, Request, What};
use crate::error::Error;

/// Connections at a time; more wait in the system's queue.
const CONNECTIONS_MAX: usize = 8;
/// How often it is looked for connections, and whether the job goes on.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// Longest that somebody may take to say what they want, or to take the answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Does what is asked for.
pub(crate) type Serve = Arc<dyn Fn(What) -> Outcome + Send + Sync>;

/// Answers whoever comes until `shards` closes; waits for what is being answered then, so that a
/// savepoint of the last epoch is written.
pub(crate) fn serve(
    listener: &UnixListener,
    job_dir: &Path,
    answer: &Serve,
    shards: &Receiver<Infallible>,
) -> Result<(), Error> {
    let mut connections: Vec<JoinHandle<()>> = Vec::new();
    loop {
        connections.retain(|connection| !connection.is_finished());
        while connections.len() < CONNECTIONS_MAX
            && let Ok((stream, _)) = listener.accept()
        {
            let answer = Arc::clone(answer);
            let thread = std::thread::Builder::new().name("stateward-control-call".into());
            let spawned = thread.spawn(move || {
                if let Err(e) = converse(&stream, &answer) {
                    tracing::debug!("a control connection ended early: {e}");
                }
            });
            connections.push(spawned.map_err(Error::io("start thread", job_dir))?);
        }
        if shards.recv_timeout(LOOK_INTERVAL) == Err(RecvTimeoutError::Disconnected) {
            break;
        }
    }
    drop(fs::remove_file(job_dir.join(SOCKET)));
    for connection in connections {
        if connection.join().is_err() {
            tracing::warn!("a control connection panicked");
        }
    }
    Ok(())
}

/// Opens the socket in a job's folder, which this process has locked. Binds under another name first,
/// so that nobody can connect before the mode is set; what a killed run left behind is replaced.
pub(crate) fn listen(job_dir: &Path) -> Result<UnixListener, Error> {
    const FRESH: &str = ".control.new";
    let (fresh, socket) = (ShortPath::of(job_dir, FRESH)?, job_dir.join(SOCKET));
    let refused = |action| Error::io(action, &socket);
    drop(fs::remove_file(fresh.path()));
    let listener = UnixListener::bind(fresh.path()).map_err(refused("bind"))?;
    fs::set_permissions(fresh.path(), fs::Permissions::from_mode(0o600))
        .map_err(refused("set the mode of"))?;
    fs::rename(fresh.path(), &socket).map_err(refused("bind"))?;
    listener.set_nonblocking(true).map_err(refused("listen at"))?;
    Ok(listener)
}

/// One request, one answer.
fn converse(stream: &UnixStream, answer: &Serve) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream.take(LINE_BYTES_MAX)).read_line(&mut line)?;
    let outcome = match parse(&line) {
        Ok(what) => answer(what),
        Err(why) => Outcome::Refused { why },
    };
    let mut text = serde_json::to_vec(&Answer { protocol: PROTOCOL, outcome })?;
    text.push(b'\n');
    let mut stream = stream;
    stream.write_all(&text)
}

fn parse(line: &str) -> Result<What, String> {
    if !line.ends_with('\n') {
        return Err(format!("a request is one line of at most {LINE_BYTES_MAX} bytes"));
    }
    let request: Request = serde_json::from_str(line).map_err(|e| {
        format!("the request cannot be read: {e}; this job speaks protocol {PROTOCOL}")
    })?;
    if request.protocol == PROTOCOL {
        return Ok(request.what);
    }
    Err(format!(
        "the request is of protocol {}, this job speaks {PROTOCOL}; use the program that the job runs with",
        request.protocol
    ))
}
