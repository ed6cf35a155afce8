//! The binary `stateward`.
//!
//! Exit codes: 0 good, 1 the answer is no, 2 usage, 3 could not find out.

mod serve;
#[cfg(feature = "engine")]
mod start;
#[cfg(feature = "engine")]
mod unit;
#[cfg(feature = "engine")]
mod table;
#[cfg(feature = "engine")]
mod demo;
#[cfg(feature = "engine")]
mod restore;
#[cfg(feature = "engine")]
mod run;
#[cfg(feature = "engine")]
mod job;
#[cfg(feature = "engine")]
mod inspect;

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Shows, bounds and governs the state of streaming jobs.
#[derive(Debug, Parser)]
#[command(name = "stateward", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Starts the server.
    Serve(serve::Arguments),
    /// Starts the server and the demo job: a year of real flights, replayed.
    #[cfg(feature = "engine")]
    Demo(demo::Arguments),
    /// Runs a ready-made job on your own data.
    #[cfg(feature = "engine")]
    Run(run::Arguments),
    /// Lists, saves, restores and stops jobs of a data folder, and trips their breakers, without a
    /// server.
    #[cfg(feature = "engine")]
    Job(job::Arguments),
    /// Reads what a job left on disk: entries, ages and expired shares, per state and table.
    #[cfg(feature = "engine")]
    Inspect(inspect::Arguments),
}

/// How an answer is printed.
#[cfg(feature = "engine")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Output {
    /// For people.
    #[default]
    Table,
    /// For programs; the shape is in docs/inspect.md and docs/savepoints.md.
    Json,
}

/// A command that failed: what to say, and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    /// The command did its work, and the answer is no.
    #[cfg(feature = "engine")]
    pub(crate) fn no(answer: impl std::fmt::Display) -> Self {
        Self { message: answer.to_string(), code: 1 }
    }

    /// The arguments or the configuration cannot be used.
    pub(crate) fn usage(error: impl std::fmt::Display) -> Self {
        Self { message: error.to_string(), code: 2 }
    }

    /// The command could not do its work.
    pub(crate) fn unable(error: impl std::fmt::Display) -> Self {
        Self { message: error.to_string(), code: 3 }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info,sqlx=warn"));
    let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(colour)
        .with_writer(std::io::stderr)
        .init();
    let outcome = match arguments.command {
        Command::Serve(arguments) => serve::run(&arguments),
        #[cfg(feature = "engine")]
        Command::Demo(arguments) => demo::run(&arguments),
        #[cfg(feature = "engine")]
        Command::Run(arguments) => run::run(&arguments),
        #[cfg(feature = "engine")]
        Command::Job(arguments) => job::run(&arguments),
        #[cfg(feature = "engine")]
        Command::Inspect(arguments) => inspect::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // nobody is left to tell when standard error is closed
            drop(writeln!(std::io::stderr(), "stateward: {}", failure.message));
            ExitCode::from(failure.code)
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn arguments_do_not_contradict_one_another() {
        super::Arguments::command().debug_assert();
    }
}
