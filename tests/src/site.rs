//! The real program, as a browser finds it: started on a free port, ended when it is dropped.
//!
//! In: a data folder and what a made-up job says. Out: addresses to open. Never here: a browser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// A running server. Dropping it kills it.
#[derive(Debug)]
pub struct Site {
    child: Child,
    // kept open: a server that cannot print stops
    _out: BufReader<ChildStdout>,
    entrance: String,
}

impl Site {
    /// Starts server and demo job; `arguments` are further ones of `stateward demo`.
    ///
    /// # Errors
    /// Where the program is missing, or ends instead.
    pub fn demo(data_dir: &Path, arguments: &[&str]) -> Result<Self> {
        Self::start(Command::new(program()?).arg("demo").args(arguments), data_dir)
    }

    /// Starts a server without a job.
    ///
    /// # Errors
    /// Where the program is missing, or ends instead.
    pub fn serve(data_dir: &Path) -> Result<Self> {
        Self::start(Command::new(program()?).arg("serve"), data_dir)
    }

    fn start(command: &mut Command, data_dir: &Path) -> Result<Self> {
        command.args(["--port", "0", "--data-dir"]).arg(data_dir).env("RUST_LOG", "warn");
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut out = BufReader::new(child.stdout.take().context("standard output is piped")?);
        let mut line = String::new();
        out.read_line(&mut line)?;
        let Some(entrance) = line.trim().strip_prefix("Stateward is at ") else {
            child.kill()?;
            child.wait()?;
            bail!("it said {line:?} instead of where it is");
        };
        let entrance = entrance.to_owned();
        Ok(Self { child, _out: out, entrance })
    }

    /// The address that signs a browser in: the overview, with the token.
    pub fn entrance(&self) -> &str {
        &self.entrance
    }

    /// The address of a page; `path` begins with a slash.
    pub fn page(&self, path: &str) -> String {
        let origin = self.entrance.split_once("/?").map_or(&*self.entrance, |(origin, _)| origin);
        format!("{origin}{path}")
    }

    /// Posts what an agent says.
    ///
    /// # Errors
    /// Where the server does not answer 200; the text is its answer.
    pub fn post(&self, path: &str, body: &[u8]) -> Result<()> {
        let door = self.entrance.strip_prefix("http://").and_then(|url| url.split_once("/?token="));
        let (addr, token) = door.context("the entrance has a token")?;
        let mut stream = TcpStream::connect(addr)?;
        let length = body.len();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {token}\r\n\
             Connection: close\r\nContent-Length: {length}\r\n\r\n"
        )?;
        stream.write_all(body)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        ensure!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        Ok(())
    }
}

/// The program that was built beside this one, or beside the folder of this test.
fn program() -> Result<PathBuf> {
    let own = std::env::current_exe()?;
    let places = own.ancestors().skip(1).take(2).map(|folder| folder.join("stateward"));
    places.into_iter().find(|place| place.is_file()).with_context(|| {
        format!("no stateward beside {}: cargo build --workspace --bins", own.display())
    })
}

impl Drop for Site {
    fn drop(&mut self) {
        // it is gone already where it ended by itself
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
