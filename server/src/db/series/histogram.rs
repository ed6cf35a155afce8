//! Cumulative histograms, one row a state or job and minute.

use sqlx::SqliteConnection;
use sqlx::sqlite::SqlitePool;

use crate::db::DbError;

/// Stores the histograms of a minute, unless the minute has some.
pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    series_id: i64,
    minute: i64,
    body: &[u8],
) -> Result<(), DbError> {
    sqlx::query("insert or ignore into histogram (series_id, minute, body) values (?, ?, ?)")
        .bind(series_id)
        .bind(minute)
        .bind(body)
        .execute(connection)
        .await?;
    Ok(())
}

/// Lists the rows of a stretch of time, oldest first.
pub(crate) async fn list(
    pool: &SqlitePool,
    series_id: i64,
    from_minute: i64,
    to_minute: i64,
) -> Result<Vec<(i64, Vec<u8>)>, DbError> {
    let rows = sqlx::query_as(
        "select minute, body from histogram where series_id = ? and minute between ? and ?
         order by minute",
    )
    .bind(series_id)
    .bind(from_minute)
    .bind(to_minute)
    .fetch_all(pool)
    .await?;
    Ok(rows)
}

/// Drops rows before a minute.
pub(crate) async fn expire(
    connection: &mut SqliteConnection,
    before_minute: i64,
    limit: i64,
) -> Result<u64, DbError> {
    let dropped = sqlx::query(
        "delete from histogram where (series_id, minute) in (
             select series_id, minute from histogram where minute < ? limit ?
         )",
    )
    .bind(before_minute)
    .bind(limit)
    .execute(connection)
    .await?;
    Ok(dropped.rows_affected())
}
