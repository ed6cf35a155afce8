//! `stateward serve`: the server, until Ctrl-C or SIGTERM.

use std::io::Write as _;
use std::path::PathBuf;

use clap::Args;
use stateward::{Config, Overrides, Server};
use tokio::signal::unix::{SignalKind, signal};

use crate::Failure;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Configuration file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Loopback address to listen on.
    #[arg(long, value_name = "ADDR[:PORT]")]
    listen: Option<String>,
    /// Port to listen on; 0 takes a free one.
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Folder that keeps everything.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let overrides = Overrides {
        listen: arguments.listen.clone(),
        port: arguments.port,
        data_dir: arguments.data_dir.clone(),
    };
    let config = Config::load(arguments.config.as_deref(), &overrides).map_err(Failure::usage)?;
    let runtime = tokio::runtime::Runtime::new().map_err(Failure::unable)?;
    runtime.block_on(serve(config))
}

/// Starts the server, with the pages where they are built in.
pub(crate) async fn start(config: Config) -> Result<Server, Failure> {
    #[cfg(feature = "ui")]
    let server = Server::start_with(config, stateward::ui::router).await;
    #[cfg(not(feature = "ui"))]
    let server = Server::start(config).await;
    server.map_err(Failure::unable)
}

/// Waits for Ctrl-C or SIGTERM.
pub(crate) async fn interrupted() -> Result<(), Failure> {
    let mut terminated = signal(SignalKind::terminate()).map_err(Failure::unable)?;
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.map_err(Failure::unable),
        _ = terminated.recv() => Ok(()),
    }
}

async fn serve(config: Config) -> Result<(), Failure> {
    let server = start(config).await?;
    writeln!(std::io::stdout(), "Stateward is at {}", server.url()).map_err(Failure::unable)?;
    interrupted().await?;
    tracing::info!("stopping");
    server.stop().await;
    Ok(())
}
