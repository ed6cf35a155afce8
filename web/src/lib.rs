//! Stateward's web UI: every page is rendered by the server and readable with scripts off, then
//! taken over by the same code in the browser.
//!
//! Modules in reading order: where a view lives (`route`), how figures and words read
//! (`format`, `i18n`, `promql`), how charts and the lineage graph are computed (`chart`), the parts
//! that render (`component`), where data comes from (`api`, `live`), the pages that fetch
//! (`page`) and the frame around them (`app`). Everything up to `chart` is pure.
#![expect(unreachable_pub, reason = "#[component] writes the props of a component as `pub`")]
#![expect(
    clippy::needless_pass_by_value,
    clippy::too_many_lines,
    clippy::redundant_closure,
    reason = "a component takes its props by value and is one view, read from top to bottom; view! writes closures of its own"
)]

#[cfg(not(any(erase_components, doc)))]
compile_error!(
    "build with `--cfg erase_components`, as .cargo/config.toml asks: server and browser must agree. \
     RUSTFLAGS in the environment replaces that file's flags; unset it, or add the flag to it"
);

mod route;
mod format;
mod i18n;
mod promql;
mod chart;
mod component;
mod api;
mod live;
mod page;
#[cfg(not(feature = "hydrate"))]
mod panel;
mod app;

pub use api::{Act, Ask, Backend, Fetched};
pub use app::{App, Site, shell};
pub use i18n::{Lang, Preferences, Theme};
pub use page::states_csv;
#[cfg(not(feature = "hydrate"))]
pub use panel::{PanelQuery, state_panel};

/// The one style sheet.
pub const STYLE: &str = include_str!("../style/main.css");

/// The icon, an SVG.
pub const FAVICON: &str = include_str!("../style/favicon.svg");

/// Takes the server's page over; called by the script that the page carries.
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_body(App);
}
