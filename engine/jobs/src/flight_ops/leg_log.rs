//! By leg: drops a leg that is reported twice. It never forgets one, which is the fault to find.

use stateward_engine::{Context, Error, Open, ProcessFunction, ValueStateDescriptor};

use super::event::Leg;

#[expect(clippy::unnecessary_wraps, reason = "the shape that `process` asks for")]
pub(super) fn open(
    open: &mut Open<'_, str>,
) -> Result<impl ProcessFunction<str, Leg, Leg> + use<>, Error> {
    // The whole leg, kept without a TTL: every leg ever flown stays.
    let seen = open.value_state(ValueStateDescriptor::<Leg>::new("seen"));
    Ok(move |leg: &Leg, ctx: &mut Context<'_, str, Leg>| {
        if seen.get(ctx)?.is_some() {
            return Ok(());
        }
        seen.put(ctx, leg)?;
        ctx.emit(leg.clone());
        Ok(())
    })
}
