//! What the ranking needs of the last hour, kept per state at ingest so that a thousand rows cost
//! nothing to make.

use std::collections::VecDeque;

use stateward_model::wire::StateSample;

/// Flow counters are kept this far apart.
const FLOW_SPACING_MILLIS: i64 = 5_000;
/// And this far back: the longest window, five minutes, and a bit.
const FLOW_KEPT_MILLIS: i64 = 310_000;
/// Points of a sparkline, one a minute.
const SIZES_MAX: usize = 60;
const MINUTE_MILLIS: i64 = 60_000;
/// Sizes by the state's clock are kept this far apart.
const GROWTH_SPACING_MILLIS: i64 = 600_000;
const HOUR_MILLIS: i64 = 3_600_000;
const DAY_MILLIS: i64 = 86_400_000;

/// Flow counters at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flows {
    /// Reads.
    pub(crate) reads: u64,
    /// TTL misses, present and absent.
    pub(crate) misses: u64,
    /// Writes.
    pub(crate) writes: u64,
}

/// What happened within a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Increase {
    /// Reads.
    pub(crate) reads: u64,
    /// TTL misses.
    pub(crate) misses: u64,
    /// Writes.
    pub(crate) writes: u64,
    /// Seconds between the first and the last counters.
    pub(crate) seconds: f64,
}

/// The recent past of one state.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recent {
    flows: VecDeque<(i64, Flows)>,
    sizes: VecDeque<(i64, f64)>,
    growth: VecDeque<(i64, f64)>,
}

impl Recent {
    /// Takes the figures of one report.
    pub(crate) fn push(&mut self, wall_millis: i64, sample: &StateSample) {
        let flow = &sample.flow;
        let misses = flow.misses_present + flow.misses_absent;
        self.push_flows(wall_millis, Flows { reads: flow.reads, misses, writes: flow.writes });
        let bytes = sample.stock.logical_bytes as f64;
        self.push_size(wall_millis, bytes);
        if let Some(clock_millis) = sample.stock.clock_millis {
            self.push_growth(clock_millis, bytes);
        }
    }

    /// Takes flow counters. Points closer than the spacing replace one another, but never the last
    /// one before a reset.
    pub(crate) fn push_flows(&mut self, wall_millis: i64, flows: Flows) {
        if self.flows.back().is_some_and(|(last, _)| *last >= wall_millis) {
            return;
        }
        let spaced = match self.flows.iter().rev().nth(1) {
            Some((before, _)) => wall_millis - before >= FLOW_SPACING_MILLIS,
            None => true,
        };
        let reset = self.flows.back().is_some_and(|(_, last)| {
            flows.reads < last.reads || flows.misses < last.misses || flows.writes < last.writes
        });
        if !spaced && !reset {
            self.flows.pop_back();
        }
        self.flows.push_back((wall_millis, flows));
        while self.flows.get(1).is_some_and(|(next, _)| *next < wall_millis - FLOW_KEPT_MILLIS) {
            self.flows.pop_front();
        }
    }

    /// Takes a size for the sparkline.
    pub(crate) fn push_size(&mut self, wall_millis: i64, bytes: f64) {
        let minute = wall_millis.div_euclid(MINUTE_MILLIS);
        match self.sizes.back_mut() {
            Some((last, _)) if *last > minute => return,
            Some((last, size)) if *last == minute => *size = bytes,
            _ => self.sizes.push_back((minute, bytes)),
        }
        while self.sizes.front().is_some_and(|(first, _)| *first <= minute - SIZES_MAX as i64) {
            self.sizes.pop_front();
        }
    }

    /// Takes a size by the state's clock. A clock that was set back starts anew.
    pub(crate) fn push_growth(&mut self, clock_millis: i64, bytes: f64) {
        if self.growth.back().is_some_and(|(last, _)| *last > clock_millis) {
            self.growth.clear();
        }
        let spaced = match self.growth.iter().rev().nth(1) {
            Some((before, _)) => clock_millis - before >= GROWTH_SPACING_MILLIS,
            None => true,
        };
        if !spaced {
            self.growth.pop_back();
        }
        self.growth.push_back((clock_millis, bytes));
        while self.growth.get(1).is_some_and(|(next, _)| *next <= clock_millis - DAY_MILLIS) {
            self.growth.pop_front();
        }
    }

    /// Returns what happened in the last `window_millis`, as far as is known; `None` with fewer than
    /// two points. A counter that falls was reset: what it shows then is what happened since.
    pub(crate) fn increase(&self, window_millis: i64) -> Option<Increase> {
        let (last, _) = self.flows.back()?;
        let from = self.flows.partition_point(|(at, _)| *at <= last - window_millis);
        let mut points = self.flows.iter().skip(from.saturating_sub(1));
        let &(first, mut before) = points.next()?;
        let mut sum = Increase { reads: 0, misses: 0, writes: 0, seconds: 0.0 };
        let grown = |now: u64, before: u64| if now < before { now } else { now - before };
        for (_, now) in points {
            sum.reads += grown(now.reads, before.reads);
            sum.misses += grown(now.misses, before.misses);
            sum.writes += grown(now.writes, before.writes);
            before = *now;
        }
        sum.seconds = (last - first) as f64 / 1e3;
        (sum.seconds > 0.0).then_some(sum)
    }

    /// Returns the relative growth a day of the state's clock: over the last day of that clock, or
    /// as much of it as there is, but at least one hour; `None` with less, or from nothing.
    ///
    /// A whole day is compared where there is one, so that the hours of the day cancel out.
    pub(crate) fn growth_per_day(&self) -> Option<f64> {
        let ((from, before), (to, now)) = (self.growth.front()?, self.growth.back()?);
        let millis = to - from;
        if millis < HOUR_MILLIS || *before <= 0.0 {
            return None;
        }
        Some((now - before) / before * DAY_MILLIS as f64 / millis as f64)
    }

    /// Returns the sizes of the last hour, one a minute, oldest first; a minute without a report
    /// repeats the one before.
    pub(crate) fn sparkline(&self) -> Vec<f64> {
        let (Some(&(first, mut size)), Some(&(last, _))) = (self.sizes.front(), self.sizes.back())
        else {
            return Vec::new();
        };
        let mut sizes = self.sizes.iter().peekable();
        (first..=last)
            .map(|minute| {
                while let Some((_, bytes)) = sizes.next_if(|(at, _)| *at <= minute) {
                    size = *bytes;
                }
                size
            })
            .collect()
    }
}
