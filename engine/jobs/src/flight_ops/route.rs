//! By route: how late its flights are, and an alert when they become too late.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use stateward_engine::{
    Context, Error, Open, ProcessFunction, Ttl, UpdateType, ValueState, ValueStateDescriptor,
};

use super::event::Leg;

const DELAYS_TTL_DAYS: u64 = 30;
const ALERT_TTL_HOURS: u64 = 24;
/// A mean delay above this raises an alert.
const ALERT_DELAY_MIN: f64 = 45.0;
/// Weight of the newest leg in the mean.
const NEWEST_RATIO: f64 = 0.2;
/// A report is written at every so many legs.
const REPORT_LEGS: u64 = 25;

type Route = (String, String);

/// How late the flights of a route arrive.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Delays {
    legs: u64,
    mean_min: f64,
    worst_min: i32,
}

/// When an alert was raised, so that it is raised once a day.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Alerted {
    at_millis: i64,
}

/// What is told of a route.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RouteReport {
    origin: String,
    dest: String,
    at_millis: i64,
    legs: u64,
    mean_delay_min: f64,
    worst_delay_min: i32,
    is_alert: bool,
}

#[expect(clippy::unnecessary_wraps, reason = "the shape that `process` asks for")]
pub(super) fn open(
    open: &mut Open<'_, Route>,
) -> Result<impl ProcessFunction<Route, Leg, RouteReport> + use<>, Error> {
    let delays_ttl = Ttl::new(Duration::from_hours(DELAYS_TTL_DAYS * 24));
    let delays = open.value_state(
        ValueStateDescriptor::<Delays>::new("delays")
            .ttl(delays_ttl)
            .invariant("has a leg", |delays: &Delays, _| delays.legs > 0),
    );
    // Meant: one alert a day. Done: each look at it counts as a use, so it never expires.
    let alert_ttl =
        Ttl::new(Duration::from_hours(ALERT_TTL_HOURS)).update(UpdateType::OnReadAndWrite);
    let alerted =
        open.value_state(ValueStateDescriptor::<Alerted>::new("alerted").ttl(alert_ttl).heap());

    Ok(move |leg: &Leg, ctx: &mut Context<'_, Route, RouteReport>| {
        let before = delays.get(ctx)?;
        let late_min = leg.arrival_delay_min.max(0);
        let now = Delays {
            legs: before.as_ref().map_or(0, |delays| delays.legs) + 1,
            mean_min: before.as_ref().map_or(f64::from(late_min), |delays| {
                delays.mean_min + NEWEST_RATIO * (f64::from(late_min) - delays.mean_min)
            }),
            worst_min: before.map_or(late_min, |delays| delays.worst_min.max(late_min)),
        };
        delays.put(ctx, &now)?;
        let was_alerted = was_alerted(alerted, ctx)?;
        let is_alert = now.mean_min > ALERT_DELAY_MIN && !was_alerted;
        if is_alert {
            alerted.put(ctx, &Alerted { at_millis: ctx.event_time() })?;
        }
        if is_alert || now.legs.is_multiple_of(REPORT_LEGS) {
            ctx.emit(RouteReport {
                origin: leg.origin.clone(),
                dest: leg.dest.clone(),
                at_millis: ctx.event_time(),
                legs: now.legs,
                mean_delay_min: now.mean_min,
                worst_delay_min: now.worst_min,
                is_alert,
            });
        }
        Ok(())
    })
}

/// Looks whether an alert is out. This is the line that keeps it alive.
fn was_alerted(
    alerted: ValueState<Route, Alerted>,
    ctx: &mut Context<'_, Route, RouteReport>,
) -> Result<bool, Error> {
    Ok(alerted.get(ctx)?.is_some())
}
