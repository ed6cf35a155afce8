//! OpenSSH's log lines, as syslog and journalctl write them.
//!
//! User names are chosen by the attacker and may contain anything, also ` from 10.0.0.1 port 22`:
//! addresses are therefore looked for from the line's end.

use std::net::IpAddr;

use stateward_engine::Timed;

use super::event::{Login, What};
use super::stamp::Stamps;

/// The events of a line: none if it is not OpenSSH's, or says nothing about a login.
///
/// Counted as failures are wrong passwords and wrong answers. Keys and the method `none` are not:
/// a client offers those before it asks its user.
pub(super) fn parse(text: &str, stamps: &Stamps) -> Result<Option<Timed<Login>>, String> {
    if text.starts_with("-- ") {
        // journalctl's own remarks.
        return Ok(None);
    }
    let (ts, rest) = stamps.split(text)?;
    Ok(message(rest).and_then(login).map(|value| Timed { value, ts }))
}

/// What sshd said: the text after `host sshd[123]: ` or `host sshd-session[123]: `.
fn message(rest: &str) -> Option<&str> {
    let (_host, rest) = rest.split_once(' ')?;
    let (process, message) = rest.split_once(": ")?;
    let (name, _pid) = process.split_once('[').unwrap_or((process, ""));
    matches!(name, "sshd" | "sshd-session" | "sshd-auth").then_some(message)
}

fn login(message: &str) -> Option<Login> {
    if let Some(repeated) = message.strip_prefix("message repeated ") {
        let (times, rest) = repeated.split_once(" times: [ ")?;
        let mut login = login(rest.strip_suffix(']')?.trim_end())?;
        if let What::Failed { times: once } = &mut login.what {
            *once = once.saturating_mul(times.parse().ok()?);
        }
        return Some(login);
    }
    let (action, rest) = message.split_once(' ')?;
    match action {
        "Failed" => {
            let (method, rest) = rest.split_once(" for ")?;
            let counts = method == "password" || method.starts_with("keyboard-interactive");
            let rest = rest.strip_prefix("invalid user ").unwrap_or(rest);
            counts.then_some(from(rest, What::Failed { times: 1 })).flatten()
        }
        "Accepted" => from(rest.split_once(" for ")?.1, What::Accepted),
        "Disconnected" | "Connection" | "Received" => closed(message),
        _ => None,
    }
}

/// `USER from ADDRESS port PORT …`.
fn from(rest: &str, what: What) -> Option<Login> {
    let (user, origin) = rest.rsplit_once(" from ")?;
    let mut words = origin.split(' ');
    let address = address(words.next()?)?;
    let port = if words.next() == Some("port") { words.next().and_then(number) } else { None };
    Some(Login { address, port, user: user.to_owned(), what })
}

/// `Connection closed by [authenticating|invalid user USER] ADDRESS port PORT [preauth]` and the
/// like.
fn closed(message: &str) -> Option<Login> {
    let rest = ["Connection closed by ", "Connection reset by ", "Disconnected from "]
        .iter()
        .chain(&["Received disconnect from "])
        .find_map(|start| message.strip_prefix(start))?;
    let (before, after) = rest.rsplit_once(" port ")?;
    let (user, origin) = before.rsplit_once(' ').unwrap_or(("", before));
    let is_preauth = after.ends_with("[preauth]");
    let tried = ["authenticating user", "invalid user"].iter().find_map(|kind| {
        let user = user.strip_prefix(kind)?;
        // An empty user name leaves no space behind it.
        user.strip_prefix(' ').or(user.is_empty().then_some(user))
    });
    let what = if is_preauth && tried.is_some() { What::GaveUp } else { What::Closed };
    let user = tried.or(user.strip_prefix("user ")).unwrap_or_default();
    let port = after.split([' ', ':']).next().and_then(number);
    Some(Login { address: address(origin)?, port, user: user.to_owned(), what })
}

fn number(word: &str) -> Option<u16> {
    word.parse().ok()
}

/// An address in its shortest form, or a host name where sshd looks names up.
fn address(word: &str) -> Option<String> {
    if let Ok(address) = word.parse::<IpAddr>() {
        return Some(address.to_canonical().to_string());
    }
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || ".-_:%".contains(letter);
    (!word.is_empty() && word.chars().all(is_name)).then(|| word.to_owned())
}
