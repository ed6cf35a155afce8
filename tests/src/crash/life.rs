//! Starts `crash-job` and watches how it ends.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context;

use super::wait_for;

/// How a life ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The job came to its end.
    Finished,
    /// It was killed.
    Killed,
}

/// `crash-job` with what its lives share.
#[derive(Clone, Debug)]
pub struct Program {
    /// The binary.
    pub path: PathBuf,
    /// Which job, and what is done with it.
    pub plan: &'static str,
    /// The input.
    pub input: PathBuf,
}

/// A running `crash-job`.
#[derive(Debug)]
pub struct Life {
    child: Child,
    commits: PathBuf,
    errors: PathBuf,
}

impl Program {
    /// Starts a life on a data folder; `kill_at` is `point:n`.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start(&self, data_dir: &Path, job: &str, kill_at: Option<&str>) -> anyhow::Result<Life> {
        self.start_with(data_dir, job, kill_at, &[])
    }

    /// Starts a life with more in its environment.
    ///
    /// # Errors
    /// As [`Program::start`].
    pub fn start_with(
        &self,
        data_dir: &Path,
        job: &str,
        kill_at: Option<&str>,
        environment: &[(&'static str, OsString)],
    ) -> anyhow::Result<Life> {
        fs::create_dir_all(data_dir)?;
        let errors = data_dir.join("stderr.txt");
        let mut command = Command::new(&self.path);
        command.args([self.plan.as_ref(), data_dir.as_os_str(), self.input.as_os_str()]);
        command.stdin(Stdio::null()).stderr(fs::File::create(&errors)?);
        command.env_remove("STATEWARD_KILL_AT");
        if let Some(kill_at) = kill_at {
            command.env("STATEWARD_KILL_AT", kill_at);
        }
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        let child = command.spawn().with_context(|| format!("{}", self.path.display()))?;
        let commits = data_dir.join("jobs").join(job).join("changelog/commits");
        Ok(Life { child, commits, errors })
    }
}

impl Life {
    /// Waits for its end.
    ///
    /// # Errors
    /// When it fails instead, with what it said.
    pub fn wait(mut self) -> anyhow::Result<Ended> {
        let end = wait_for("the end of crash-job", || Ok(self.child.try_wait()?));
        let status = match end {
            Ok(status) => status,
            Err(e) => {
                self.child.kill()?;
                self.child.wait()?;
                return Err(e);
            }
        };
        // the kill points fall back on SIGABRT where there is no `kill` program
        match (status.success(), status.signal()) {
            (true, _) => Ok(Ended::Finished),
            (false, Some(6 | 9)) if !self.has_panicked()? => Ok(Ended::Killed),
            _ => anyhow::bail!("crash-job: {status}: {}", fs::read_to_string(&self.errors)?),
        }
    }

    fn has_panicked(&self) -> anyhow::Result<bool> {
        Ok(fs::read_to_string(&self.errors)?.contains("panicked"))
    }

    /// Kills it when it has made `steps` steps: the log of commits looked different so often.
    ///
    /// # Errors
    /// As [`Life::wait`].
    pub fn kill_after(mut self, steps: u64) -> anyhow::Result<Ended> {
        let (mut last, mut seen) = (self.progress(), 0);
        wait_for("progress of crash-job", || {
            let now = self.progress();
            seen += u64::from(now != last);
            last = now;
            Ok((seen >= steps || self.child.try_wait()?.is_some()).then_some(()))
        })?;
        // it may have ended by itself in between
        self.child.kill()?;
        self.wait()
    }

    /// Newest file of commits and its length; files may go while this looks.
    fn progress(&self) -> Option<(PathBuf, u64)> {
        let entries = fs::read_dir(&self.commits).ok()?.flatten();
        let newest = entries.map(|entry| entry.path()).max()?;
        let length = fs::metadata(&newest).ok()?.len();
        Some((newest, length))
    }
}
