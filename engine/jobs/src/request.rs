//! What a person asks of a job, in words; parsed here, once.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use stateward_engine::Error;

use crate::JobSpec;

/// Something that can be set, `name=value` on the command line or a line in the job's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// What holds when it is not set, in words.
    pub default: &'static str,
    /// What it does, with its unit.
    pub about: &'static str,
}

/// What a job is built from.
#[derive(Clone, Debug, Default)]
pub struct JobRequest {
    /// The data folder, where a job may unpack its own input.
    pub data_dir: PathBuf,
    /// A file, or `-` for standard input.
    pub input: Option<PathBuf>,
    /// Settings by name.
    pub settings: BTreeMap<String, String>,
}

impl JobRequest {
    /// A request with nothing set.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self { data_dir: data_dir.into(), ..Self::default() }
    }

    /// Names the input.
    #[must_use]
    pub fn input(mut self, input: impl Into<PathBuf>) -> Self {
        self.input = Some(input.into());
        self
    }

    /// Sets something.
    #[must_use]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.settings.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn check(&self, spec: &JobSpec) -> Result<(), Error> {
        let known = |name: &String| spec.takes.iter().any(|setting| setting.name == name);
        if let Some(unknown) = self.settings.keys().find(|name| !known(name)) {
            let names = spec.takes.iter().map(|setting| setting.name).collect::<Vec<_>>();
            return Err(Error::Declaration(format!(
                "job {} has no setting {unknown}; it takes {}",
                spec.name,
                names.join(", ")
            )));
        }
        if spec.needs_input && self.input.is_none() {
            return Err(Error::Declaration(format!(
                "job {} needs an input: --input PATH, or --input - for standard input",
                spec.name
            )));
        }
        if !spec.needs_input && self.input.is_some() {
            return Err(Error::Declaration(format!("job {} brings its own input", spec.name)));
        }
        Ok(())
    }

    /// The value of a setting, `None` if it is not set.
    pub(crate) fn get<T: FromStr>(&self, name: &str, expected: &str) -> Result<Option<T>, Error> {
        let Some(value) = self.settings.get(name) else { return Ok(None) };
        value.parse().map(Some).map_err(|_unreadable| {
            Error::Declaration(format!("setting {name}={value}: expected {expected}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{build, jobs};

    #[test]
    fn a_request_is_refused_with_what_is_allowed() {
        let folder = tempfile::tempdir().unwrap();
        let request = || JobRequest::new(folder.path());
        for (name, request, expected) in [
            ("flight-ops", request().set("sped", "1"), "has no setting sped; it takes speed, "),
            ("flight-ops", request().set("speed", "fast"), "speed=fast: expected "),
            ("flight-ops", request().input("-"), "brings its own input"),
            ("login-risk", request(), "needs an input: --input PATH"),
        ] {
            let text = build(name, &request).unwrap_err().to_string();
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn every_setting_is_explained() {
        for spec in jobs() {
            for setting in spec.takes {
                assert!(!setting.about.is_empty() && !setting.default.is_empty(), "{setting:?}");
            }
        }
    }
}
