//! One request a connection: whether an answer came whole is then plain to see.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde::de::DeserializeOwned;

/// How long an answer may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Address and token of a server.
#[derive(Clone, Debug)]
pub struct Door {
    /// Where it listens.
    pub addr: SocketAddr,
    token: String,
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Status.
    pub status: u16,
    /// Body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// Where the status is not 200, or the body is something else.
    pub fn json<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        anyhow::ensure!(self.status == 200, "{}: {}", self.status, self.text());
        Ok(serde_json::from_slice(&self.body)?)
    }
}

impl Door {
    /// Reads `http://ADDRESS/?token=TOKEN`.
    pub(super) fn of_url(url: &str) -> Option<Self> {
        let (addr, token) = url.strip_prefix("http://")?.split_once("/?token=")?;
        Some(Self { addr: addr.parse().ok()?, token: token.to_owned() })
    }

    /// The address that signs a browser in: the overview, with the token.
    pub fn entrance(&self) -> String {
        format!("http://{}/?token={}", self.addr, self.token)
    }

    /// The address of a page; `path` begins with a slash.
    pub fn page(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    /// The start token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Gets a path.
    ///
    /// # Errors
    /// Where no whole answer comes.
    pub fn get(&self, path: &str) -> io::Result<Answer> {
        self.send(&format!("GET {path}"), &[])
    }

    /// Posts a body.
    ///
    /// # Errors
    /// Where no whole answer comes.
    pub fn post(&self, path: &str, body: &[u8]) -> io::Result<Answer> {
        self.send(&format!("POST {path}"), body)
    }

    /// Posts a body and closes the connection before the answer.
    ///
    /// # Errors
    /// Where the server cannot be reached.
    pub fn post_and_hang_up(&self, path: &str, body: &[u8]) -> io::Result<()> {
        self.open(&format!("POST {path}"), body).map(drop)
    }

    fn send(&self, line: &str, body: &[u8]) -> io::Result<Answer> {
        let mut bytes = Vec::new();
        self.open(line, body)?.read_to_end(&mut bytes)?;
        parse(&bytes).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn open(&self, line: &str, body: &[u8]) -> io::Result<TcpStream> {
        let mut stream = TcpStream::connect(self.addr)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let (addr, token, length) = (self.addr, &self.token, body.len());
        let head = format!(
            "{line} HTTP/1.1\r\nHost: {addr}\r\nAuthorization: Bearer {token}\r\n\
             Connection: close\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        Ok(stream)
    }
}

/// An answer without a length, such as a page, counts as whole once its head is.
fn parse(bytes: &[u8]) -> Option<Answer> {
    let at = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let (head, body) = (String::from_utf8_lossy(bytes.get(..at)?), bytes.get(at + 4..)?);
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    let whole = length.is_none_or(|length: usize| length == body.len());
    whole.then(|| Answer { status, body: body.to_vec() })
}
