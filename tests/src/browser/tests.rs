//! The browser helper against a page of one button.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

const PAGE: &str = r#"<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>Button</title>
<style>@media (prefers-color-scheme: dark) { #theme::after { content: "dark" } }</style>
<button onclick="count.textContent = ++n">more</button>
<button id="wrong" onclick="console.error('as asked')">complain</button>
<p id="count">none yet</p><input id="name"><p id="late"></p>
<p id="language"></p><p id="width"></p><noscript><p id="plain">without scripts</p></noscript>
<script>
  let n = 0;
  language.textContent = navigator.language;
  addEventListener("resize", () => width.textContent = innerWidth);
  setTimeout(() => late.innerHTML = "<b>here</b>", 150);
</script>"#;

/// Serves the page to whoever asks, until the test's runtime ends.
async fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let length = PAGE.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
            );
            tokio::spawn(async move {
                // One read holds the whole request of so small a page.
                if stream.read(&mut [0; 4096]).await.is_ok_and(|bytes| bytes > 0) {
                    stream.write_all((head + PAGE).as_bytes()).await.ok();
                }
            });
        }
    });
    format!("http://{address}/")
}

#[tokio::test]
async fn a_story_is_clicked_and_read() {
    let url = serve().await;
    let browser = Browser::start().await.unwrap();
    browser.open(&url).await.unwrap();

    assert_eq!(browser.text("#count").await.unwrap(), "none yet");
    browser.click("button").await.unwrap();
    browser.click("button").await.unwrap();
    browser.wait_for_text("#count", "2").await.unwrap();
    assert_eq!(browser.text("#late b").await.unwrap(), "here");
    browser.type_into("#name", "route_delays").await.unwrap();
    let name = browser.find("#name").await.unwrap().prop("value").await.unwrap();
    assert_eq!(name.as_deref(), Some("route_delays"));
    assert_eq!(browser.texts("button").await.unwrap(), ["more", "complain"]);

    browser.resize(360, 740).await.unwrap();
    browser.wait_for_text("#width", "360").await.unwrap();

    assert_eq!(browser.console_complaints().await.unwrap(), [""; 0]);
    browser.click("#wrong").await.unwrap();
    let complaints = browser.console_complaints().await.unwrap();
    assert!(matches!(&complaints[..], [one] if one.contains("as asked")), "{complaints:?}");
    assert_eq!(browser.console_complaints().await.unwrap(), [""; 0], "each is told once");

    let picture = tempfile::Builder::new().suffix(".png").tempfile().unwrap();
    browser.screenshot(picture.path()).await.unwrap();
    assert!(std::fs::read(picture.path()).unwrap().starts_with(b"\x89PNG"));
}

#[tokio::test]
async fn language_theme_and_scripts_are_the_persons_choice() {
    let url = serve().await;
    let options = Options { language: "zh-CN".to_owned(), dark: true, ..Options::default() };
    let browser = Browser::start_with(&options).await.unwrap();
    browser.open(&url).await.unwrap();
    assert_eq!(browser.text("#language").await.unwrap(), "zh-CN");
    let script = "return matchMedia('(prefers-color-scheme: dark)').matches";
    assert_eq!(browser.client().execute(script, vec![]).await.unwrap(), true);

    let plain =
        Browser::start_with(&Options { scripts: false, ..Options::default() }).await.unwrap();
    plain.open(&url).await.unwrap();
    assert_eq!(plain.text("#plain").await.unwrap(), "without scripts");
    assert_eq!(plain.text("#language").await.unwrap(), "");
}

#[tokio::test]
async fn dropping_the_browser_ends_its_processes() {
    let browser = Browser::start().await.unwrap();
    let profile = browser.profile().to_owned();
    let uses_profile = || {
        let list = std::process::Command::new("ps").args(["axww", "-o", "args"]).output().unwrap();
        String::from_utf8_lossy(&list.stdout).contains(&*profile.to_string_lossy())
    };
    assert!(uses_profile());
    drop(browser);
    assert!(!uses_profile());
    assert!(!profile.exists());
}
