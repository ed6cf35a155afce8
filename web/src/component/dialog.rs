//! A modal dialog: opens and closes with a signal, closes with Escape.

use leptos::html::Dialog as DialogElement;
use leptos::prelude::*;

/// Shows its children while `open` holds.
#[component]
pub fn Dialog(
    /// Whether it is open.
    #[prop(into)]
    open: Signal<bool>,
    /// Called when the reader closes it.
    on_close: Callback<()>,
    /// Its heading.
    #[prop(into)]
    title: Signal<String>,
    /// Its content.
    children: Children,
) -> impl IntoView {
    let element = NodeRef::<DialogElement>::new();
    Effect::new(move || {
        let Some(dialog) = element.get() else { return };
        if open.get() && !dialog.open() {
            // refused only where the dialog is open already
            drop(dialog.show_modal());
        } else if !open.get() && dialog.open() {
            dialog.close();
        }
    });
    view! {
        <dialog node_ref=element aria-labelledby="dialog-title" on:close=move |_| on_close.run(())>
            <h2 id="dialog-title">{move || title.get()}</h2>
            {children()}
        </dialog>
    }
    .into_any()
}
