//! Long steps that show where they are: a heading, the program's own output, a sign of life.

use std::fs;
use std::io::IsTerminal;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use crate::environment;
use crate::failure::{Exit, Failure, Outcome};

/// How often a silent step says that it still runs.
const SIGN_OF_LIFE: Duration = Duration::from_secs(30);
/// How often the end of a program is looked for.
const POLL: Duration = Duration::from_millis(100);

/// Numbers the steps of one command.
#[derive(Debug)]
pub(crate) struct Steps {
    done: u32,
    total: u32,
    started: Instant,
}

impl Steps {
    /// Begins a command that has this many steps.
    pub(crate) fn new(total: u32) -> Self {
        Self { done: 0, total, started: Instant::now() }
    }

    /// Prints the heading of the next step.
    pub(crate) fn next(&mut self, what: &str) {
        self.done += 1;
        let seconds = self.started.elapsed().as_secs();
        let since = if seconds < 1 { String::new() } else { format!(" ({seconds} s so far)") };
        eprintln!("[{}/{}] {what}{since}", self.done, self.total);
    }
}

/// Runs a program to its end with our own input and output; `what` names it when it fails.
pub(crate) fn run(command: &mut Command, what: &str) -> Outcome {
    let status = watch(spawn(command, what)?, what)?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::unknown(format!("{what} failed ({status}); its output is above")))
}

/// Runs a program whose exit code is the answer: 0 good, 1 no, 2 usage, anything else unknown.
pub(crate) fn pass_through(command: &mut Command, what: &str) -> Outcome {
    let status = watch(spawn(command, what)?, what)?;
    let exit = match status.code() {
        Some(0) => return Ok(()),
        Some(1) => Exit::No,
        Some(2) => Exit::Usage,
        _ => Exit::Unknown,
    };
    Err(Failure { exit, message: format!("{what} ended with {status}") })
}

/// Starts a program.
pub(crate) fn spawn(command: &mut Command, what: &str) -> Outcome<Child> {
    command.spawn().map_err(|error| {
        Failure::unknown(format!(
            "{what}: cannot start {}: {error}",
            command.get_program().to_string_lossy()
        ))
    })
}

fn watch(mut child: Child, what: &str) -> Outcome<ExitStatus> {
    let started = Instant::now();
    let mut said = started;
    loop {
        let ended =
            child.try_wait().map_err(|error| Failure::unknown(format!("{what}: {error}")))?;
        if let Some(status) = ended {
            return Ok(status);
        }
        std::thread::sleep(POLL);
        if said.elapsed() >= SIGN_OF_LIFE {
            said = Instant::now();
            // On a terminal cargo draws its own bar; only RocksDB's files are not in it.
            let files = rocksdb_files();
            if !std::io::stderr().is_terminal() || files.is_some() {
                let minutes = started.elapsed().as_secs_f64() / 60.0;
                eprintln!("      {minutes:.1} min{}", files.unwrap_or_default());
            }
        }
    }
}

/// How far a running RocksDB build is, in object files written within the last seconds.
fn rocksdb_files() -> Option<String> {
    ["debug", "release"].iter().find_map(|profile| {
        let builds = fs::read_dir(environment::target().join(profile).join("build")).ok()?;
        builds.flatten().find_map(|build| {
            let ours = build.file_name().to_string_lossy().starts_with("rust-librocksdb-sys-");
            let out = build.path().join("out");
            (ours && is_fresh(&out)).then(|| objects(&out)).flatten()
        })
    })
}

fn objects(out: &Path) -> Option<String> {
    let files = fs::read_dir(out).ok()?.flatten();
    let count = files.filter(|file| file.path().extension().is_some_and(|e| e == "o")).count();
    (count > 0).then(|| format!(", RocksDB: {count} of about 350 files compiled"))
}

fn is_fresh(folder: &Path) -> bool {
    let modified = fs::metadata(folder).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age < 2 * SIGN_OF_LIFE))
}
