//! Lines and stamps.

use proptest::prelude::*;

use super::super::event::{Login, What};
use super::super::guard::{Failure, Failures, Rules};
use super::super::line::parse;
use super::super::{LoginOptions, Stamps};

fn iso(message: &str) -> Option<Login> {
    let line = format!("2026-11-30T19:55:01.250+01:00 host {message}");
    let timed = parse(&line, &Stamps::Iso).unwrap()?;
    assert_eq!(timed.ts, 1_796_064_901_250);
    Some(timed.value)
}

fn login(address: &str, port: u16, user: &str, what: What) -> Login {
    Login { address: address.to_owned(), port: Some(port), user: user.to_owned(), what }
}

#[test]
fn lines_of_openssh() {
    let failed = What::Failed { times: 1 };
    for (message, expected) in [
        (
            "sshd[71]: Failed password for root from 192.0.2.7 port 4022 ssh2",
            Some(login("192.0.2.7", 4022, "root", failed)),
        ),
        (
            "sshd-session[71]: Failed password for invalid user bob from 2001:db8:0::1 port 9 ssh2",
            Some(login("2001:db8::1", 9, "bob", failed)),
        ),
        (
            "sshd[71]: Failed keyboard-interactive/pam for root from ::ffff:192.0.2.7 port 1 ssh2",
            Some(login("192.0.2.7", 1, "root", failed)),
        ),
        (
            "sshd[71]: message repeated 4 times: [ Failed password for root from 192.0.2.7 port 5 ssh2]",
            Some(login("192.0.2.7", 5, "root", What::Failed { times: 4 })),
        ),
        (
            "sshd[71]: Accepted publickey for alice from 192.0.2.9 port 50 ssh2: ED25519 SHA256:abc",
            Some(login("192.0.2.9", 50, "alice", What::Accepted)),
        ),
        (
            "sshd[71]: Disconnected from user alice 192.0.2.9 port 50",
            Some(login("192.0.2.9", 50, "alice", What::Closed)),
        ),
        (
            "sshd[71]: Received disconnect from 192.0.2.9 port 50:11: disconnected by user",
            Some(login("192.0.2.9", 50, "", What::Closed)),
        ),
        (
            "sshd[71]: Connection closed by authenticating user root 192.0.2.7 port 8 [preauth]",
            Some(login("192.0.2.7", 8, "root", What::GaveUp)),
        ),
        (
            "sshd[71]: Connection reset by invalid user  192.0.2.7 port 8 [preauth]",
            Some(login("192.0.2.7", 8, "", What::GaveUp)),
        ),
        (
            "sshd[71]: Connection closed by 192.0.2.7 port 8 [preauth]",
            Some(login("192.0.2.7", 8, "", What::Closed)),
        ),
        ("sshd[71]: Failed publickey for root from 192.0.2.7 port 4 ssh2: RSA SHA256:x", None),
        ("sshd[71]: Failed none for invalid user bob from 192.0.2.7 port 4 ssh2", None),
        ("sshd[71]: Server listening on 0.0.0.0 port 22.", None),
        ("CRON[8]: Failed password for root from 192.0.2.7 port 4022 ssh2", None),
        ("kernel: eth0 up", None),
    ] {
        assert_eq!(iso(message), expected, "{message}");
    }
    assert_eq!(parse("-- Boot 0123456789abcdef --", &Stamps::Iso).unwrap(), None);
}

#[test]
fn a_user_name_cannot_pass_for_an_address() {
    let message = "sshd[1]: Failed password for invalid user x from 10.0.0.1 port 22 from 192.0.2.7 port 5 ssh2";
    let expected =
        Some(login("192.0.2.7", 5, "x from 10.0.0.1 port 22", What::Failed { times: 1 }));
    assert_eq!(iso(message), expected);
    let message =
        "sshd[1]: Connection closed by invalid user a 10.0.0.1 port 1 192.0.2.7 port 8 [preauth]";
    assert_eq!(iso(message), Some(login("192.0.2.7", 8, "a 10.0.0.1 port 1", What::GaveUp)));
}

fn at(stamp: &str, year: &str, zone: &str) -> Result<String, String> {
    let stamps = Stamps::syslog(year, zone).map_err(|error| error.to_string())?;
    let line = format!("{stamp} host sshd[1]: Accepted password for a from 192.0.2.1 port 1 ssh2");
    let ts = parse(&line, &stamps)?.ok_or("no event")?.ts;
    Ok(jiff::Timestamp::from_millisecond(ts).map_err(|error| error.to_string())?.to_string())
}

#[test]
fn syslog_stamps_take_their_year_and_zone_from_the_settings() {
    for (stamp, year, zone, expected) in [
        ("Nov 30 19:55:01", "2026", "UTC", "2026-11-30T19:55:01Z"),
        ("Nov  3 09:05:01", "2026", "+05:30", "2026-11-03T03:35:01Z"),
        ("Nov  3 09:05:01", "2026", "-0800", "2026-11-03T17:05:01Z"),
        ("Dec 31 23:59:60", "2026-11", "UTC", "2026-12-31T23:59:59Z"),
        ("Jan  1 00:00:01", "2026-11", "UTC", "2027-01-01T00:00:01Z"),
        ("Feb 29 00:00:00", "2028", "UTC", "2028-02-29T00:00:00Z"),
    ] {
        assert_eq!(at(stamp, year, zone).unwrap(), expected, "{stamp} {year} {zone}");
    }
}

#[test]
fn a_bad_stamp_says_what_was_expected() {
    for (stamp, year, zone, expected) in [
        ("Feb 29 00:00:00", "2026", "UTC", "stamp \"Feb 29 00:00:00\""),
        ("Nov 30 25:00:00", "2026", "UTC", "expected month, day and time"),
        ("Nix 30 12:00:00", "2026", "UTC", "expected month, day and time"),
        ("Nov 30 12:00:00", "26-13", "UTC", "setting year=26-13: expected a year such as 2026"),
        ("Nov 30 12:00:00", "2026", "Mars/Base", "setting zone=Mars/Base: expected a name"),
    ] {
        let text = at(stamp, year, zone).unwrap_err();
        assert!(text.contains(expected), "{text}");
    }
    let text = parse("Nov 30 19:55:01 host sshd[1]: x", &Stamps::Iso).unwrap_err();
    assert!(text.contains("expected a stamp such as 2026-11-30T19:55:01+01:00"), "{text}");
}

#[test]
fn a_named_zone_knows_its_daylight_saving_where_the_system_has_zones() {
    if jiff::tz::TimeZone::get("Europe/Berlin").is_err() {
        return;
    }
    for (stamp, expected) in [
        ("Jul  1 12:00:00", "2026-07-01T10:00:00Z"),
        ("Dec  1 12:00:00", "2026-12-01T11:00:00Z"),
        // Twice: the earlier. Skipped: the later.
        ("Oct 25 02:30:00", "2026-10-25T00:30:00Z"),
        ("Mar 29 02:30:00", "2026-03-29T01:30:00Z"),
    ] {
        assert_eq!(at(stamp, "2026", "Europe/Berlin").unwrap(), expected, "{stamp}");
    }
}

#[test]
fn settings_of_stamps_are_explicit() {
    let from = |stamps, year, zone, is_pipe| {
        Stamps::from_settings(stamps, year, zone, is_pipe).map_err(|error| error.to_string())
    };
    assert_eq!(from(None, None, None, false), Ok(Stamps::Iso));
    assert_eq!(from(Some("iso"), None, None, true), Ok(Stamps::Iso));
    assert!(from(None, Some("2026"), Some("UTC"), true).is_ok());
    for (stamps, year, zone, expected) in [
        (None, None, None, "standard input: say how it writes times"),
        (None, Some("2026"), None, "set both year and zone"),
        (Some("syslog"), None, None, "set both year and zone"),
        (Some("iso"), Some("2026"), None, "leave them out"),
        (Some("rfc"), None, None, "expected iso or syslog"),
    ] {
        let text = from(stamps, year, zone, true).unwrap_err();
        assert!(text.contains(expected), "{text}");
    }
}

proptest! {
    /// The failures that are kept find the same bursts as looking at all of them.
    #[test]
    fn a_burst_is_found_whatever_is_forgotten(gaps in prop::collection::vec((0..50_i64, 1..3_u32), 0..40)) {
        let mut options = LoginOptions::new("-");
        options.window = std::time::Duration::from_millis(60);
        let rules = Rules::new(&options);
        let (mut kept, mut all, mut now) = (Failures::default(), Vec::new(), 0);
        for (gap, times) in gaps {
            now += gap;
            all.extend(std::iter::repeat_n(now, times as usize));
            let found = kept.add(Failure { ts: now, port: None }, times, rules);
            let expected = all.windows(3).any(|window| window[2] - window[0] <= 60);
            prop_assert_eq!(found.is_some(), expected);
            prop_assert!(kept.recent.len() < 6 + 2);
            if expected {
                break;
            }
        }
    }
}
