//! First pass: how the rows of each state are built, and the newest time of all.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use super::flink::{Sample, guess, layout_of};
use super::form::{Form, word};
use super::report::{Basis, Stamp};
use super::rocks::{Entry, Visit};
use super::walk::{Family, Origin, Pass};

/// Rows that a form is guessed from.
const SAMPLE_ROWS: usize = 10_000;
/// Bytes that they may have.
const SAMPLE_BYTES: usize = 32 << 20;

/// Operator and state.
pub(super) type StateKey = (Option<String>, String);

/// What the first pass found.
#[derive(Debug)]
pub(super) struct Scout {
    /// How rows are built that nothing but themselves tells of; where several parts hold a state,
    /// by the first that has rows.
    pub(super) forms: BTreeMap<StateKey, Form>,
    /// Newest time of an access.
    pub(super) newest_millis: Option<i64>,
    /// Whether that is wanted; else a pass ends when the forms are known.
    pub(super) wants_newest: bool,
}

impl Scout {
    /// How the rows of a family are read.
    pub(super) fn form_of(&self, family: &Family) -> Form {
        match &family.origin {
            Origin::Stateward { kind, cut_off } => {
                Form::Stateward { kind: kind.clone(), cut_off: *cut_off }
            }
            Origin::Flink(known) => Form::Flink {
                layout: layout_of(known, family.group_bytes.unwrap_or(1)),
                word: known.word.to_lowercase(),
                basis: Basis::Known,
            },
            Origin::Rows { has_ttl_filter } => {
                let key = (family.operator.clone(), family.name.clone());
                let found = self.forms.get(&key).cloned();
                found.unwrap_or_else(|| guessed(&family.name, *has_ttl_filter, &[]))
            }
        }
    }
}

fn guessed(family: &str, has_ttl_filter: Option<bool>, rows: &Sample) -> Form {
    let layout = guess(family, has_ttl_filter, rows);
    Form::Flink { layout, word: word(layout.kind).to_owned(), basis: Basis::Guess }
}

/// Looks at one family.
#[derive(Debug)]
pub(super) struct Scouting {
    key: StateKey,
    has_ttl_filter: Option<bool>,
    form: Option<Form>,
    is_guess: bool,
    sample: Vec<(Vec<u8>, Vec<u8>)>,
    sample_bytes: usize,
    newest_millis: Option<i64>,
    wants_newest: bool,
}

impl Scouting {
    fn note(&mut self, key: &[u8], row: &[u8]) {
        let Some(form) = self.form.as_ref().filter(|form| form.stamp() == Stamp::LastAccess) else {
            return;
        };
        let newest = &mut self.newest_millis;
        form.stamps(key, row, &mut |ts, _| *newest = (*newest).max(Some(ts)));
    }

    fn settle(&mut self) {
        if self.form.is_some() {
            return;
        }
        self.form = Some(guessed(&self.key.1, self.has_ttl_filter, &self.sample));
        for (key, row) in std::mem::take(&mut self.sample) {
            self.note(&key, &row);
        }
    }
}

impl Visit for Scouting {
    fn entry(&mut self, _entry: &Entry<'_>) {}

    fn row(&mut self, key: &[u8], value: Option<&[u8]>) -> ControlFlow<()> {
        let Some(row) = value else { return ControlFlow::Continue(()) };
        if self.form.is_none() {
            self.sample_bytes += key.len() + row.len();
            self.sample.push((key.to_vec(), row.to_vec()));
            if self.sample.len() < SAMPLE_ROWS && self.sample_bytes < SAMPLE_BYTES {
                return ControlFlow::Continue(());
            }
            self.settle();
        } else {
            self.note(key, row);
        }
        if self.wants_newest { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

impl Pass for Scout {
    type Eye = Scouting;

    fn begin(&mut self, family: Family) -> Scouting {
        let (is_guess, has_ttl_filter) = match family.origin {
            Origin::Rows { has_ttl_filter } => (true, has_ttl_filter),
            _ => (false, None),
        };
        let form = (!is_guess).then(|| self.form_of(&family));
        Scouting {
            form,
            key: (family.operator, family.name),
            has_ttl_filter,
            is_guess,
            sample: Vec::new(),
            sample_bytes: 0,
            newest_millis: None,
            wants_newest: self.wants_newest,
        }
    }

    fn end(&mut self, mut eye: Scouting) {
        let has_rows = eye.form.is_some() || !eye.sample.is_empty();
        eye.settle();
        self.newest_millis = self.newest_millis.max(eye.newest_millis);
        if let Some(form) = eye.form.filter(|_| eye.is_guess && has_rows) {
            self.forms.entry(eye.key).or_insert(form);
        }
    }
}
