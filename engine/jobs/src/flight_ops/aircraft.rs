//! By aircraft: which leg of its rotation it flies, and what delay it brings along.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use stateward_engine::{
    Context, Error, Open, ProcessFunction, Ttl, ValueState, ValueStateDescriptor,
};

use super::event::{FlightEvent, Kind, Leg, minutes};

/// An aircraft that was not seen for this long begins a new rotation.
const ROTATION_TTL: Duration = Duration::from_hours(36);

/// The leg that an aircraft flew last.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct LastLeg {
    arrived_millis: i64,
    arrival_delay_min: i32,
}

/// What an aircraft does between two long rests.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Rotation {
    legs: u32,
    /// The leg in the air.
    airborne: Option<Airborne>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Airborne {
    id: String,
    departure_delay_min: i32,
    since_last_arrival_min: Option<i32>,
    inherited_delay_min: Option<i32>,
}

struct Aircraft {
    last_leg: ValueState<str, LastLeg>,
    rotation: ValueState<str, Rotation>,
}

#[expect(clippy::unnecessary_wraps, reason = "the shape that `process` asks for")]
pub(super) fn open(
    open: &mut Open<'_, str>,
) -> Result<impl ProcessFunction<str, FlightEvent, Leg> + use<>, Error> {
    let ttl = Ttl::new(ROTATION_TTL);
    let aircraft = Aircraft {
        last_leg: open.value_state(ValueStateDescriptor::new("last_leg").ttl(ttl)),
        rotation: open.value_state(ValueStateDescriptor::new("rotation").ttl(ttl)),
    };
    Ok(move |event: &FlightEvent, ctx: &mut Context<'_, str, Leg>| match event.kind {
        Kind::Departed => aircraft.depart(event, ctx),
        Kind::Arrived => aircraft.arrive(event, ctx),
        Kind::Planned | Kind::Cancelled => Ok(()),
    })
}

impl Aircraft {
    fn depart(&self, event: &FlightEvent, ctx: &mut Context<'_, str, Leg>) -> Result<(), Error> {
        let last_leg = self.last_leg.get(ctx)?;
        let mut rotation = self.rotation.get(ctx)?.unwrap_or_default();
        rotation.legs += 1;
        let now = ctx.event_time();
        rotation.airborne = Some(Airborne {
            id: event.leg_id(now),
            departure_delay_min: event.delay_min,
            since_last_arrival_min: last_leg.as_ref().map(|leg| minutes(leg.arrived_millis, now)),
            inherited_delay_min: last_leg.map(|leg| leg.arrival_delay_min),
        });
        self.rotation.put(ctx, &rotation)
    }

    fn arrive(&self, event: &FlightEvent, ctx: &mut Context<'_, str, Leg>) -> Result<(), Error> {
        let now = ctx.event_time();
        let id = event.leg_id(now);
        let mut rotation = self.rotation.get(ctx)?.unwrap_or_default();
        let airborne = rotation.airborne.take().filter(|airborne| airborne.id == id);
        let leg = Leg {
            id,
            tailnum: event.tailnum.clone(),
            origin: event.origin.clone(),
            dest: event.dest.clone(),
            distance_mi: event.distance_mi,
            departure_delay_min: airborne.as_ref().map_or(0, |leg| leg.departure_delay_min),
            arrival_delay_min: event.delay_min,
            since_last_arrival_min: airborne.as_ref().and_then(|leg| leg.since_last_arrival_min),
            inherited_delay_min: airborne.as_ref().and_then(|leg| leg.inherited_delay_min),
            number_in_rotation: rotation.legs.max(1),
        };
        self.rotation.put(ctx, &rotation)?;
        let last_leg = LastLeg { arrived_millis: now, arrival_delay_min: event.delay_min };
        self.last_leg.put(ctx, &last_leg)?;
        ctx.emit(leg);
        Ok(())
    }
}
