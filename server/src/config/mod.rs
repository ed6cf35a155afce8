//! What the server is told at its start: flag > environment > file > default.
//!
//! In come a TOML file, the environment and the flags; out goes one validated [`Config`]. The file
//! `default.toml` beside this module is both the defaults and their documentation. Each layer is a
//! TOML table, later ones win key by key, and the merged table is parsed once.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::{Table, Value};

#[cfg(test)]
mod tests;

/// Every key with its default and its meaning.
pub const DEFAULT_TOML: &str = include_str!("default.toml");

/// Fewest days of five-minute averages: the weekly review compares five weeks.
const DOWNSAMPLED_DAYS_MIN: u32 = 35;
/// Smallest body limit that still takes a report.
const BODY_BYTES_MIN: usize = 64 * 1024;
/// Environment variables of this prefix are configuration.
const ENV_PREFIX: &str = "STATEWARD__";

/// A validated configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Address and port to listen on; loopback.
    pub listen: SocketAddr,
    /// Largest body, in bytes, before and after decompression.
    pub body_bytes_max: usize,
    /// Further Host headers to answer to.
    pub allowed_hosts: Vec<String>,
    /// The data folder.
    pub data_dir: PathBuf,
    /// How long samples are kept.
    pub retention: Retention,
}

/// How long samples are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retention {
    /// Days of samples as they came.
    pub raw_days: u32,
    /// Days of five-minute averages.
    pub downsampled_days: u32,
}

/// What flags say; they win over everything else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `ADDRESS` or `ADDRESS:PORT`.
    pub listen: Option<String>,
    /// Port.
    pub port: Option<u16>,
    /// The data folder.
    pub data_dir: Option<PathBuf>,
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error("cannot read the configuration file {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A layer is not TOML, or has an unknown key or a wrong type.
    #[error("{place}: {message}; `default.toml` in the documentation lists every key")]
    Parse {
        /// File, environment or flag.
        place: String,
        /// What is wrong.
        message: String,
    },
    /// A value outside of its bounds.
    #[error("{key} = {got}: {expected}")]
    Value {
        /// The key.
        key: &'static str,
        /// What was given.
        got: String,
        /// What is taken, and the way out.
        expected: String,
    },
    /// An address that other machines reach.
    #[error(
        "will not listen on {got}: other machines could reach it, and authentication does not exist \
         yet; listen on 127.0.0.1 and use an SSH tunnel (ssh -L 7077:127.0.0.1:7077 HOST)"
    )]
    NotLoopback {
        /// The address.
        got: IpAddr,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    server: RawServer,
    data: RawData,
    retention: Retention,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawServer {
    listen: String,
    port: u16,
    body_bytes_max: usize,
    allowed_hosts: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawData {
    dir: PathBuf,
}

impl Config {
    /// Reads the file, if any, and the environment, and lets `overrides` win.
    ///
    /// # Errors
    /// [`ConfigError`] names the file, variable or flag, and what is taken instead.
    pub fn load(file: Option<&Path>, overrides: &Overrides) -> Result<Self, ConfigError> {
        Self::layered(file, std::env::vars(), overrides)
    }

    /// Returns the defaults with a data folder and a port of their own: for embedding and tests.
    ///
    /// # Errors
    /// [`ConfigError`] as [`Config::load`].
    pub fn for_folder(data_dir: &Path, port: u16) -> Result<Self, ConfigError> {
        let overrides = Overrides {
            port: Some(port),
            data_dir: Some(data_dir.to_path_buf()),
            ..Overrides::default()
        };
        Self::layered(None, std::iter::empty(), &overrides)
    }

    fn layered(
        file: Option<&Path>,
        env: impl Iterator<Item = (String, String)>,
        overrides: &Overrides,
    ) -> Result<Self, ConfigError> {
        let mut table = parse("default.toml", DEFAULT_TOML)?;
        if let Some(path) = file {
            let text = std::fs::read_to_string(path)
                .map_err(|source| ConfigError::Read { path: path.to_path_buf(), source })?;
            let layer = parse(&path.display().to_string(), &text)?;
            check(&path.display().to_string(), &table, &layer)?;
            merge(&mut table, layer);
        }
        let layer = environment(env)?;
        check("environment", &table, &layer)?;
        merge(&mut table, layer);
        merge(&mut table, flags(overrides)?);
        let raw = Raw::deserialize(table).map_err(|error| ConfigError::Parse {
            place: "configuration".into(),
            message: error.to_string(),
        })?;
        raw.validate()
    }
}

fn parse(place: &str, text: &str) -> Result<Table, ConfigError> {
    text.parse::<Table>()
        .map_err(|error| ConfigError::Parse { place: place.into(), message: error.to_string() })
}

/// Refuses keys that the defaults do not have, so that the error names the layer they came from.
fn check(place: &str, known: &Table, layer: &Table) -> Result<(), ConfigError> {
    for (section, value) in layer {
        let keys = known.get(section).and_then(Value::as_table);
        let (Some(keys), Some(values)) = (keys, value.as_table()) else {
            let message = format!("unknown section [{section}]");
            return Err(ConfigError::Parse { place: place.into(), message });
        };
        if let Some(key) = values.keys().find(|key| !keys.contains_key(*key)) {
            let message = format!("unknown key {section}.{key}");
            return Err(ConfigError::Parse { place: place.into(), message });
        }
    }
    Ok(())
}

fn merge(into: &mut Table, layer: Table) {
    for (key, value) in layer {
        match (into.get_mut(&key), value) {
            (Some(Value::Table(old)), Value::Table(new)) => merge(old, new),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

/// `STATEWARD__SECTION__KEY=VALUE`; a value is TOML where it parses as such, else plain text.
fn environment(vars: impl Iterator<Item = (String, String)>) -> Result<Table, ConfigError> {
    let mut layer = Table::new();
    for (name, text) in vars {
        let Some(path) = name.strip_prefix(ENV_PREFIX) else { continue };
        let path = path.to_lowercase();
        let Some((section, key)) = path.split_once("__") else {
            return Err(ConfigError::Parse {
                place: format!("environment variable {name}"),
                message: format!("expected {ENV_PREFIX}SECTION__KEY"),
            });
        };
        let value = format!("value = {text}")
            .parse::<Table>()
            .ok()
            .and_then(|mut table| table.remove("value"))
            .unwrap_or(Value::String(text));
        let entry = layer.entry(section.to_owned()).or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(table) = entry {
            table.insert(key.to_owned(), value);
        }
    }
    Ok(layer)
}

fn flags(overrides: &Overrides) -> Result<Table, ConfigError> {
    let mut server = Table::new();
    if let Some(listen) = &overrides.listen {
        let (address, port) = match (listen.parse::<SocketAddr>(), listen.parse::<IpAddr>()) {
            (Ok(both), _) => (both.ip(), Some(both.port())),
            (_, Ok(address)) => (address, None),
            _ if listen.starts_with("localhost") => {
                let port = listen.strip_prefix("localhost:").map(str::parse::<u16>);
                (IpAddr::from([127, 0, 0, 1]), port.and_then(Result::ok))
            }
            _ => {
                return Err(ConfigError::Value {
                    key: "--listen",
                    got: listen.clone(),
                    expected: "give ADDRESS or ADDRESS:PORT, as in 127.0.0.1:7077".into(),
                });
            }
        };
        server.insert("listen".into(), address.to_string().into());
        if let Some(port) = port {
            server.insert("port".into(), i64::from(port).into());
        }
    }
    if let Some(port) = overrides.port {
        server.insert("port".into(), i64::from(port).into());
    }
    let mut layer = Table::from_iter([("server".to_owned(), Value::Table(server))]);
    if let Some(dir) = &overrides.data_dir {
        let dir = Value::String(dir.to_string_lossy().into_owned());
        layer.insert("data".into(), Value::Table(Table::from_iter([("dir".to_owned(), dir)])));
    }
    Ok(layer)
}

impl Raw {
    fn validate(self) -> Result<Config, ConfigError> {
        let address: IpAddr = self.server.listen.parse().map_err(|error| ConfigError::Value {
            key: "server.listen",
            got: self.server.listen.clone(),
            expected: format!("expected an IP address such as 127.0.0.1 ({error})"),
        })?;
        if !address.is_loopback() {
            return Err(ConfigError::NotLoopback { got: address });
        }
        if self.server.body_bytes_max < BODY_BYTES_MIN {
            return Err(ConfigError::Value {
                key: "server.body_bytes_max",
                got: self.server.body_bytes_max.to_string(),
                expected: format!("a report needs at least {BODY_BYTES_MIN} bytes"),
            });
        }
        if self.retention.downsampled_days < DOWNSAMPLED_DAYS_MIN {
            return Err(ConfigError::Value {
                key: "retention.downsampled_days",
                got: self.retention.downsampled_days.to_string(),
                expected: format!("the weekly review needs at least {DOWNSAMPLED_DAYS_MIN} days"),
            });
        }
        if self.retention.raw_days == 0 {
            return Err(ConfigError::Value {
                key: "retention.raw_days",
                got: "0".into(),
                expected: "keep at least 1 day".into(),
            });
        }
        Ok(Config {
            listen: SocketAddr::new(address, self.server.port),
            body_bytes_max: self.server.body_bytes_max,
            allowed_hosts: self.server.allowed_hosts,
            data_dir: self.data.dir,
            retention: self.retention,
        })
    }
}
