//! `stateward run JOB`: a ready-made job on the user's own data.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use stateward_engine::{HttpTransport, Job, JobHandle, RunOptions, Transport};
use stateward_jobs::{JobRequest, JobSpec};

use crate::{Failure, restore, serve, start, unit};

/// Which job, on which data.
#[derive(Debug, Args)]
pub(crate) struct JobArguments {
    /// A file, or `-` for standard input.
    #[arg(long, value_name = "PATH")]
    input: Option<PathBuf>,
    /// A setting of the job; may be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,
    /// File with settings, TOML: one `name = value` a line. `--set` wins.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Folder that keeps the job; a second start goes on from there.
    #[arg(long, value_name = "DIR", default_value = "stateward-data")]
    pub(crate) data_dir: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The job; without one, all are listed with what they take.
    job: Option<String>,
    #[command(flatten)]
    pub(crate) of: JobArguments,
    #[command(flatten)]
    restore: restore::RestoreArguments,
    /// Memory that write caches, memtables and block cache share (`memory.total`), such as 512MiB; at
    /// least 8MiB.
    #[arg(long, value_name = "SIZE", value_parser = memory, default_value = "256MiB")]
    memory: usize,
    /// Server to report to: the URL that it printed, token included.
    #[arg(long, value_name = "URL", env = "STATEWARD_SERVER")]
    server: Option<String>,
    /// Token of the server, where the URL has none.
    #[arg(long, value_name = "TOKEN", env = "STATEWARD_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

/// Reads `memory.total`.
fn memory(text: &str) -> Result<usize, String> {
    let bytes = unit::parse_bytes(text)?;
    if bytes < RunOptions::MEMORY_BYTES_MIN {
        return Err("a job needs at least 8MiB".to_owned());
    }
    Ok(bytes)
}

/// Splits `name=value`.
pub(crate) fn split_setting(setting: &str) -> Result<(&str, &str), Failure> {
    setting
        .split_once('=')
        .ok_or_else(|| Failure::usage(format!("--set {setting}: expected NAME=VALUE")))
}

fn request(arguments: &JobArguments) -> Result<JobRequest, Failure> {
    let mut request = JobRequest::new(&arguments.data_dir);
    if let Some(input) = &arguments.input {
        request = request.input(input);
    }
    if let Some(path) = &arguments.config {
        let text = std::fs::read_to_string(path)
            .map_err(|e| Failure::usage(format!("cannot read {}: {e}", path.display())))?;
        let table: toml::Table =
            text.parse().map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?;
        for (name, value) in &table {
            let value = match value {
                toml::Value::String(text) => text.clone(),
                toml::Value::Integer(number) => number.to_string(),
                toml::Value::Float(number) => number.to_string(),
                toml::Value::Boolean(yes) => yes.to_string(),
                _ => {
                    return Err(Failure::usage(format!(
                        "{}: {name} must be a text, a number, true or false",
                        path.display()
                    )));
                }
            };
            request = request.set(name, &value);
        }
    }
    for setting in &arguments.settings {
        let (name, value) = split_setting(setting)?;
        request = request.set(name, value);
    }
    Ok(request)
}

/// Builds the job of the name.
pub(crate) fn build(name: &str, arguments: &JobArguments) -> Result<Job, Failure> {
    stateward_jobs::build(name, &request(arguments)?).map_err(Failure::usage)
}

fn list() -> String {
    let mut text = String::new();
    for JobSpec { name, about, takes, needs_input, .. } in stateward_jobs::jobs() {
        let input = if *needs_input { " --input PATH" } else { "" };
        text.extend([format!("{name}{input}\n    {about}\n")]);
        text.extend(takes.iter().map(|setting| {
            let (name, about, default) = (setting.name, setting.about, setting.default);
            format!("    --set {name}=…  {about} (default: {default})\n")
        }));
    }
    text
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Some(name) = &arguments.job else {
        return write!(std::io::stdout(), "{}", list()).map_err(Failure::unable);
    };
    let built = build(name, &arguments.of)?;
    let transport = arguments.server.as_ref().map(|url| {
        let transport: Arc<dyn Transport> =
            Arc::new(HttpTransport::new(url, arguments.token.as_deref()));
        transport
    });
    let options = start::options(&arguments.of.data_dir, transport).memory_bytes(arguments.memory);
    let options = arguments.restore.apply(options);
    if arguments.restore.preview {
        return arguments.restore.print_preview(&built, &options);
    }
    let handle = built.start(options).map_err(start::failure)?;
    let runtime = tokio::runtime::Runtime::new().map_err(Failure::unable)?;
    let outcome = runtime.block_on(watch(handle));
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}

/// Says once in a while how far the job got, until it ends or is asked to.
async fn watch(handle: JobHandle) -> Result<(), Failure> {
    let mut look = tokio::time::interval(Duration::from_millis(200));
    let asked = serve::interrupted();
    tokio::pin!(asked);
    let mut looks = 0_u32;
    loop {
        tokio::select! {
            asked = &mut asked => {
                asked?;
                break;
            }
            _ = look.tick() => {
                looks += 1;
                if handle.has_ended() {
                    break;
                }
                if looks.is_multiple_of(50) {
                    tell(&handle);
                }
            }
        }
    }
    tell(&handle);
    handle.stop();
    start::ended(handle).await
}

fn tell(handle: &JobHandle) {
    let figures = handle.figures();
    let read: u64 = figures.job.sources.iter().map(|source| source.records).sum();
    let rejected: u64 = figures.job.sources.iter().map(|source| source.rejected).sum();
    let entries: u64 = figures.states.iter().map(|state| state.stock.entries).sum();
    tracing::info!(epoch = figures.job.epoch, read, rejected, entries, "job runs");
}
