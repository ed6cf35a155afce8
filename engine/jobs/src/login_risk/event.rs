//! What a client did.

use serde::{Deserialize, Serialize};

/// Something that an address did to the login service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Login {
    pub(super) address: String,
    /// The client's port, which names its connection.
    pub(super) port: Option<u16>,
    pub(super) user: String,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum What {
    /// Wrong passwords, so many at once.
    Failed { times: u32 },
    /// Left before it was let in; a failure unless its connection had one.
    GaveUp,
    /// Let in.
    Accepted,
    /// The connection ended.
    Closed,
    /// A whole session, told when it ended.
    Session { began_millis: i64 },
}
