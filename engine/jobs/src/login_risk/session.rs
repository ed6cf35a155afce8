//! Sessions: from being let in to the end of the connection.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use stateward_engine::{Context, Error, MapState, MapStateDescriptor, Open, ProcessFunction, Ttl};

use super::event::{Login, What};

/// A session whose end was not logged is forgotten after this time.
const OPEN_TTL: Duration = Duration::from_hours(24);

/// Someone who was let in.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Begun {
    user: String,
    at_millis: i64,
}

/// A session that ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SessionReport {
    pub(super) address: String,
    pub(super) user: String,
    pub(super) began_millis: i64,
    pub(super) ended_millis: i64,
    pub(super) duration_seconds: f64,
}

#[expect(clippy::unnecessary_wraps, reason = "the shape that `process` asks for")]
pub(super) fn open(
    open: &mut Open<'_, str>,
) -> Result<impl ProcessFunction<str, Login, SessionReport> + use<>, Error> {
    let begun = MapStateDescriptor::<u16, Begun>::new("open")
        .ttl(Ttl::new(OPEN_TTL))
        .invariant("open for less than 24 h", |_, age| age < OPEN_TTL);
    let begun: MapState<str, u16, Begun> = open.map_state(begun);
    Ok(move |login: &Login, ctx: &mut Context<'_, str, SessionReport>| {
        let now = ctx.event_time();
        match (login.what, login.port) {
            (What::Accepted, Some(port)) => {
                begun.put(ctx, &port, &Begun { user: login.user.clone(), at_millis: now })
            }
            (What::Closed, Some(port)) => {
                let Some(session) = begun.get(ctx, &port)? else { return Ok(()) };
                begun.remove(ctx, &port)?;
                ctx.emit(report(login, session.user, session.at_millis, now));
                Ok(())
            }
            (What::Session { began_millis }, _) => {
                ctx.emit(report(login, login.user.clone(), began_millis, now));
                Ok(())
            }
            _ => Ok(()),
        }
    })
}

fn report(login: &Login, user: String, began_millis: i64, ended_millis: i64) -> SessionReport {
    SessionReport {
        address: login.address.clone(),
        user,
        began_millis,
        ended_millis,
        duration_seconds: (ended_millis - began_millis) as f64 / 1_000.0,
    }
}
