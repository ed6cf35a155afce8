//! What moves by itself: the clock, the viewer's zone, and the server's word that something changed
//! (server-sent events of `/api/v1/live`).
//!
//! On the server, and until the page is hydrated, nothing moves: the time is that of the answer,
//! the zone is UTC.

use leptos::prelude::*;

use crate::format;

/// How often something is fetched again at most.
#[derive(Clone, Copy, Debug)]
pub struct Tick(ReadSignal<u32>);

impl Tick {
    /// Ticks at no time.
    pub fn never() -> Self {
        Self(signal(0).0)
    }

    /// Subscribes the caller; the number grows with every tick.
    pub fn track(self) -> u32 {
        self.0.get()
    }
}

/// The signals that move.
#[derive(Clone, Copy, Debug)]
pub struct Live {
    /// Figures: every second, while the server reports changes.
    pub figures: Tick,
    /// Charts: every fifth second.
    pub charts: Tick,
    /// Wall clock, ms; `None` until hydrated.
    pub now_millis: ReadSignal<Option<i64>>,
    /// Whether the viewer's zone is in use.
    pub local: ReadSignal<bool>,
    /// Whether events arrive; `None` until that is known.
    pub connected: ReadSignal<Option<bool>>,
    poke: WriteSignal<u32>,
}

impl Live {
    /// Fetches figures again at once: after an action.
    pub fn poke(self) {
        self.poke.update(|n| *n = n.wrapping_add(1));
    }

    /// Minutes east of UTC at a time, in the zone in use.
    pub fn offset_minutes(self, at_millis: i64) -> i64 {
        if self.local.get() { zone_offset_minutes(at_millis) } else { 0 }
    }

    /// Name of the zone in use.
    pub fn zone(self) -> String {
        if self.local.get() { zone_name() } else { "UTC".to_owned() }
    }

    /// A date and time in the zone in use.
    pub fn date_time(self, at_millis: i64) -> String {
        format::date_time(at_millis, self.offset_minutes(at_millis))
    }

    /// Only the time of day.
    pub fn clock(self, at_millis: i64) -> String {
        self.date_time(at_millis).split_off(11)
    }
}

/// The signals of this page.
pub fn use_live() -> Live {
    expect_context::<Live>()
}

/// Creates the signals and, in the browser, moves them.
pub fn provide_live() -> Live {
    let (figures, poke) = signal(0);
    let (charts, set_charts) = signal(0);
    let (now_millis, set_now) = signal(None);
    let (local, set_local) = signal(false);
    let (connected, set_connected) = signal(None);
    let live =
        Live { figures: Tick(figures), charts: Tick(charts), now_millis, local, connected, poke };
    provide_context(live);
    // effects run in the browser only, once the page is hydrated
    Effect::new(move || start(poke, set_charts, set_now, set_local, set_connected));
    live
}

#[cfg(not(feature = "hydrate"))]
fn start(
    _: WriteSignal<u32>,
    _: WriteSignal<u32>,
    _: WriteSignal<Option<i64>>,
    _: WriteSignal<bool>,
    _: WriteSignal<Option<bool>>,
) {
}

#[cfg(feature = "hydrate")]
fn start(
    figures: WriteSignal<u32>,
    charts: WriteSignal<u32>,
    now: WriteSignal<Option<i64>>,
    local: WriteSignal<bool>,
    connected: WriteSignal<Option<bool>>,
) {
    use std::cell::RefCell;
    use std::time::Duration;

    /// Without events the page asks by itself, this often.
    const POLL_SECONDS: u32 = 5;
    const CHARTS_SECONDS: u32 = 5;
    /// Names of the server's events.
    const EVENTS: [&str; 3] = ["report", "alert", "command"];

    local.set(true);
    now.set(Some(js_sys::Date::now() as i64));
    let changed = StoredValue::new(false);
    let open = StoredValue::new(false);
    let on_message = listener(move || changed.set_value(true));
    let on_open = listener(move || {
        open.set_value(true);
        connected.set(Some(true));
    });
    let on_error = listener(move || {
        open.set_value(false);
        connected.set(Some(false));
    });
    // an EventSource reconnects by itself
    let listen = move || {
        let source = web_sys::EventSource::new("/api/v1/live").ok()?;
        for name in EVENTS {
            // a name that cannot be listened to leaves the page with its own clock
            drop(source.add_event_listener_with_callback(name, &on_message));
        }
        source.set_onopen(Some(&on_open));
        source.set_onerror(Some(&on_error));
        Some(source)
    };
    // A browser opens six connections to a server for all of its tabs, and pages that it keeps to go
    // back to hold theirs: only a page that is seen listens, or the seventh would wait for them.
    let source = RefCell::new(if document().hidden() { None } else { listen() });
    let visibility = window_event_listener_untyped("visibilitychange", move |_| {
        if let Some(source) = source.take() {
            source.close();
            open.set_value(false);
        }
        if !document().hidden() {
            source.replace(listen());
            changed.set_value(true);
        }
    });
    // it listens as long as the page lives
    std::mem::forget(visibility);
    let seconds = StoredValue::new(0_u32);
    set_interval(
        move || {
            if document().hidden() {
                return;
            }
            now.set(Some(js_sys::Date::now() as i64));
            seconds.update_value(|n| *n = n.wrapping_add(1));
            let second = seconds.get_value();
            let due =
                changed.get_value() || (!open.get_value() && second.is_multiple_of(POLL_SECONDS));
            if due {
                changed.set_value(false);
                figures.update(|n| *n = n.wrapping_add(1));
            }
            if second.is_multiple_of(CHARTS_SECONDS) {
                charts.update(|n| *n = n.wrapping_add(1));
            }
        },
        Duration::from_secs(1),
    );
}

/// A function of the page's life time for the browser to call.
#[cfg(feature = "hydrate")]
fn listener(call: impl FnMut() + 'static) -> js_sys::Function {
    use wasm_bindgen::JsCast;
    wasm_bindgen::prelude::Closure::<dyn FnMut()>::new(call).into_js_value().unchecked_into()
}

#[cfg(feature = "hydrate")]
fn zone_offset_minutes(at_millis: i64) -> i64 {
    let date = js_sys::Date::new(&wasm_bindgen::JsValue::from_f64(at_millis as f64));
    -(date.get_timezone_offset() as i64)
}

#[cfg(feature = "hydrate")]
fn zone_name() -> String {
    let options = js_sys::Intl::DateTimeFormat::new(&js_sys::Array::new(), &js_sys::Object::new())
        .resolved_options();
    js_sys::Reflect::get(&options, &"timeZone".into())
        .ok()
        .and_then(|name| name.as_string())
        .unwrap_or_else(|| "UTC".to_owned())
}

#[cfg(not(feature = "hydrate"))]
fn zone_offset_minutes(_: i64) -> i64 {
    0
}

#[cfg(not(feature = "hydrate"))]
fn zone_name() -> String {
    "UTC".to_owned()
}
