//! Orders to breakers and how far they got.

use sqlx::sqlite::SqlitePool;
use sqlx::{FromRow, SqliteConnection};
use stateward_model::view::CommandView;
use stateward_model::wire::{CommandPhase, CommandProgress, Order};

use super::{ROWS_MAX, as_word, format, parse, word};
use crate::db::DbError;

/// Commands of one state that its page shows.
const SHOWN_MAX: i64 = 20;

/// A command before it has a version.
#[derive(Clone, Debug)]
pub(crate) struct NewCommand {
    /// Namespace, job, operator, state.
    pub(crate) of: [String; 4],
    /// What to do.
    pub(crate) order: Order,
    /// Who said so.
    pub(crate) actor: String,
    /// Why.
    pub(crate) reason: String,
    /// Server clock.
    pub(crate) requested_millis: i64,
}

/// A command as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct StoredCommand {
    /// Namespace, job, operator, state.
    pub(crate) of: [String; 4],
    /// What to do.
    pub(crate) order: Order,
    /// How people see it.
    pub(crate) view: CommandView,
}

#[derive(FromRow)]
struct Row {
    version: i64,
    namespace: String,
    job_name: String,
    operator: String,
    state: String,
    kind: String,
    body: String,
    actor: String,
    reason: String,
    requested_millis: i64,
    phase: String,
    shards_applied: i64,
    shards: i64,
    detail: String,
    wall_millis: i64,
}

impl TryFrom<Row> for StoredCommand {
    type Error = DbError;
    fn try_from(row: Row) -> Result<Self, DbError> {
        let progress = CommandProgress {
            version: row.version as u64,
            phase: word("command.phase", &row.phase)?,
            shards_applied: row.shards_applied as u16,
            shards: row.shards as u16,
            detail: row.detail,
            wall_millis: row.wall_millis,
        };
        Ok(Self {
            of: [row.namespace, row.job_name, row.operator, row.state],
            order: parse("command.body", &row.body)?,
            view: CommandView {
                version: row.version as u64,
                order: row.kind,
                actor: row.actor,
                reason: row.reason,
                requested_millis: row.requested_millis,
                progress,
            },
        })
    }
}

/// Stores a command as requested; returns its version.
pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    command: &NewCommand,
) -> Result<i64, DbError> {
    let [namespace, job_name, operator, state] = &command.of;
    let version = sqlx::query_scalar(
        "insert into command (namespace, job_name, operator, state, class, kind, body, actor,
                              reason, requested_millis, phase, wall_millis)
         values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'requested', ?10)
         returning version",
    )
    .bind(namespace)
    .bind(job_name)
    .bind(operator)
    .bind(state)
    .bind(command.order.class().as_str())
    .bind(command.order.kind())
    .bind(format("command.body", &command.order)?)
    .bind(&command.actor)
    .bind(&command.reason)
    .bind(command.requested_millis)
    .fetch_one(connection)
    .await?;
    Ok(version)
}

/// Lists the older commands of the same state and class that no engine has taken yet.
pub(crate) async fn superseded(
    connection: &mut SqliteConnection,
    command: &NewCommand,
    version: i64,
) -> Result<Vec<i64>, DbError> {
    let [namespace, job_name, operator, state] = &command.of;
    let versions = sqlx::query_scalar(
        "select version from command
         where namespace = ? and job_name = ? and operator = ? and state = ? and class = ?
           and version < ? and phase in ('requested', 'timed_out')
         order by version limit ?",
    )
    .bind(namespace)
    .bind(job_name)
    .bind(operator)
    .bind(state)
    .bind(command.order.class().as_str())
    .bind(version)
    .bind(ROWS_MAX)
    .fetch_all(connection)
    .await?;
    Ok(versions)
}

/// Finds one command.
pub(crate) async fn find(
    connection: &mut SqliteConnection,
    version: i64,
) -> Result<Option<StoredCommand>, DbError> {
    let row: Option<Row> = sqlx::query_as(
        "select version, namespace, job_name, operator, state, kind, body, actor, reason,
                requested_millis, phase, shards_applied, shards, detail, wall_millis
         from command where version = ?",
    )
    .bind(version)
    .fetch_optional(connection)
    .await?;
    row.map(StoredCommand::try_from).transpose()
}

/// Moves a command to a step of its life.
pub(crate) async fn set_progress(
    connection: &mut SqliteConnection,
    progress: &CommandProgress,
) -> Result<(), DbError> {
    sqlx::query(
        "update command set phase = ?, shards_applied = ?, shards = ?, detail = ?, wall_millis = ?
         where version = ?",
    )
    .bind(as_word(&progress.phase))
    .bind(i64::from(progress.shards_applied))
    .bind(i64::from(progress.shards))
    .bind(&progress.detail)
    .bind(progress.wall_millis)
    .bind(progress.version as i64)
    .execute(connection)
    .await?;
    Ok(())
}

/// Lists what a job is to know above a version: the latest of each state and class.
pub(crate) async fn latest(
    pool: &SqlitePool,
    namespace: &str,
    job_name: &str,
    after: i64,
) -> Result<Vec<StoredCommand>, DbError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select version, namespace, job_name, operator, state, kind, body, actor, reason,
                requested_millis, phase, shards_applied, shards, detail, wall_millis
         from command
         where version in (
             select max(version) from command where namespace = ? and job_name = ?
             group by operator, state, class
         ) and version > ?
         order by version limit ?",
    )
    .bind(namespace)
    .bind(job_name)
    .bind(after)
    .bind(ROWS_MAX)
    .fetch_all(pool)
    .await?;
    rows.into_iter().map(StoredCommand::try_from).collect()
}

/// Lists the commands of one state, newest first.
pub(crate) async fn of_state(
    pool: &SqlitePool,
    of: [&str; 4],
) -> Result<Vec<CommandView>, DbError> {
    let [namespace, job_name, operator, state] = of;
    let rows: Vec<Row> = sqlx::query_as(
        "select version, namespace, job_name, operator, state, kind, body, actor, reason,
                requested_millis, phase, shards_applied, shards, detail, wall_millis
         from command where namespace = ? and job_name = ? and operator = ? and state = ?
         order by version desc limit ?",
    )
    .bind(namespace)
    .bind(job_name)
    .bind(operator)
    .bind(state)
    .bind(SHOWN_MAX)
    .fetch_all(pool)
    .await?;
    rows.into_iter().map(|row| StoredCommand::try_from(row).map(|command| command.view)).collect()
}

/// Lists the commands that are on their way.
pub(crate) async fn open(pool: &SqlitePool) -> Result<Vec<StoredCommand>, DbError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select version, namespace, job_name, operator, state, kind, body, actor, reason,
                requested_millis, phase, shards_applied, shards, detail, wall_millis
         from command where phase in ('requested', 'delivered', 'applied')
         order by version limit ?",
    )
    .bind(ROWS_MAX)
    .fetch_all(pool)
    .await?;
    rows.into_iter().map(StoredCommand::try_from).collect()
}

/// Returns the highest version ever given, 0 before the first.
pub(crate) async fn version_max(pool: &SqlitePool) -> Result<i64, DbError> {
    let version: Option<i64> =
        sqlx::query_scalar("select seq from sqlite_sequence where name = 'command'")
            .fetch_optional(pool)
            .await?;
    Ok(version.unwrap_or(0))
}

/// Tells whether a command's life is over.
pub(crate) fn is_final(phase: CommandPhase) -> bool {
    matches!(phase, CommandPhase::Done | CommandPhase::Refused | CommandPhase::TimedOut)
}
