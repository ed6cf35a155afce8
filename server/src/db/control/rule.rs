//! Threshold rules.

use sqlx::sqlite::SqlitePool;
use sqlx::{FromRow, SqliteConnection};
use stateward_model::alert::Rule;

use super::{ROWS_MAX, as_word, word};
use crate::db::DbError;

#[derive(FromRow)]
struct Row {
    id: i64,
    name: String,
    job: String,
    operator: String,
    state: String,
    subject: String,
    above: f64,
    traffic_per_second_min: f64,
    for_millis: i64,
    keep_firing_millis: i64,
    severity: String,
    enabled: bool,
}

impl TryFrom<Row> for Rule {
    type Error = DbError;
    fn try_from(row: Row) -> Result<Self, DbError> {
        Ok(Self {
            id: row.id,
            name: row.name,
            job: row.job,
            operator: row.operator,
            state: row.state,
            subject: word("rule.subject", &row.subject)?,
            above: row.above,
            traffic_per_second_min: row.traffic_per_second_min,
            for_millis: row.for_millis,
            keep_firing_millis: row.keep_firing_millis,
            severity: row.severity,
            enabled: row.enabled,
        })
    }
}

/// Lists all rules by name.
pub(crate) async fn list(pool: &SqlitePool) -> Result<Vec<Rule>, DbError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select id, name, job, operator, state, subject, above, traffic_per_second_min, for_millis,
                keep_firing_millis, severity, enabled
         from rule order by name limit ?",
    )
    .bind(ROWS_MAX)
    .fetch_all(pool)
    .await?;
    rows.into_iter().map(Rule::try_from).collect()
}

/// Stores a new rule; returns its id.
pub(crate) async fn insert(connection: &mut SqliteConnection, rule: &Rule) -> Result<i64, DbError> {
    let id = sqlx::query_scalar(
        "insert into rule (name, job, operator, state, subject, above, traffic_per_second_min,
                           for_millis, keep_firing_millis, severity, enabled)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning id",
    )
    .bind(&rule.name)
    .bind(&rule.job)
    .bind(&rule.operator)
    .bind(&rule.state)
    .bind(as_word(&rule.subject))
    .bind(rule.above)
    .bind(rule.traffic_per_second_min)
    .bind(rule.for_millis)
    .bind(rule.keep_firing_millis)
    .bind(&rule.severity)
    .bind(rule.enabled)
    .fetch_one(connection)
    .await?;
    Ok(id)
}

/// Replaces a rule.
pub(crate) async fn update(connection: &mut SqliteConnection, rule: &Rule) -> Result<(), DbError> {
    sqlx::query(
        "update rule set name = ?, job = ?, operator = ?, state = ?, subject = ?, above = ?,
                traffic_per_second_min = ?, for_millis = ?, keep_firing_millis = ?, severity = ?,
                enabled = ?
         where id = ?",
    )
    .bind(&rule.name)
    .bind(&rule.job)
    .bind(&rule.operator)
    .bind(&rule.state)
    .bind(as_word(&rule.subject))
    .bind(rule.above)
    .bind(rule.traffic_per_second_min)
    .bind(rule.for_millis)
    .bind(rule.keep_firing_millis)
    .bind(&rule.severity)
    .bind(rule.enabled)
    .bind(rule.id)
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes a rule with its instances.
pub(crate) async fn delete(connection: &mut SqliteConnection, id: i64) -> Result<(), DbError> {
    sqlx::query("delete from rule where id = ?").bind(id).execute(connection).await?;
    Ok(())
}
