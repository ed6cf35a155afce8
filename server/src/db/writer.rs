//! One task writes each file, so that writes never wait for one another's locks and many share one
//! commit.
//!
//! Work is queued on a bounded channel; a full queue makes callers wait. The task takes what is
//! there, up to [`BATCH_MAX`], into one transaction with a savepoint each: a failed one is rolled
//! back alone. Nobody is answered before the commit. A full disk may make SQLite roll everything
//! back by itself; then the whole batch is refused.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use sqlx::{Connection, SqliteConnection};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::DbError;

/// Works that wait before callers do.
const QUEUE_MAX: usize = 256;
/// Works that share a commit.
const BATCH_MAX: usize = 64;

/// What a work returns.
type Work<'c, T> = Pin<Box<dyn Future<Output = Result<T, DbError>> + Send + 'c>>;

/// Tells the caller how the commit went.
type Acknowledge = Box<dyn FnOnce(Result<(), DbError>) + Send>;
/// Runs one work, or tells its caller why it cannot.
type Job = Box<dyn for<'c> FnOnce(Result<&'c mut SqliteConnection, DbError>) -> Running<'c> + Send>;
type Running<'c> = Pin<Box<dyn Future<Output = Option<Acknowledge>> + Send + 'c>>;

/// The way to the task that writes one file.
#[derive(Clone, Debug)]
pub(crate) struct Writer {
    jobs: Arc<Mutex<Option<mpsc::Sender<Job>>>>,
    task: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl Writer {
    /// Starts the task.
    pub(crate) fn spawn(connection: SqliteConnection) -> Self {
        let (jobs, queue) = mpsc::channel(QUEUE_MAX);
        let task = tokio::spawn(write_all(connection, queue));
        Self { jobs: Arc::new(Mutex::new(Some(jobs))), task: Arc::new(Mutex::new(Some(task))) }
    }

    /// Runs `work` within a transaction and returns once that is committed.
    pub(crate) async fn run<T, W>(&self, work: W) -> Result<T, DbError>
    where
        T: Send + 'static,
        W: for<'c> FnOnce(&'c mut SqliteConnection) -> Work<'c, T> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel::<Result<T, DbError>>();
        let job: Job = Box::new(move |connection| {
            Box::pin(async move {
                let result = match connection {
                    Ok(connection) => work(connection).await,
                    Err(error) => Err(error),
                };
                match result {
                    Ok(value) => Some(Box::new(move |committed: Result<(), DbError>| {
                        // a caller that went away does not want to know
                        drop(answer.send(committed.map(|()| value)));
                    }) as Acknowledge),
                    Err(error) => {
                        drop(answer.send(Err(error)));
                        None
                    }
                }
            })
        });
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(jobs) = jobs else { return Err(DbError::Closed) };
        if jobs.send(job).await.is_err() {
            return Err(DbError::Closed);
        }
        answered.await.unwrap_or(Err(DbError::Closed))
    }

    /// Writes what is queued and stops.
    pub(crate) async fn close(&self) {
        drop(self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take());
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(%error, "a writer task failed");
        }
    }
}

async fn write_all(mut connection: SqliteConnection, mut queue: mpsc::Receiver<Job>) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    while queue.recv_many(&mut batch, BATCH_MAX).await > 0 {
        write_batch(&mut connection, batch.drain(..)).await;
    }
    if let Err(error) = connection.close().await {
        tracing::warn!(%error, "a database did not close cleanly; its log is replayed at the next start");
    }
}

async fn write_batch(connection: &mut SqliteConnection, mut jobs: impl Iterator<Item = Job>) {
    if let Err(error) = execute(connection, "begin immediate").await {
        for job in jobs {
            job(Err(error.clone())).await;
        }
        return;
    }
    let mut waiting = Vec::new();
    let mut broken = None;
    for job in jobs.by_ref() {
        match write_one(connection, job).await {
            Ok(acknowledge) => waiting.extend(acknowledge),
            Err(error) => {
                broken = Some(error);
                break;
            }
        }
    }
    let committed = match broken {
        None => execute(connection, "commit").await,
        Some(error) => Err(error),
    };
    if let Err(error) = &committed {
        // SQLite may have rolled back by itself already; then this has nothing to do
        drop(execute(connection, "rollback").await);
        for job in jobs {
            job(Err(error.clone())).await;
        }
    }
    for acknowledge in waiting {
        acknowledge(committed.clone());
    }
}

/// Fails only when the whole transaction is lost.
async fn write_one(
    connection: &mut SqliteConnection,
    job: Job,
) -> Result<Option<Acknowledge>, DbError> {
    if let Err(error) = execute(connection, "savepoint work").await {
        job(Err(error.clone())).await;
        return Err(error);
    }
    let acknowledge = job(Ok(connection)).await;
    if acknowledge.is_none() {
        execute(connection, "rollback to work").await?;
    }
    if let Err(error) = execute(connection, "release work").await {
        if let Some(acknowledge) = acknowledge {
            acknowledge(Err(error.clone()));
        }
        return Err(error);
    }
    Ok(acknowledge)
}

async fn execute(connection: &mut SqliteConnection, sql: &'static str) -> Result<(), DbError> {
    sqlx::query(sql).execute(connection).await?;
    Ok(())
}
