//! Stateward's ready-made jobs, each the worked example of one feature.
//!
//! In: a name and settings in words. Out: a [`Job`] ready to start. Never here: servers, terminals.

mod request;
mod flight_ops;
mod login_risk;

pub use flight_ops::{FlightOptions, flight_ops};
pub use login_risk::{LoginOptions, Stamps, login_risk};
pub use request::{JobRequest, Setting};

use stateward_engine::{Error, Job};

/// A ready-made job.
#[derive(Clone, Copy, Debug)]
pub struct JobSpec {
    /// What it is called on the command line and on pages.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// What can be set.
    pub takes: &'static [Setting],
    /// Whether it must be given an input.
    pub needs_input: bool,
    build: fn(&JobRequest) -> Result<Job, Error>,
}

impl JobSpec {
    /// Builds the job.
    ///
    /// # Errors
    /// [`Error::Declaration`] where a setting is unknown or has a bad value, or the input is
    /// missing; it says what is allowed.
    pub fn build(&self, request: &JobRequest) -> Result<Job, Error> {
        request.check(self)?;
        (self.build)(request)
    }
}

/// All ready-made jobs.
pub fn jobs() -> &'static [JobSpec] {
    &[flight_ops::SPEC, login_risk::SPEC]
}

/// Builds the job of the name.
///
/// # Errors
/// [`Error::Declaration`] where there is none, naming those there are; else as [`JobSpec::build`].
///
/// # Examples
/// ```
/// use stateward_jobs::JobRequest;
/// let data = std::env::temp_dir().join("stateward-doc");
/// let error = stateward_jobs::build("flights", &JobRequest::new(data)).unwrap_err();
/// assert!(error.to_string().ends_with("no job flights; there are flight-ops, login-risk"));
/// ```
pub fn build(name: &str, request: &JobRequest) -> Result<Job, Error> {
    if let Some(spec) = jobs().iter().find(|spec| spec.name == name) {
        return spec.build(request);
    }
    let names = jobs().iter().map(|spec| spec.name).collect::<Vec<_>>().join(", ");
    Err(Error::Declaration(format!("no job {name}; there are {names}")))
}
