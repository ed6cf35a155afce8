//! `stateward job`: the jobs of a data folder, with no server in between. A running job is asked
//! through the socket in its folder, a stopped one is read from its files.

mod list;
#[cfg(test)]
mod tests;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use stateward_engine::{Action, ControlClient, Error, Savepoint};

use crate::unit::{bytes, count, instant};
use crate::{Failure, Output, restore, run, start};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Lists the jobs of a data folder: whether they run, epoch, shards, states, sizes, checkpoint,
    /// savepoints.
    List(list::Arguments),
    /// Writes a savepoint of a job, running or not.
    Savepoint {
        #[command(flatten)]
        job: JobOf,
        /// File to write, which must not be there [default: savepoints/EPOCH.savepoint in the job's
        /// folder].
        path: Option<PathBuf>,
        /// How the answer is printed.
        #[arg(long, value_enum, default_value_t)]
        output: Output,
    },
    /// Has a running job make a checkpoint now.
    Checkpoint {
        #[command(flatten)]
        job: JobOf,
    },
    /// Ends a running job.
    Stop {
        #[command(flatten)]
        job: JobOf,
        /// Writes a savepoint of the last epoch.
        #[arg(long, value_name = "PATH")]
        savepoint: Option<PathBuf>,
    },
    /// Restores a ready-made job into an empty folder, and does not start it.
    Restore {
        /// The job.
        job: String,
        #[command(flatten)]
        of: run::JobArguments,
        #[command(flatten)]
        restore: restore::RestoreArguments,
    },
    /// Trips the write breaker of a state until it is reset.
    Trip {
        #[command(flatten)]
        job: JobOf,
        #[command(flatten)]
        breaker: Breaker,
        /// What becomes of events that write the state.
        #[arg(long, value_enum, default_value_t = Refusal::Divert)]
        action: Refusal,
    },
    /// Resets the write breaker of a state: what it diverted is replayed.
    Reset {
        #[command(flatten)]
        job: JobOf,
        #[command(flatten)]
        breaker: Breaker,
    },
}

/// A job of a data folder.
#[derive(Debug, Args)]
struct JobOf {
    /// The job's name.
    job: String,
    /// Folder that keeps the job.
    #[arg(long, value_name = "DIR", default_value = "stateward-data")]
    data_dir: PathBuf,
}

/// A breaker, and who is about to touch it.
#[derive(Debug, Args)]
struct Breaker {
    /// The state.
    #[arg(value_name = "OPERATOR/STATE")]
    state: String,
    /// Why; it is kept in the job's journal.
    #[arg(long)]
    reason: String,
    /// Who.
    #[arg(long, value_name = "NAME", env = "USER", default_value = "unknown")]
    actor: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Refusal {
    /// All of them wait until the reset.
    Divert,
    /// They are slowed down to the threshold.
    Limit,
}

impl JobOf {
    fn client(&self) -> ControlClient {
        ControlClient::new(&self.data_dir, &self.job)
    }
}

impl Breaker {
    fn place(&self) -> Result<(&str, &str), Failure> {
        self.state.split_once('/').ok_or_else(|| {
            Failure::usage(format!(
                "{}: expected OPERATOR/STATE, such as counter/count",
                self.state
            ))
        })
    }

    /// Told from people of the server by where they sat.
    fn actor(&self) -> String {
        format!("local:{}", self.actor)
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let text = answer(&arguments.command)?;
    std::io::stdout().write_all(text.as_bytes()).map_err(Failure::unable)
}

fn answer(command: &Command) -> Result<String, Failure> {
    match command {
        Command::List(arguments) => list::answer(arguments),
        Command::Savepoint { job, path, output } => {
            let made = savepoint(job, path.as_deref()).map_err(start::failure)?;
            match output {
                Output::Table => Ok(written(&made)),
                Output::Json => {
                    Ok(serde_json::to_string_pretty(&made).map_err(Failure::unable)? + "\n")
                }
            }
        }
        Command::Checkpoint { job } => {
            let epoch = job.client().checkpoint().map_err(failure)?;
            Ok(format!("checkpoint {epoch} is published\n"))
        }
        Command::Stop { job, savepoint: None } => {
            job.client().stop().map_err(failure)?;
            Ok(format!("{} takes a last checkpoint and ends\n", job.job))
        }
        Command::Stop { job, savepoint: Some(path) } => {
            let made = job.client().stop_with_savepoint(Some(path)).map_err(failure)?;
            Ok(written(&made) + "the job has ended with it\n")
        }
        Command::Restore { job, of, restore } => {
            if !restore.is_given() {
                return Err(Failure::usage(
                    "what from? give --from PATH, a savepoint or a checkpoint",
                ));
            }
            let built = run::build(job, of)?;
            let options = restore.apply(start::options(&of.data_dir, None));
            if restore.preview {
                return restore.print_preview(&built, &options).map(|()| String::new());
            }
            let done = built.restore(&options).map_err(start::failure)?;
            Ok(format!("{done}\nit goes on with: stateward run {job}\n"))
        }
        Command::Trip { job, breaker, action } => {
            let action = match action {
                Refusal::Divert => Action::Divert,
                Refusal::Limit => Action::Limit,
            };
            let (client, place) = (job.client(), breaker.place()?);
            client.trip(place, action, &breaker.actor(), &breaker.reason).map_err(failure)?;
            Ok(format!("the breaker of {} is open until it is reset\n", breaker.state))
        }
        Command::Reset { job, breaker } => {
            let (client, place) = (job.client(), breaker.place()?);
            client.reset(place, &breaker.actor(), &breaker.reason).map_err(failure)?;
            Ok(format!("the breaker of {} replays what it diverted, then closes\n", breaker.state))
        }
    }
}

/// A running job writes it itself; of a stopped one it is made here.
fn savepoint(job: &JobOf, path: Option<&Path>) -> Result<Savepoint, Error> {
    match job.client().savepoint(path) {
        Err(Error::NotRunning { .. }) => Savepoint::of_stopped_job(&job.data_dir, &job.job, path),
        made => made,
    }
}

fn failure(error: Error) -> Failure {
    match error {
        Error::NotRunning { .. } => Failure::no(format!(
            "{error}; `stateward job list` shows which jobs run, and --data-dir another folder"
        )),
        other => start::failure(other),
    }
}

fn written(made: &Savepoint) -> String {
    format!(
        "{}: {} at epoch {} of {}, {} entries of {} in {} states; {} expired ones of {} are left out\n",
        made.path.display(),
        bytes(made.file_bytes),
        made.epoch,
        instant(made.wall_millis),
        count(made.entries),
        bytes(made.logical_bytes),
        made.states,
        count(made.excluded_entries),
        bytes(made.excluded_bytes)
    )
}
