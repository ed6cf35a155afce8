//! A real browser for tests: Debian's Chromium, headless, driven through `chromedriver`.
//!
//! What comes in is a test's story (open, click, wait until, read); what goes out is what a person
//! would see, and what the console says. Each [`Browser`] has its own driver on a free port and its
//! own empty profile, and takes both along when it is dropped, also out of a failing test. Nothing
//! waits for a length of time: every wait is for something to be seen, and has a limit after which
//! it fails and says what was there instead.

mod driver;
mod command;

use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fantoccini::elements::Element;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tempfile::TempDir;

use command::DriverCommand;
use driver::Driver;

/// How long something may take to be seen.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often it is looked for.
const POLL: Duration = Duration::from_millis(50);

/// How the browser presents itself to the page.
#[derive(Clone, Debug)]
pub struct Options {
    /// Width and height of the viewport in CSS pixels. Default 1,440 × 900.
    pub viewport: (u32, u32),
    /// Preferred language, as in `Accept-Language`. Default `en-US`.
    pub language: String,
    /// Whether pages may run scripts. Default true.
    pub scripts: bool,
    /// Whether the person prefers a dark theme. Default false.
    pub dark: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { viewport: (1440, 900), language: "en-US".to_owned(), scripts: true, dark: false }
    }
}

/// A browser with one window.
#[derive(Debug)]
pub struct Browser {
    client: Client,
    // Dropped in this order: first the driver, which ends Chromium, then the profile it used.
    _driver: Driver,
    profile: TempDir,
}

impl Browser {
    /// Starts a browser with the default options.
    ///
    /// # Errors
    /// Where `chromedriver` or Chromium is missing or does not come up.
    pub async fn start() -> Result<Self> {
        Self::start_with(&Options::default()).await
    }

    /// Starts a browser.
    ///
    /// # Errors
    /// Where `chromedriver` or Chromium is missing or does not come up.
    pub async fn start_with(options: &Options) -> Result<Self> {
        let driver = Driver::start().await?;
        let profile = tempfile::Builder::new().prefix("stateward-browser-").tempdir()?;
        let mut builder = ClientBuilder::new(HttpConnector::new());
        let Value::Object(capabilities) = capabilities(options, profile.path()) else {
            bail!("capabilities are an object");
        };
        let client = builder
            .capabilities(capabilities)
            .connect(&driver.url())
            .await
            .context("chromedriver could not start Chromium")?;
        let browser = Self { client, _driver: driver, profile };
        let (width, height) = options.viewport;
        browser.resize(width, height).await?;
        browser.prefer_dark(options.dark).await?;
        Ok(browser)
    }

    /// The `WebDriver` client, for what has no method here.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The folder of the browser's profile, gone when the browser is dropped.
    pub fn profile(&self) -> &Path {
        self.profile.path()
    }

    /// Opens an address and waits until it is loaded.
    ///
    /// # Errors
    /// Where the address cannot be reached, or is not loaded in time.
    pub async fn open(&self, url: &str) -> Result<()> {
        let opened = tokio::time::timeout(PATIENCE, self.client.goto(url)).await;
        opened
            .with_context(|| format!("{url} was not loaded after {PATIENCE:?}"))?
            .with_context(|| format!("cannot open {url}"))
    }

    /// Gives the viewport this size in CSS pixels, also below the least width of a window.
    ///
    /// # Errors
    /// Where the driver refuses.
    pub async fn resize(&self, width: u32, height: u32) -> Result<()> {
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics).await.map(drop)
    }

    /// Says whether the person prefers a dark theme.
    ///
    /// # Errors
    /// Where the driver refuses.
    pub async fn prefer_dark(&self, dark: bool) -> Result<()> {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.devtools("Emulation.setEmulatedMedia", features).await.map(drop)
    }

    /// Waits for the element that this CSS selector names.
    ///
    /// # Errors
    /// Where it is not there in time; the error shows the beginning of the page's text.
    pub async fn find(&self, css: &str) -> Result<Element> {
        let waiting = self.client.wait().at_most(PATIENCE).every(POLL);
        match waiting.for_element(Locator::Css(css)).await {
            Ok(element) => Ok(element),
            Err(error) => bail!("nothing matches `{css}` ({error}) on {}", self.seen().await),
        }
    }

    /// The elements that this CSS selector names now, in the page's order.
    ///
    /// # Errors
    /// Where the selector is malformed.
    pub async fn find_all(&self, css: &str) -> Result<Vec<Element>> {
        self.client.find_all(Locator::Css(css)).await.with_context(|| format!("`{css}`"))
    }

    /// Waits for the element and clicks it as a person would: it must be visible and uncovered.
    ///
    /// # Errors
    /// Where it is not there or cannot be clicked in time.
    pub async fn click(&self, css: &str) -> Result<()> {
        self.until(&format!("`{css}` can be clicked"), async || {
            let clicked = self.find(css).await?.click().await;
            // Covered, moving or just replaced: true again at the next look, or a failure in the end.
            Ok(clicked.is_ok().then_some(()))
        })
        .await
    }

    /// Waits for the form field, empties it and types.
    ///
    /// # Errors
    /// Where it is not there or cannot be typed into.
    pub async fn type_into(&self, css: &str, text: &str) -> Result<()> {
        let field = self.find(css).await?;
        field.clear().await.with_context(|| format!("cannot empty `{css}`"))?;
        field.send_keys(text).await.with_context(|| format!("cannot type into `{css}`"))
    }

    /// Waits for the element and chooses the option with this value.
    ///
    /// # Errors
    /// Where the element or the option is not there.
    pub async fn choose(&self, css: &str, value: &str) -> Result<()> {
        let field = self.find(css).await?;
        field.select_by_value(value).await.with_context(|| format!("`{css}` has no {value:?}"))
    }

    /// Waits for the element and gives its visible text.
    ///
    /// # Errors
    /// Where it is not there in time.
    pub async fn text(&self, css: &str) -> Result<String> {
        self.until(&format!("`{css}` can be read"), async || {
            // An element that was replaced between the two calls is found again at the next look.
            Ok(self.find(css).await?.text().await.ok())
        })
        .await
    }

    /// The visible texts of all elements that this CSS selector names now.
    ///
    /// # Errors
    /// Where the page changed them while they were read, or the selector is malformed.
    pub async fn texts(&self, css: &str) -> Result<Vec<String>> {
        let mut texts = Vec::new();
        for element in self.find_all(css).await? {
            texts.push(element.text().await?);
        }
        Ok(texts)
    }

    /// Waits until the element's visible text contains `part`.
    ///
    /// # Errors
    /// Where it does not in time.
    pub async fn wait_for_text(&self, css: &str, part: &str) -> Result<String> {
        self.until(&format!("`{css}` reads {part:?}"), async || {
            let text = self.text(css).await?;
            Ok(text.contains(part).then_some(text))
        })
        .await
    }

    /// Waits until `look` sees something; `what` says in the error what was waited for.
    ///
    /// # Errors
    /// Where `look` fails, or sees nothing in time; the error shows the beginning of the page.
    pub async fn until<T>(
        &self,
        what: impl Display,
        mut look: impl AsyncFnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        let watch = async {
            loop {
                if let Some(seen) = look().await? {
                    return Ok(seen);
                }
                // WebDriver has no events: whoever waits for a page asks again
                tokio::time::sleep(POLL).await;
            }
        };
        match tokio::time::timeout(PATIENCE, watch).await {
            Ok(seen) => seen,
            Err(_elapsed) => bail!("waited in vain until {what}, on {}", self.seen().await),
        }
    }

    /// What the console said since the last call, as `LEVEL text`: errors and warnings.
    ///
    /// # Errors
    /// Where the driver refuses.
    pub async fn console_complaints(&self) -> Result<Vec<String>> {
        let command = DriverCommand::new("se/log", json!({ "type": "browser" }));
        let entries = self.client.issue_cmd(command).await.context("cannot read the console")?;
        let entries = entries.as_array().cloned().unwrap_or_default();
        let text =
            |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        let complaints = entries
            .iter()
            .map(|entry| (text(entry, "level"), text(entry, "message")))
            .filter(|(level, _)| matches!(level.as_str(), "SEVERE" | "WARNING"))
            .map(|(level, message)| format!("{level} {message}"));
        Ok(complaints.collect())
    }

    /// Writes a picture of the viewport as PNG.
    ///
    /// # Errors
    /// Where the picture cannot be taken or written.
    pub async fn screenshot(&self, path: &Path) -> Result<()> {
        let picture = self.client.screenshot().await.context("cannot take a picture")?;
        std::fs::write(path, picture).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Sends a command of the Chrome `DevTools` protocol.
    ///
    /// # Errors
    /// Where Chromium refuses it.
    pub async fn devtools(&self, method: &str, parameters: Value) -> Result<Value> {
        let body = json!({ "cmd": method, "params": parameters });
        let command = DriverCommand::new("goog/cdp/execute", body);
        self.client.issue_cmd(command).await.with_context(|| method.to_owned())
    }

    /// Where the browser is and how its page begins, for error texts.
    async fn seen(&self) -> String {
        const SHOWN_CHARS: usize = 600;
        let url = self.client.current_url().await.map_or_else(|e| e.to_string(), Into::into);
        let body = match self.client.find(Locator::Css("body")).await {
            Ok(body) => body.text().await.unwrap_or_default(),
            Err(error) => error.to_string(),
        };
        format!("{url}:\n{}", body.chars().take(SHOWN_CHARS).collect::<String>())
    }
}

fn capabilities(options: &Options, profile: &Path) -> Value {
    let mut arguments: Vec<String> = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]
    .map(str::to_owned)
    .to_vec();
    arguments.push(format!("--user-data-dir={}", profile.display()));
    arguments.push(format!("--lang={}", options.language));
    arguments.push(format!("--accept-lang={}", options.language));
    let scripts = if options.scripts { 1 } else { 2 };
    json!({
        "goog:chromeOptions": {
            "args": arguments,
            "prefs": { "profile.managed_default_content_settings.javascript": scripts },
        },
        "goog:loggingPrefs": { "browser": "ALL" },
    })
}

#[cfg(test)]
mod tests;
