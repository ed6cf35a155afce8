//! The two ways in which logs write times.
//!
//! A syslog stamp (RFC 3164, `Nov 30 19:55:01`) has neither year nor zone: both must be given, and
//! nothing is guessed from the time at which the job happens to run.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::{Offset, TimeZone};
use stateward_engine::Error;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// `Nov 30 19:55:01`.
const SYSLOG_CHARS: usize = 15;
const FIRST_LINE_BYTES: u64 = 4096;

/// How a log writes its times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stamps {
    /// ISO 8601 with an offset: `2026-11-30T19:55:01.123456+01:00`.
    Iso,
    /// RFC 3164: `Nov 30 19:55:01`.
    Syslog {
        /// Year of the stamps from `first_month` on; months before it are of the next year.
        year: i16,
        /// 1 to 12; 1: all stamps are of the one year.
        first_month: i8,
        /// Zone of the machine that wrote them. A time that occurs twice at the end of daylight
        /// saving is taken for the earlier one, a skipped one for the later.
        zone: TimeZone,
    },
}

impl Stamps {
    /// Declares syslog stamps: the year as `2026` or `2026-11`, the zone as a name or an offset.
    ///
    /// # Errors
    /// Where one of them cannot be understood, or the system knows no such zone.
    pub fn syslog(year: &str, zone: &str) -> Result<Self, Error> {
        let (year_text, month_text) = year.split_once('-').unwrap_or((year, "1"));
        let parsed = year_text.parse::<i16>().ok().zip(month_text.parse::<i8>().ok());
        let Some((number, first_month)) = parsed.filter(|(_, month)| (1..=12).contains(month))
        else {
            return Err(Error::Declaration(format!(
                "setting year={year}: expected a year such as 2026, or 2026-11 for the twelve \
                 months from November 2026 on"
            )));
        };
        Ok(Self::Syslog { year: number, first_month, zone: parse_zone(zone)? })
    }

    pub(super) fn from_settings(
        stamps: Option<&str>,
        year: Option<&str>,
        zone: Option<&str>,
        is_pipe: bool,
    ) -> Result<Self, Error> {
        let refused = |detail: &str| Err(Error::Declaration(detail.to_owned()));
        match (stamps, year, zone) {
            (Some("iso"), None, None) => Ok(Self::Iso),
            (None | Some("syslog"), Some(year), Some(zone)) => Self::syslog(year, zone),
            (None, None, None) if !is_pipe => Ok(Self::Iso),
            (None, None, None) => refused(
                "standard input: say how it writes times, stamps=iso (journalctl -o short-iso) or \
                 year=2026 and zone=Europe/Berlin (journalctl's default form, which has neither)",
            ),
            (Some("iso"), ..) => refused("stamps=iso has its own year and zone; leave them out"),
            (None | Some("syslog"), ..) => {
                refused("syslog stamps have neither year nor zone: set both year and zone")
            }
            (Some(other), ..) => {
                refused(&format!("setting stamps={other}: expected iso or syslog"))
            }
        }
    }

    /// Looks at the first line of a plain log, so that a wrong declaration does not reject them all.
    pub(super) fn check_first_line(&self, path: &Path) -> Result<(), Error> {
        if path == Path::new("-") {
            return Ok(());
        }
        let file = File::open(path).map_err(Error::io("cannot open", path))?;
        let mut line = Vec::new();
        BufReader::new(file.take(FIRST_LINE_BYTES))
            .read_until(b'\n', &mut line)
            .map_err(Error::io("cannot read", path))?;
        let Ok(line) = str::from_utf8(&line) else { return Ok(()) };
        let is_syslog = looks_like_syslog(line);
        let is_iso = line.starts_with(|letter: char| letter.is_ascii_digit());
        let hint = match self {
            Self::Iso if is_syslog => {
                "its stamps have neither year nor zone: set year (such as 2026) and zone (such as \
                 Europe/Berlin)"
            }
            Self::Syslog { .. } if is_iso => {
                "its stamps have their own year and zone: set stamps=iso, without year and zone"
            }
            _ => return Ok(()),
        };
        Err(Error::Input {
            place: format!("{} row 1", path.display()),
            detail: format!("{:?}: {hint}", line.chars().take(40).collect::<String>()),
        })
    }

    /// Takes the stamp off a line: its time and the rest.
    pub(super) fn split<'a>(&self, line: &'a str) -> Result<(i64, &'a str), String> {
        match self {
            Self::Iso => {
                let (stamp, rest) = line.split_once(' ').unwrap_or((line, ""));
                let timestamp = stamp.parse::<Timestamp>().map_err(|error| {
                    format!("expected a stamp such as 2026-11-30T19:55:01+01:00: {error}")
                })?;
                Ok((timestamp.as_millisecond(), rest))
            }
            Self::Syslog { year, first_month, zone } => {
                let (Some(stamp), Some(rest)) =
                    (line.get(..SYSLOG_CHARS), line.get(SYSLOG_CHARS..))
                else {
                    return Err("expected a stamp such as Nov 30 19:55:01".to_owned());
                };
                let millis = syslog_millis(stamp, *year, *first_month, zone)
                    .map_err(|error| format!("stamp {stamp:?}: {error}"))?;
                Ok((millis, rest.trim_start()))
            }
        }
    }
}

fn looks_like_syslog(line: &str) -> bool {
    MONTHS.iter().any(|month| line.starts_with(month))
}

fn syslog_millis(stamp: &str, year: i16, first_month: i8, zone: &TimeZone) -> Result<i64, String> {
    let wrong = || "expected month, day and time such as Nov 30 19:55:01".to_owned();
    let mut words = stamp.split_ascii_whitespace();
    let (Some(month), Some(day), Some(time)) = (words.next(), words.next(), words.next()) else {
        return Err(wrong());
    };
    let month = MONTHS.iter().position(|name| *name == month).ok_or_else(wrong)? as i8 + 1;
    let day = day.parse::<i8>().map_err(|_unreadable| wrong())?;
    let mut parts = time.split(':').map(str::parse::<i8>);
    let (Some(Ok(hour)), Some(Ok(minute)), Some(Ok(second)), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(wrong());
    };
    let year = if month < first_month { year + 1 } else { year };
    // A leap second counts as the second before it.
    let local = Date::new(year, month, day)
        .map(|date| (date, second.min(59)))
        .map_err(|error| error.to_string())?;
    if !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0..=60).contains(&second) {
        return Err(wrong());
    }
    let local = local.0.at(hour, minute, local.1, 0);
    let zoned =
        zone.to_ambiguous_zoned_datetime(local).compatible().map_err(|error| error.to_string())?;
    Ok(zoned.timestamp().as_millisecond())
}

fn parse_zone(zone: &str) -> Result<TimeZone, Error> {
    if let Some(offset) = parse_offset(zone) {
        return Ok(TimeZone::fixed(offset));
    }
    if zone == "UTC" || zone == "Z" {
        return Ok(TimeZone::UTC);
    }
    TimeZone::get(zone).map_err(|error| {
        Error::Declaration(format!(
            "setting zone={zone}: expected a name such as Europe/Berlin (from the system's tzdata) \
             or an offset such as +01:00: {error}"
        ))
    })
}

/// `+01:00`, `-0530`.
fn parse_offset(text: &str) -> Option<Offset> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let digits = digits.replace(':', "");
    if digits.len() != 4 {
        return None;
    }
    let number = digits.parse::<i32>().ok()?;
    let (hours, minutes) = (number / 100, number % 100);
    if minutes >= 60 {
        return None;
    }
    Offset::from_seconds(sign * (hours * 3_600 + minutes * 60)).ok()
}
