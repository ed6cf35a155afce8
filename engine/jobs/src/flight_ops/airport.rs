//! By airport: the departures that are due, and each day in figures.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use stateward_engine::{
    Context, Error, MapState, MapStateDescriptor, Open, ProcessFunction, Ttl, ValueState,
    ValueStateDescriptor,
};

use super::event::{FlightEvent, Kind, date};

/// On the board from 4 h before the planned time to 2 h after it.
const DUE_TTL_HOURS: u64 = 6;
const DAY_TTL_HOURS: u64 = 48;

/// A day of an airport so far.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Day {
    date: String,
    departed: u32,
    cancelled: u32,
    /// Left after they had fallen off the board.
    overdue: u32,
    late_min: i64,
}

/// What is told of an airport.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct AirportReport {
    airport: String,
    date: String,
    departed: u32,
    cancelled: u32,
    overdue: u32,
    mean_delay_min: f64,
}

struct Airport {
    due: MapState<str, String, i64>,
    day: ValueState<str, Day>,
}

#[expect(clippy::unnecessary_wraps, reason = "the shape that `process` asks for")]
pub(super) fn open(
    open: &mut Open<'_, str>,
) -> Result<impl ProcessFunction<str, FlightEvent, AirportReport> + use<>, Error> {
    let due_ttl = Ttl::new(Duration::from_hours(DUE_TTL_HOURS));
    let day_ttl = Ttl::new(Duration::from_hours(DAY_TTL_HOURS));
    let airport = Airport {
        due: open.map_state(MapStateDescriptor::new("departures_due").ttl(due_ttl)),
        day: open.value_state(ValueStateDescriptor::new("day").ttl(day_ttl)),
    };
    Ok(move |event: &FlightEvent, ctx: &mut Context<'_, str, AirportReport>| {
        let id = event.leg_id(ctx.event_time());
        match event.kind {
            Kind::Planned => airport.due.put(ctx, &id, &event.scheduled_millis(ctx.event_time())),
            Kind::Departed | Kind::Cancelled => airport.leave_board(&id, event, ctx),
            Kind::Arrived => Ok(()),
        }
    })
}

impl Airport {
    fn leave_board(
        &self,
        id: &String,
        event: &FlightEvent,
        ctx: &mut Context<'_, str, AirportReport>,
    ) -> Result<(), Error> {
        let was_due = self.due.contains(ctx, id)?;
        self.due.remove(ctx, id)?;
        let today = date(event.scheduled_millis(ctx.event_time()));
        let mut day = self.day.get(ctx)?.unwrap_or_default();
        // Events come in no order; only a later day ends the one before.
        if today > day.date {
            if day.departed > 0 {
                ctx.emit(report(&day, event.origin.clone()));
            }
            day = Day { date: today, ..Day::default() };
        }
        match event.kind {
            Kind::Cancelled => day.cancelled += 1,
            _ => day.departed += 1,
        }
        day.overdue += u32::from(!was_due);
        day.late_min += i64::from(event.delay_min.max(0));
        self.day.put(ctx, &day)
    }
}

fn report(day: &Day, airport: String) -> AirportReport {
    AirportReport {
        airport,
        date: day.date.clone(),
        departed: day.departed,
        cancelled: day.cancelled,
        overdue: day.overdue,
        mean_delay_min: day.late_min as f64 / f64::from(day.departed.max(1)),
    }
}
