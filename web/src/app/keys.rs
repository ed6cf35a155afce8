//! Keys: j and k move between rows, / searches, ? lists the keys. Enter opens a row by itself,
//! because a row's link has the focus.

use leptos::prelude::*;
use web_sys::wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, KeyboardEvent};

/// Listens for the rest of the page's life.
pub(super) fn listen(listing: RwSignal<bool>) {
    let handle = window_event_listener(leptos::ev::keydown, move |event| pressed(&event, listing));
    // the listener goes with the page
    std::mem::forget(handle);
}

fn pressed(event: &KeyboardEvent, listing: RwSignal<bool>) {
    if event.ctrl_key() || event.meta_key() || event.alt_key() || is_typing(event) {
        return;
    }
    match event.key().as_str() {
        "j" => step(1),
        "k" => step(-1),
        "/" => {
            if let Some(search) = document().get_element_by_id("search") {
                event.prevent_default();
                focus(search);
            }
        }
        "?" => listing.set(true),
        _ => {}
    }
}

fn is_typing(event: &KeyboardEvent) -> bool {
    let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
    target.is_some_and(|element| {
        matches!(element.tag_name().as_str(), "INPUT" | "SELECT" | "TEXTAREA")
            || element.closest("dialog").is_ok_and(|dialog| dialog.is_some())
    })
}

/// Moves the focus to the next or the previous row.
fn step(by: i64) {
    let Ok(rows) = document().query_selector_all("a.row-link") else { return };
    let count = i64::from(rows.length());
    let active = document().active_element();
    let now = (0..rows.length()).find(|index| {
        rows.get(*index)
            .is_some_and(|row| active.as_ref().is_some_and(|a| row.is_same_node(Some(a))))
    });
    let next = match now {
        Some(now) => (i64::from(now) + by).clamp(0, count - 1),
        None => 0,
    };
    let row = rows.get(next as u32).and_then(|row| row.dyn_into::<Element>().ok());
    if let Some(row) = row {
        focus(row);
    }
}

fn focus(element: Element) {
    if let Ok(element) = element.dyn_into::<HtmlElement>() {
        // an element that cannot have the focus keeps the page as it is
        drop(element.focus());
    }
}
