//! The frame: document, navigation, routes, keys.

mod keys;
#[cfg(all(test, feature = "ssr"))]
mod tests;

use std::sync::Arc;

use leptos::config::LeptosOptions;
use leptos::prelude::*;
use leptos_meta::{MetaTags, provide_meta_context};
use leptos_router::components::{A, Route, Router, Routes};
use leptos_router::hooks::use_location;
use leptos_router::{SsrMode, path};

use crate::component::Dialog;
use crate::i18n::{Lang, Preferences, Theme, use_words};
use crate::live::{provide_live, use_live};
use crate::page::{
    AlertsView, AuditView, BreakersView, JobsView, LineageIndexView, LineageView, MissingView,
    OverviewView, StateView, StatesView,
};
use crate::route::encode;

/// What the server tells a page about itself; there is none in the browser.
#[derive(Clone)]
pub struct Site {
    /// Whether the browser's part was built, so that pages may ask for it.
    pub hydrated: bool,
    /// Sets the status of the answer.
    pub set_status: Arc<dyn Fn(u16) + Send + Sync>,
}

impl std::fmt::Debug for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Site").field("hydrated", &self.hydrated).finish_non_exhaustive()
    }
}

impl Site {
    /// Answers with a status that is not 200.
    pub fn answer_with(&self, status: u16) {
        (self.set_status)(status);
    }
}

/// The document around the pages. Needs [`Preferences`] and [`Site`] in context.
pub fn shell() -> impl IntoView {
    let preferences = use_context::<Preferences>().unwrap_or_default();
    let site = use_context::<Site>();
    let options = LeptosOptions::builder().output_name("web").build();
    let scripts = site
        .is_some_and(|site| site.hydrated)
        .then(|| view! { <HydrationScripts options=options/> });
    view! {
        <!DOCTYPE html>
        <html lang=preferences.lang.tag() data-theme=preferences.theme.code() data-nav=preferences.nav()>
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <meta name="color-scheme" content="light dark"/>
                <link rel="icon" type="image/svg+xml" href="/favicon.svg"/>
                <link rel="stylesheet" href="/pkg/main.css"/>
                {scripts}
                <MetaTags/>
            </head>
            <body>
                <App/>
            </body>
        </html>
    }
}

/// What the document says about the reader's choice, for the browser's side.
fn preferences_of_document() -> Preferences {
    #[cfg(feature = "hydrate")]
    {
        let root = document().document_element();
        let read = |name: &str| {
            root.as_ref().and_then(|root| root.get_attribute(name)).unwrap_or_default()
        };
        Preferences {
            lang: Lang::parse(&read("lang")).unwrap_or_default(),
            theme: Theme::parse(&read("data-theme")).unwrap_or_default(),
            narrow: read("data-nav")
                == Preferences { narrow: true, ..Preferences::default() }.nav(),
        }
    }
    #[cfg(not(feature = "hydrate"))]
    {
        Preferences::default()
    }
}

/// All pages.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    let preferences = use_context::<Preferences>().unwrap_or_else(preferences_of_document);
    provide_context(preferences);
    provide_live();
    let words = use_words();
    let listing = RwSignal::new(false);
    Effect::new(move || keys::listen(listing));
    view! {
        <Router>
            <a class="skip" href="#main" rel="external">{words.skip}</a>
            <Navigation preferences=preferences/>
            <main id="main" tabindex="-1">
                <Routes fallback=|| view! { <MissingView/> }>
                    <Route path=path!("/") view=OverviewView ssr=SsrMode::Async/>
                    <Route path=path!("/states") view=StatesView ssr=SsrMode::Async/>
                    <Route
                        path=path!("/states/:namespace/:job/:operator/:state")
                        view=StateView
                        ssr=SsrMode::Async
                    />
                    <Route path=path!("/jobs") view=JobsView ssr=SsrMode::Async/>
                    <Route path=path!("/lineage") view=LineageIndexView ssr=SsrMode::Async/>
                    <Route path=path!("/lineage/:namespace/:job") view=LineageView ssr=SsrMode::Async/>
                    <Route path=path!("/alerts") view=AlertsView ssr=SsrMode::Async/>
                    <Route path=path!("/breakers") view=BreakersView ssr=SsrMode::Async/>
                    <Route path=path!("/audit") view=AuditView ssr=SsrMode::Async/>
                </Routes>
            </main>
        </Router>
        <Dialog
            open=listing
            on_close=Callback::new(move |()| listing.set(false))
            title=words.keys
        >
            <ul class="list">
                <li>{words.key_move}</li>
                <li>{words.key_open}</li>
                <li>{words.key_search}</li>
                <li>{words.key_list}</li>
            </ul>
            <div class="buttons">
                <button type="button" on:click=move |_| listing.set(false)>{words.close}</button>
            </div>
        </Dialog>
    }
    .into_any()
}

/// Side bar on wide screens, bottom bar on narrow ones.
#[component]
fn Navigation(
    /// The reader's choice.
    preferences: Preferences,
) -> impl IntoView {
    let words = use_words();
    view! {
        <header class="side">
            <a class="brand" href="/">"Stateward"</a>
            <nav aria-label=words.navigation>
                <p>{words.see}</p>
                <A href="/" exact=true attr:class="in-bar">{words.overview}</A>
                <A href="/states" attr:class="in-bar">{words.states}</A>
                <A href="/jobs">{words.jobs}</A>
                <A href="/lineage">{words.lineage}</A>
                <p>{words.act}</p>
                <A href="/alerts" attr:class="in-bar">{words.alerts}</A>
                <A href="/breakers" attr:class="in-bar">{words.breakers}</A>
                <p>{words.govern}</p>
                <A href="/audit">{words.audit}</A>
            </nav>
            <Choices preferences=preferences/>
        </header>
    }
    .into_any()
}

/// Language, theme, and whether the page is live.
#[component]
fn Choices(
    /// The reader's choice.
    preferences: Preferences,
) -> impl IntoView {
    let (words, live) = (use_words(), use_live());
    let location = use_location();
    let other = match preferences.lang {
        Lang::En => Lang::Zh,
        Lang::Zh => Lang::En,
    };
    let (next, name) = match preferences.theme {
        Theme::Auto => (Theme::Dark, words.theme_auto),
        Theme::Dark => (Theme::Light, words.theme_dark),
        Theme::Light => (Theme::Auto, words.theme_light),
    };
    // the same view, with one more choice in its URL; a full load, so that the server answers it
    let here_with = move |name: &'static str, value: &'static str| {
        let path = location.pathname.get();
        let query = location.query.get();
        let mut pairs: Vec<String> = query
            .into_iter()
            .filter(|(key, _)| key != name)
            .map(|(key, value)| format!("{}={}", encode(&key), encode(&value)))
            .collect();
        pairs.push(format!("{name}={value}"));
        format!("{path}?{}", pairs.join("&"))
    };
    let (here_with_theme, here_with_nav) = (here_with, here_with);
    let turned = Preferences { narrow: !preferences.narrow, ..preferences }.nav();
    let (turn, arrow) =
        if preferences.narrow { (words.nav_wide, "»") } else { (words.nav_narrow, "«") };
    let connection = move || {
        live.connected.get().map(|connected| {
            let (class, text) =
                if connected { ("live on", words.live) } else { ("live", words.not_live) };
            view! { <span class=class role="status">{text}</span> }
        })
    };
    view! {
        <div class="choices">
            {move || connection()}
            <a rel="external" lang=other.tag() href=move || here_with("lang", other.code())>
                {words.other_language}
            </a>
            <a rel="external" href=move || here_with_theme("theme", next.code())>
                {words.theme} ": " {name}
            </a>
            <a
                class="turn"
                rel="external"
                title=turn
                aria-label=turn
                href=move || here_with_nav("nav", turned)
            >
                {arrow}
            </a>
        </div>
    }
    .into_any()
}
