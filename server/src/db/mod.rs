//! The two SQLite files: `control.db` (synchronous=FULL) and `series.db` (NORMAL and one full sync a
//! second). Each has one writer task, which batches, and a pool of readers. SQL lives only in this
//! folder: plain functions, one statement each where it goes, named by intent.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions, SqliteConnection};

mod writer;
pub(crate) mod control;
pub(crate) mod series;

pub(crate) use writer::Writer;

static CONTROL: Migrator = sqlx::migrate!("../migrations/control");
static SERIES: Migrator = sqlx::migrate!("../migrations/series");

/// Connections that read, per file.
const READERS_MAX: u32 = 4;
/// How long a statement waits for a lock of another process, such as a backup.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Primary result codes of SQLite that mean that the disk is full or refuses.
const SQLITE_IOERR: u32 = 10;
const SQLITE_FULL: u32 = 13;

/// Why the database did not do what it was asked.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum DbError {
    /// The disk is full or refuses.
    #[error("the disk is full or refuses: {source}")]
    Full {
        /// What SQLite said.
        source: Arc<sqlx::Error>,
    },
    /// The writer has stopped.
    #[error("the writer has stopped")]
    Closed,
    /// Anything else that SQLite said.
    #[error("{0}")]
    Sql(Arc<sqlx::Error>),
    /// A row that this version cannot have written.
    #[error("{what} cannot be read; restore a backup of the data folder")]
    Damaged {
        /// Table and column.
        what: String,
    },
}

impl DbError {
    /// Makes the error for a row that this version cannot have written.
    pub(crate) fn damaged(what: &str, cause: impl std::fmt::Display) -> Self {
        Self::Damaged { what: format!("{what} ({cause})") }
    }
}

impl From<sqlx::Error> for DbError {
    fn from(error: sqlx::Error) -> Self {
        let code = error.as_database_error().and_then(sqlx::error::DatabaseError::code);
        let code = code.and_then(|code| u32::from_str(&code).ok()).unwrap_or(0) & 0xff;
        match code {
            SQLITE_FULL | SQLITE_IOERR => Self::Full { source: Arc::new(error) },
            _ => Self::Sql(Arc::new(error)),
        }
    }
}

/// One open file.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    /// For reading.
    pub(crate) readers: SqlitePool,
    /// For writing.
    pub(crate) writer: Writer,
    path: PathBuf,
}

impl Database {
    /// Opens `control.db`, migrated.
    pub(crate) async fn open_control(folder: &Path) -> Result<Self, sqlx::Error> {
        Self::open(folder.join("control.db"), SqliteSynchronous::Full, &CONTROL).await
    }

    /// Opens `series.db`, migrated.
    pub(crate) async fn open_series(folder: &Path) -> Result<Self, sqlx::Error> {
        Self::open(folder.join("series.db"), SqliteSynchronous::Normal, &SERIES).await
    }

    async fn open(
        path: PathBuf,
        synchronous: SqliteSynchronous,
        migrator: &Migrator,
    ) -> Result<Self, sqlx::Error> {
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(synchronous)
            .foreign_keys(true)
            .busy_timeout(BUSY_TIMEOUT);
        let mut connection: SqliteConnection = options.connect().await?;
        migrator.run(&mut connection).await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS_MAX)
            .connect_lazy_with(options.create_if_missing(false));
        Ok(Self { readers, writer: Writer::spawn(connection), path })
    }

    /// Makes everything acknowledged durable: syncs the write-ahead log.
    ///
    /// SQLite locks the database and its `-shm` file, never the `-wal` file, so opening and closing
    /// a descriptor of that one drops no lock of this process.
    pub(crate) async fn sync(&self) -> std::io::Result<()> {
        let mut wal = self.path.clone().into_os_string();
        wal.push("-wal");
        let synced = tokio::task::spawn_blocking(move || match std::fs::File::open(&wal) {
            Ok(file) => file.sync_data(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        });
        synced.await.unwrap_or_else(|error| Err(std::io::Error::other(error)))
    }

    /// Asks for an answer, any.
    pub(crate) async fn ping(&self) -> Result<(), DbError> {
        sqlx::query("select 1").execute(&self.readers).await?;
        Ok(())
    }

    /// Lets the file grow to at most `pages` more or less: a full disk for tests.
    #[cfg(test)]
    pub(crate) async fn limit_pages(&self, pages: u32) {
        self.writer
            .run(move |connection| {
                Box::pin(async move {
                    let pragma = format!("pragma max_page_count = {pages}");
                    sqlx::query(sqlx::AssertSqlSafe(pragma)).execute(connection).await?;
                    Ok(())
                })
            })
            .await
            .unwrap();
    }

    /// Waits for the writer and closes.
    pub(crate) async fn close(&self) {
        self.writer.close().await;
        self.readers.close().await;
    }
}
