//! Starting and stopping: opens the data folder, listens, and runs what has to happen regularly.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::{broadcast, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::alert::{self, Alerts};
use crate::api;
use crate::app::App;
use crate::auth::{Auth, Hosts};
use crate::catalog;
use crate::clock::Clock;
use crate::config::Config;
use crate::control;
use crate::core::Core;
use crate::db::control::{command, event, session};
use crate::db::{Database, DbError};
use crate::folder::{DataFolder, FolderError};
use crate::live::LIVE_EVENTS_MAX;
use crate::series::SeriesStore;
use crate::telemetry::Telemetry;

/// How long open requests have to end when the server stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);
const SYNC_INTERVAL: Duration = Duration::from_secs(1);
const ALERT_INTERVAL: Duration = Duration::from_secs(5);
const SEAL_INTERVAL: Duration = Duration::from_secs(10);
const PRUNE_INTERVAL: Duration = Duration::from_hours(1);
const DAY_MILLIS: i64 = 86_400_000;

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Somebody listens there already, or the address is not this machine's.
    #[error(
        "cannot listen on {addr}: {source}; stop what listens there, or give another --port (0 takes a free one)"
    )]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// A database cannot be opened or read.
    #[error("cannot open the databases in {folder}: {reason}")]
    Database {
        /// The data folder.
        folder: String,
        /// Why.
        reason: String,
    },
}

/// A listening server. Dropping it leaves it running until the runtime ends; [`Server::stop`] stops
/// it and waits.
#[derive(Debug)]
pub struct Server {
    app: App,
    addr: SocketAddr,
    serving: JoinHandle<std::io::Result<()>>,
    regular: JoinSet<()>,
    // held until the databases are closed
    folder: DataFolder,
}

impl Server {
    /// Starts without pages.
    ///
    /// # Errors
    /// [`StartError`] names the folder, address or file, and the way out.
    pub async fn start(config: Config) -> Result<Self, StartError> {
        Self::start_with(config, |_| Router::new().fallback(api::not_found)).await
    }

    /// Starts with the pages that `ui` makes. They answer what the API does not, behind the same
    /// checks of host, origin and token.
    ///
    /// # Errors
    /// As [`Server::start`].
    pub async fn start_with(
        config: Config,
        ui: impl FnOnce(App) -> Router,
    ) -> Result<Self, StartError> {
        Self::start_at(config, Clock::System, ui).await
    }

    pub(crate) async fn start_at(
        config: Config,
        clock: Clock,
        ui: impl FnOnce(App) -> Router,
    ) -> Result<Self, StartError> {
        let folder = DataFolder::open(&config.data_dir)?;
        let listen = |source| StartError::Listen { addr: config.listen, source };
        let listener = TcpListener::bind(config.listen).await.map_err(listen)?;
        let addr = listener.local_addr().map_err(listen)?;
        let hosts = Hosts::new(addr.port(), &config.allowed_hosts);
        let core = open(config, clock, &folder, hosts).await.map_err(|reason| {
            StartError::Database { folder: folder.dir.display().to_string(), reason }
        })?;
        let core = Arc::new(core);
        let app = App::new(Arc::clone(&core), Handle::current());
        let router = api::router(Arc::clone(&core), app.clone(), ui(app.clone()));
        let mut stopping = core.stopping.subscribe();
        let stopped = async move {
            drop(stopping.wait_for(|stopping| *stopping).await);
        };
        let serve = axum::serve(listener, router).with_graceful_shutdown(stopped);
        let serving = tokio::spawn(async move { serve.await });
        let regular = spawn_regular(&core);
        tracing::info!(%addr, folder = %folder.dir.display(), "listening on {addr}");
        Ok(Self { app, addr, serving, regular, folder })
    }

    /// The URL to open, with the start token.
    pub fn url(&self) -> String {
        format!("http://{}/?token={}", self.addr, self.folder.token)
    }

    /// The bound address.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The handle for pages and jobs.
    pub fn app(&self) -> App {
        self.app.clone()
    }

    /// Stops listening, ends what is open, and waits until everything is on disk.
    pub async fn stop(mut self) {
        let core = self.app.core();
        core.stopping.send_replace(true);
        if timeout(STOP_TIMEOUT, &mut self.serving).await.is_err() {
            self.serving.abort();
        }
        while self.regular.join_next().await.is_some() {}
        let series = core.series.database();
        if let Err(error) = series.sync().await {
            tracing::error!(%error, "series.db could not be synced");
        }
        core.control.close().await;
        series.close().await;
        drop(self.folder);
    }
}

async fn open(
    config: Config,
    clock: Clock,
    folder: &DataFolder,
    hosts: Hosts,
) -> Result<Core, String> {
    let sql = |error: sqlx::Error| error.to_string();
    let db = |error: DbError| error.to_string();
    let control = Database::open_control(&folder.dir).await.map_err(sql)?;
    let series = Database::open_series(&folder.dir).await.map_err(sql)?;
    let series = SeriesStore::open(series, config.retention).await.map_err(db)?;
    let catalog = catalog::restore(&control, &series, config.body_bytes_max).await.map_err(db)?;
    let alerts = Alerts::load(&control).await.map_err(db)?;
    let sessions = session::list(&control.readers).await.map_err(db)?;
    let version = command::version_max(&control.readers).await.map_err(db)?;
    Ok(Core {
        auth: Auth::new(folder.token.clone(), hosts, sessions),
        telemetry: Telemetry::new().map_err(|error| error.to_string())?,
        live: broadcast::channel(LIVE_EVENTS_MAX).0,
        commands: watch::channel(version as u64).0,
        stopping: watch::channel(false).0,
        runs: Mutex::default(),
        reported: Mutex::default(),
        config,
        clock,
        control,
        series,
        catalog,
        alerts,
    })
}

fn spawn_regular(core: &Arc<Core>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    every(&mut tasks, core, SYNC_INTERVAL, |core| Box::pin(sync(core)));
    every(&mut tasks, core, ALERT_INTERVAL, |core| Box::pin(watch_jobs(core)));
    every(&mut tasks, core, SEAL_INTERVAL, |core| Box::pin(seal(core)));
    every(&mut tasks, core, PRUNE_INTERVAL, |core| Box::pin(prune(core)));
    tasks
}

async fn sync(core: &Core) -> Result<(), String> {
    core.series.database().sync().await.map_err(|error| error.to_string())
}

async fn watch_jobs(core: &Core) -> Result<(), String> {
    alert::evaluate(core).await.map_err(|error| error.to_string())?;
    control::time_out(core).await.map_err(|error| error.to_string())
}

async fn seal(core: &Core) -> Result<(), String> {
    let now_millis = core.clock.now_millis();
    core.series.seal_due(now_millis).await.map_err(|error| error.to_string())?;
    core.series.compact(now_millis).await.map(drop).map_err(|error| error.to_string())
}

async fn prune(core: &Core) -> Result<(), String> {
    let days = i64::from(core.config.retention.downsampled_days);
    let before_millis = core.clock.now_millis() - days * DAY_MILLIS;
    let pruned = core.control.writer.run(move |connection| {
        Box::pin(async move { event::prune(connection, before_millis).await })
    });
    pruned.await.map_err(|error| error.to_string())
}

/// Something that has to happen regularly.
type Work = for<'c> fn(&'c Core) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'c>>;

/// Runs `work` again and again until the server stops. A failure is logged, and tried again.
fn every(tasks: &mut JoinSet<()>, core: &Arc<Core>, period: Duration, work: Work) {
    let core = Arc::clone(core);
    tasks.spawn(async move {
        let mut stopping = core.stopping.subscribe();
        let mut ticks = interval(period);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = stopping.wait_for(|stopping| *stopping) => return,
                _ = ticks.tick() => {}
            }
            if let Err(error) = work(&core).await {
                tracing::error!(error, "regular work failed and is tried again");
            }
        }
    });
}
