//! A state without a TTL is given one by its tab: previewed, ordered with a reason, in force, audited,
//! and taken back; with scripts off too, for the forms need none.

use anyhow::{Result, ensure};
use stateward_tests::browser::Browser;

use super::{TTL_LESS, demo, quiet};

#[tokio::test]
async fn a_ttl_is_previewed_set_and_reverted() -> Result<()> {
    let (demo, _folder) = demo()?;
    let browser = Browser::start().await?;
    let browser = &browser;
    let server = demo.door();
    browser.open(&server.entrance()).await?;
    browser.open(&server.page(TTL_LESS)).await?;
    browser.click("a.tab[href*='tab=ttl']").await?;
    browser.wait_for_text("main", "code declares it").await?;
    quiet(browser, "the tab").await?;

    browser.type_into("form[method='get'] input[name='ttl']", "1h").await?;
    browser.click("form[method='get'] button").await?;
    browser.wait_for_text("main", "Entries hidden at once").await?;
    browser.type_into("details[open] input[name='reason']", "it grows without end").await?;
    browser.click("details[open] button[type='submit']").await?;
    in_force(browser, &server.page(TTL_LESS), "set by browser: it grows without end").await?;
    browser.wait_for_text("main", "can be brought back for").await?;
    browser.open(&server.page("/audit")).await?;
    let audit = browser.wait_for_text("main", "ttl.set").await?;
    ensure!(audit.contains("it grows without end"), "{audit}");

    browser.open(&format!("{}?tab=ttl", server.page(TTL_LESS))).await?;
    browser.click("details:has(input[value='ttl_revert']) summary").await?;
    browser.type_into("details[open] input[name='reason']", "it was a test").await?;
    browser.click("details[open] button[type='submit']").await?;
    in_force(browser, &server.page(TTL_LESS), "code declares it").await?;
    quiet(browser, "the tab").await
}

/// Loads the tab anew until it says this; an order takes a moment to reach every shard.
async fn in_force(browser: &Browser, page: &str, part: &str) -> Result<()> {
    let look = async || {
        browser.open(&format!("{page}?tab=ttl")).await?;
        let text = browser.wait_for_text("main", "In force").await?;
        Ok(text.contains(part).then_some(()))
    };
    browser.until(format!("the tab says {part:?}"), look).await
}
