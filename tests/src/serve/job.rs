//! A made-up job: reports in order, each again until it is acknowledged, and knows what must be there.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, ensure};
use stateward_model::view::{SeriesAnswer, StateDetail};
use stateward_model::wire::{HelloReply, ReportReply};

use super::client::{Answer, Door};
use super::message::{OPERATOR, STATE, event_text, frame, hello_of, report_of};

/// Points of a chart at one a second; an answer has at most 2,000.
const POINTS: u64 = 1_900;
/// Events that a state page lists, and a few less: rules and commands are among them.
const EVENTS: u64 = 150;
const REPORT: &str = "/api/v1/agent/report";

/// A made-up job.
#[derive(Debug)]
pub struct MadeUpJob {
    /// Its name, in the namespace `test`.
    pub name: &'static str,
    run: String,
    started_millis: i64,
    acked: AtomicU64,
}

impl MadeUpJob {
    /// Makes a job whose `n`th report is of `n` seconds after `started_millis`.
    pub fn new(name: &'static str, started_millis: i64) -> Self {
        Self {
            name,
            run: format!("run-{name}"),
            // points of a chart are at whole seconds
            started_millis: started_millis.div_euclid(1_000) * 1_000,
            acked: AtomicU64::new(0),
        }
    }

    /// Highest report that was acknowledged.
    pub fn acked(&self) -> u64 {
        self.acked.load(Ordering::Acquire)
    }

    /// Says hello.
    ///
    /// # Errors
    /// Where the server does not take it.
    pub fn hello(&self, door: &Door) -> Result<HelloReply> {
        let hello = hello_of(self.name, &self.run, self.started_millis)?;
        door.post("/api/v1/agent/hello", &frame(&hello)?)?.json()
    }

    fn body(&self, seq: u64) -> Result<Vec<u8>> {
        frame(&report_of(&self.run, seq, self.started_millis))
    }

    /// Sends a report; `None` where no whole answer came.
    ///
    /// # Errors
    /// Where the report cannot be encoded.
    pub fn try_send(&self, door: &Door, seq: u64) -> Result<Option<Answer>> {
        Ok(door.post(REPORT, &self.body(seq)?).ok())
    }

    /// Sends a report and notes that it is acknowledged; `None` where no whole answer came.
    ///
    /// # Errors
    /// Where the server refuses it.
    pub fn send(&self, door: &Door, seq: u64) -> Result<Option<ReportReply>> {
        let Some(answer) = self.try_send(door, seq)? else { return Ok(None) };
        let reply: ReportReply = answer.json()?;
        ensure!(reply.seq == seq, "{seq} was sent, {} acknowledged", reply.seq);
        self.acked.fetch_max(seq, Ordering::AcqRel);
        Ok(Some(reply))
    }

    /// Sends a report and goes away before the answer.
    ///
    /// # Errors
    /// Where the server cannot be reached.
    pub fn send_and_hang_up(&self, door: &Door, seq: u64) -> Result<()> {
        Ok(door.post_and_hang_up(REPORT, &self.body(seq)?)?)
    }

    fn of(&self) -> String {
        format!("test/{}/{OPERATOR}/{STATE}", self.name)
    }

    /// First report of the chart that ends with report `to`.
    fn first_of(to: u64) -> u64 {
        to.saturating_sub(POINTS - 1).max(1)
    }

    /// Draws the chart of a figure up to report `to`, which must be above 1.
    ///
    /// # Errors
    /// Where the server does not answer it.
    pub fn chart(&self, door: &Door, figure: &str, to: u64) -> Result<SeriesAnswer> {
        let at = |seq: u64| self.started_millis + seq as i64 * 1_000;
        let (of, from, to) = (self.of(), at(Self::first_of(to)), at(to));
        let path =
            format!("/api/v1/series?of={of}&figure={figure}&from={from}&to={to}&points={POINTS}");
        door.get(&path)?.json()
    }

    /// Checks that everything acknowledged is there, each once, and at most the report that was on
    /// its way besides.
    ///
    /// # Errors
    /// Where something is missing or too much.
    pub fn check(&self, door: &Door) -> Result<()> {
        let (acked, name) = (self.acked(), self.name);
        let stored = self.hello(door)?.stored_seq.unwrap_or(0);
        ensure!(
            (acked..=acked + 1).contains(&stored),
            "{name}: {acked} reports acknowledged, {stored} stored"
        );
        self.check_pages(door, stored)
    }

    /// Checks the same by reading alone: for a server that cannot write.
    ///
    /// # Errors
    /// As above.
    pub fn check_pages(&self, door: &Door, stored: u64) -> Result<()> {
        let (acked, name) = (self.acked(), self.name);
        if acked < 2 {
            return Ok(());
        }
        self.check_samples(door, acked)?;
        let page: StateDetail = door.get(&format!("/api/v1/states/{}", self.of()))?.json()?;
        ensure!(page.row.entries == stored, "{name}: the ranking shows {}", page.row.entries);
        self.check_events(page, stored)
    }

    /// Checks that the chart shows every report up to `to`.
    ///
    /// # Errors
    /// Where one is missing.
    pub fn check_samples(&self, door: &Door, to: u64) -> Result<()> {
        let name = self.name;
        let answer = self.chart(door, "entries", to)?;
        let expected: Vec<(i64, f64)> = (Self::first_of(to)..=to)
            .map(|seq| (self.started_millis + seq as i64 * 1_000, seq as f64))
            .collect();
        let [line] = answer.lines.as_slice() else {
            anyhow::bail!("{name}: one line expected: {:?}", answer.lines);
        };
        let missing = expected.iter().zip(&line.points).find(|(expected, point)| expected != point);
        ensure!(
            line.points == expected,
            "{name}: {} of {} samples, first difference {missing:?}",
            line.points.len(),
            expected.len()
        );
        Ok(())
    }

    /// Checks that the last events of the reports up to `stored` are there, each once.
    ///
    /// # Errors
    /// Where one is missing or there again.
    pub fn check_told(&self, door: &Door, stored: u64) -> Result<()> {
        let page = door.get(&format!("/api/v1/states/{}", self.of()))?.json()?;
        self.check_events(page, stored)
    }

    fn check_events(&self, page: StateDetail, stored: u64) -> Result<()> {
        let name = self.name;
        let mut events: BTreeMap<String, u64> = BTreeMap::new();
        for event in page.events.into_iter().filter(|event| event.kind == "started") {
            *events.entry(event.text).or_default() += 1;
        }
        for seq in stored.saturating_sub(EVENTS).max(1)..=stored {
            let times = events.get(&event_text(seq)).copied();
            ensure!(
                times == Some(1),
                "{name}: event {seq} is there {} times",
                times.unwrap_or_default()
            );
        }
        Ok(())
    }
}
