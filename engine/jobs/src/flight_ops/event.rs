//! What happens to a flight, and a leg that was flown.

use jiff::tz::TimeZone;
use jiff::{Timestamp, civil::DateTime};
use serde::{Deserialize, Serialize};
use stateward_engine::Timed;

const MINUTE_MILLIS: i64 = 60_000;
/// A departure goes on the board so long before its time.
pub(super) const ANNOUNCED_BEFORE_MILLIS: i64 = 4 * 60 * MINUTE_MILLIS;

/// A row of the data: the plan of a flight and what became of it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct FlightRow {
    sched_dep_ms: i64,
    /// `None`: cancelled.
    dep_delay_min: Option<i32>,
    sched_block_min: i32,
    /// `None`: did not arrive, or elsewhere.
    arr_delay_min: Option<i32>,
    carrier: String,
    flight: u32,
    tailnum: String,
    origin: String,
    dest: String,
    distance_mi: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Kind {
    Planned,
    Departed,
    Arrived,
    Cancelled,
}

/// Something that happened to a flight at its event time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct FlightEvent {
    pub(super) kind: Kind,
    /// Carrier and number.
    pub(super) flight: String,
    /// Empty if unknown.
    pub(super) tailnum: String,
    pub(super) origin: String,
    pub(super) dest: String,
    /// Against the plan, of the departure or the arrival.
    pub(super) delay_min: i32,
    /// From gate to gate by plan.
    pub(super) block_min: i32,
    pub(super) distance_mi: u32,
}

impl FlightRow {
    pub(super) fn events(self) -> impl Iterator<Item = Timed<FlightEvent>> {
        let scheduled = self.sched_dep_ms;
        let planned = Some((Kind::Planned, 0, scheduled - ANNOUNCED_BEFORE_MILLIS));
        let departed = self
            .dep_delay_min
            .map(|delay| (Kind::Departed, delay, scheduled + i64::from(delay) * MINUTE_MILLIS));
        let arrived = self.dep_delay_min.and(self.arr_delay_min).map(|delay| {
            let minutes = i64::from(self.sched_block_min) + i64::from(delay);
            (Kind::Arrived, delay, scheduled + minutes * MINUTE_MILLIS)
        });
        let cancelled = self.dep_delay_min.is_none().then_some((Kind::Cancelled, 0, scheduled));
        let flight = format!("{}{}", self.carrier, self.flight);
        [planned, cancelled, departed, arrived].into_iter().flatten().map(
            move |(kind, delay_min, ts)| {
                let value = FlightEvent {
                    kind,
                    flight: flight.clone(),
                    tailnum: self.tailnum.clone(),
                    origin: self.origin.clone(),
                    dest: self.dest.clone(),
                    delay_min,
                    block_min: self.sched_block_min,
                    distance_mi: self.distance_mi,
                };
                Timed { value, ts }
            },
        )
    }
}

impl FlightEvent {
    /// When the flight was to depart. Computed from the event's time, which a loop shifts.
    pub(super) fn scheduled_millis(&self, event_millis: i64) -> i64 {
        let (delay, block) = (i64::from(self.delay_min), i64::from(self.block_min));
        match self.kind {
            Kind::Planned => event_millis + ANNOUNCED_BEFORE_MILLIS,
            Kind::Departed => event_millis - delay * MINUTE_MILLIS,
            Kind::Arrived => event_millis - (block + delay) * MINUTE_MILLIS,
            Kind::Cancelled => event_millis,
        }
    }

    /// Names this flight of this day: `UA1545/20130101T1015`.
    pub(super) fn leg_id(&self, event_millis: i64) -> String {
        let at = utc(self.scheduled_millis(event_millis));
        format!(
            "{}/{:04}{:02}{:02}T{:02}{:02}",
            self.flight,
            at.year(),
            at.month(),
            at.day(),
            at.hour(),
            at.minute()
        )
    }
}

/// A day of the calendar in UTC: `2013-01-01`.
pub(super) fn date(millis: i64) -> String {
    utc(millis).date().to_string()
}

fn utc(millis: i64) -> DateTime {
    let timestamp = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX);
    TimeZone::UTC.to_datetime(timestamp)
}

/// Minutes from one time to another.
pub(super) fn minutes(from_millis: i64, to_millis: i64) -> i32 {
    i32::try_from((to_millis - from_millis) / MINUTE_MILLIS).unwrap_or(i32::MAX)
}

/// A leg that was flown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Leg {
    pub(super) id: String,
    pub(super) tailnum: String,
    pub(super) origin: String,
    pub(super) dest: String,
    pub(super) distance_mi: u32,
    pub(super) departure_delay_min: i32,
    pub(super) arrival_delay_min: i32,
    /// Since the aircraft's last arrival that we know of.
    pub(super) since_last_arrival_min: Option<i32>,
    /// What it was late then.
    pub(super) inherited_delay_min: Option<i32>,
    /// Which leg of the aircraft's rotation it is, from 1.
    pub(super) number_in_rotation: u32,
}
