//! Sealed samples: compressed stretches of one series.

use sqlx::sqlite::SqlitePool;
use sqlx::{FromRow, SqliteConnection};

use crate::db::DbError;

/// Samples as they came.
pub(crate) const TIER_RAW: i64 = 0;
/// Five-minute averages.
pub(crate) const TIER_DOWNSAMPLED: i64 = 1;

/// One stretch.
#[derive(Clone, Debug, FromRow)]
pub(crate) struct ChunkRow {
    /// The series.
    pub(crate) series_id: i64,
    /// [`TIER_RAW`] or [`TIER_DOWNSAMPLED`].
    pub(crate) tier: i64,
    /// Time of its first sample.
    pub(crate) from_millis: i64,
    /// Time of its last sample.
    pub(crate) to_millis: i64,
    /// Days since the Unix epoch.
    pub(crate) day: i64,
    /// Whether it is the whole day.
    pub(crate) merged: bool,
    /// The samples, encoded.
    pub(crate) body: Vec<u8>,
}

/// Stores a chunk; one of the same series, tier and start is replaced.
pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    chunk: &ChunkRow,
) -> Result<(), DbError> {
    sqlx::query(
        "insert or replace into chunk (series_id, tier, from_millis, to_millis, day, merged, body)
         values (?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(chunk.series_id)
    .bind(chunk.tier)
    .bind(chunk.from_millis)
    .bind(chunk.to_millis)
    .bind(chunk.day)
    .bind(chunk.merged)
    .bind(&chunk.body)
    .execute(connection)
    .await?;
    Ok(())
}

/// Lists the chunks of a series and tier that touch a stretch of time, oldest first.
pub(crate) async fn list(
    pool: &SqlitePool,
    series_id: i64,
    tier: i64,
    from_millis: i64,
    to_millis: i64,
) -> Result<Vec<ChunkRow>, DbError> {
    let rows = sqlx::query_as(
        "select series_id, tier, from_millis, to_millis, day, merged, body from chunk
         where series_id = ? and tier = ? and to_millis >= ? and from_millis <= ?
         order by from_millis",
    )
    .bind(series_id)
    .bind(tier)
    .bind(from_millis)
    .bind(to_millis)
    .fetch_all(pool)
    .await?;
    Ok(rows)
}

/// Lists (series, day) of days before `day` whose raw chunks are not one merged chunk.
pub(crate) async fn unmerged(
    pool: &SqlitePool,
    day: i64,
    limit: i64,
) -> Result<Vec<(i64, i64)>, DbError> {
    let rows = sqlx::query_as(
        "select series_id, day from chunk where tier = 0 and day < ?
         group by series_id, day having count(*) > 1 or max(merged) = 0
         order by day, series_id limit ?",
    )
    .bind(day)
    .bind(limit)
    .fetch_all(pool)
    .await?;
    Ok(rows)
}

/// Removes the chunks of a series, tier and day.
pub(crate) async fn delete_day(
    connection: &mut SqliteConnection,
    series_id: i64,
    tier: i64,
    day: i64,
) -> Result<(), DbError> {
    sqlx::query("delete from chunk where series_id = ? and tier = ? and day = ?")
        .bind(series_id)
        .bind(tier)
        .bind(day)
        .execute(connection)
        .await?;
    Ok(())
}

/// Drops the chunks of a tier before a day, at most `limit`; returns how many.
pub(crate) async fn expire(
    connection: &mut SqliteConnection,
    tier: i64,
    before_day: i64,
    limit: i64,
) -> Result<u64, DbError> {
    let dropped = sqlx::query(
        "delete from chunk where (series_id, tier, from_millis) in (
             select series_id, tier, from_millis from chunk where tier = ? and day < ? limit ?
         )",
    )
    .bind(tier)
    .bind(before_day)
    .bind(limit)
    .execute(connection)
    .await?;
    Ok(dropped.rows_affected())
}
