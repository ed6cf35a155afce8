//! No such page.

use leptos::prelude::*;

use super::shown::Heading;
use crate::app::Site;
use crate::i18n::use_words;

/// Says so, and where to start again.
#[component]
pub fn MissingView() -> impl IntoView {
    let words = use_words();
    if let Some(site) = use_context::<Site>() {
        site.answer_with(404);
    }
    view! {
        <Heading text=words.not_found></Heading>
        <p>{words.not_found_do} " " <a href="/">{words.overview}</a></p>
    }
    .into_any()
}
