//! Runs: who said hello, how far its reports got, and the last one.

use sqlx::sqlite::SqlitePool;
use sqlx::{FromRow, SqliteConnection};
use stateward_model::wire::Hello;

use super::{ROWS_MAX, format};
use crate::db::DbError;

/// Runs of one job that are remembered.
const RUNS_KEPT: i64 = 20;

/// One run as it is stored.
#[derive(Debug, FromRow)]
pub(crate) struct RunRow {
    /// Grows with every new run.
    pub(crate) id: i64,
    /// JSON of the hello.
    pub(crate) hello: String,
    /// Server clock of the last report.
    pub(crate) received_millis: Option<i64>,
    /// The last report, as it came.
    pub(crate) report: Option<Vec<u8>>,
    /// JSON of the baselines.
    pub(crate) baseline: String,
}

/// What a report says that belongs to its run.
#[derive(Debug)]
pub(crate) struct Progress {
    /// The run.
    pub(crate) run_id: i64,
    /// Number of the report.
    pub(crate) seq: i64,
    /// Server clock.
    pub(crate) received_millis: i64,
    /// The report, as it came.
    pub(crate) report: Vec<u8>,
    /// JSON of the baselines, where they changed.
    pub(crate) baseline: Option<String>,
}

/// Where a report stands against what is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Not stored yet.
    New,
    /// Stored.
    Duplicate,
    /// Before the last one, and never stored.
    InGap,
}

/// Stores a hello; returns the run's id and the highest report stored of it.
pub(crate) async fn upsert(
    connection: &mut SqliteConnection,
    hello: &Hello,
    heard_millis: i64,
) -> Result<(i64, Option<i64>), DbError> {
    let json = format("run.hello", hello)?;
    let row: (i64, Option<i64>) = sqlx::query_as(
        "insert into run (run, namespace, job_name, hello, heard_millis)
         values (?, ?, ?, ?, ?)
         on conflict (run) do update set hello = excluded.hello
         returning id, last_seq",
    )
    .bind(&hello.run)
    .bind(hello.namespace.as_str())
    .bind(hello.job_name.as_str())
    .bind(json)
    .bind(heard_millis)
    .fetch_one(connection)
    .await?;
    Ok(row)
}

/// Forgets the oldest runs of a job.
pub(crate) async fn prune(
    connection: &mut SqliteConnection,
    namespace: &str,
    job_name: &str,
) -> Result<(), DbError> {
    sqlx::query(
        "delete from run where namespace = ?1 and job_name = ?2 and id not in (
             select id from run where namespace = ?1 and job_name = ?2 order by id desc limit ?3
         )",
    )
    .bind(namespace)
    .bind(job_name)
    .bind(RUNS_KEPT)
    .execute(connection)
    .await?;
    Ok(())
}

/// Lists all runs, oldest first.
pub(crate) async fn list(pool: &SqlitePool) -> Result<Vec<RunRow>, DbError> {
    let rows = sqlx::query_as(
        "select id, hello, received_millis, report, baseline
         from run order by id limit ?",
    )
    .bind(ROWS_MAX)
    .fetch_all(pool)
    .await?;
    Ok(rows)
}

/// Moves a run forward, unless the report was stored before, and records what is missing.
pub(crate) async fn advance(
    connection: &mut SqliteConnection,
    progress: Progress,
) -> Result<Place, DbError> {
    let last: Option<i64> = sqlx::query_scalar("select last_seq from run where id = ?")
        .bind(progress.run_id)
        .fetch_one(&mut *connection)
        .await?;
    let last = last.unwrap_or(0);
    if progress.seq <= last {
        return place(connection, progress.run_id, progress.seq).await;
    }
    if progress.seq > last + 1 {
        sqlx::query(
            "insert into gap (run_id, from_seq, to_seq, noticed_millis) values (?, ?, ?, ?)",
        )
        .bind(progress.run_id)
        .bind(last + 1)
        .bind(progress.seq - 1)
        .bind(progress.received_millis)
        .execute(&mut *connection)
        .await?;
    }
    sqlx::query(
        "update run set last_seq = ?, received_millis = ?, report = ?,
                baseline = coalesce(?, baseline)
         where id = ?",
    )
    .bind(progress.seq)
    .bind(progress.received_millis)
    .bind(progress.report)
    .bind(progress.baseline)
    .bind(progress.run_id)
    .execute(connection)
    .await?;
    Ok(Place::New)
}

async fn place(connection: &mut SqliteConnection, run_id: i64, seq: i64) -> Result<Place, DbError> {
    let gaps: i64 = sqlx::query_scalar(
        "select count(*) from gap where run_id = ?1 and from_seq <= ?2 and to_seq >= ?2",
    )
    .bind(run_id)
    .bind(seq)
    .fetch_one(connection)
    .await?;
    Ok(if gaps > 0 { Place::InGap } else { Place::Duplicate })
}

/// Counts the reports of a run that never came.
#[cfg(test)]
pub(crate) async fn gaps(pool: &SqlitePool, run: &str) -> Result<Vec<(i64, i64)>, DbError> {
    let rows = sqlx::query_as(
        "select from_seq, to_seq from gap join run on run.id = gap.run_id
         where run.run = ? order by from_seq",
    )
    .bind(run)
    .fetch_all(pool)
    .await?;
    Ok(rows)
}
