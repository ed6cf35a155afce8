//! Every page is read: in both languages, live and with scripts off.

use anyhow::{Result, ensure};
use stateward_tests::browser::{Browser, Options};

use super::{TTL_LESS, demo, quiet, writer};

/// The pages, with their headings in both languages.
const PAGES: [(&str, [&str; 2]); 8] = [
    ("/", ["Overview", "概览"]),
    ("/states", ["States", "状态"]),
    ("/jobs", ["Jobs", "作业"]),
    ("/lineage", ["Lineage", "血缘"]),
    ("/lineage/demo/flight-ops", ["flight-ops", "flight-ops"]),
    ("/alerts", ["Alerts", "告警"]),
    ("/breakers", ["Breakers", "熔断器"]),
    ("/audit", ["Audit", "审计"]),
];
/// Tabs of a state's page.
const TABS: [&str; 6] = ["life", "sites", "storage", "breaker", "alerts", "history"];
const LANGUAGES: [&str; 2] = ["en-US", "zh-CN"];

/// More pages than a browser has connections to one server: a page that is left must give its own
/// back.
#[tokio::test]
async fn every_page_is_live_and_silent_in_both_languages() -> Result<()> {
    let (demo, _folder) = demo()?;
    for (n, language) in LANGUAGES.into_iter().enumerate() {
        let options = Options { language: language.to_owned(), ..Options::default() };
        let browser = Browser::start_with(&options).await?;
        browser.open(&demo.door().entrance()).await?;
        reported(&browser).await?;
        for (path, headings) in PAGES {
            browser.open(&demo.door().page(path)).await?;
            browser.wait_for_text("h1", headings[n]).await?;
            browser.find(".live.on").await?;
            ensure!(fits(&browser).await?, "{path} is wider than its window");
            quiet(&browser, path).await?;
        }
        for tab in TABS {
            let path = format!("{TTL_LESS}?tab={tab}");
            browser.open(&demo.door().page(&path)).await?;
            browser.wait_for_text(".sentence", &writer()).await?;
            browser.find(".live.on").await?;
            quiet(&browser, &path).await?;
        }
    }
    Ok(())
}

#[tokio::test]
async fn pages_are_read_with_scripts_off() -> Result<()> {
    let (demo, _folder) = demo()?;
    let live = Browser::start().await?;
    live.open(&demo.door().entrance()).await?;
    reported(&live).await?;
    drop(live);
    for (n, language) in LANGUAGES.into_iter().enumerate() {
        let options =
            Options { language: language.to_owned(), scripts: false, ..Options::default() };
        let browser = Browser::start_with(&options).await?;
        browser.open(&demo.door().entrance()).await?;
        for (path, headings) in PAGES {
            browser.open(&demo.door().page(path)).await?;
            let heading = browser.text("h1").await?;
            ensure!(heading.contains(headings[n]), "{path} is headed {heading}");
        }
        browser.open(&demo.door().page("/states")).await?;
        browser.click(".ranking th a[href*='sort=growth_per_day']").await?;
        browser.find(".ranking th[aria-sort='descending'] a[href*='growth_per_day']").await?;
        browser.click(&format!(".ranking a[href='{TTL_LESS}']")).await?;
        let sentence = browser.text(".sentence").await?;
        ensure!(sentence.contains(&writer()), "{sentence}");
        browser.click("a.tab[href*='tab=sites']").await?;
        let site = browser.text("code.site").await?;
        ensure!(site.starts_with(&writer()), "{site}");
        browser.find(".chart .plot path.line").await?;
    }
    Ok(())
}

/// Whether neither the page nor the ranking needs to be scrolled sideways.
async fn fits(browser: &Browser) -> Result<bool> {
    let script = "const fits = e => !e || e.scrollWidth <= e.clientWidth; \
                  return fits(document.documentElement) \
                  && fits(document.querySelector('.ranking')?.parentElement);";
    Ok(browser.client().execute(script, Vec::new()).await? == true)
}

/// Waits for the first verdict on the TTL-less state.
async fn reported(browser: &Browser) -> Result<()> {
    browser.wait_for_text("main", &writer()).await.map(drop)
}
