//! What happened to jobs.

use sqlx::SqliteConnection;
use sqlx::sqlite::SqlitePool;
use stateward_model::view::Annotation;
use stateward_model::wire::JobEvent;

use crate::db::DbError;

/// Stores one event.
pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    namespace: &str,
    job_name: &str,
    event: &JobEvent,
) -> Result<(), DbError> {
    sqlx::query(
        "insert into event (namespace, job_name, operator, state, wall_millis, kind, text)
         values (?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(namespace)
    .bind(job_name)
    .bind(&event.operator)
    .bind(&event.state)
    .bind(event.wall_millis)
    .bind(&event.kind)
    .bind(&event.text)
    .execute(connection)
    .await?;
    Ok(())
}

/// Lists what concerns one state, its operator or its whole job, newest first. Single checkpoints
/// are too many to be worth a flag.
pub(crate) async fn of_state(
    pool: &SqlitePool,
    of: [&str; 4],
    limit: i64,
) -> Result<Vec<Annotation>, DbError> {
    let [namespace, job_name, operator, state] = of;
    let rows: Vec<(i64, String, String)> = sqlx::query_as(
        "select wall_millis, kind, text from event
         where namespace = ? and job_name = ? and kind <> 'checkpoint'
           and (operator is null or operator = ?) and (state is null or state = ?)
         order by wall_millis desc, id desc limit ?",
    )
    .bind(namespace)
    .bind(job_name)
    .bind(operator)
    .bind(state)
    .bind(limit)
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().map(annotation).collect())
}

/// Lists what changed anywhere since a time, newest first; checkpoints and loops are routine.
pub(crate) async fn since(
    pool: &SqlitePool,
    from_millis: i64,
    limit: i64,
) -> Result<Vec<Annotation>, DbError> {
    let rows: Vec<(i64, String, String)> = sqlx::query_as(
        "select wall_millis, kind, namespace || '/' || job_name || ': ' || text from event
         where wall_millis >= ? and kind not in ('checkpoint', 'loop')
         order by wall_millis desc, id desc limit ?",
    )
    .bind(from_millis)
    .bind(limit)
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().map(annotation).collect())
}

fn annotation((wall_millis, kind, text): (i64, String, String)) -> Annotation {
    Annotation { wall_millis, kind, text }
}

/// Forgets what is older than a time.
pub(crate) async fn prune(
    connection: &mut SqliteConnection,
    before_millis: i64,
) -> Result<(), DbError> {
    sqlx::query("delete from event where wall_millis < ?")
        .bind(before_millis)
        .execute(connection)
        .await?;
    Ok(())
}
