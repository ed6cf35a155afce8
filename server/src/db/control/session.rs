//! Browsers that opened the start URL.

use sqlx::SqliteConnection;
use sqlx::sqlite::SqlitePool;

use crate::db::DbError;

/// Sessions that are remembered; the oldest make room.
const SESSIONS_MAX: i64 = 1_000;

/// Lists all sessions.
pub(crate) async fn list(pool: &SqlitePool) -> Result<Vec<String>, DbError> {
    let ids = sqlx::query_scalar("select id from session order by created_millis, id")
        .fetch_all(pool)
        .await?;
    Ok(ids)
}

/// Adds a session.
pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    id: &str,
    created_millis: i64,
) -> Result<(), DbError> {
    sqlx::query("insert into session (id, created_millis) values (?, ?)")
        .bind(id)
        .bind(created_millis)
        .execute(&mut *connection)
        .await?;
    sqlx::query(
        "delete from session where id not in (
             select id from session order by created_millis desc, id limit ?
         )",
    )
    .bind(SESSIONS_MAX)
    .execute(connection)
    .await?;
    Ok(())
}
