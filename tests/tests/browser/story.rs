//! From the ranking to a breaker and back: a state that grows for ever is found, watched, stopped
//! and let go on, and nothing is lost.

use anyhow::{Result, ensure};
use serde_json::Value;
use stateward_tests::browser::Browser;

use super::{TTL_LESS, demo, quiet, writer};

#[tokio::test]
async fn a_state_that_grows_is_found_watched_stopped_and_released() -> Result<()> {
    let (demo, _folder) = demo()?;
    let browser = Browser::start().await?;
    let browser = &browser;
    browser.open(&demo.door().entrance()).await?;
    browser.find(".live.on").await?;
    quiet(browser, "the overview").await?;

    find(browser).await?;
    read_verdict(browser).await?;
    watch(browser).await?;
    trip(browser).await?;
    writes_stop(browser).await?;
    reset(browser).await?;

    browser.click("nav a[href='/audit']").await?;
    let audit = browser.wait_for_text("main", "the fix is out").await?;
    ensure!(audit.contains("it grows without end"), "the audit lacks the trip: {audit}");
    quiet(browser, "the audit").await
}

/// Opens the ranking, sorts it by growth, opens the state.
async fn find(browser: &Browser) -> Result<()> {
    browser.click("nav a[href='/states']").await?;
    browser.find(".ranking a[href$='/leg_log/seen']").await?;
    browser.click(".ranking th a[href*='sort=growth_per_day']").await?;
    browser.wait_for_text(".ranking th[aria-sort='descending']", "Growth").await?;
    quiet(browser, "the ranking").await?;
    browser.click(&format!(".ranking a[href='{TTL_LESS}']")).await?;
    browser.wait_for_text("h1", "seen").await?;
    Ok(())
}

/// Reads the verdict and the writer's line.
async fn read_verdict(browser: &Browser) -> Result<()> {
    let sentence = browser.wait_for_text(".verdict .sentence", &writer()).await?;
    ensure!(sentence.contains("there is no TTL"), "{sentence}");
    browser.click("a.tab[href*='tab=sites']").await?;
    browser.wait_for_text("code.site", &writer()).await?;
    quiet(browser, "the state").await
}

/// Sets a threshold below what the state has, and sees it fire: on the state and among the alerts.
async fn watch(browser: &Browser) -> Result<()> {
    browser.click(".verdict button[data-act='rule']").await?;
    browser.type_into("dialog[open] input[name='name']", "seen is large").await?;
    browser.choose("dialog[open] select[name='subject']", "logical_bytes").await?;
    browser.type_into("dialog[open] input[name='above']", "0.01").await?;
    browser.type_into("dialog[open] input[name='hold']", "0").await?;
    browser.click("dialog[open] button[type='submit']").await?;
    closed(browser).await?;
    browser.click("a.tab[href*='tab=alerts']").await?;
    browser.wait_for_text("main table", "seen is large").await?;
    browser.wait_for_text("main table", "firing").await?;
    browser.click("nav a[href='/alerts']").await?;
    browser.wait_for_text("main section", "firing").await?;
    quiet(browser, "the alerts").await?;
    browser.client().back().await?;
    browser.wait_for_text("h1", "seen").await?;
    Ok(())
}

/// Trips the breaker; without a reason the button does nothing.
async fn trip(browser: &Browser) -> Result<()> {
    browser.click(".verdict button[data-act='breaker']").await?;
    let facts = browser.text("dialog[open] .facts").await?;
    ensure!(facts.contains("leg_log") && facts.contains("legs"), "{facts}");
    let submit = browser.find("dialog[open] button[type='submit']").await?;
    ensure!(submit.attr("disabled").await?.is_some(), "a trip without a reason is offered");
    browser.type_into("dialog[open] input[name='reason']", "it grows without end").await?;
    browser.click("dialog[open] button[type='submit']").await?;
    closed(browser).await?;
    browser.wait_for_text(".page-head .badge", "tripped by hand").await?;
    browser.click("a.tab[href*='tab=breaker']").await?;
    browser.find(".breaker-card[data-phase='ForcedOpen']").await?;
    browser.wait_for_text(".breaker-card", "it grows without end").await?;
    quiet(browser, "the tripped state").await
}

/// Waits until the spill grows while the entries do not.
async fn writes_stop(browser: &Browser) -> Result<()> {
    let mut before = None::<(String, u64)>;
    browser
        .until("the spill grows and the state does not", async || {
            let entries = entries(browser).await?;
            let Some(figures) = Figures::read(browser).await? else { return Ok(None) };
            figures.check()?;
            let still = before.as_ref().is_some_and(|(old, _)| *old == entries);
            let since = before.as_ref().filter(|_| still).map_or(figures.pending, |(_, p)| *p);
            before = Some((entries, since));
            Ok((still && figures.pending > since).then_some(()))
        })
        .await?;
    browser.click("nav a[href='/breakers']").await?;
    browser.wait_for_text(".panel", "tripped by hand").await?;
    quiet(browser, "the breakers").await?;
    browser.client().back().await?;
    browser.find(".breaker-card").await?;
    Ok(())
}

/// Resets the breaker and waits until it is closed and nothing is left to replay.
async fn reset(browser: &Browser) -> Result<()> {
    let stopped_at = entries(browser).await?;
    browser.click(".verdict button[data-act='breaker']").await?;
    browser.find("dialog[open] .equation").await?;
    browser.type_into("dialog[open] input[name='reason']", "the fix is out").await?;
    browser.click("dialog[open] button[type='submit']").await?;
    closed(browser).await?;
    browser.find(".breaker-card[data-phase='Closed']").await?;
    let drained = browser
        .until("the backlog is empty", async || {
            let figures = Figures::read(browser).await?;
            Ok(figures.filter(|figures| figures.pending == 0 && figures.spilled > 0))
        })
        .await?;
    drained.check()?;
    browser
        .until("the state is written again", async || {
            Ok((entries(browser).await? != stopped_at).then_some(()))
        })
        .await?;
    quiet(browser, "the reset state").await
}

/// Waits until no dialog is open.
async fn closed(browser: &Browser) -> Result<()> {
    browser
        .until("the dialog is closed", async || {
            Ok(browser.find_all("dialog[open]").await?.is_empty().then_some(()))
        })
        .await
}

/// The exact number of entries, from the hover text of the third figure.
async fn entries(browser: &Browser) -> Result<String> {
    browser
        .until("the entries can be read", async || {
            let figure = browser.find(".figures > div:nth-child(3)").await?;
            // replaced between the two calls, it is read at the next look
            Ok(figure.attr("title").await.ok().flatten())
        })
        .await
}

/// The two equations of a breaker's card.
#[derive(Debug)]
struct Figures {
    arrived: u64,
    applied: u64,
    spilled: u64,
    late: u64,
    dead_lettered: u64,
    replayed: u64,
    discarded: u64,
    pending: u64,
    claimed: u64,
}

impl Figures {
    /// Reads them; `None` where the page replaced them meanwhile.
    async fn read(browser: &Browser) -> Result<Option<Self>> {
        // in one call, so that all are of the same report
        let script = "const e = document.querySelector('.breaker-card .equation'); \
                      return e && { terms: [...e.querySelectorAll('.term b')].map(b => b.textContent), \
                      claimed: e.querySelectorAll('.badge.good').length };";
        let seen = browser.client().execute(script, Vec::new()).await?;
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        let terms: Vec<u64> = seen
            .get("terms")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|term| digits(term.as_str()?).parse().ok())
            .collect();
        let &[arrived, applied, spilled, late, dead_lettered, again, replayed, discarded, pending] =
            terms.as_slice()
        else {
            return Ok(None);
        };
        ensure!(again == spilled, "both equations have the spilled events: {terms:?}");
        let claimed = seen.get("claimed").and_then(Value::as_u64).unwrap_or_default();
        Ok(Some(Self {
            arrived,
            applied,
            spilled,
            late,
            dead_lettered,
            replayed,
            discarded,
            pending,
            claimed,
        }))
    }

    /// Fails where an event is lost or counted twice, or the page does not say that both hold.
    fn check(&self) -> Result<()> {
        let accounted = self.applied + self.spilled + self.late + self.dead_lettered;
        ensure!(self.arrived == accounted, "{self:?}");
        ensure!(self.spilled == self.replayed + self.discarded + self.pending, "{self:?}");
        ensure!(self.claimed == 2, "the page does not say that both hold: {self:?}");
        Ok(())
    }
}
