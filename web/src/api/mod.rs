//! Where data comes from: one trait, fetched in the browser, called directly on the server.
//!
//! What is read is an [`Ask`], the answer is the JSON of the API: on both sides the same text, so
//! that one type of resource serves every page (each further type would cost the browser a copy of
//! the machinery around it). On the server the answer travels inside the HTML, and the browser
//! starts with it and does not ask again.

mod ask;
#[cfg(feature = "hydrate")]
mod browser;
#[cfg(test)]
pub(crate) mod sample;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use leptos::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stateward_model::Problem;

use crate::live;

pub use ask::{Act, Ask};

/// An answer that is on its way.
pub type Fetched<T> = Pin<Box<dyn Future<Output = Result<T, Problem>> + Send>>;

/// All that the pages want of a server.
pub trait Backend: Send + Sync + 'static {
    /// Wall clock of whoever answers, ms.
    fn now_millis(&self) -> i64;
    /// Reads: the JSON that the API answers.
    fn read(&self, ask: Ask) -> Fetched<String>;
    /// Acts: the JSON that the API answers, empty where it answers nothing.
    fn act(&self, act: Act) -> Fetched<String>;
}

/// What came of asking, with the time, so that ages are the same on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// What was asked.
    pub asked: String,
    /// Wall clock of whoever answered, ms.
    pub at_millis: i64,
    /// One text per question.
    pub texts: Result<Vec<String>, Problem>,
}

/// Reads the only text of an answer.
pub fn one<T: DeserializeOwned>(texts: &[String]) -> Result<T, Problem> {
    nth(texts, 0)
}

/// Reads one text of an answer.
pub fn nth<T: DeserializeOwned>(texts: &[String], n: usize) -> Result<T, Problem> {
    let text = texts.get(n).map_or("", String::as_str);
    serde_json::from_str(text).map_err(|error| local("unreadable", error.to_string()))
}

/// A problem of this side: its title is a word that the page translates.
pub fn local(title: &str, detail: String) -> Problem {
    Problem { uri: "about:blank".into(), title: title.into(), status: 0, detail }
}

/// The backend of this side.
pub fn backend() -> Arc<dyn Backend> {
    #[cfg(feature = "hydrate")]
    {
        Arc::new(browser::Browser)
    }
    #[cfg(not(feature = "hydrate"))]
    {
        expect_context::<Arc<dyn Backend>>()
    }
}

/// A page's data: asked when the questions change, and again at every tick of `every`.
pub fn answer(
    questions: impl Fn() -> Vec<Ask> + Send + Sync + 'static,
    every: live::Tick,
) -> Resource<Reply> {
    ask_again(Arc::new(move || {
        every.track();
        questions()
    }))
}

type Questions = Arc<dyn Fn() -> Vec<Ask> + Send + Sync>;

fn ask_again(questions: Questions) -> Resource<Reply> {
    let backend = backend();
    // a counter, because a tick asks the same questions again
    let turn = StoredValue::new(0_u32);
    Resource::new(
        move || {
            turn.update_value(|n| *n = n.wrapping_add(1));
            (questions(), turn.get_value())
        },
        move |(questions, _)| {
            let backend = Arc::clone(&backend);
            let asked = questions.iter().map(Ask::name).collect::<Vec<_>>().join(" ");
            let now_millis = backend.now_millis();
            let answers: Vec<Fetched<String>> =
                questions.into_iter().map(|ask| backend.read(ask.at(now_millis))).collect();
            async move {
                let mut texts = Ok(Vec::new());
                for answer in answers {
                    match (answer.await, &mut texts) {
                        (Ok(text), Ok(texts)) => texts.push(text),
                        (Err(problem), texts) => *texts = Err(problem),
                        (Ok(_), Err(_)) => {}
                    }
                }
                Reply { asked, at_millis: backend.now_millis(), texts }
            }
        },
    )
}
