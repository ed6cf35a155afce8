//! Who did what.

use sqlx::sqlite::SqlitePool;
use sqlx::{FromRow, SqliteConnection};
use stateward_model::view::AuditRow;

use crate::db::DbError;

/// A line before it has an id.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Server clock.
    pub(crate) wall_millis: i64,
    /// Who.
    pub(crate) actor: String,
    /// `intent` or `outcome`.
    pub(crate) stage: &'static str,
    /// What.
    pub(crate) action: String,
    /// On what.
    pub(crate) of: String,
    /// Why, or what came of it.
    pub(crate) detail: String,
}

#[derive(FromRow)]
struct Row {
    id: i64,
    wall_millis: i64,
    actor: String,
    stage: String,
    action: String,
    of: String,
    detail: String,
}

/// Adds a line.
pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    entry: &Entry,
) -> Result<(), DbError> {
    sqlx::query(
        "insert into audit (wall_millis, actor, stage, action, of, detail)
         values (?, ?, ?, ?, ?, ?)",
    )
    .bind(entry.wall_millis)
    .bind(&entry.actor)
    .bind(entry.stage)
    .bind(&entry.action)
    .bind(&entry.of)
    .bind(&entry.detail)
    .execute(connection)
    .await?;
    Ok(())
}

/// Lists lines below an id, newest first.
pub(crate) async fn page(
    pool: &SqlitePool,
    below: i64,
    limit: i64,
) -> Result<Vec<AuditRow>, DbError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select id, wall_millis, actor, stage, action, of, detail from audit
         where id < ? order by id desc limit ?",
    )
    .bind(below)
    .bind(limit)
    .fetch_all(pool)
    .await?;
    let row = |row: Row| AuditRow {
        id: row.id,
        wall_millis: row.wall_millis,
        actor: row.actor,
        stage: row.stage,
        action: row.action,
        of: row.of,
        detail: row.detail,
    };
    Ok(rows.into_iter().map(row).collect())
}
