//! Sessions as a table: one row each, written when it ended.

use serde::Deserialize;
use stateward_engine::Timed;

use super::event::{Login, What};

/// A row of `ssh_sessions.csv`.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct SessionRow {
    start_ms: i64,
    end_ms: i64,
    src_ip: String,
    login_success: u32,
    login_failed: u32,
}

impl SessionRow {
    /// All of a session is known at its end.
    pub(super) fn logins(self) -> impl Iterator<Item = Timed<Login>> {
        let failed = (self.login_failed > 0).then_some(What::Failed { times: self.login_failed });
        let accepted = (self.login_success > 0).then_some(What::Accepted);
        let session = Some(What::Session { began_millis: self.start_ms });
        [failed, accepted, session].into_iter().flatten().map(move |what| {
            let value =
                Login { address: self.src_ip.clone(), port: None, user: String::new(), what };
            Timed { value, ts: self.end_ms }
        })
    }
}
