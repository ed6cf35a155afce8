//! Reports that are not sealed yet: one row each.

use sqlx::sqlite::SqlitePool;
use sqlx::{FromRow, SqliteConnection};

use crate::db::DbError;

/// One report's samples.
#[derive(Debug, FromRow)]
pub(crate) struct AppendRow {
    /// Grows with every row.
    pub(crate) id: i64,
    /// Namespace of the job.
    pub(crate) namespace: String,
    /// Name of the job.
    pub(crate) job_name: String,
    /// Time of the samples.
    pub(crate) wall_millis: i64,
    /// The samples, encoded.
    pub(crate) body: Vec<u8>,
}

/// Lists all rows in the order in which they were stored.
pub(crate) async fn list(pool: &SqlitePool) -> Result<Vec<AppendRow>, DbError> {
    let rows =
        sqlx::query_as("select id, namespace, job_name, wall_millis, body from append order by id")
            .fetch_all(pool)
            .await?;
    Ok(rows)
}

/// Adds a row; returns its id.
pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    job: (&str, &str),
    wall_millis: i64,
    body: &[u8],
) -> Result<i64, DbError> {
    let id = sqlx::query_scalar(
        "insert into append (namespace, job_name, wall_millis, body) values (?, ?, ?, ?)
         returning id",
    )
    .bind(job.0)
    .bind(job.1)
    .bind(wall_millis)
    .bind(body)
    .fetch_one(connection)
    .await?;
    Ok(id)
}

/// Removes the rows of a job up to an id: they are in chunks.
pub(crate) async fn delete(
    connection: &mut SqliteConnection,
    job: (&str, &str),
    up_to: i64,
) -> Result<(), DbError> {
    sqlx::query("delete from append where namespace = ? and job_name = ? and id <= ?")
        .bind(job.0)
        .bind(job.1)
        .bind(up_to)
        .execute(connection)
        .await?;
    Ok(())
}

/// Moves the watermark of a run; `false` where the report was stored before.
pub(crate) async fn advance(
    connection: &mut SqliteConnection,
    run: &str,
    seq: i64,
    stored_millis: i64,
) -> Result<bool, DbError> {
    let moved = sqlx::query(
        "insert into watermark (run, last_seq, stored_millis) values (?, ?, ?)
         on conflict (run) do update
         set last_seq = excluded.last_seq, stored_millis = excluded.stored_millis
         where excluded.last_seq > watermark.last_seq",
    )
    .bind(run)
    .bind(seq)
    .bind(stored_millis)
    .execute(connection)
    .await?;
    Ok(moved.rows_affected() > 0)
}

/// Forgets watermarks of runs that have not been heard of since a time.
pub(crate) async fn prune_watermarks(
    connection: &mut SqliteConnection,
    before_millis: i64,
) -> Result<(), DbError> {
    sqlx::query("delete from watermark where stored_millis < ?")
        .bind(before_millis)
        .execute(connection)
        .await?;
    Ok(())
}
