//! What a click sends, and the fresh figures it asks for afterwards.

use leptos::prelude::*;
use leptos::task::spawn_local;
use stateward_model::alert::Rule;
use stateward_model::view::OrderRequest;

use crate::api::{Act, Ask, Fetched, backend, one};
use crate::component::RuleAct;
use crate::live::use_live;

/// Sends an act and asks for fresh figures when it succeeded.
fn sender() -> impl Fn(Act) -> Fetched<()> + Send + Sync + 'static {
    let (live, backend) = (use_live(), backend());
    move |act| {
        let answer = backend.act(act);
        Box::pin(async move {
            answer.await?;
            live.poke();
            Ok(())
        })
    }
}

/// Sends breaker commands.
pub(super) fn breaker_sender() -> Callback<([String; 4], OrderRequest), Fetched<()>> {
    let send = sender();
    Callback::new(move |(of, request)| send(Act::Breaker(of, request)))
}

/// Sends changes of rules.
pub(super) fn rule_sender() -> Callback<RuleAct, Fetched<()>> {
    let send = sender();
    Callback::new(move |act| match act {
        RuleAct::Save(rule) => send(Act::SaveRule(rule)),
        RuleAct::Delete(rule) => send(Act::DeleteRule(rule.id)),
    })
}

/// The ready-made rules, fetched when the dialog opens for the first time.
pub(super) fn presets_for(act: RwSignal<Option<RuleAct>>) -> Signal<Vec<Rule>> {
    let presets = RwSignal::new(Vec::new());
    Effect::new(move || {
        if act.get().is_none() || !presets.with_untracked(Vec::is_empty) {
            return;
        }
        spawn_local(async move {
            // without them the form is typed from scratch
            if let Ok(rules) = backend().read(Ask::Presets).await.and_then(|text| one(&[text])) {
                presets.set(rules);
            }
        });
    });
    presets.into()
}

/// The wall clock that a dialog reckons with.
pub(super) fn clock() -> Callback<(), i64> {
    let backend = backend();
    Callback::new(move |()| backend.now_millis())
}
