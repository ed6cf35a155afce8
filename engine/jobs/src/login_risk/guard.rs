//! Failures per address in a window; an address with too many is blocked for a while.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use stateward_engine::{
    Context, Error, Open, ProcessFunction, Ttl, ValueState, ValueStateDescriptor,
};

use super::LoginOptions;
use super::event::{Login, What};

/// When an address is blocked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    limit: usize,
    window_millis: i64,
    block: Duration,
}

impl Rules {
    pub(super) fn new(options: &LoginOptions) -> Self {
        Self {
            limit: options.failures as usize,
            window_millis: i64::try_from(options.window.as_millis()).unwrap_or(i64::MAX / 4),
            block: options.block,
        }
    }
}

/// A failed try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Failure {
    pub(super) ts: i64,
    pub(super) port: Option<u16>,
}

/// The failures of an address that a window could still need, by time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Failures {
    pub(super) recent: Vec<Failure>,
}

impl Failures {
    /// Adds a failure; gives the time of the first of `limit` failures within one window, if there
    /// are now so many. Holds fewer than twice `limit` entries.
    pub(super) fn add(&mut self, failure: Failure, times: u32, rules: Rules) -> Option<i64> {
        let at = self.recent.partition_point(|known| known.ts <= failure.ts);
        // More than the limit at once tell nothing more.
        let times = (times as usize).min(rules.limit);
        self.recent.splice(at..at, std::iter::repeat_n(failure, times));
        let newest = self.recent.last().map_or(failure.ts, |newest| newest.ts);
        self.recent.retain(|known| newest - known.ts <= rules.window_millis.saturating_mul(2));
        let mut windows = self.recent.windows(rules.limit);
        windows.find_map(|window| {
            let (first, last) = (window.first()?.ts, window.last()?.ts);
            (last - first <= rules.window_millis).then_some(first)
        })
    }

    /// Whether the connection from `port` failed within the last window.
    fn has_port(&self, port: Option<u16>, now_millis: i64, rules: Rules) -> bool {
        port.is_some()
            && self.recent.iter().any(|known| {
                known.port == port && (now_millis - known.ts).abs() <= rules.window_millis
            })
    }
}

/// That an address is blocked, and why.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Blocked {
    since_millis: i64,
    failures: u32,
}

/// Why someone should look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Risk {
    /// The address made too many failures within the window, and is blocked.
    Blocked,
    /// The address was let in after failures, or while it was blocked.
    AcceptedAfterFailures,
}

/// What is told of an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RiskReport {
    pub(super) risk: Risk,
    pub(super) address: String,
    pub(super) user: String,
    pub(super) at_millis: i64,
    pub(super) first_failure_millis: i64,
    pub(super) failures: u32,
    /// When the block ends.
    pub(super) until_millis: Option<i64>,
}

struct Guard {
    rules: Rules,
    failures: ValueState<str, Failures>,
    blocked: ValueState<str, Blocked>,
}

#[expect(clippy::unnecessary_wraps, reason = "the shape that `process` asks for")]
pub(super) fn open(
    open: &mut Open<'_, str>,
    rules: Rules,
) -> Result<impl ProcessFunction<str, Login, RiskReport> + use<>, Error> {
    // An entry is expired when its TTL has passed exactly, the window includes its end: one more.
    let keep_millis = rules.window_millis.saturating_mul(2).saturating_add(1);
    let failures_ttl = Ttl::new(Duration::from_millis(keep_millis.unsigned_abs()));
    let guard = Guard {
        rules,
        failures: open.value_state(ValueStateDescriptor::new("failures").ttl(failures_ttl)),
        blocked: open.value_state(ValueStateDescriptor::new("blocked").ttl(Ttl::new(rules.block))),
    };
    Ok(move |login: &Login, ctx: &mut Context<'_, str, RiskReport>| match login.what {
        What::Failed { times } => guard.failed(login, times, ctx),
        What::GaveUp => guard.gave_up(login, ctx),
        What::Accepted => guard.accepted(login, ctx),
        What::Closed | What::Session { .. } => Ok(()),
    })
}

impl Guard {
    fn failed(
        &self,
        login: &Login,
        times: u32,
        ctx: &mut Context<'_, str, RiskReport>,
    ) -> Result<(), Error> {
        if self.blocked.get(ctx)?.is_some() {
            return Ok(());
        }
        let mut failures = self.failures.get(ctx)?.unwrap_or_default();
        let failure = Failure { ts: ctx.event_time(), port: login.port };
        let Some(first_failure_millis) = failures.add(failure, times, self.rules) else {
            return self.failures.put(ctx, &failures);
        };
        self.failures.delete(ctx)?;
        let at_millis = ctx.event_time();
        let count = failures.recent.len() as u32;
        self.blocked.put(ctx, &Blocked { since_millis: at_millis, failures: count })?;
        let block_millis = i64::try_from(self.rules.block.as_millis()).unwrap_or(i64::MAX);
        ctx.emit(RiskReport {
            risk: Risk::Blocked,
            address: login.address.clone(),
            user: login.user.clone(),
            at_millis,
            first_failure_millis,
            failures: count,
            until_millis: Some(at_millis.saturating_add(block_millis)),
        });
        Ok(())
    }

    fn gave_up(&self, login: &Login, ctx: &mut Context<'_, str, RiskReport>) -> Result<(), Error> {
        let failures = self.failures.get(ctx)?.unwrap_or_default();
        if failures.has_port(login.port, ctx.event_time(), self.rules) {
            return Ok(());
        }
        self.failed(login, 1, ctx)
    }

    fn accepted(&self, login: &Login, ctx: &mut Context<'_, str, RiskReport>) -> Result<(), Error> {
        let blocked =
            self.blocked.get(ctx)?.map(|blocked| (blocked.since_millis, blocked.failures));
        let failures = self.failures.get(ctx)?.unwrap_or_default().recent;
        let failed = failures.first().map(|first| (first.ts, failures.len() as u32));
        let Some((first_failure_millis, failures)) = blocked.or(failed) else { return Ok(()) };
        ctx.emit(RiskReport {
            risk: Risk::AcceptedAfterFailures,
            address: login.address.clone(),
            user: login.user.clone(),
            at_millis: ctx.event_time(),
            first_failure_millis,
            failures,
            until_millis: None,
        });
        Ok(())
    }
}
