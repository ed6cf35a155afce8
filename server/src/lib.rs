//! Stateward's server: takes telemetry in, stores it, answers, evaluates alerts, commands breakers.
//!
//! Modules are listed in the order in which data meets them: what the server is told and where it
//! keeps things, the two databases, samples over time, who runs now, taking telemetry in, answering,
//! alerts, breakers and commands, and at last who may call and by which paths.
//!
//! [`Server`] starts and stops it, [`App`] answers, [`InProcess`] takes telemetry of an engine in
//! the same process.

mod error;
mod config;
mod clock;
mod folder;
mod db;
mod series;
mod catalog;
mod telemetry;
mod live;
mod core;
mod ingest;
mod query;
mod alert;
mod breaker;
mod audit;
mod control;
mod auth;
mod api;
mod app;
#[cfg(feature = "ui")]
pub mod ui;
mod server;
#[cfg(test)]
mod fixture;

pub use app::App;
pub use config::{Config, ConfigError, DEFAULT_TOML, Overrides, Retention};
pub use error::ApiError;
pub use folder::FolderError;
pub use ingest::InProcess;
pub use live::LiveEvent;
pub use server::{Server, StartError};
