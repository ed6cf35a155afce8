//! The catalogue of series.

use sqlx::sqlite::SqlitePool;
use sqlx::{FromRow, SqliteConnection};

use crate::db::DbError;

/// Who a series is: a metric of a job, operator or state, with further labels.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, FromRow)]
pub(crate) struct SeriesKey {
    /// Name of the metric.
    pub(crate) metric: String,
    /// Namespace of the job.
    pub(crate) namespace: String,
    /// Name of the job.
    pub(crate) job_name: String,
    /// The operator; empty for a series of the job.
    pub(crate) operator: String,
    /// The state; empty for a series of the job or operator.
    pub(crate) state: String,
    /// Further labels, `name="value"`, comma separated, sorted by name.
    pub(crate) labels: String,
}

#[derive(FromRow)]
struct Row {
    id: i64,
    #[sqlx(flatten)]
    key: SeriesKey,
}

/// Lists all series with their ids.
pub(crate) async fn list(pool: &SqlitePool) -> Result<Vec<(i64, SeriesKey)>, DbError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select id, metric, namespace, job_name, operator, state, labels from series order by id",
    )
    .fetch_all(pool)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.key)).collect())
}

/// Returns the id of a series, a new one where it has none.
pub(crate) async fn intern(
    connection: &mut SqliteConnection,
    key: &SeriesKey,
) -> Result<i64, DbError> {
    let id = sqlx::query_scalar(
        "insert into series (metric, namespace, job_name, operator, state, labels)
         values (?, ?, ?, ?, ?, ?)
         on conflict do update set metric = excluded.metric
         returning id",
    )
    .bind(&key.metric)
    .bind(&key.namespace)
    .bind(&key.job_name)
    .bind(&key.operator)
    .bind(&key.state)
    .bind(&key.labels)
    .fetch_one(connection)
    .await?;
    Ok(id)
}
