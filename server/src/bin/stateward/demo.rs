//! `stateward demo`: server and demo job in one process.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use stateward::{Config, Overrides};
use stateward_jobs::JobRequest;

use crate::{Failure, serve, start};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Port to listen on; 0 takes a free one.
    #[arg(long, value_name = "N", default_value_t = 7077)]
    port: u16,
    /// Folder that keeps server and job; a second start goes on from there.
    #[arg(long, value_name = "DIR", default_value = "stateward-demo")]
    data_dir: PathBuf,
    /// The job to show.
    #[arg(long, value_name = "NAME", default_value = "flight-ops")]
    job: String,
    /// Event time that passes in a second of wall time, over a second.
    #[arg(long, value_name = "N")]
    speed: Option<f64>,
    /// Another setting of the job; may be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    settings: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let overrides = Overrides {
        port: Some(arguments.port),
        data_dir: Some(arguments.data_dir.clone()),
        ..Overrides::default()
    };
    let config = Config::load(None, &overrides).map_err(Failure::usage)?;
    let mut request = JobRequest::new(&arguments.data_dir);
    if let Some(speed) = arguments.speed {
        request = request.set("speed", &speed.to_string());
    }
    for setting in &arguments.settings {
        let (name, value) = crate::run::split_setting(setting)?;
        request = request.set(name, value);
    }
    let built = stateward_jobs::build(&arguments.job, &request).map_err(Failure::usage)?;
    let runtime = tokio::runtime::Runtime::new().map_err(Failure::unable)?;
    let shown = runtime.block_on(show(config, built, arguments));
    runtime.shutdown_timeout(Duration::from_secs(1));
    shown
}

async fn show(
    config: Config,
    built: stateward_engine::Job,
    arguments: &Arguments,
) -> Result<(), Failure> {
    let server = serve::start(config).await?;
    let transport = Arc::new(start::InThisProcess(server.app().ingest()));
    let data_dir = arguments.data_dir.clone();
    let starting = tokio::task::spawn_blocking(move || {
        built.start(start::options(&data_dir, Some(transport)))
    });
    let handle = starting.await.map_err(Failure::unable)?.map_err(start::failure)?;
    let mut out = std::io::stdout();
    writeln!(out, "Stateward is at {}", server.url()).map_err(Failure::unable)?;
    writeln!(out, "Ctrl-C stops it; the next start goes on from there.")
        .map_err(Failure::unable)?;
    let mut look = tokio::time::interval(Duration::from_millis(200));
    let asked = serve::interrupted();
    tokio::pin!(asked);
    loop {
        tokio::select! {
            asked = &mut asked => {
                asked?;
                break;
            }
            _ = look.tick() => if handle.has_ended() { break },
        }
    }
    handle.stop();
    let ended = start::ended(handle).await;
    server.stop().await;
    ended
}
