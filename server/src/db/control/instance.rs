//! Alert instances and their transitions.

use sqlx::sqlite::SqlitePool;
use sqlx::{FromRow, SqliteConnection};
use stateward_model::alert::Instance;
use stateward_model::view::AlertTransition;

use super::{ROWS_MAX, as_word, word};
use crate::db::DbError;

/// Transitions that are remembered.
const TRANSITIONS_KEPT: i64 = 10_000;

#[derive(FromRow)]
struct Row {
    rule_id: i64,
    of: String,
    phase: String,
    active_millis: i64,
    fired_millis: Option<i64>,
    false_millis: Option<i64>,
    resolved_millis: Option<i64>,
    value: f64,
    no_data: bool,
}

/// Lists all instances that are not inactive: rule, state, instance.
pub(crate) async fn list(pool: &SqlitePool) -> Result<Vec<(i64, String, Instance)>, DbError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select rule_id, of, phase, active_millis, fired_millis, false_millis, resolved_millis,
                value, no_data
         from alert_instance order by rule_id, of",
    )
    .fetch_all(pool)
    .await?;
    let instance = |row: Row| {
        let instance = Instance {
            phase: word("alert_instance.phase", &row.phase)?,
            active_millis: row.active_millis,
            fired_millis: row.fired_millis,
            false_millis: row.false_millis,
            resolved_millis: row.resolved_millis,
            value: row.value,
            no_data: row.no_data,
        };
        Ok((row.rule_id, row.of, instance))
    };
    rows.into_iter().map(instance).collect()
}

/// Stores an instance.
pub(crate) async fn upsert(
    connection: &mut SqliteConnection,
    rule_id: i64,
    of: &str,
    instance: &Instance,
) -> Result<(), DbError> {
    sqlx::query(
        "insert or replace into alert_instance (rule_id, of, phase, active_millis, fired_millis,
                                                false_millis, resolved_millis, value, no_data)
         select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
         where exists (select 1 from rule where id = ?1)",
    )
    .bind(rule_id)
    .bind(of)
    .bind(as_word(&instance.phase))
    .bind(instance.active_millis)
    .bind(instance.fired_millis)
    .bind(instance.false_millis)
    .bind(instance.resolved_millis)
    .bind(instance.value)
    .bind(instance.no_data)
    .execute(connection)
    .await?;
    Ok(())
}

/// Forgets an instance that is inactive again.
pub(crate) async fn delete(
    connection: &mut SqliteConnection,
    rule_id: i64,
    of: &str,
) -> Result<(), DbError> {
    sqlx::query("delete from alert_instance where rule_id = ? and of = ?")
        .bind(rule_id)
        .bind(of)
        .execute(connection)
        .await?;
    Ok(())
}

/// Forgets all instances of a rule.
pub(crate) async fn delete_of_rule(
    connection: &mut SqliteConnection,
    rule_id: i64,
) -> Result<(), DbError> {
    sqlx::query("delete from alert_instance where rule_id = ?")
        .bind(rule_id)
        .execute(connection)
        .await?;
    Ok(())
}

/// Adds a transition.
pub(crate) async fn insert_transition(
    connection: &mut SqliteConnection,
    transition: &AlertTransition,
) -> Result<(), DbError> {
    sqlx::query(
        "insert into alert_transition (wall_millis, rule, of, phase, value) values (?, ?, ?, ?, ?)",
    )
    .bind(transition.wall_millis)
    .bind(&transition.rule)
    .bind(&transition.of)
    .bind(as_word(&transition.phase))
    .bind(transition.value)
    .execute(connection)
    .await?;
    Ok(())
}

/// Lists transitions, newest first; of one state where `of` is given.
pub(crate) async fn transitions(
    pool: &SqlitePool,
    of: Option<&str>,
    limit: i64,
) -> Result<Vec<AlertTransition>, DbError> {
    let rows: Vec<(i64, String, String, String, f64)> = sqlx::query_as(
        "select wall_millis, rule, of, phase, value from alert_transition
         where ?1 is null or of = ?1 order by id desc limit ?2",
    )
    .bind(of)
    .bind(limit.min(ROWS_MAX))
    .fetch_all(pool)
    .await?;
    rows.into_iter()
        .map(|(wall_millis, rule, of, phase, value)| {
            let phase = word("alert_transition.phase", &phase)?;
            Ok(AlertTransition { wall_millis, rule, of, phase, value })
        })
        .collect()
}

/// Forgets the oldest transitions.
pub(crate) async fn prune_transitions(connection: &mut SqliteConnection) -> Result<(), DbError> {
    sqlx::query(
        "delete from alert_transition where id <= (select max(id) from alert_transition) - ?",
    )
    .bind(TRANSITIONS_KEPT)
    .execute(connection)
    .await?;
    Ok(())
}
