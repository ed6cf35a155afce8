//! The filter grammar of the ranking: words and `field:value` terms, separated by blanks; all must
//! match, letter case does not matter.

use stateward_model::VerdictKind;
use stateward_model::breaker::PHASES;
use stateward_model::view::StateRow;

use crate::db::control::as_word;
use crate::error::ApiError;

/// Terms of one filter.
const TERMS_MAX: usize = 32;
/// Fields that a term may name.
const FIELDS: &str = "job:, operator:, state:, verdict:, breaker:";
/// Every verdict, to tell what `verdict:` takes.
const VERDICTS: [VerdictKind; 7] = [
    VerdictKind::NoTtl,
    VerdictKind::RefreshedByReads,
    VerdictKind::CleanupBehind,
    VerdictKind::TooShort,
    VerdictKind::TooLong,
    VerdictKind::CannotTell,
    VerdictKind::Working,
];

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Word(String),
    Job(String),
    Operator(String),
    State(String),
    Verdict(String),
    Breaker(String),
}

/// A parsed filter; the empty one matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Filter(Vec<Term>);

impl Filter {
    /// Parses a filter.
    pub(crate) fn parse(text: &str) -> Result<Self, ApiError> {
        let terms: Vec<Term> = text
            .split_whitespace()
            .map(|word| term(&word.to_lowercase()))
            .collect::<Result<_, _>>()?;
        if terms.len() > TERMS_MAX {
            return Err(ApiError::bad_request(format!(
                "the filter has {} terms; use at most {TERMS_MAX}",
                terms.len()
            )));
        }
        Ok(Self(terms))
    }

    /// Tells whether a row matches all terms.
    pub(crate) fn matches(&self, row: &StateRow) -> bool {
        self.0.iter().all(|term| match term {
            Term::Word(word) => identity(row).to_lowercase().contains(word),
            Term::Job(name) => {
                let whole = format!("{}/{}", row.namespace, row.job_name).to_lowercase();
                row.job_name.to_lowercase() == *name || whole == *name
            }
            Term::Operator(name) => row.operator.to_lowercase() == *name,
            Term::State(name) => row.state.to_lowercase() == *name,
            Term::Verdict(kind) => as_word(&row.verdict.kind) == *kind,
            Term::Breaker(phase) => as_word(&row.breaker.phase) == *phase,
        })
    }
}

/// `namespace/job_name/operator/state`.
pub(crate) fn identity(row: &StateRow) -> String {
    format!("{}/{}/{}/{}", row.namespace, row.job_name, row.operator, row.state)
}

fn term(word: &str) -> Result<Term, ApiError> {
    let Some((field, value)) = word.split_once(':') else {
        return Ok(Term::Word(word.to_owned()));
    };
    let value = value.to_owned();
    let one_of = |words: Vec<String>| {
        if words.contains(&value) {
            return Ok(());
        }
        let words = words.join(", ");
        Err(ApiError::bad_request(format!("filter term {word:?}: {field} is one of {words}")))
    };
    match field {
        "job" => Ok(Term::Job(value)),
        "operator" => Ok(Term::Operator(value)),
        "state" => Ok(Term::State(value)),
        "verdict" => {
            one_of(VERDICTS.iter().map(as_word).collect())?;
            Ok(Term::Verdict(value))
        }
        "breaker" => {
            one_of(PHASES.iter().map(|(_, name)| (*name).to_owned()).collect())?;
            Ok(Term::Breaker(value))
        }
        _ => Err(ApiError::bad_request(format!(
            "filter term {word:?}: there is no field {field:?}; fields are {FIELDS}"
        ))),
    }
}
