//! Statements on `control.db`. Writes take the writer's connection, reads the pool.

pub(crate) mod run;
pub(crate) mod event;
pub(crate) mod command;
pub(crate) mod audit;
pub(crate) mod rule;
pub(crate) mod instance;
pub(crate) mod session;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::DbError;

/// Most rows that any list here returns.
pub(crate) const ROWS_MAX: i64 = 10_000;

/// Reads a snake-case enum or JSON column.
fn parse<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, DbError> {
    serde_json::from_str(text).map_err(|error| DbError::damaged(what, error))
}

/// Writes a JSON column.
fn format<T: Serialize>(what: &str, value: &T) -> Result<String, DbError> {
    serde_json::to_string(value).map_err(|error| DbError::damaged(what, error))
}

/// Reads an enum that serde writes as a word.
fn word<T: DeserializeOwned>(what: &str, text: &str) -> Result<T, DbError> {
    let value = serde_json::Value::String(text.to_owned());
    serde_json::from_value(value).map_err(|error| DbError::damaged(what, error))
}

/// Writes an enum that serde writes as a word.
pub(crate) fn as_word<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
