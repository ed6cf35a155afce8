//! The `chromedriver` process of one browser.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};

const PORT_PREFIX: &str = "ChromeDriver was started successfully on port ";
/// How long the driver gets to end its Chromium before it is killed.
const FAREWELL: Duration = Duration::from_secs(5);

/// A running driver; dropping it ends it and the browser that it started.
#[derive(Debug)]
pub(super) struct Driver {
    process: Child,
    port: u16,
    // Kept open: a driver that cannot write dies.
    _output: BufReader<ChildStdout>,
}

impl Driver {
    /// Starts a driver on a free port, and waits until it listens.
    pub(super) async fn start() -> Result<Self> {
        tokio::task::spawn_blocking(Self::start_blocking).await?
    }

    fn start_blocking() -> Result<Self> {
        let mut process = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start chromedriver (on Debian: apt-get install chromium-driver)")?;
        let mut output = BufReader::new(process.stdout.take().context("stdout is piped")?);
        let port = port_of(&mut output)?;
        Ok(Self { process, port, _output: output })
    }

    /// Where the driver listens.
    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Asks the driver to end its browser and itself. Blocking, for it is needed when dropping.
    fn shut_down(&self) -> std::io::Result<()> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(FAREWELL))?;
        stream
            .write_all(b"GET /shutdown HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
        stream.read_to_end(&mut Vec::new()).map(drop)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Killed alone, the driver would leave its browser behind; a driver that does not answer
        // any more has none.
        self.shut_down().ok();
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn port_of(output: &mut impl BufRead) -> Result<u16> {
    let mut said = String::new();
    loop {
        let from = said.len();
        if output.read_line(&mut said)? == 0 {
            bail!("chromedriver ended before it listened; it said: {said}");
        }
        let line = said.get(from..).unwrap_or_default();
        if let Some(port) = line.strip_prefix(PORT_PREFIX) {
            return port.trim().trim_end_matches('.').parse().context("chromedriver's port");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_read_from_the_greeting() {
        let mut greeting =
            "Starting ChromeDriver 156\nChromeDriver was started successfully on port 41523.\n"
                .as_bytes();
        assert_eq!(port_of(&mut greeting).unwrap(), 41523);
        let error = port_of(&mut "cannot bind\n".as_bytes()).unwrap_err();
        assert!(error.to_string().contains("cannot bind"), "{error}");
    }
}
