//! Starts `stateward serve` and ends it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use anyhow::{Context, Result, ensure};

use super::client::Door;
use crate::crash::wait_for;

/// Finds the program that was built beside this one, or beside the folder of this test.
///
/// # Errors
/// Where it is missing, or older than a source that it was built from; the text says how to build it.
pub fn stateward() -> Result<PathBuf> {
    const BUILD: &str = "cargo build --workspace --bins --tests";
    let own = std::env::current_exe()?;
    let places = own.ancestors().skip(1).take(2).map(|folder| folder.join("stateward"));
    let beside = || format!("no stateward beside {}; build it: {BUILD}", own.display());
    let program = places.into_iter().find(|place| place.is_file()).with_context(beside)?;
    let built = fs::metadata(&program)?.modified()?;
    let list = program.with_extension("d");
    let sources = fs::read_to_string(&list).with_context(|| list.display().to_string())?;
    let sources = sources.split_once(": ").map_or("", |(_, sources)| sources);
    for source in sources.split_whitespace() {
        let changed = fs::metadata(source).and_then(|source| source.modified());
        ensure!(
            changed.is_ok_and(|changed| changed <= built),
            "{source} is newer than {}; build it: {BUILD}",
            program.display()
        );
    }
    Ok(program)
}

/// A running server. Dropping it kills it.
#[derive(Debug)]
pub struct Serve {
    child: Child,
    // kept open: a server that cannot print stops
    _out: BufReader<ChildStdout>,
    door: Door,
}

/// How a server that did not start ended.
#[derive(Debug)]
pub struct Exit {
    /// Its exit status.
    pub status: ExitStatus,
    /// What it said on standard error.
    pub said: String,
}

/// The program, and where it will tell its errors.
fn command(arguments: &[&str], data_dir: &Path, port: u16) -> Result<(Command, File)> {
    let errors = tempfile::tempfile()?;
    let mut command = Command::new(stateward()?);
    command.args(arguments).args(["--port", &port.to_string(), "--data-dir"]).arg(data_dir);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors.try_clone()?);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("STATEWARD__") {
            command.env_remove(name);
        }
    }
    command.env("RUST_LOG", "info,sqlx=warn").env("RUST_BACKTRACE", "0");
    Ok((command, errors))
}

fn read(mut errors: File) -> Result<String> {
    let mut text = String::new();
    errors.seek(SeekFrom::Start(0))?;
    errors.read_to_string(&mut text)?;
    Ok(text)
}

impl Serve {
    /// Starts a server on a free port and waits until it says where it is.
    ///
    /// # Errors
    /// Where it ends instead, with what it said.
    pub fn start(data_dir: &Path) -> Result<Self> {
        Self::start_with(data_dir, &[])
    }

    /// Starts server and demo job; `arguments` are further ones of `stateward demo`.
    ///
    /// # Errors
    /// As above.
    pub fn demo(data_dir: &Path, arguments: &[&str]) -> Result<Self> {
        Self::spawn(command(&[&["demo"], arguments].concat(), data_dir, 0)?)
    }

    /// Starts a server with more in its environment.
    ///
    /// # Errors
    /// As above.
    pub fn start_with(data_dir: &Path, environment: &[(&str, OsString)]) -> Result<Self> {
        let (mut command, errors) = command(&["serve"], data_dir, 0)?;
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        Self::spawn((command, errors))
    }

    fn spawn((mut command, errors): (Command, File)) -> Result<Self> {
        let mut child = command.spawn()?;
        let mut out = BufReader::new(child.stdout.take().context("standard output is piped")?);
        let mut line = String::new();
        out.read_line(&mut line)?;
        let door = line.trim().strip_prefix("Stateward is at ").and_then(Door::of_url);
        let Some(door) = door else {
            child.kill()?;
            child.wait()?;
            anyhow::bail!("it said {line:?} and {}", read(errors)?);
        };
        Ok(Self { child, _out: out, door })
    }

    /// Starts a server and kills it after so many turns, most likely before it is up.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start_and_kill(data_dir: &Path, turns: u64) -> Result<()> {
        let mut child = command(&["serve"], data_dir, 0)?.0.spawn()?;
        (0..turns).for_each(|_| std::thread::park_timeout(crate::crash::TURN));
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// Where it is.
    pub fn door(&self) -> Door {
        self.door.clone()
    }

    /// Kills it as `kill -9` does, and waits until it is gone.
    ///
    /// # Errors
    /// Where it was gone before.
    pub fn kill(mut self) -> Result<()> {
        ensure!(self.child.try_wait()?.is_none(), "the server ended by itself");
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        // it is gone already where it was killed
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Starts a server that must refuse to start.
///
/// # Errors
/// Where it starts.
pub fn refused(data_dir: &Path, port: u16) -> Result<Exit> {
    let (mut command, errors) = command(&["serve"], data_dir, port)?;
    let mut child = command.spawn()?;
    let ended = wait_for("the refusal", || Ok(child.try_wait()?));
    if ended.is_err() {
        child.kill()?;
        child.wait()?;
    }
    Ok(Exit { status: ended?, said: read(errors)? })
}
